-- What a member may know of a team. Every statement says by itself that the asker is in it.

-- name: list_teams
-- The human's own, by any source; a suspended team is listed and answers nothing else.
select t.id, t.slug, t.display_name, t.members_create_webhooks,
       t.suspended_at is not null as is_suspended,
       case when bool_or(m.role = 'owner') then 'owner'
            when bool_or(m.role = 'admin') then 'admin' else 'member' end as role
  from team_members m
  join teams t on t.id = m.team_id
 where m.human_id = %(human_id)s
 group by t.id
 order by t.slug;

-- name: read_team
-- By slug or id, only from inside; suspended, foreign and unknown are one.
select t.id, t.slug, t.display_name, t.members_create_webhooks, false as is_suspended, r.role
  from teams t
  join team_roles r on r.team_id = t.id and r.human_id = %(human_id)s
 where t.slug = %(ref)s or t.id = %(ref_id)s;

-- name: count_parts
-- Humans once each however many sources they have; endpoints that work still.
select (select count(distinct m.human_id) from team_members m where m.team_id = t.id) as members,
       (select count(*) from queues q where q.team_id = t.id) as queues,
       (select count(*) from agents a join endpoints e on e.agent_id = a.id
         where a.owner_team_id = t.id and e.state = 'active'
           and (e.expires_at is null or e.expires_at > clock())) as endpoints
  from teams t
  join team_roles r on r.team_id = t.id and r.human_id = %(human_id)s
 where t.id = %(team_id)s;

-- name: list_members
-- One row a human: of two sources the one with the stronger role, manual when they are equal.
select s.human_id, h.display_name, s.role, s.source,
       exists (select 1 from team_members g
                where g.team_id = %(team_id)s and g.human_id = s.human_id
                  and g.source = 'oidc_group') as by_group
  from (select distinct on (m.human_id) m.human_id, m.role, m.source,
               array_position(array['owner', 'admin', 'member'], m.role) as place
          from team_members m
         where m.team_id = %(team_id)s
         order by m.human_id, place, m.source) s
  join humans h on h.id = s.human_id
 where exists (select 1 from team_roles r
                where r.team_id = %(team_id)s and r.human_id = %(human_id)s)
 order by s.place, h.display_name, s.human_id;

-- name: read_is_only_owner
-- What ends a membership asks the same under its lock: a suspended owner runs nothing.
select exists (select 1 from team_members m
                where m.team_id = %(team_id)s and m.human_id = %(member_id)s and m.role = 'owner')
   and not exists (select 1
                     from team_members m
                     join humans h on h.id = m.human_id and h.suspended_at is null
                    where m.team_id = %(team_id)s and m.role = 'owner'
                      and m.human_id <> %(member_id)s)
       as is_only
 where exists (select 1 from team_roles r
                where r.team_id = %(team_id)s and r.human_id = %(human_id)s);

-- name: list_invites
-- Newest first, the spent ones too; nobody ever sees a token again. Accepting asks the same of the
-- maker's role.
select i.id, i.email_lower as email, i.role, i.created_at, i.expires_at, i.accepted_at,
       i.revoked_at,
       exists (select 1 from backed_invites b where b.invite_id = i.id) as is_backed
  from team_invites i
  join team_roles r on r.team_id = i.team_id and r.human_id = %(human_id)s
 where i.team_id = %(team_id)s and r.role in ('owner', 'admin')
 order by i.created_at desc, i.id desc;

-- name: list_group_links
-- By group, for who sets things up.
select l.id, l.group_name as "group", l.role
  from team_group_links l
  join team_roles r on r.team_id = l.team_id and r.human_id = %(human_id)s
 where l.team_id = %(team_id)s and r.role in ('owner', 'admin')
 order by l.group_name;

-- name: read_own_act
-- What the asker did themselves, a moment ago, so it may be told them outside of the team too.
select exists (select 1
                 from operator_audit o
                where o.team_id = %(team_id)s and o.at > clock() - interval '1 hour'
                  and o.actor_human_id = %(human_id)s and o.action = %(action)s) as was_done;

-- name: list_audit
-- The newest fifty, with whom each is about; who is gone keeps the id and loses the name.
select o.at, o.action, o.actor_human_id, h.display_name as actor_name,
       s.display_name as subject_name, o.detail
  from operator_audit o
  join team_roles r on r.team_id = o.team_id and r.human_id = %(human_id)s
  left join humans h on h.id = o.actor_human_id
  left join humans s on s.id = (o.detail ->> 'human_id')::uuid
 where o.team_id = %(team_id)s and r.role in ('owner', 'admin')
 order by o.at desc, o.id desc
 limit 50;
