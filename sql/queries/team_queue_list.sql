-- A team's queues as its members see them, and which team queues an endpoint was granted. The
-- viewer's id is in every statement.

-- name: list_queues
-- By name; who drains is who may claim there now, by grant and by the owner's live reach.
select q.id, q.name, 'team:' || t.slug || '/' || q.name as queue, q.has_policy,
       coalesce(d.ids, '{}') as endpoint_ids, coalesce(d.slugs, '{}') as endpoint_slugs
  from team_roles r
  join teams t on t.id = r.team_id
  join queues q on q.team_id = r.team_id
  left join lateral (
       select array_agg(e.id order by e.slug) as ids, array_agg(e.slug order by e.slug) as slugs
         from endpoint_queues g
         join endpoints e on e.id = g.endpoint_id
        where g.queue_id = q.id) d on true
 where r.human_id = %(human_id)s and r.team_id = %(team_id)s
 order by q.name;

-- name: read_queue
-- The same of one queue, by its name.
select q.id, q.name, 'team:' || t.slug || '/' || q.name as queue, q.has_policy,
       coalesce(d.ids, '{}') as endpoint_ids, coalesce(d.slugs, '{}') as endpoint_slugs
  from team_roles r
  join teams t on t.id = r.team_id
  join queues q on q.team_id = r.team_id
  left join lateral (
       select array_agg(e.id order by e.slug) as ids, array_agg(e.slug order by e.slug) as slugs
         from endpoint_queues g
         join endpoints e on e.id = g.endpoint_id
        where g.queue_id = q.id) d on true
 where r.human_id = %(human_id)s and r.team_id = %(team_id)s and q.name = %(name)s;

-- name: read_endpoint_id
-- By slug or id, only what the human may configure; a revoked one can be read still.
select e.id
  from human_endpoints h
  join endpoints e on e.id = h.endpoint_id
 where h.human_id = %(human_id)s and h.role in ('owner', 'admin')
   and (e.slug = %(ref)s or e.id = %(ref_id)s);

-- name: list_grants
-- Only teams the viewer is in: a grant that a lost membership put to sleep names nothing.
select q.id, 'team:' || t.slug || '/' || q.name as queue
  from human_endpoints h
  join endpoint_team_grants g on g.endpoint_id = h.endpoint_id
  join queues q on q.id = g.queue_id
  join teams t on t.id = q.team_id
  join team_roles r on r.team_id = q.team_id and r.human_id = h.human_id
 where h.human_id = %(human_id)s and h.endpoint_id = %(endpoint_id)s
   and h.role in ('owner', 'admin')
 order by queue;
