-- What a form offers a person of their teams; a verb asks again when the form is sent.

-- name: read_administered
-- The teams for which the human may vend; a suspended one is in nobody's reach.
select t.slug
  from team_roles r
  join teams t on t.id = r.team_id
 where r.human_id = %(human_id)s and r.role in ('owner', 'admin')
 order by t.slug;

-- name: read_reachable
-- Team queues that an endpoint drains or could: of any team of the human's for an endpoint of their
-- own, of the owning team alone for a team's, and then for its admins only. With what it holds.
select q.id as queue_id, t.slug as team, q.name, 'team:' || t.slug || '/' || q.name as queue,
       exists (select 1 from endpoint_team_grants g
                where g.endpoint_id = e.id and g.queue_id = q.id) as is_granted,
       (select count(*) from todos d
         where d.queue_id = q.id and d.state = 'claimed'
           and d.claimed_by_endpoint_id = e.id) as held
  from human_endpoints h
  join endpoints e on e.id = h.endpoint_id
  join agents a on a.id = e.agent_id
  join team_roles r on r.human_id = h.human_id
  join teams t on t.id = r.team_id
  join queues q on q.team_id = t.id
 where h.human_id = %(human_id)s and e.id = %(endpoint_id)s and h.role in ('owner', 'admin')
   and (a.owner_team_id = t.id or a.owner_human_id = h.human_id)
 order by t.slug, q.name;

-- name: read_targets
-- Team queues a webhook of one of the human's active endpoints may deliver to: their role allows
-- it, and the endpoint's owner reaches the team.
select distinct 'team:' || t.slug || '/' || q.name as queue
  from team_roles r
  join teams t on t.id = r.team_id
  join queues q on q.team_id = t.id
  join human_endpoints h on h.human_id = r.human_id and h.role in ('owner', 'admin')
  join endpoints e on e.id = h.endpoint_id and e.state = 'active'
   and (e.expires_at is null or e.expires_at > (select clock()))
  join agents a on a.id = e.agent_id
   and (a.owner_team_id = t.id or a.owner_human_id = r.human_id)
 where r.human_id = %(human_id)s
   and (r.role in ('owner', 'admin') or t.members_create_webhooks)
 order by queue;
