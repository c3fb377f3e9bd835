-- What a policy that is not saved yet would do now. Follows a look at whose queue it is.

-- name: read_facts
-- What it would be judged by, by one clock. The count in flight is the whole one, as it is shown.
with moment as materialized (
  select clock() as at
)
select m.at, c.in_flight, c.earliest_live_lease,
       (select count(*)
          from todos t
         where t.queue_id = %(queue_id)s and t.state = 'pending') as pending
  from moment m
 cross join lateral (
         select count(*) as in_flight,
                min(t.lease_expires_at) filter (where t.lease_expires_at > m.at)
                  as earliest_live_lease
           from todos t
          where t.queue_id = %(queue_id)s and t.state = 'claimed') c;

-- name: read_used
-- Units in one window of the queue's policy, live or cleared: a revival finds them again (R14).
select w.used
  from admission_policies p
  join admission_windows w on w.policy_id = p.id
 where p.queue_id = %(queue_id)s and w.window_start = %(window_start)s;
