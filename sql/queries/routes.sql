-- Routes: other endpoints that get a copy of what a webhook receives.

-- name: read_route_target
-- An active endpoint the caller may configure, and whether the webhook's owner reaches it.
select e.id,
       (o.owner_human_id = a.owner_human_id or o.owner_team_id = a.owner_team_id
        or exists (select 1 from team_roles r
                    where r.team_id = a.owner_team_id and r.human_id = o.owner_human_id)
       ) is true as is_in_reach
  from human_endpoints h
  join endpoints e on e.id = h.endpoint_id
  join agents a on a.id = e.agent_id,
       endpoints w
  join agents o on o.id = w.agent_id
 where h.human_id = %(human_id)s and h.role in ('owner', 'admin')
   and (e.slug = %(ref)s or e.id = %(ref_id)s)
   and e.state = 'active' and (e.expires_at is null or e.expires_at > clock())
   and w.id = %(owner_endpoint_id)s;

-- name: insert_route
-- Adding twice is one route, granted when it was first.
insert into webhook_routes (webhook_id, target_endpoint_id, granted_by_human_id)
values (%(webhook_id)s, %(target_id)s, %(human_id)s)
on conflict (webhook_id, target_endpoint_id) do nothing;

-- name: delete_route
-- Removing what is not there is no error.
delete from webhook_routes
 where webhook_id = %(webhook_id)s and target_endpoint_id = %(target_id)s;
