-- name: lock_for_endpoint
-- Waits for the todo. Own todos, and a team's only when this endpoint made its latest claim and
-- still reaches the queue: everyone else's is not there at all.
select t.id, t.queue_id, t.state, t.owner, t.attempt, t.max_attempts, t.attempts_total
  from todos t
 where t.id = %(todo_id)s
   and (t.endpoint_id = %(endpoint_id)s
        or (t.team_id is not null and t.claimed_by_endpoint_id = %(endpoint_id)s
            and exists (select 1
                          from endpoint_queues g
                         where g.endpoint_id = %(endpoint_id)s and g.queue_id = t.queue_id)))
   for update of t;

-- name: lock_for_human
-- The same within a human's reach.
select t.id, t.queue_id, t.state, t.owner, t.attempt, t.max_attempts, t.attempts_total
  from todos t
 where t.id = %(todo_id)s
   and exists (select 1
                 from human_queues h
                where h.human_id = %(human_id)s and h.queue_id = t.queue_id)
   for update of t;

-- name: read_latest_attempt
-- Its own statement after the lock: who made the latest claim, how it ended, and its fence.
select a.owner, a.claimer_endpoint_id, a.outcome, a.lease_token_hash
  from todo_attempts a
 where a.todo_id = %(todo_id)s and a.seq = %(seq)s;

-- name: read_row
-- The todo as it now is, with its queue's display name.
select r.id, r.queue_id, r.queue, r.queue_name, r.team, r.endpoint_id, r.team_id, r.source,
       r.kind, r.title, r.payload, r.event_id, r.idempotency_key, r.state, r.owner,
       r.lease_expires_at, r.attempt, r.max_attempts, r.next_retry_at, r.result, r.created_at,
       r.updated_at, r.claimed_at, r.completed_at, r.attempts_total, r.attempts_pruned,
       r.has_policy, r.claimed_by_endpoint_id
  from todo_rows r
 where r.id = %(todo_id)s;
