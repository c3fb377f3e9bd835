-- Invites to a team. What is stored of a link is its hash.

-- name: insert_invite
-- No row when the same form has made it already.
insert into team_invites (id, team_id, email_lower, role, token_sha256, created_by, expires_at)
values (%(id)s, %(team_id)s, %(email)s, %(role)s, %(token_sha256)s, %(human_id)s,
        clock() + interval '7 days')
    on conflict (token_sha256) do nothing;

-- name: read_minted
-- In its own statement: the one just made, or the one the form made before.
select i.id, i.email_lower as email, i.role, i.expires_at
  from team_invites i
 where i.token_sha256 = %(token_sha256)s and i.team_id = %(team_id)s
   and i.created_by = %(human_id)s and i.revoked_at is null;

-- name: read_invite
-- Of this team only.
select i.id, i.email_lower as email from team_invites i where i.id = %(id)s and i.team_id = %(team_id)s;

-- name: read_is_accepted
-- The team's row is held, so nobody accepts it between this look and the revocation.
select i.accepted_at is not null from team_invites i
 where i.id = %(id)s and i.team_id = %(team_id)s;

-- name: mark_revoked
-- Once; an expired one too, so that the list says so.
update team_invites
   set revoked_at = clock()
 where id = %(id)s and team_id = %(team_id)s and revoked_at is null and accepted_at is null;

-- name: lock_accepter
-- Before the team: whoever counts a human's teams holds the human first.
select h.id from humans h where h.id = %(human_id)s for no key update;

-- name: lock_invited_team
-- Accepting comes one after the other with every other change of the team.
select t.id, t.slug
  from team_invites i
  join teams t on t.id = i.team_id and t.suspended_at is null
 where i.token_sha256 = %(token_sha256)s
   for no key update of t;

-- name: mark_accepted
-- The conditions are the lock: of many accepts one finds it live. Its maker must still be able to
-- give the role.
update team_invites i
   set accepted_at = clock(), accepted_by_human_id = %(human_id)s
 where i.token_sha256 = %(token_sha256)s and i.accepted_at is null and i.revoked_at is null
   and i.expires_at > (select clock())
   and exists (select 1 from backed_invites b where b.invite_id = i.id)
returning i.id, i.email_lower as email, i.role;

-- name: read_roles
-- The role a person gave, and the strongest of all.
select max(m.role) filter (where m.source = 'manual') as manual,
       (array_agg(m.role order by array_position(array['owner', 'admin', 'member'], m.role)))[1]
         as strongest
  from team_members m
 where m.team_id = %(team_id)s and m.human_id = %(human_id)s
having count(*) > 0;

-- name: read_live
-- The same conditions as accepting, without taking anything.
select t.display_name, i.role
  from team_invites i
  join teams t on t.id = i.team_id and t.suspended_at is null
 where i.token_sha256 = %(token_sha256)s and i.accepted_at is null and i.revoked_at is null
   and i.expires_at > (select clock())
   and exists (select 1 from backed_invites b where b.invite_id = i.id);

-- name: read_joined
-- For a link that its own user sends again, while they are in the team.
select t.slug
  from team_invites i
  join teams t on t.id = i.team_id
  join team_roles r on r.team_id = i.team_id and r.human_id = i.accepted_by_human_id
 where i.token_sha256 = %(token_sha256)s and i.accepted_by_human_id = %(human_id)s;
