-- Doorbell rows: taken by one process, judged again, stamped (contract push.md, "Delivery").

-- name: mark_bells_taken
-- A conditional update decides who delivers; a row nobody took within a minute is void. A team's
-- row has no endpoint: whoever holds a stream of one that drains the queue and is in may take it.
update doorbells d
   set taken_at = clock(), taken_by = %(process)s
 where d.id in (
         select w.id
           from doorbells w
          where w.taken_at is null
            and w.created_at > (select clock()) - interval '60 s'
            and (w.endpoint_id = any (%(held)s::uuid[])
                 or (w.endpoint_id is null
                     and exists (select 1
                                   from endpoint_queues g
                                  where g.queue_id = w.queue_id
                                    and g.endpoint_id = any (%(present)s::uuid[]))))
          order by w.id
          limit %(limit)s
            for update skip locked)
returning d.id, d.endpoint_id, d.queue_id, d.todo_id, d.kind, d.meta;

-- name: read_held
-- The endpoints among these that are alive, with what their presence is made of.
select e.id as endpoint_id, e.shift, e.presence_override, e.override_until, e.override_by,
       e.override_set_at
  from endpoints e
 where e.id = any (%(held)s::uuid[]) and e.state = 'active'
   and (e.expires_at is null or e.expires_at > (select clock()));

-- name: read_drains
-- Which of these endpoints drain which of these queues, within live reach.
select g.endpoint_id, g.queue_id
  from endpoint_queues g
 where g.endpoint_id = any (%(endpoint_ids)s::uuid[])
   and g.queue_id = any (%(queue_ids)s::bigint[]);

-- name: read_todos
-- What a bell says of its todo, while that is pending; `is_silent` within a minute of its last ring.
select r.id, r.queue_id, r.queue, r.has_policy, r.title, r.kind, r.source,
       coalesce(t.last_ringed_at > (select clock()) - interval '1 min', false) as is_silent
  from todo_rows r
  join todos t on t.id = r.id
 where r.id = any (%(ids)s) and r.state = 'pending';

-- name: mark_rung
-- The taker of a creation bell stamps its todo; nobody's ring budget is spent.
update todos t
   set last_ringed_at = clock()
 where t.id = any (%(ids)s) and t.state = 'pending';

-- name: mark_reopen_rung
-- One stamp pushes back the heartbeat of the whole queue (R63).
update queues q
   set last_reopen_ring_at = clock()
 where q.id = any (%(queue_ids)s::bigint[]);

-- name: mark_digest_rung
-- One stamp per queue that the digest counted.
insert into digest_stamps (endpoint_id, queue_id, last_digest_at)
select %(endpoint_id)s, q.id, clock()
  from queues q
 where q.id = any (%(queue_ids)s::bigint[])
on conflict (endpoint_id, queue_id) do update set last_digest_at = excluded.last_digest_at;
