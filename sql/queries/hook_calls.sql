-- Calls to notify hooks: who is owed one, whether it may still be made, and what became of it
-- (contract push.md, "Notify hooks"). They act for nobody and return nothing to a caller.

-- name: read_hooks_of_queues
-- The hooks whose effective queues include these now. Of a team's queue only the hooks of that
-- team's own endpoints: what a member's endpoint drains is not told to the outside.
select h.id as hook_id, g.queue_id as of
  from endpoint_queues g
  join queues q on q.id = g.queue_id
  join notify_hooks h on h.endpoint_id = g.endpoint_id and h.enabled
   and (cardinality(h.queues) = 0 or g.queue = any (h.queues))
  join endpoints e on e.id = h.endpoint_id
  join agents a on a.id = e.agent_id
 where g.queue_id = any (%(queue_ids)s::bigint[])
   and (q.team_id is null or a.owner_team_id = q.team_id)
 order by h.created_at, h.id;

-- name: read_hooks_of_endpoints
-- Who is told of a backlog; a hook that ignores presence was told of each todo as it came.
select h.id as hook_id, h.endpoint_id as of
  from notify_hooks h
 where h.endpoint_id = any (%(endpoint_ids)s::uuid[]) and h.enabled and not h.ignore_presence
 order by h.created_at, h.id;

-- name: read_hook
-- A hook that is on, of an endpoint that is alive, with what its presence is made of.
select h.id, h.url, h.queues, h.secret,
       case when h.prev_secret_expires_at > clock() then h.prev_secret end as previous_secret,
       h.ignore_presence, e.slug, e.shift, e.presence_override, e.override_until, e.override_by,
       e.override_set_at
  from notify_hooks h
  join endpoints e on e.id = h.endpoint_id
 where h.id = %(hook_id)s and h.enabled and e.state = 'active'
   and (e.expires_at is null or e.expires_at > clock());

-- name: read_todo
-- What a hook is told of a todo, while that waits in a queue the hook is told of.
select t.id as todo_id, g.queue, t.title, t.kind, t.source, t.attempt, g.has_policy
  from notify_hooks h
  join endpoint_queues g on g.endpoint_id = h.endpoint_id and g.queue_id = %(queue_id)s
   and (cardinality(h.queues) = 0 or g.queue = any (h.queues))
  join queues q on q.id = g.queue_id
  join endpoints e on e.id = h.endpoint_id
  join agents a on a.id = e.agent_id
  join todos t on t.id = %(todo_id)s and t.queue_id = g.queue_id and t.state = 'pending'
 where h.id = %(hook_id)s and (q.team_id is null or a.owner_team_id = q.team_id);

-- name: mark_token_taken
-- 120 a minute over all processes: one statement refills, takes and answers. No row, no token.
update notify_hooks h
   set rate_tokens = least(120, h.rate_tokens
         + 2 * greatest(0, extract(epoch from clock() - h.rate_refilled_at))) - 1,
       rate_refilled_at = clock()
 where h.id = %(hook_id)s and h.enabled
   and least(120, h.rate_tokens
         + 2 * greatest(0, extract(epoch from clock() - h.rate_refilled_at))) >= 1;

-- name: mark_tried
-- An attempt that will be repeated; only the last one of a delivery counts for its health.
update notify_hooks h
   set last_attempt_at = clock(), last_status = %(status)s, last_error = %(failure)s
 where h.id = %(hook_id)s;

-- name: mark_delivered
-- One success forgives all failures before it.
update notify_hooks h
   set last_attempt_at = clock(), last_status = %(status)s, last_error = null,
       consecutive_failures = 0
 where h.id = %(hook_id)s;

-- name: mark_failed
-- One statement counts and decides, so that of many failures at once one switches the hook off.
update notify_hooks h
   set last_attempt_at = clock(), last_status = %(status)s, last_error = %(failure)s,
       consecutive_failures = h.consecutive_failures + 1,
       enabled = h.enabled and h.consecutive_failures + 1 < %(most)s,
       disabled_reason = case when h.enabled and h.consecutive_failures + 1 >= %(most)s
                              then 'consecutive_failures' else h.disabled_reason end,
       disabled_at = case when h.enabled and h.consecutive_failures + 1 >= %(most)s
                          then clock() else h.disabled_at end
 where h.id = %(hook_id)s
returning h.disabled_reason is not distinct from 'consecutive_failures'
          and h.consecutive_failures = %(most)s as is_disabled_now;
