-- The pages of endpoints, for one viewer: the viewer's id is in every statement.

-- name: read_seen_endpoints
-- Members see their team's endpoints too; newest first, those that still work before the others.
select e.id, e.slug, a.name as agent_name, t.slug as team, h.role in ('owner', 'admin')
         as may_configure, e.scope_queues as queues, e.expires_at, e.last_seen_at,
       case when e.state = 'active' and e.expires_at <= clock() then 'revoked'
            else e.state end as state
  from human_endpoints h
  join endpoints e on e.id = h.endpoint_id
  join agents a on a.id = e.agent_id
  left join teams t on t.id = a.owner_team_id
 where h.human_id = %(human_id)s
 order by (e.state = 'active' and (e.expires_at is null or e.expires_at > clock())) desc,
          e.created_at desc, e.id desc;

-- name: read_endpoint
-- The grant in full; foreign and unknown are both no row.
select e.id, e.slug, a.name as agent_name, t.slug as team, h.role in ('owner', 'admin')
         as may_configure, v.display_name as vended_by, e.scope_verbs as verbs,
       e.scope_queues as queues, e.credential_prefix, e.created_at, e.revoked_at, e.expires_at,
       e.last_seen_at, e.default_lease_ttl_seconds, e.webhook_max, e.webhook_source_types,
       e.webhook_queues,
       case when e.state = 'active' and e.expires_at <= clock() then 'revoked'
            else e.state end as state
  from human_endpoints h
  join endpoints e on e.id = h.endpoint_id
  join agents a on a.id = e.agent_id
  join humans v on v.id = e.vended_by_human_id
  left join teams t on t.id = a.owner_team_id
 where h.human_id = %(human_id)s and e.id = %(endpoint_id)s;

-- name: read_queues
-- The endpoint's own queues, and those of teams it was granted and the viewer may see.
select q.id, case when t.id is null then q.name else 'team:' || t.slug || '/' || q.name end as name,
       t.id is not null as is_team,
       t.id is not null or q.name = any (e.scope_queues) as is_granted
  from human_queues h
  join queues q on q.id = h.queue_id
  join endpoints e on e.id = %(endpoint_id)s
  left join teams t on t.id = q.team_id
 where h.human_id = %(human_id)s
   and (q.endpoint_id = %(endpoint_id)s
        or q.id in (select g.queue_id from endpoint_team_grants g
                     where g.endpoint_id = %(endpoint_id)s))
 order by t.slug nulls first, q.id;

-- name: read_held
-- What the endpoint has claimed and not finished, by the index of claimed todos of each queue.
select d.id, d.title, d.lease_expires_at,
       case when t.id is null then q.name else 'team:' || t.slug || '/' || q.name end as queue
  from human_queues h
  join queues q on q.id = h.queue_id
  join todos d on d.queue_id = q.id and d.state = 'claimed'
  left join teams t on t.id = q.team_id
 where h.human_id = %(human_id)s and d.claimed_by_endpoint_id = %(endpoint_id)s
 order by d.lease_expires_at, d.id
 limit 51;

-- name: read_ending
-- What a revoke would end now, state by state, each by its own index.
select (select count(*) from todos d join queues q on q.id = d.queue_id
         where q.endpoint_id = h.endpoint_id and d.state = 'pending') as pending,
       (select count(*) from todos d join queues q on q.id = d.queue_id
         where q.endpoint_id = h.endpoint_id and d.state = 'claimed') as claimed,
       (select count(*) from todos d join queues q on q.id = d.queue_id
         where q.endpoint_id = h.endpoint_id and d.state = 'failed'
           and d.next_retry_at is not null) as parked,
       (select count(*) from endpoint_team_grants g
          join todos d on d.queue_id = g.queue_id and d.state = 'claimed'
         where g.endpoint_id = h.endpoint_id
           and d.claimed_by_endpoint_id = h.endpoint_id) as team_held
  from human_endpoints h
 where h.human_id = %(human_id)s and h.endpoint_id = %(endpoint_id)s
   and h.role in ('owner', 'admin');
