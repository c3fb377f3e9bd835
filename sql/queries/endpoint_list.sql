-- What a human may configure: own endpoints and agents, and those of teams they administer.

-- name: read_endpoints
-- Expired counts as revoked before the sweep has said so.
select e.id, e.slug, a.name as agent_name,
       case when e.state = 'revoked' or e.expires_at <= clock() then 'revoked'
            else 'active' end as state,
       e.scope_queues as queues, e.scope_verbs as verbs, e.expires_at,
       e.default_lease_ttl_seconds
  from human_endpoints h
  join endpoints e on e.id = h.endpoint_id
  join agents a on a.id = e.agent_id
 where h.human_id = %(human_id)s and h.role in ('owner', 'admin')
 order by e.created_at desc, e.id desc;

-- name: read_endpoint
-- By slug or id, only what the human may configure.
select e.id, e.slug, a.name as agent_name,
       case when e.state = 'revoked' or e.expires_at <= clock() then 'revoked'
            else 'active' end as state,
       e.scope_queues as queues, e.scope_verbs as verbs, e.expires_at,
       e.default_lease_ttl_seconds
  from human_endpoints h
  join endpoints e on e.id = h.endpoint_id
  join agents a on a.id = e.agent_id
 where h.human_id = %(human_id)s and h.role in ('owner', 'admin')
   and (e.slug = %(ref)s or e.id = %(ref_id)s);

-- name: read_agents
-- Own agents, and those of teams where the human is admin or owner.
select a.id, a.name, a.description
  from agents a
 where a.owner_human_id = %(human_id)s
    or exists (select 1 from team_roles r
                where r.team_id = a.owner_team_id and r.human_id = %(human_id)s
                  and r.role in ('owner', 'admin'))
 order by a.name, a.id;
