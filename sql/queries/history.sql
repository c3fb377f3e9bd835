-- The record of a queue's policy changes, read after a look at whether the human may read it.

-- name: count_changes
-- Every record: they survive a clear and are never pruned.
select count(*)
  from admission_policy_audit c
 where c.queue_id = %(queue_id)s;

-- name: read_changes
-- Newest first; people and endpoints by the names they have today, NULL when they are gone.
select c.at, c.action, c.actor_human_id as human_id, h.display_name as human_name,
       c.actor_endpoint_id as endpoint_id, e.slug as endpoint_slug, c.before, c.after, c.reason
  from admission_policy_audit c
  left join humans h on h.id = c.actor_human_id
  left join endpoints e on e.id = c.actor_endpoint_id
 where c.queue_id = %(queue_id)s
 order by c.at desc, c.id desc
 limit %(limit)s offset %(offset)s;
