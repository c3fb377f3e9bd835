-- What an owner reads about policies. Every statement but the first follows a permission look.

-- name: read_with_policy
-- Queues with a policy that the human may configure, as the operator door addresses them.
select q.id as queue_id, q.name as queue,
       case when q.team_id is null then 'endpoint:' || e.slug else 'team:' || m.slug end as scope
  from human_queues h
  join queues q on q.id = h.queue_id
  left join endpoints e on e.id = q.endpoint_id
  left join teams m on m.id = q.team_id
 where h.human_id = %(human_id)s and h.may_configure and q.has_policy
 order by scope, queue;

-- name: read_windows
-- Newest first, of a cleared policy too: its id and windows stay (R14).
select w.window_start, w.used, w.retries, w.takeovers, w.limit_at_last_charge
  from admission_policies p
  join admission_windows w on w.policy_id = p.id
 where p.queue_id = %(queue_id)s
 order by w.window_start desc
 limit %(limit)s;

-- name: read_changes
-- Newest first, whoever made them; people and endpoints by the names they have today.
select c.at, c.action, c.actor_human_id as human_id, h.display_name as human_name,
       c.actor_endpoint_id as endpoint_id, e.slug as endpoint_slug, c.before, c.after, c.reason
  from admission_policy_audit c
  left join humans h on h.id = c.actor_human_id
  left join endpoints e on e.id = c.actor_endpoint_id
 where c.queue_id = %(queue_id)s
 order by c.at desc, c.id desc
 limit %(limit)s;
