-- name: charge_window
-- One unit, in the claim's transaction; answers what the window has used now (REQ-3).
select charge_window(%(policy_id)s, %(window_start)s, %(limit)s, %(at)s, %(is_retry)s,
                     %(is_takeover)s);

-- name: guard_window
-- The last statement before COMMIT: raises SB001 when the window has ended meanwhile (R1).
select guard_window(%(ends_at)s);

-- name: commit_claim
-- Sent in the trip of the writes: a failed statement before it skips it.
commit;
