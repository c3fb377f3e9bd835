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
