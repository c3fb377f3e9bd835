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

-- name: read_let_in
-- Whom the new link of a group gives more than they have by group. Nobody else is looked at: who was
-- removed stays out until their own next sign-in, whatever else is linked.
select h.id as human_id, %(team_id)s::uuid as team_id, %(role)s::text as role
  from humans h
  left join team_members m
    on m.team_id = %(team_id)s and m.human_id = h.id and m.source = 'oidc_group'
 where %(group)s = any (h.oidc_groups)
   and (m.human_id is null or (m.role = 'member' and %(role)s = 'admin'))
 order by 1;

-- name: read_let_down
-- Who is in by group and held the one that is linked no longer: the strongest role that the other
-- links give them, null for none. Nobody comes in by this, and nobody rises.
select m.human_id, m.team_id, w.role
  from team_members m
  join humans h on h.id = m.human_id
  cross join lateral (
       select case bool_or(l.role = 'admin') when true then 'admin' when false then 'member' end
                as role
         from team_group_links l
        where l.team_id = m.team_id and l.group_name = any (h.oidc_groups)) w
 where m.team_id = %(team_id)s and m.source = 'oidc_group'
   and %(group)s = any (h.oidc_groups)
   and (w.role is null or (m.role = 'admin' and w.role = 'member'))
 order by 1;

-- name: lock_teams
-- In id order, before any todo.
select t.id
  from teams t
 where t.id = any (%(team_ids)s)
 order by t.id
   for no key update;

-- name: upsert_members
-- The rows a group gives; what a person gave stands beside them. Without a role there is none.
insert into team_members (team_id, human_id, source, role)
select d.team_id, d.human_id, 'oidc_group', d.role
  from unnest(%(team_ids)s::uuid[], %(human_ids)s::uuid[], %(roles)s::text[])
         as d (team_id, human_id, role)
 where d.role is not null
    on conflict (team_id, human_id, source) do update set role = excluded.role;

-- name: append_audits
-- A row of the team's record for each, in their order; never changed and never deleted.
insert into operator_audit (team_id, actor_human_id, action, detail)
select d.team_id, %(actor_id)s,
       case when d.role is null then 'group_member_removed' else 'group_member_set' end,
       jsonb_build_object('human_id', d.human_id, 'role', d.role)
  from unnest(%(team_ids)s::uuid[], %(human_ids)s::uuid[], %(roles)s::text[])
         with ordinality as d (team_id, human_id, role, place)
 order by d.place;
