-- name: count_repeats
-- In id order, so that two deliveries that meet again never wait for each other in a circle.
insert into todo_repeats as r (todo_id, n)
select d.id, 1
  from todos d
 where d.id = any (%(todo_ids)s::text[])
 order by d.id
    on conflict (todo_id) do update set n = r.n + 1;
