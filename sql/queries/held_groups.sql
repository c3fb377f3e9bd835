-- name: read_held_groups
-- Of the human's own row: a link may only name a group they came with themselves.
select coalesce(h.oidc_groups, '{}') as groups
  from humans h
 where h.id = %(human_id)s;
