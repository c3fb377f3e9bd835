-- Bells for todos that became ready (contract push.md, "Delivery"). After the commit, in statements
-- of their own; they act for nobody and return nothing to a caller.

-- name: read_ready
-- The todos among these that wait still and may ring at all: the sender gate comes first.
select t.id, t.queue_id, q.has_policy, q.team_id is not null as is_team, g.endpoint_id, e.shift,
       e.presence_override, e.override_until, e.override_by, e.override_set_at
  from todos t
  join queues q on q.id = t.queue_id
  join events v on v.id = t.event_id and (v.verified or v.trust_mode = 'token')
  left join endpoint_queues g on g.queue_id = q.id and q.endpoint_id is not null
  left join endpoints e on e.id = g.endpoint_id
 where t.id = any (%(ids)s) and t.state = 'pending'
 order by t.created_at, t.id;

-- name: insert_bells
-- One row per todo; without an endpoint any process that holds a stream of one that drains the
-- team's queue may take it. `meta` says whether the minute of silence is over.
insert into doorbells (endpoint_id, queue_id, todo_id, kind, meta)
select b.endpoint_id, b.queue_id, b.todo_id, 'todo', %(meta)s
  from unnest(%(endpoint_ids)s::uuid[], %(queue_ids)s::bigint[], %(todo_ids)s::text[])
         as b (endpoint_id, queue_id, todo_id);
