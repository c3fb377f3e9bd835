-- What a human may configure: asked first by every verb that changes an endpoint.

-- name: read_configurable
-- The endpoint a human may configure: slug or id, own or of a team where admin or owner.
select e.id, e.slug, a.name as agent_name, a.owner_human_id, a.owner_team_id,
       e.scope_queues as queues,
       case when e.state = 'revoked' or e.expires_at <= clock() then 'revoked'
            else 'active' end as state
  from human_endpoints h
  join endpoints e on e.id = h.endpoint_id
  join agents a on a.id = e.agent_id
 where h.human_id = %(human_id)s and h.role in ('owner', 'admin')
   and (e.slug = %(ref)s or e.id = %(ref_id)s);
