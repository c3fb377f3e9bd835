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
-- One group per queue and state, zero for a queue without todos: a page load counts afresh.
select case when q.team_id is null then q.name
            else 'team:' || t.slug || '/' || q.name end as queue,
       e.slug as endpoint,
       count(d.id) filter (where d.state = 'pending') as pending,
       count(d.id) filter (where d.state = 'claimed') as claimed,
       count(d.id) filter (where d.state = 'done') as done,
       count(d.id) filter (where d.state = 'failed') as failed
  from human_queues h
  join queues q on q.id = h.queue_id
  left join endpoints e on e.id = q.endpoint_id
  left join teams t on t.id = q.team_id
  left join todos d on d.queue_id = q.id
 where h.human_id = %(human_id)s
 group by q.id, q.name, q.team_id, t.slug, e.slug, e.created_at
 order by e.created_at nulls last, q.name, q.id;
