-- Notify hooks as their endpoint and its owner see them. No secret is read.

-- name: read_hooks_of_endpoint
-- Oldest first, as they were made.
select h.id, h.url, h.queues, h.ignore_presence, h.enabled, h.disabled_reason, h.disabled_at,
       h.consecutive_failures, h.last_status, h.last_error, h.last_attempt_at, h.created_at,
       h.rotated_at
  from notify_hooks h
 where h.endpoint_id = %(endpoint_id)s
 order by h.created_at, h.id;

-- name: read_hooks_of_human
-- The same for who may configure the endpoint; for anybody else no row.
select h.id, h.url, h.queues, h.ignore_presence, h.enabled, h.disabled_reason, h.disabled_at,
       h.consecutive_failures, h.last_status, h.last_error, h.last_attempt_at, h.created_at,
       h.rotated_at
  from notify_hooks h
  join human_endpoints m on m.endpoint_id = h.endpoint_id
 where h.endpoint_id = %(endpoint_id)s and m.human_id = %(human_id)s
   and m.role in ('owner', 'admin')
 order by h.created_at, h.id;
