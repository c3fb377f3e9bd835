-- What one signed-in human sees: the viewer's id is in every statement.

-- name: read_endpoints
-- Newest last, so that a row keeps its place while others are vended below it.
select e.slug, a.name as agent_name, t.slug as team, e.scope_queues as queues,
       case when e.state = 'active' and e.expires_at <= clock() then 'revoked'
            else e.state end as state,
       e.expires_at, e.last_seen_at
  from human_endpoints h
  join endpoints e on e.id = h.endpoint_id
  join agents a on a.id = e.agent_id
  left join teams t on t.id = a.owner_team_id
 where h.human_id = %(human_id)s
 order by e.created_at, e.id;

-- name: read_queue_counts
-- Every queue in the viewer's scope, zero for one without todos: a page load counts afresh. The
-- owners are named before the count, so that it reads the viewer's todos and nobody else's.
with seen as (
  select q.id, q.name, q.endpoint_id, q.team_id
    from human_queues h
    join queues q on q.id = h.queue_id
   where h.human_id = %(human_id)s
), counted as (
  select d.queue_id, d.state, count(*) as n
    from todos d
   where d.endpoint_id in (select s.endpoint_id from seen s where s.endpoint_id is not null)
   group by d.queue_id, d.state
  union all
  select d.queue_id, d.state, count(*)
    from todos d
   where d.team_id in (select s.team_id from seen s where s.team_id is not null)
   group by d.queue_id, d.state
), summed as (
  select c.queue_id,
         sum(c.n) filter (where c.state = 'pending') as pending,
         sum(c.n) filter (where c.state = 'claimed') as claimed,
         sum(c.n) filter (where c.state = 'done') as done,
         sum(c.n) filter (where c.state = 'failed') as failed
    from counted c
   group by c.queue_id
)
select case when s.team_id is null then s.name
            else 'team:' || t.slug || '/' || s.name end as queue,
       e.slug as endpoint,
       coalesce(m.pending, 0)::bigint as pending, coalesce(m.claimed, 0)::bigint as claimed,
       coalesce(m.done, 0)::bigint as done, coalesce(m.failed, 0)::bigint as failed
  from seen s
  left join endpoints e on e.id = s.endpoint_id
  left join teams t on t.id = s.team_id
  left join summed m on m.queue_id = s.id
 order by e.created_at nulls last, s.name, s.id;
