-- The pause of live updates, kept with the session so that it survives every navigation.

-- name: mark_live_paused
-- A second click must not move the time the page names.
update sessions
   set live_paused_at = coalesce(live_paused_at, clock())
 where token_hash = %(token_hash)s;

-- name: mark_live_resumed
-- Null says that the session is live.
update sessions
   set live_paused_at = null
 where token_hash = %(token_hash)s;
