-- The backlog of one endpoint, counted for a digest (contract push.md, "Doorbells").

-- name: read_backlog
-- Eligible pending todos per queue the endpoint drains; whether the queue admits is asked apart.
select g.queue_id, g.queue, g.has_policy, count(*) as pending,
       greatest(extract(epoch from clock() - min(t.created_at)), 0)::bigint as oldest_seconds
  from endpoint_queues g
  join todos t on t.queue_id = g.queue_id and t.state = 'pending'
  join events v on v.id = t.event_id and (v.verified or v.trust_mode = 'token')
 where g.endpoint_id = %(endpoint_id)s
 group by g.queue_id, g.queue, g.has_policy;

-- name: insert_digest
-- Written in the transaction that won the edge, so that one server of all sends it.
insert into doorbells (endpoint_id, kind, meta)
values (%(endpoint_id)s, 'digest', %(meta)s);

-- name: mark_reconnected
-- At most one in ten minutes, over all processes.
update endpoints e
   set reconnect_digest_at = clock()
 where e.id = %(endpoint_id)s and e.state = 'active'
   and (e.reconnect_digest_at is null
        or e.reconnect_digest_at <= clock() - interval '10 min');
