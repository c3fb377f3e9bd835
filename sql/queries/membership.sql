-- The end of a membership: the todos it holds locked first, in id order, then the rows it lived by.

-- name: lock_held_todos
-- Team todos under leases of the human's own endpoints or taken by hand, and todos of the team's
-- endpoints taken by hand. In id order and waiting: none may slip by.
select t.id, t.queue_id
  from todos t
 where t.id in (
       select h.id
         from queues q
         join todos h on h.queue_id = q.id and h.state = 'claimed'
        where q.team_id = %(team_id)s
          and (h.owner = %(owner)s
               or h.claimed_by_endpoint_id in (
                  select e.id from agents a join endpoints e on e.agent_id = a.id
                   where a.owner_human_id = %(human_id)s))
       union all
       select h.id
         from agents a
         join endpoints e on e.agent_id = a.id
         join queues q on q.endpoint_id = e.id
         join todos h on h.queue_id = q.id and h.state = 'claimed'
        where a.owner_team_id = %(team_id)s and h.owner = %(owner)s)
 order by t.id
   for update of t;

-- name: delete_membership
-- One source's row; another source may keep the human in the team.
delete from team_members
 where team_id = %(team_id)s and human_id = %(human_id)s and source = %(source)s;

-- name: read_is_member
-- In its own statement after the delete.
select exists (select 1
                 from team_members
                where team_id = %(team_id)s and human_id = %(human_id)s) as is_member;

-- name: mark_held_released
-- Back to the team, no attempt spent; what changed hands while its lock was waited for is spared.
update todos t
   set state = 'pending', owner = null, lease_expires_at = null,
       claimed_by_endpoint_id = null, updated_at = clock()
 where t.id = any (%(ids)s) and t.state = 'claimed'
   and (t.owner = %(owner)s
        or t.claimed_by_endpoint_id in (
           select e.id from agents a join endpoints e on e.agent_id = a.id
            where a.owner_human_id = %(human_id)s))
returning t.id, t.queue_id;
