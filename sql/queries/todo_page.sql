-- What the page of one todo says beside the todo itself. The viewer's id is in every statement.

-- name: read_place
-- Among the pending todos of its queue, oldest first, as they are picked; no row for a todo that is
-- not pending any more. The numbers are counted together, so a place never exceeds the whole.
select (select count(*)
          from todos p
         where p.queue_id = d.queue_id and p.state = 'pending'
           and (p.created_at, p.id) <= (d.created_at, d.id)) as place,
       (select count(*)
          from todos p
         where p.queue_id = d.queue_id and p.state = 'pending') as pending
  from todos d
 where d.id = %(todo_id)s and d.state = 'pending'
   and exists (select 1
                 from human_queues h
                where h.human_id = %(human_id)s and h.queue_id = d.queue_id);

-- name: read_facts
-- Who holds it, whose queue it is, how often its key was met again, and what the viewer may do.
select h.may_configure, e.slug as endpoint, coalesce(r.n, 0) as repeats, clock() as now,
       coalesce(e.state = 'active' and (e.expires_at is null or e.expires_at > (select clock())),
                true) as is_alive,
       case when left(d.owner, 3) = 'op:'
            then (select p.display_name from humans p where p.id::text = substr(d.owner, 4))
            when left(d.owner, 6) = 'agent:'
            then (select a.name from agents a where a.id::text = substr(d.owner, 7))
        end as owner_name
  from todos d
  join human_queues h on h.queue_id = d.queue_id and h.human_id = %(human_id)s
  left join endpoints e on e.id = d.endpoint_id
  left join todo_repeats r on r.todo_id = d.id
 where d.id = %(todo_id)s
 order by h.may_configure desc;
