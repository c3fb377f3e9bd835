-- What was charged beside what was marked, for whoever holds the server's database.

-- name: read_queue
-- One queue by its owner and name, whether or not it still has a policy.
select q.id
  from queues q
  left join endpoints e on e.id = q.endpoint_id
  left join teams m on m.id = q.team_id
 where q.name = %(queue)s
   and (e.slug = %(slug)s or e.id = %(endpoint_id)s or m.slug = %(team)s);

-- name: read_pruned_through
-- Attempts charged to a window that began by then may be gone.
select s.value
  from settings s
 where s.key = 'attempts_pruned_through';

-- name: read_charges
-- One statement, so that units and marks are of one moment while claims go on. From both sides: a
-- window without marks and marks without a window are faults as well. Past 35 days, and up to where
-- attempts were pruned, marks may be missing rightly (R62).
select case when m.slug is not null then 'team:' || m.slug else 'endpoint:' || e.slug end as scope,
       q.name as queue, c.policy_id, c.window_start, sum(c.used)::int as used,
       sum(c.marked)::int as marked
  from (select w.policy_id, w.window_start, w.used, 0 as marked
          from admission_windows w
         union all
        select a.charged_policy_id, a.charged_window_start, 0, 1
          from todo_attempts a
         where a.charged_policy_id is not null) c
  left join admission_policies p on p.id = c.policy_id
  left join queues q on q.id = p.queue_id
  left join endpoints e on e.id = q.endpoint_id
  left join teams m on m.id = q.team_id
 where c.window_start > (select clock() - interval '35 days')
   and c.window_start > coalesce(
         (select s.value from settings s where s.key = 'attempts_pruned_through'),
         '-infinity')::timestamptz
   and (%(queue_id)s::bigint is null or p.queue_id = %(queue_id)s)
 group by m.slug, e.slug, q.name, c.policy_id, c.window_start
 order by scope, queue, c.window_start, c.policy_id;
