-- What a person sets for themselves.

-- name: mark_preferences
-- A person sets only their own; the caller is the row.
update humans
   set zone = %(zone)s, theme = %(theme)s, announce = %(announce)s
 where id = %(human_id)s and suspended_at is null;

-- name: mark_zone
-- The condition makes it an offer: a zone that was chosen is never replaced by a browser's.
update humans h
   set zone = %(zone)s
  from sessions s
 where s.token_hash = %(token_hash)s and s.expires_at > clock()
   and h.id = s.human_id and h.zone is null and h.suspended_at is null;
