-- name: claim_pending
-- Pick and claim in one statement, for a queue without a policy. The peek is older than this pick,
-- so has_policy is asked again here; a SKIP LOCKED pick never waits and may ask in one (R13).
with picked as (
  select t.id
    from todos t
   where t.queue_id = %(queue_id)s
     and t.state = 'pending'
     and (select not g.has_policy
            from endpoint_queues g
           where g.endpoint_id = %(endpoint_id)s and g.queue_id = %(queue_id)s)
   order by t.created_at, t.id
   limit 1
     for update of t skip locked
)
select r.id, r.queue_id, r.queue, r.queue_name, r.team, r.endpoint_id, r.team_id, r.source,
       r.kind, r.title, r.payload, r.event_id, r.idempotency_key, r.state, r.owner,
       r.lease_expires_at, r.attempt, r.max_attempts, r.next_retry_at, r.result, r.created_at,
       r.updated_at, r.claimed_at, r.completed_at, r.attempts_total, r.attempts_pruned,
       r.has_policy, r.claimed_by_endpoint_id
  from picked p
 cross join lateral mark_claimed(p.id, %(at)s, %(lease_seconds)s, %(kind)s, %(endpoint_id)s,
              %(session)s, %(owner)s, %(claimant)s, %(claim_key)s, %(args_hash)s,
              %(token_hash)s, %(policy_id)s, %(window_start)s) r;

-- name: claim_lone
-- The same without a peek before it, for an endpoint that drains this one queue: it asks itself
-- whether that is still so, and whether a due retry might be older.
with picked as (
  select t.id
    from todos t
   where t.queue_id = %(queue_id)s
     and t.state = 'pending'
     and (select count(*) = 1 and bool_and(g.queue_id = %(queue_id)s and not g.has_policy)
            from endpoint_queues g
           where g.endpoint_id = %(endpoint_id)s)
     and not exists (select 1
                       from todos d
                      where d.queue_id = %(queue_id)s and d.state = 'failed'
                        and d.next_retry_at <= (select clock()) and d.attempt < d.max_attempts)
   order by t.created_at, t.id
   limit 1
     for update of t skip locked
)
select r.id, r.queue_id, r.queue, r.queue_name, r.team, r.endpoint_id, r.team_id, r.source,
       r.kind, r.title, r.payload, r.event_id, r.idempotency_key, r.state, r.owner,
       r.lease_expires_at, r.attempt, r.max_attempts, r.next_retry_at, r.result, r.created_at,
       r.updated_at, r.claimed_at, r.completed_at, r.attempts_total, r.attempts_pruned,
       r.has_policy, r.claimed_by_endpoint_id
  from picked p
 cross join lateral mark_claimed(p.id, %(at)s, %(lease_seconds)s, %(kind)s, %(endpoint_id)s,
              %(session)s, %(owner)s, %(claimant)s, %(claim_key)s, %(args_hash)s,
              %(token_hash)s, %(policy_id)s, %(window_start)s) r;

-- name: claim_due
-- The same for a parked retry whose time has come and that no scheduler has moved yet.
with picked as (
  select t.id
    from todos t
   where t.queue_id = %(queue_id)s
     and t.state = 'failed' and t.next_retry_at <= (select clock())
     and t.attempt < t.max_attempts
     and (select not g.has_policy
            from endpoint_queues g
           where g.endpoint_id = %(endpoint_id)s and g.queue_id = %(queue_id)s)
   order by t.created_at, t.id
   limit 1
     for update of t skip locked
)
select r.id, r.queue_id, r.queue, r.queue_name, r.team, r.endpoint_id, r.team_id, r.source,
       r.kind, r.title, r.payload, r.event_id, r.idempotency_key, r.state, r.owner,
       r.lease_expires_at, r.attempt, r.max_attempts, r.next_retry_at, r.result, r.created_at,
       r.updated_at, r.claimed_at, r.completed_at, r.attempts_total, r.attempts_pruned,
       r.has_policy, r.claimed_by_endpoint_id
  from picked p
 cross join lateral mark_claimed(p.id, %(at)s, %(lease_seconds)s, %(kind)s, %(endpoint_id)s,
              %(session)s, %(owner)s, %(claimant)s, %(claim_key)s, %(args_hash)s,
              %(token_hash)s, %(policy_id)s, %(window_start)s) r;

-- name: claim_lapsed
-- A takeover. Read only when the queue has nothing else claimable: no index holds the lease, so that
-- a heartbeat stays HOT (R70).
with picked as (
  select t.id
    from todos t
   where t.queue_id = %(queue_id)s
     and t.state = 'claimed' and t.lease_expires_at <= (select clock())
     and t.attempt < t.max_attempts
     and (select not g.has_policy
            from endpoint_queues g
           where g.endpoint_id = %(endpoint_id)s and g.queue_id = %(queue_id)s)
   order by t.created_at, t.id
   limit 1
     for update of t skip locked
)
select r.id, r.queue_id, r.queue, r.queue_name, r.team, r.endpoint_id, r.team_id, r.source,
       r.kind, r.title, r.payload, r.event_id, r.idempotency_key, r.state, r.owner,
       r.lease_expires_at, r.attempt, r.max_attempts, r.next_retry_at, r.result, r.created_at,
       r.updated_at, r.claimed_at, r.completed_at, r.attempts_total, r.attempts_pruned,
       r.has_policy, r.claimed_by_endpoint_id
  from picked p
 cross join lateral mark_claimed(p.id, %(at)s, %(lease_seconds)s, %(kind)s, %(endpoint_id)s,
              %(session)s, %(owner)s, %(claimant)s, %(claim_key)s, %(args_hash)s,
              %(token_hash)s, %(policy_id)s, %(window_start)s) r;

-- name: lock_candidate
-- Waits for the todo, one known id. Only the todo row: a locked queue would stop every claim on it.
select t.id
  from todos t
 where t.id = %(todo_id)s
   and (exists (select 1
                  from endpoint_queues g
                 where g.endpoint_id = %(endpoint_id)s and g.queue_id = t.queue_id)
        or exists (select 1
                     from human_queues h
                    where h.human_id = %(human_id)s and h.queue_id = t.queue_id))
   for update of t;

-- name: read_claimable
-- MUST be its own statement after lock_candidate: has_policy keeps its value from before the wait
-- otherwise, and a paused queue would be claimed (R10).
select r.queue, r.has_policy, r.state = 'claimed' as is_takeover,
       case r.state
         when 'pending' then true
         when 'claimed' then r.lease_expires_at <= clock() and r.attempt < r.max_attempts
         when 'failed' then r.next_retry_at is not null and r.next_retry_at <= clock()
                            and r.attempt < r.max_attempts
         else false
       end as is_claimable
  from todo_rows r
 where r.id = %(todo_id)s;

-- name: claim_locked
-- The todo's row lock is held and the claim is decided: write it.
select r.id, r.queue_id, r.queue, r.queue_name, r.team, r.endpoint_id, r.team_id, r.source,
       r.kind, r.title, r.payload, r.event_id, r.idempotency_key, r.state, r.owner,
       r.lease_expires_at, r.attempt, r.max_attempts, r.next_retry_at, r.result, r.created_at,
       r.updated_at, r.claimed_at, r.completed_at, r.attempts_total, r.attempts_pruned,
       r.has_policy, r.claimed_by_endpoint_id
  from mark_claimed(%(todo_id)s, %(at)s, %(lease_seconds)s, %(kind)s, %(endpoint_id)s,
                    %(session)s, %(owner)s, %(claimant)s, %(claim_key)s, %(args_hash)s,
                    %(token_hash)s, %(policy_id)s, %(window_start)s) r;
