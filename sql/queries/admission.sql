-- What policies say now. Unlocked looks; the claim decides under its own lock, never from these.

-- name: read_names
-- Queues with a policy, as their callers name them. Touches no admission table (R13), so these
-- queues can be named even when the policies cannot be read (R39).
select q.id as queue_id,
       case when q.team_id is null then q.name else 'team:' || m.slug || '/' || q.name end as queue
  from queues q
  left join teams m on m.id = q.team_id
 where q.id = any (%(queue_ids)s::bigint[]) and q.has_policy;

-- name: read_policies
-- Policies with what they are judged by, all by one clock. The count in flight stops past the cap
-- unless it is to be shown; it is 0 when nothing depends on it.
with moment as materialized (
  select clock() as at
)
select p.queue_id, p.id as policy_id, p.revision, p.max_in_flight, p.max_claims_per_window,
       p.window_period, p.window_tz, p.window_start, p.window_weekday,
       c.in_flight, c.earliest_live_lease, m.at
  from moment m
 cross join admission_policies p
 cross join lateral (
         select count(*) as in_flight,
                min(l.lease_expires_at) filter (where l.lease_expires_at > m.at)
                  as earliest_live_lease
           from (select t.lease_expires_at
                   from todos t
                  where t.queue_id = p.queue_id and t.state = 'claimed'
                  limit case when %(counts_all)s then null
                             else coalesce(p.max_in_flight + 1, 0) end) l) c
 where p.queue_id = any (%(queue_ids)s::bigint[]) and p.deleted_at is null;

-- name: read_used
-- Units used in the window each policy is in now; no row means none.
select e.policy_id, coalesce(w.used, 0) as used
  from unnest(%(policy_ids)s::uuid[], %(starts)s::timestamptz[]) as e (policy_id, window_start)
  left join admission_windows w
    on w.policy_id = e.policy_id and w.window_start = e.window_start;

-- name: read_granted
-- The queues an endpoint drains, its own first, each with its plain count of pending todos (R24).
select g.queue_id, g.queue, g.has_policy,
       (select count(*)
          from todos t
         where t.queue_id = g.queue_id and t.state = 'pending') as pending
  from endpoint_queues g
 where g.endpoint_id = %(endpoint_id)s
   and (%(queue_id)s::bigint is null or g.queue_id = %(queue_id)s)
 order by g.team_id is not null, g.queue;
