-- Whom a start on a terminal prints a sign-in link for.

-- name: read_first_human
-- The one the first start made, or whoever came first; id decides between two of one instant.
select id, display_name, email
  from humans
 where suspended_at is null
 order by created_at, id
 limit 1;
