-- name: read_by_id_or_name
-- Two rows are enough to know that a name is not one person's; an id comes first and alone decides.
select id, display_name, email
  from humans
 where id = %(id)s or display_name = %(name)s
 order by (id = %(id)s) desc nulls last, created_at, id
 limit 2;
