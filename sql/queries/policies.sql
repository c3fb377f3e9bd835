-- A policy's change and its audit row. Lock order: queue, then policy; never a todo.

-- name: lock_queue
-- Writers of one queue's policy stand in line here, so that of two creates the second is an update
-- (R52). Not against a key share: an arriving todo does not wait.
select q.id
  from queues q
 where q.id = %(queue_id)s
   for no key update;

-- name: lock_stored_policy
-- The row as it is now, soft-deleted or live: the before value, and what a revival revives (R14).
select p.id, p.revision, p.max_in_flight, p.max_claims_per_window, p.window_period, p.window_tz,
       p.window_start, p.window_weekday, p.deleted_at is null as is_live
  from admission_policies p
 where p.queue_id = %(queue_id)s
   for update;

-- name: insert_policy
-- The first policy of a queue.
insert into admission_policies
       (id, queue_id, max_in_flight, max_claims_per_window, window_period, window_tz, window_start,
        window_weekday, created_by_human_id, updated_by_human_id)
values (%(id)s, %(queue_id)s, %(max_in_flight)s, %(max_claims_per_window)s, %(window_period)s,
        %(window_tz)s, %(window_start)s, %(window_weekday)s, %(human_id)s, %(human_id)s);

-- name: mark_policy_changed
-- A change of a live policy, or the revival of a cleared one under its old id, so that neither
-- gives back a unit (R14).
update admission_policies
   set max_in_flight = %(max_in_flight)s, max_claims_per_window = %(max_claims_per_window)s,
       window_period = %(window_period)s, window_tz = %(window_tz)s,
       window_start = %(window_start)s, window_weekday = %(window_weekday)s,
       revision = revision + 1, updated_by_human_id = %(human_id)s, updated_at = clock(),
       deleted_at = null
 where id = %(id)s;

-- name: mark_policy_deleted
-- Soft: the id and its windows stay for whoever sets a policy again.
update admission_policies
   set deleted_at = clock(), revision = revision + 1, updated_by_human_id = %(human_id)s,
       updated_at = clock()
 where id = %(id)s;

-- name: append_audit
-- In the policy's own transaction; never updated afterwards.
insert into admission_policy_audit
       (policy_id, queue_id, actor_human_id, actor_endpoint_id, action, before, after, reason)
values (%(policy_id)s, %(queue_id)s, %(human_id)s, %(endpoint_id)s, %(action)s, %(before)s,
        %(after)s, %(reason)s);
