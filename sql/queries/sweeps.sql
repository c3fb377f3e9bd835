-- The background sweeps. Each picks in id order and skips what others hold, so that two leaders
-- and any number of claims run beside them without a deadlock (todos.md, "Claimable").

-- name: read_next_lapse
-- Seconds until the earliest lease ends, at most 0 when one has; computed here, as the database
-- has the only clock. No row of claimed todos: null.
select extract(epoch from min(lease_expires_at) - clock())::float8
  from todos
 where state = 'claimed';

-- name: pick_lapsed
-- Leases that ran out. No index holds a lease's end (a heartbeat must stay HOT): the claimed rows
-- are read, which are as many as there are workers.
select t.id, t.queue_id, q.name as queue, t.attempt >= t.max_attempts as is_dead_letter,
       q.has_policy as frees_slot
  from todos t
  join queues q on q.id = t.queue_id
 where t.state = 'claimed' and t.lease_expires_at <= (select clock())
 order by t.id
 limit %(batch)s
   for update of t skip locked;

-- name: mark_reaped
-- Attempts left: pending again. None left: dead letter. Either way nobody owns it.
update todos
   set state = case when attempt < max_attempts then 'pending' else 'failed' end,
       owner = null, lease_expires_at = null, claimed_by_endpoint_id = null,
       next_retry_at = null, updated_at = clock()
 where id = any (%(ids)s);

-- name: mark_attempts_reaped
-- The attempt ends with its lease, in the same transaction.
update todo_attempts a
   set ended_at = clock(), outcome = 'reaped',
       disposition = case when t.state = 'pending' then 'requeued' else 'dead_lettered' end
  from todos t
 where t.id = a.todo_id and a.todo_id = any (%(ids)s) and a.ended_at is null
returning a.todo_id;

-- name: read_next_retry
-- Seconds until the earliest parked retry is due, at most 0 when one is; no such row: null.
select extract(epoch from min(next_retry_at) - clock())::float8
  from todos
 where state = 'failed' and next_retry_at is not null and max_attempts >= 0;

-- name: pick_due
-- Parked retries whose wait is over.
select t.id, t.queue_id, q.name as queue, false as is_dead_letter, false as frees_slot
  from todos t
  join queues q on q.id = t.queue_id
 where t.state = 'failed' and t.next_retry_at <= (select clock()) and t.max_attempts >= 0
 order by t.id
 limit %(batch)s
   for update of t skip locked;

-- name: mark_requeued
-- Back in line; the attempt it spent stays spent, and the wait was its only price.
update todos
   set state = 'pending', owner = null, lease_expires_at = null, claimed_by_endpoint_id = null,
       next_retry_at = null, updated_at = clock()
 where id = any (%(ids)s);

-- name: read_next_expiry
-- Seconds until the earliest lifetime of an active endpoint ends, at most 0 when one has.
select extract(epoch from min(expires_at) - clock())::float8
  from endpoints
 where state = 'active' and expires_at is not null;

-- name: pick_expired_endpoints
-- Lifetimes that are over. Not locked here: each is ended in its own transaction, which locks its
-- todos first, as revoke does, and then decides by a conditional update.
select id
  from endpoints
 where state = 'active' and expires_at <= (select clock())
 order by id
 limit %(batch)s;
