-- When a credential was last used: at most one write a minute, in a statement of its own.

-- name: mark_endpoint_seen
-- The condition stands here again: of many calls that read a stale stamp, one writes.
update endpoints
   set last_seen_at = clock()
 where id = %(endpoint_id)s
   and (last_seen_at is null or last_seen_at < clock() - interval '60 seconds');

-- name: mark_token_used
-- An operator token or an OAuth grant; the same rule as for an endpoint.
update oauth_tokens
   set last_used_at = clock()
 where token_hash = %(token_hash)s
   and (last_used_at is null or last_used_at < clock() - interval '60 seconds');

-- name: mark_session_used
-- Slides the end to 12 hours from now, never past 30 days after sign-in.
update sessions
   set expires_at = least(clock() + interval '12 hours', created_at + interval '30 days')
 where token_hash = %(token_hash)s
   and expires_at > clock()
   and expires_at < least(clock() + interval '12 hours', created_at + interval '30 days')
                    - interval '60 seconds';
