-- name: insert_event
-- Nothing returned means that the owner holds an event of this source and id already.
insert into events (source, family, event_type, external_id, trust_mode, verified, verify_detail,
                    content_type, headers, payload, payload_size, source_ip, webhook_id,
                    endpoint_id, team_id)
values (%(source)s, %(family)s, %(event_type)s, %(external_id)s, %(trust_mode)s, %(verified)s,
        %(verify_detail)s, %(content_type)s, %(headers)s, %(payload)s, %(payload_size)s,
        %(source_ip)s, %(webhook_id)s, %(endpoint_id)s, %(team_id)s)
    on conflict do nothing
returning id;

-- name: read_endpoint_event
-- The event an endpoint's delivery was stored as before.
select e.id
  from events e
 where e.endpoint_id = %(endpoint_id)s and e.source = %(source)s
   and e.external_id = %(external_id)s;

-- name: read_team_event
-- The event a team's delivery was stored as before.
select e.id
  from events e
 where e.team_id = %(team_id)s and e.source = %(source)s and e.external_id = %(external_id)s;

-- name: insert_todo
-- Nothing returned means that a live todo of this owner bears the key already (todos.md, "Dedup").
insert into todos (id, queue_id, endpoint_id, team_id, source, kind, title, payload, event_id,
                   idempotency_key)
values (%(id)s, %(queue_id)s, %(endpoint_id)s, %(team_id)s, %(source)s, %(kind)s, %(title)s,
        %(payload)s, %(event_id)s, %(idempotency_key)s)
    on conflict do nothing
returning id, queue_id, (select q.name from queues q where q.id = todos.queue_id) as queue_name,
          state, event_id, true as created;

-- name: read_live_endpoint_todo
-- The live todo of an endpoint that bears the key.
select t.id, t.queue_id, q.name as queue_name, t.state, t.event_id, false as created
  from todos t
  join queues q on q.id = t.queue_id
 where t.endpoint_id = %(endpoint_id)s and t.idempotency_key = %(idempotency_key)s
   and t.idempotency_key <> ''
   and (t.state in ('pending', 'claimed') or (t.state = 'failed' and t.next_retry_at is not null));

-- name: read_live_team_todo
-- The live todo of a team that bears the key.
select t.id, t.queue_id, q.name as queue_name, t.state, t.event_id, false as created
  from todos t
  join queues q on q.id = t.queue_id
 where t.team_id = %(team_id)s and t.idempotency_key = %(idempotency_key)s
   and t.idempotency_key <> ''
   and (t.state in ('pending', 'claimed') or (t.state = 'failed' and t.next_retry_at is not null));
