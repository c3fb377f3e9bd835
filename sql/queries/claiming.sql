-- name: peek_heads
-- Unlocked: the oldest pending todo and the oldest due retry of every granted queue, one index
-- probe each; any other shape reads the whole backlog. Lapsed leases have no index and stay out.
-- The due retries are asked for as a pair, which only the queue's own index can answer: with
-- `next_retry_at <= ...` alone the planner may walk the retries of every queue.
select g.queue_id, g.has_policy, p.created_at as pending_at, p.id as pending_id,
       d.created_at as due_at, d.id as due_id
  from endpoint_queues g
  left join lateral (
         select t.created_at, t.id
           from todos t
          where t.queue_id = g.queue_id and t.state = 'pending'
          order by t.created_at, t.id
          limit 1) p on true
  left join lateral (
         select t.created_at, t.id
           from todos t
          where t.queue_id = g.queue_id and t.state = 'failed'
            and t.next_retry_at is not null
            and (t.queue_id, t.next_retry_at) <= (g.queue_id, (select clock()))
            and t.attempt < t.max_attempts
          order by t.created_at, t.id
          limit 1) d on true
 where g.endpoint_id = %(endpoint_id)s
   and (%(queue_id)s::bigint is null or g.queue_id = %(queue_id)s)
   and (p.id is not null or d.id is not null);

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
 cross join lateral mark_claimed(p.id, null, %(lease_seconds)s, %(kind)s, %(endpoint_id)s,
              %(session)s, %(owner)s, %(claimant)s, %(claim_key)s, %(args_hash)s) r;

-- name: claim_due
-- The same for a parked retry whose time has come and that no scheduler has moved yet. The queue is
-- a subselect: a constant that fills the table misleads the planner away from the queue's index.
with picked as (
  select t.id
    from todos t
   where t.queue_id = (select %(queue_id)s::bigint)
     and t.state = 'failed' and t.next_retry_at is not null
     and (t.queue_id, t.next_retry_at) <= ((select %(queue_id)s::bigint), (select clock()))
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
 cross join lateral mark_claimed(p.id, null, %(lease_seconds)s, %(kind)s, %(endpoint_id)s,
              %(session)s, %(owner)s, %(claimant)s, %(claim_key)s, %(args_hash)s) r;

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
 cross join lateral mark_claimed(p.id, null, %(lease_seconds)s, %(kind)s, %(endpoint_id)s,
              %(session)s, %(owner)s, %(claimant)s, %(claim_key)s, %(args_hash)s) r;

-- name: peek_lapsed
-- Which granted queues hold a lapsed lease that may be taken over, oldest first.
select g.queue_id
  from endpoint_queues g
  join todos t on t.queue_id = g.queue_id and t.state = 'claimed'
 where g.endpoint_id = %(endpoint_id)s
   and (%(queue_id)s::bigint is null or g.queue_id = %(queue_id)s)
   and not g.has_policy
   and t.lease_expires_at <= (select clock()) and t.attempt < t.max_attempts
 group by g.queue_id
 order by min(t.created_at), g.queue_id;

-- name: read_candidate_of_endpoint
-- Unlocked, before claim by id: own tenant or not found; then whether the queue is granted.
select exists (select 1
                 from endpoint_queues g
                where g.endpoint_id = %(endpoint_id)s and g.queue_id = t.queue_id) as is_granted
  from todos t
 where t.id = %(todo_id)s
   and (t.endpoint_id = %(endpoint_id)s
        or exists (select 1
                     from endpoint_queues g
                    where g.endpoint_id = %(endpoint_id)s and g.queue_id = t.queue_id));

-- name: read_candidate_of_human
-- The same question for the board: within the human's reach, or not found.
select true as is_granted
  from todos t
  join human_queues h on h.queue_id = t.queue_id and h.human_id = %(human_id)s
 where t.id = %(todo_id)s;

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
  from mark_claimed(%(todo_id)s, null, %(lease_seconds)s, %(kind)s, %(endpoint_id)s,
                    %(session)s, %(owner)s, %(claimant)s, %(claim_key)s, %(args_hash)s) r;

-- name: read_waiting_behind_policies
-- What a claim_next that claimed nothing must not call empty: queues with a policy and work.
select g.queue, (select count(*)
                   from todos t
                  where t.queue_id = g.queue_id and t.state = 'pending') as pending
  from endpoint_queues g
 where g.endpoint_id = %(endpoint_id)s
   and g.has_policy
   and (%(queue_id)s::bigint is null or g.queue_id = %(queue_id)s)
   and exists (select 1
                 from todos t
                where t.queue_id = g.queue_id and t.state = 'pending')
 order by g.queue;
