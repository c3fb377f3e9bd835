-- Marks of closed queues and the rings they owe (contract push.md, "Reopen"). Acts for nobody and
-- returns nothing to a caller, so no statement carries an owner.

-- name: mark_closed
-- "Closed, and owes a ring." One mark however often it is said; never under a claim's locks.
insert into admission_reopen (queue_id, reason)
values (%(queue_id)s, %(reason)s)
on conflict do nothing;

-- name: read_marked
-- Which of these queues owe a ring: most events find none, and stop here.
select r.queue_id
  from admission_reopen r
 where r.queue_id = any (%(queue_ids)s::bigint[]);

-- name: delete_mark
-- Deleted first and evaluated in the next statement: a claim that closes the queue meanwhile waits
-- in its insert for this transaction, so it always leaves a mark (R28).
delete from admission_reopen r
 where r.queue_id = %(queue_id)s;

-- name: pick_oldest_eligible
-- The todo a reopening rings for: the oldest pending one whose event may ring (push.md, "Sender
-- gate").
select t.id
  from todos t
  join events e on e.id = t.event_id and (e.verified or e.trust_mode = 'token')
 where t.queue_id = %(queue_id)s and t.state = 'pending'
 order by t.created_at, t.id
 limit 1;

-- name: read_recipients
-- Who drains the queue within live reach: its endpoint, or every endpoint granted a team's queue.
select g.endpoint_id, e.shift, e.presence_override, e.override_until, e.override_by,
       e.override_set_at
  from endpoint_queues g
  join endpoints e on e.id = g.endpoint_id
 where g.queue_id = %(queue_id)s;

-- name: insert_reopen_bells
-- One row per endpoint, however many todos wait (R63).
insert into doorbells (endpoint_id, queue_id, todo_id, kind)
select e.endpoint_id, %(queue_id)s, %(todo_id)s, 'reopen'
  from unnest(%(endpoint_ids)s::uuid[]) as e (endpoint_id);
