-- name: lock_claim_key
-- First of all locks: two calls with one Idempotency-Key take turns, so neither claims twice (R61).
select pg_advisory_xact_lock(
         hashtextextended(%(endpoint_id)s::text || ':' || %(claim_key)s::text, 0));

-- name: read_claim_by_key
-- The claim this key already made, while its attempt is open: answered again, never made again.
select r.id, r.queue_id, r.queue, r.queue_name, r.team, r.endpoint_id, r.team_id, r.source,
       r.kind, r.title, r.payload, r.event_id, r.idempotency_key, r.state, r.owner,
       r.lease_expires_at, r.attempt, r.max_attempts, r.next_retry_at, r.result, r.created_at,
       r.updated_at, r.claimed_at, r.completed_at, r.attempts_total, r.attempts_pruned,
       r.has_policy, r.claimed_by_endpoint_id
  from todo_attempts a
  join todo_rows r on r.id = a.todo_id
 where a.claimer_endpoint_id = %(endpoint_id)s
   and a.claim_key = %(claim_key)s
   and a.ended_at is null;

-- name: read_claim_facts
-- Beside it: whether the same arguments were meant, and which attempt and token it was.
select a.seq, a.claim_args_hash as args_hash, a.lease_token_hash is not null as is_fenced
  from todo_attempts a
 where a.claimer_endpoint_id = %(endpoint_id)s
   and a.claim_key = %(claim_key)s
   and a.ended_at is null;

-- name: mark_fenced
-- The lease token is derived from the attempt's number, so it is known only after the claim.
update todo_attempts
   set lease_token_hash = %(token_hash)s
 where todo_id = %(todo_id)s and seq = %(seq)s;

-- name: read_prior_attempts
-- What earlier claimants said, newest first: at most five, closed ones only.
select a.seq, a.attempt, a.claimer_kind, a.claimant, a.claimed_at, a.last_heartbeat_at, a.ended_at,
       a.outcome, a.disposition, a.summary, a.summary_truncated, a.artifact
  from todo_attempts a
 where a.todo_id = %(todo_id)s and a.ended_at is not null
 order by a.seq desc
 limit 5;
