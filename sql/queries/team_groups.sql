-- Memberships that come from groups of the sign-in provider.

-- name: lock_links
-- Links change alone: no sign-in is half through that does not know them.
select pg_advisory_xact_lock(%(key)s);

-- name: lock_links_shared
-- Sign-ins go beside each other, and never beside a change of the links.
select pg_advisory_xact_lock_shared(%(key)s);

-- name: read_is_held
-- The groups of the human's own last sign-in.
select exists (select 1 from humans h
                where h.id = %(human_id)s and %(group)s = any (h.oidc_groups)) as is_held;

-- name: insert_link
-- No row when the group is linked to this team already.
insert into team_group_links (id, team_id, group_name, role)
values (%(id)s, %(team_id)s, %(group)s, %(role)s)
    on conflict (team_id, group_name) do nothing
returning id, group_name as "group", role;

-- name: delete_link
-- Of this team only.
delete from team_group_links
 where id = %(id)s and team_id = %(team_id)s
returning id, group_name as "group", role;

-- name: read_due_of_human
-- Every team where the membership by group is not what the links and the given groups make it.
-- No link names an owner, so the strongest is admin if any is.
select coalesce(w.team_id, m.team_id) as team_id, %(human_id)s::uuid as human_id, w.role
  from (select l.team_id,
               case when bool_or(l.role = 'admin') then 'admin' else 'member' end as role
          from team_group_links l
         where l.group_name = any (%(groups)s::text[])
         group by l.team_id) w
  full join (select t.team_id, t.role
               from team_members t
              where t.human_id = %(human_id)s and t.source = 'oidc_group') m
    on m.team_id = w.team_id
 where w.role is distinct from m.role
 order by 1;

-- name: read_due_in_team
-- The same for everybody in one team, by the groups of their last sign-in.
select coalesce(w.human_id, m.human_id) as human_id, %(team_id)s::uuid as team_id, w.role
  from (select h.id as human_id,
               case when bool_or(l.role = 'admin') then 'admin' else 'member' end as role
          from team_group_links l
          join humans h on l.group_name = any (h.oidc_groups)
         where l.team_id = %(team_id)s
         group by h.id) w
  full join (select t.human_id, t.role
               from team_members t
              where t.team_id = %(team_id)s and t.source = 'oidc_group') m
    on m.human_id = w.human_id
 where w.role is distinct from m.role
 order by 1;

-- name: lock_teams
-- In id order, before any todo.
select t.id
  from teams t
 where t.id = any (%(team_ids)s)
 order by t.id
   for no key update;

-- name: upsert_member
-- The row a group gives; what a person gave stands beside it.
insert into team_members (team_id, human_id, source, role)
values (%(team_id)s, %(human_id)s, 'oidc_group', %(role)s)
    on conflict (team_id, human_id, source) do update set role = excluded.role;
