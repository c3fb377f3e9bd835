-- name: mark_heartbeat
-- Moves the lease only. No index holds it, so both updates stay HOT.
with beat as materialized (select clock() as at),
todo as (
  update todos t
     set lease_expires_at = beat.at + make_interval(secs => %(lease_seconds)s),
         updated_at = beat.at
    from beat
   where t.id = %(todo_id)s
  returning t.id, t.attempts_total, t.lease_expires_at
)
update todo_attempts a
   set last_heartbeat_at = beat.at, lease_expires_at = todo.lease_expires_at
  from beat, todo
 where a.todo_id = todo.id and a.seq = todo.attempts_total and a.ended_at is null;

-- name: mark_completed
-- The result, the end of the lease and the end of the attempt: one statement, one instant.
with done as materialized (select clock() as at),
todo as (
  update todos t
     set state = 'done', result = %(result)s, completed_at = done.at, lease_expires_at = null,
         updated_at = done.at
    from done
   where t.id = %(todo_id)s
  returning t.id, t.attempts_total
)
update todo_attempts a
   set ended_at = done.at, outcome = 'completed', disposition = 'done', summary = %(summary)s,
       summary_truncated = %(summary_truncated)s, artifact = %(artifact)s
  from done, todo
 where a.todo_id = todo.id and a.seq = todo.attempts_total and a.ended_at is null;

-- name: mark_failed
-- Below the cap the retry is stamped now and stays parked until then; at the cap it is a dead
-- letter. The owner stays, the lease ends.
with failed as materialized (
  select clock() as at,
         case when %(backoff_seconds)s::int is null then null
              else clock() + make_interval(secs => %(backoff_seconds)s::int) end as retry_at
),
todo as (
  update todos t
     set state = 'failed', result = %(result)s, lease_expires_at = null,
         next_retry_at = failed.retry_at, updated_at = failed.at
    from failed
   where t.id = %(todo_id)s
  returning t.id, t.attempts_total
)
update todo_attempts a
   set ended_at = failed.at, outcome = 'failed', disposition = %(disposition)s,
       summary = %(summary)s, summary_truncated = %(summary_truncated)s, artifact = %(artifact)s
  from failed, todo
 where a.todo_id = todo.id and a.seq = todo.attempts_total and a.ended_at is null;

-- name: mark_released
-- Back to pending; the attempt is neither spent again nor given back.
with released as materialized (select clock() as at),
todo as (
  update todos t
     set state = 'pending', owner = null, lease_expires_at = null, claimed_by_endpoint_id = null,
         updated_at = released.at
    from released
   where t.id = %(todo_id)s
  returning t.id, t.attempts_total
)
update todo_attempts a
   set ended_at = released.at, outcome = 'released', disposition = 'requeued',
       summary = %(summary)s, summary_truncated = %(summary_truncated)s, artifact = %(artifact)s
  from released, todo
 where a.todo_id = todo.id and a.seq = todo.attempts_total and a.ended_at is null;

-- name: lock_team_queue_of_todo
-- A team's queue against its deletion, which would take along what lives again here. No row for an
-- endpoint's queue: that goes with its endpoint, which is held below.
select q.id
  from todos t
  join queues q on q.id = t.queue_id
  join team_roles r on r.team_id = q.team_id
 where t.id = %(todo_id)s and r.human_id = %(human_id)s
   for key share of q;

-- name: lock_endpoint_of_queue
-- Shared, after the todo: a revoke that is under way commits first, and is seen by the next look.
select e.id
  from queues q
  join endpoints e on e.id = q.endpoint_id
 where q.id = %(queue_id)s
   for share of e;

-- name: read_facts_for_human
-- Whether the human may configure the queue, and whether its endpoint can still do work.
select bool_or(h.may_configure) as may_configure,
       coalesce(bool_and(e.state = 'active'
                         and (e.expires_at is null or e.expires_at > clock())), true) as is_alive
  from human_queues h
  join queues q on q.id = h.queue_id
  left join endpoints e on e.id = q.endpoint_id
 where h.human_id = %(human_id)s and h.queue_id = %(queue_id)s;

-- name: mark_retried
-- "Retry now": a fresh set of attempts. What was charged and counted before stays counted.
update todos
   set state = 'pending', attempt = 0, result = null, claimed_at = null, completed_at = null,
       next_retry_at = null, owner = null, claimed_by_endpoint_id = null, updated_at = clock()
 where id = %(todo_id)s;

-- name: mark_discarded
-- A dead letter by the owner's word: no attempt opens or closes, nothing is charged (R65).
update todos
   set state = 'failed', next_retry_at = null, owner = null, updated_at = clock()
 where id = %(todo_id)s;
