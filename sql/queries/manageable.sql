-- Which queue somebody means by an address, if it is one they may give a policy (identity.md, "Who
-- may configure a policy"). A foreign queue and an unknown one are the same no row.

-- name: read_queue_of_human
-- A queue of an own endpoint, or of a team or a team's endpoint where admin or owner.
select q.id as queue_id, q.name as queue,
       case when q.team_id is null then 'endpoint:' || e.slug else 'team:' || m.slug end as scope,
       case when e.state = 'revoked' or e.expires_at <= clock() then 'revoked'
            else 'active' end as state
  from human_queues h
  join queues q on q.id = h.queue_id
  left join endpoints e on e.id = q.endpoint_id
  left join teams m on m.id = q.team_id
 where h.human_id = %(human_id)s and h.may_configure and q.name = %(queue)s
   and ((%(kind)s = 'endpoint' and (e.slug = %(ref)s or e.id = %(ref_id)s))
        or (%(kind)s = 'team' and (m.slug = %(ref)s or m.id = %(ref_id)s)));

-- name: read_queue_of_endpoint
-- A queue the endpoint drains: its own, or one of the team that owns it (R37).
select q.id as queue_id, q.name as queue,
       case when q.team_id is null then 'endpoint:' || e.slug else 'team:' || m.slug end as scope,
       'active' as state
  from endpoint_queues g
  join queues q on q.id = g.queue_id
  join endpoints e on e.id = g.endpoint_id
  join agents a on a.id = e.agent_id
  left join teams m on m.id = q.team_id
 where g.endpoint_id = %(endpoint_id)s and q.name = %(queue)s
   and ((%(kind)s = 'endpoint' and q.endpoint_id = e.id and e.id = %(ref_id)s)
        or (%(kind)s = 'team' and q.team_id = a.owner_team_id
            and (m.slug = %(ref)s or m.id = %(ref_id)s)));
