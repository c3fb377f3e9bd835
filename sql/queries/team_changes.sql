-- What every change of a team needs: its row held, its people, its record.

-- name: lock_team
-- Who is outside locks nothing. Not against a key share: a new queue or todo does not wait.
select t.id
  from teams t
 where (t.slug = %(ref)s or t.id = %(ref_id)s)
   and exists (select 1 from team_roles r
                where r.team_id = t.id and r.human_id = %(human_id)s)
   for no key update of t;

-- name: read_locked_team
-- In its own statement after the lock: what was waited for has changed name or role by now.
select t.id, t.slug, t.display_name, t.members_create_webhooks, false as is_suspended, r.role
  from teams t
  join team_roles r on r.team_id = t.id and r.human_id = %(human_id)s
 where t.slug = %(ref)s or t.id = %(ref_id)s;

-- name: read_member
-- One row however many sources; the caller has shown to be in the team.
select m.human_id, h.display_name, m.role, m.source,
       exists (select 1 from team_members g
                where g.team_id = m.team_id and g.human_id = m.human_id
                  and g.source = 'oidc_group') as by_group
  from team_members m
  join humans h on h.id = m.human_id
 where m.team_id = %(team_id)s and m.human_id = %(human_id)s
 order by array_position(array['owner', 'admin', 'member'], m.role), m.source
 limit 1;

-- name: read_has_other_owner
-- A suspended human runs nothing, so they do not count.
select exists (select 1
                 from team_members m
                 join humans h on h.id = m.human_id and h.suspended_at is null
                where m.team_id = %(team_id)s and m.role = 'owner'
                  and m.human_id <> %(human_id)s) as has_other;

-- name: upsert_member
-- What a person gave; what a group gives stands in a row of its own.
insert into team_members (team_id, human_id, source, role)
values (%(team_id)s, %(human_id)s, 'manual', %(role)s)
    on conflict (team_id, human_id, source) do update set role = excluded.role;

-- name: lock_human
-- The count below stays true until the commit.
select h.id
  from humans h
 where h.id = %(human_id)s
   for no key update;

-- name: count_joined
-- In its own statement after the lock.
select count(*)
  from team_members m
 where m.human_id = %(human_id)s and m.source = 'manual';

-- name: append_audit
-- Never changed and never deleted: it outlives the team.
insert into operator_audit (team_id, actor_human_id, action, detail)
values (%(team_id)s, %(actor_id)s, %(action)s, %(detail)s);
