-- Notify hooks: made, rotated, deleted by their endpoint; switched by who may configure it.

-- name: lock_endpoint
-- The ceiling is counted under this lock, so two creates never both take the last place. No key
-- update: deliveries and claims that refer to the endpoint do not wait.
select case when e.state = 'revoked' or e.expires_at <= clock() then 'revoked'
            else 'active' end as state
  from endpoints e
 where e.id = %(endpoint_id)s
   for no key update;

-- name: read_reach
-- The queues it drains now, as callers write them.
select g.queue
  from endpoint_queues g
 where g.endpoint_id = %(endpoint_id)s;

-- name: read_count
-- Its own statement after the lock: a fresh snapshot is the point.
select count(*) from notify_hooks where endpoint_id = %(endpoint_id)s;

-- name: insert_hook
-- Judged and counted by the statements before.
insert into notify_hooks (id, endpoint_id, url, secret, queues, ignore_presence)
values (%(id)s, %(endpoint_id)s, %(url)s, %(secret)s, %(queues)s, %(ignore_presence)s);

-- name: mark_rotated
-- The secret of now is good for another day beside the new one. A rotation switches the hook on
-- again: whoever rotates is there to mend it. Another endpoint's hook is no row.
update notify_hooks h
   set prev_secret = h.secret, prev_secret_expires_at = clock() + interval '24 h',
       secret = %(secret)s, rotated_at = clock(),
       enabled = true, disabled_reason = null, disabled_at = null, consecutive_failures = 0
 where h.id = %(hook_id)s and h.endpoint_id = %(endpoint_id)s
returning h.prev_secret_expires_at;

-- name: delete_hook
-- The agent's own; another endpoint's is no row.
delete from notify_hooks h
 where h.id = %(hook_id)s and h.endpoint_id = %(endpoint_id)s
returning h.id;

-- name: lock_hook_of_human
-- A hook of an endpoint the human may configure; foreign and unknown are no row.
select h.id, h.enabled,
       case when e.state = 'revoked' or e.expires_at <= clock() then 'revoked'
            else 'active' end as state
  from notify_hooks h
  join endpoints e on e.id = h.endpoint_id
 where h.id = %(hook_id)s and h.endpoint_id = %(endpoint_id)s
   and exists (select 1 from human_endpoints m
                where m.endpoint_id = h.endpoint_id and m.human_id = %(human_id)s
                  and m.role in ('owner', 'admin'))
   for update of h;

-- name: mark_disabled
-- Locked and judged by the statement before.
update notify_hooks
   set enabled = false, disabled_reason = 'operator', disabled_at = clock()
 where id = %(hook_id)s;

-- name: mark_enabled
-- A hook that failed its way out starts with a clean sheet.
update notify_hooks
   set enabled = true, disabled_reason = null, disabled_at = null, consecutive_failures = 0
 where id = %(hook_id)s;

-- name: delete_locked
-- Locked and judged by the statement before.
delete from notify_hooks where id = %(hook_id)s;
