-- The end of memberships: the todos they hold locked first, in id order, then the rows they live by.

-- name: lock_held_todos
-- Team todos under leases of the humans' own endpoints or taken by hand, and todos of the team's
-- endpoints taken by hand. In id order over all of them, and waiting: none may slip by.
select t.id, t.queue_id
  from todos t
 where t.id in (
       select h.id
         from unnest(%(team_ids)s::uuid[], %(human_ids)s::uuid[]) as m (team_id, human_id)
         join queues q on q.team_id = m.team_id
         join todos h on h.queue_id = q.id and h.state = 'claimed'
        where h.owner = 'op:' || m.human_id
           or h.claimed_by_endpoint_id in (
              select e.id from agents a join endpoints e on e.agent_id = a.id
               where a.owner_human_id = m.human_id)
       union all
       select h.id
         from unnest(%(team_ids)s::uuid[], %(human_ids)s::uuid[]) as m (team_id, human_id)
         join agents a on a.owner_team_id = m.team_id
         join endpoints e on e.agent_id = a.id
         join queues q on q.endpoint_id = e.id
         join todos h on h.queue_id = q.id and h.state = 'claimed'
        where h.owner = 'op:' || m.human_id)
 order by t.id
   for update of t;

-- name: delete_memberships
-- Rows of these sources; another source may keep a human in the team.
delete from team_members t
 using unnest(%(team_ids)s::uuid[], %(human_ids)s::uuid[]) as m (team_id, human_id)
 where t.team_id = m.team_id and t.human_id = m.human_id and t.source = any (%(sources)s);

-- name: read_who_is_out
-- In its own statement after the delete: those whom no source keeps.
select m.team_id, m.human_id
  from unnest(%(team_ids)s::uuid[], %(human_ids)s::uuid[]) as m (team_id, human_id)
 where not exists (select 1
                     from team_members t
                    where t.team_id = m.team_id and t.human_id = m.human_id);

-- name: mark_held_released
-- Back to the team, no attempt spent; what changed hands while its lock was waited for is spared.
update todos t
   set state = 'pending', owner = null, lease_expires_at = null,
       claimed_by_endpoint_id = null, updated_at = clock()
  from queues q
  left join endpoints o on o.id = q.endpoint_id
  left join agents b on b.id = o.agent_id
 where t.id = any (%(ids)s) and t.state = 'claimed' and q.id = t.queue_id
   and exists (
       select 1
         from unnest(%(team_ids)s::uuid[], %(human_ids)s::uuid[]) as m (team_id, human_id)
        where m.team_id = coalesce(q.team_id, b.owner_team_id)
          and (t.owner = 'op:' || m.human_id
               or t.claimed_by_endpoint_id in (
                  select e.id from agents a join endpoints e on e.agent_id = a.id
                   where a.owner_human_id = m.human_id)))
returning t.id, t.queue_id;

-- name: read_queues
-- What the humans saw by their memberships: the teams' queues and those of the teams' endpoints.
select q.id
  from queues q
 where q.team_id = any (%(team_ids)s::uuid[])
union all
select q.id
  from agents a
  join endpoints e on e.agent_id = a.id
  join queues q on q.endpoint_id = e.id
 where a.owner_team_id = any (%(team_ids)s::uuid[]);
