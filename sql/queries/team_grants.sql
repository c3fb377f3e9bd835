-- Which endpoints drain which team queues. The team's row is held by then: grants, removals of
-- members and deletions of queues of one team come one after the other.

-- name: read_owner_reaches
-- The endpoint's owner, not the caller, is who will be claiming: the team itself, or a member.
select exists (
  select 1
    from endpoints e
    join agents a on a.id = e.agent_id
   where e.id = %(endpoint_id)s
     and (a.owner_team_id = %(team_id)s
          or exists (select 1 from team_roles r
                      where r.team_id = %(team_id)s and r.human_id = a.owner_human_id)));

-- name: insert_grant
-- Granting twice is one grant.
insert into endpoint_team_grants (endpoint_id, queue_id)
values (%(endpoint_id)s, %(queue_id)s)
    on conflict (endpoint_id, queue_id) do nothing;

-- name: lock_held_todos
-- What the endpoint holds of the queue, in id order and waiting: none may slip by.
select t.id
  from todos t
 where t.queue_id = %(queue_id)s and t.state = 'claimed'
   and t.claimed_by_endpoint_id = %(endpoint_id)s
 order by t.id
   for update of t;

-- name: delete_grant
-- Taking away what is not there is no error.
delete from endpoint_team_grants
 where endpoint_id = %(endpoint_id)s and queue_id = %(queue_id)s;

-- name: mark_held_released
-- Back to the team, no attempt spent; what changed hands while its lock was waited for is spared.
update todos t
   set state = 'pending', owner = null, lease_expires_at = null,
       claimed_by_endpoint_id = null, updated_at = clock()
 where t.id = any (%(ids)s) and t.state = 'claimed'
   and t.claimed_by_endpoint_id = %(endpoint_id)s
returning t.id;
