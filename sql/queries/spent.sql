-- name: read_spent
-- Unlocked: what windows that were exhausted at the last look have used now, under which policies,
-- by this clock. One trip instead of a locked refusal (R13).
select p.queue_id, p.max_in_flight, p.max_claims_per_window, p.window_period, p.window_tz,
       p.window_start, p.window_weekday, w.used, clock() as at
  from unnest(%(policy_ids)s::uuid[], %(starts)s::timestamptz[]) as e (policy_id, window_start)
  join admission_policies p on p.id = e.policy_id and p.deleted_at is null
  join admission_windows w on w.policy_id = e.policy_id and w.window_start = e.window_start;
