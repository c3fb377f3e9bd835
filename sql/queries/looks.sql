-- name: begin_claim
-- READ COMMITTED is spelled out: a role's default would break R2.
begin isolation level read committed;

-- name: set_limits
-- Before each wait: what is left of the one deadline that gate, todo lock and policy lock share.
select set_config('lock_timeout', %(lock_ms)s, true),
       set_config('statement_timeout', '20s', true),
       set_config('idle_in_transaction_session_timeout', '30s', true);

-- name: pick_pending_and_look
-- Todo lock, then policy lock, then the count, the clock and the usage: each of the last four is a
-- statement of its own inside the function, with a snapshot taken after the wait (R2).
with picked as (
  select t.id, t.attempts_total, t.state = 'claimed' as is_takeover, q.has_policy
    from todos t
    join queues q on q.id = t.queue_id
   where t.queue_id = %(queue_id)s
     and t.state = 'pending'
     and exists (select 1
                   from endpoint_queues g
                  where g.endpoint_id = %(endpoint_id)s and g.queue_id = %(queue_id)s)
   order by t.created_at, t.id
   limit 1
     for update of t skip locked
)
select p.id as todo_id, p.attempts_total, p.is_takeover, (l.v).policy_id, (l.v).revision, (l.v).max_in_flight,
       (l.v).max_claims_per_window, (l.v).window_period, (l.v).window_tz, (l.v).window_start,
       (l.v).window_weekday, (l.v).in_flight, (l.v).at, (l.v).used,
       %(expected)s::timestamptz as expected
  from picked p
 cross join lateral (
        select case when p.has_policy
                    then look_under_lock(%(queue_id)s, p.id, %(expected)s) end as v
        offset 0) l;

-- name: pick_lone_and_look
-- The same without a peek before it, for an endpoint that drains this one queue: it asks itself
-- whether that is still so, and whether a due retry might be older.
with picked as (
  select t.id, t.attempts_total, t.state = 'claimed' as is_takeover, q.has_policy
    from todos t
    join queues q on q.id = t.queue_id
   where t.queue_id = %(queue_id)s
     and t.state = 'pending'
     and (select count(*) = 1 and bool_and(g.queue_id = %(queue_id)s)
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
select p.id as todo_id, p.attempts_total, p.is_takeover, (l.v).policy_id, (l.v).revision, (l.v).max_in_flight,
       (l.v).max_claims_per_window, (l.v).window_period, (l.v).window_tz, (l.v).window_start,
       (l.v).window_weekday, (l.v).in_flight, (l.v).at, (l.v).used,
       %(expected)s::timestamptz as expected
  from picked p
 cross join lateral (
        select case when p.has_policy
                    then look_under_lock(%(queue_id)s, p.id, %(expected)s) end as v
        offset 0) l;

-- name: pick_due_and_look
-- The same for a due retry.
with picked as (
  select t.id, t.attempts_total, t.state = 'claimed' as is_takeover, q.has_policy
    from todos t
    join queues q on q.id = t.queue_id
   where t.queue_id = %(queue_id)s
     and t.state = 'failed' and t.next_retry_at <= (select clock())
     and t.attempt < t.max_attempts
     and exists (select 1
                   from endpoint_queues g
                  where g.endpoint_id = %(endpoint_id)s and g.queue_id = %(queue_id)s)
   order by t.created_at, t.id
   limit 1
     for update of t skip locked
)
select p.id as todo_id, p.attempts_total, p.is_takeover, (l.v).policy_id, (l.v).revision, (l.v).max_in_flight,
       (l.v).max_claims_per_window, (l.v).window_period, (l.v).window_tz, (l.v).window_start,
       (l.v).window_weekday, (l.v).in_flight, (l.v).at, (l.v).used,
       %(expected)s::timestamptz as expected
  from picked p
 cross join lateral (
        select case when p.has_policy
                    then look_under_lock(%(queue_id)s, p.id, %(expected)s) end as v
        offset 0) l;

-- name: pick_lapsed_and_look
-- The same for a takeover: the only pick that a full cap may still admit (R4).
with picked as (
  select t.id, t.attempts_total, t.state = 'claimed' as is_takeover, q.has_policy
    from todos t
    join queues q on q.id = t.queue_id
   where t.queue_id = %(queue_id)s
     and t.state = 'claimed' and t.lease_expires_at <= (select clock())
     and t.attempt < t.max_attempts
     and exists (select 1
                   from endpoint_queues g
                  where g.endpoint_id = %(endpoint_id)s and g.queue_id = %(queue_id)s)
   order by t.created_at, t.id
   limit 1
     for update of t skip locked
)
select p.id as todo_id, p.attempts_total, p.is_takeover, (l.v).policy_id, (l.v).revision, (l.v).max_in_flight,
       (l.v).max_claims_per_window, (l.v).window_period, (l.v).window_tz, (l.v).window_start,
       (l.v).window_weekday, (l.v).in_flight, (l.v).at, (l.v).used,
       %(expected)s::timestamptz as expected
  from picked p
 cross join lateral (
        select case when p.has_policy
                    then look_under_lock(%(queue_id)s, p.id, %(expected)s) end as v
        offset 0) l;

-- name: look_locked
-- MUST be its own statement after lock_candidate, which may have waited: has_policy and the state
-- are read afresh, and the policy is locked only when the todo is claimable (R9, R10).
select r.id as todo_id, r.attempts_total, r.state = 'claimed' as is_takeover,
       f.is_claimable, (l.v).policy_id, (l.v).revision, (l.v).max_in_flight,
       (l.v).max_claims_per_window, (l.v).window_period, (l.v).window_tz, (l.v).window_start,
       (l.v).window_weekday, (l.v).in_flight, (l.v).at, (l.v).used,
       %(expected)s::timestamptz as expected
  from todo_rows r
 cross join lateral (
        select case r.state
                 when 'pending' then true
                 when 'claimed' then r.lease_expires_at <= clock()
                                     and r.attempt < r.max_attempts
                 when 'failed' then r.next_retry_at is not null and r.next_retry_at <= clock()
                                    and r.attempt < r.max_attempts
                 else false
               end as is_claimable
        offset 0) f
 cross join lateral (
        select case when r.has_policy and f.is_claimable
                    then look_under_lock(r.queue_id, r.id, %(expected)s) end as v
        offset 0) l
 where r.id = %(todo_id)s;

-- name: read_used
-- Its own statement, under the policy's lock, when the window was not the one we expected. No row
-- means 0.
select w.used
  from admission_windows w
 where w.policy_id = %(policy_id)s and w.window_start = %(window_start)s;
