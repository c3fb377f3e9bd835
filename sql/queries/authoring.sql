-- A person writes a todo.

-- name: lock_queue
-- The shared lock makes a revoke wait for this transaction, so that it finds the todo made here;
-- no row: the endpoint ended in between.
select q.id
  from endpoints e
  join queues q on q.endpoint_id = e.id and q.name = %(name)s
 where e.id = %(endpoint_id)s and e.state = 'active'
   and (e.expires_at is null or e.expires_at > clock())
   for share of e;

-- name: lock_team_queue
-- The queue's key, as the todo will hold it: a deletion waits, and then finds the todo.
select q.id
  from queues q
  join team_roles r on r.team_id = q.team_id
 where q.id = %(queue_id)s and r.human_id = %(human_id)s
   for key share of q;

-- name: read_target
-- A queue the human may write todos for, by its id. Foreign, unknown and not allowed: no row.
select q.id as queue_id, q.name, q.endpoint_id, q.team_id, e.slug,
       case when q.team_id is null then q.name
            else 'team:' || t.slug || '/' || q.name end as queue,
       coalesce(q.name = any (e.scope_queues), true) as in_scope,
       coalesce(e.state = 'active' and (e.expires_at is null or e.expires_at > (select clock())),
                true) as is_alive
  from human_queues h
  join queues q on q.id = h.queue_id
  left join endpoints e on e.id = q.endpoint_id
  left join teams t on t.id = q.team_id
 where h.human_id = %(human_id)s and q.id = %(queue_id)s
   and (q.team_id is not null or h.may_configure);

-- name: read_todo_of_event
-- The todo this event became before: the same form, sent twice.
select t.id, t.queue_id, q.name as queue_name, t.state, t.event_id, false as created
  from todos t
  join queues q on q.id = t.queue_id
 where t.event_id = %(event_id)s;

-- name: read_work_of_todo
-- What that todo says, to tell a second click from a form that was edited and sent again.
select title, kind, payload, idempotency_key as key from todos where id = %(todo_id)s;
