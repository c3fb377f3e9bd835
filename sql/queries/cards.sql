-- name: read_cards
-- Per queue the oldest pending todos, the claimed ones whose lease ends first and the newest dead
-- letters, each walk down an index of its own that stops at the limit. The queues are the viewer's:
-- the view says so, whatever ids were asked for.
with seen as materialized (
  select h.queue_id
    from human_queues h
   where h.human_id = %(human_id)s and h.queue_id = any (%(queue_ids)s::bigint[])
)
select c.queue_id, c.rank, t.id, t.title, t.source, t.state, t.attempt, t.max_attempts,
       t.created_at, t.lease_expires_at, t.owner, e.slug as holder
  from (select s.queue_id, 1 as rank, p.id, p.created_at as at
          from seen s
         cross join lateral (
                 select d.id, d.created_at
                   from todos d
                  where d.queue_id = s.queue_id and d.state = 'pending'
                  order by d.created_at, d.id
                  limit %(pending)s) p
        union all
        select s.queue_id, 2, p.id, p.lease_expires_at
          from seen s
         cross join lateral (
                 select d.id, d.lease_expires_at
                   from todos d
                  where d.queue_id = s.queue_id and d.state = 'claimed'
                  order by d.lease_expires_at, d.id
                  limit %(claimed)s) p
        union all
        select s.queue_id, 3, p.id, p.updated_at
          from seen s
         cross join lateral (
                 select d.id, d.updated_at
                   from todos d
                  where d.queue_id = s.queue_id and d.state = 'failed' and d.next_retry_at is null
                  order by d.updated_at desc, d.id desc
                  limit %(dead)s) p) c
  join todos t on t.id = c.id
  left join endpoints e on e.id = t.claimed_by_endpoint_id
 order by c.queue_id, c.rank, c.at, c.id;
