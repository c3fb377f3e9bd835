-- What a scrape reads. A label is a bare queue name, so that queues of one name sum; a name that
-- is no label comes as null. No owner, endpoint or team is in any row.

-- name: read_queues
-- Todos by state for every known queue: one with a todo, or in somebody's scope. Each state down
-- an index of its own, for the table holds payloads; oldest queues first, as labels are few.
with counted as materialized (
  select t.queue_id, 'pending' as state, count(*) as n, min(t.created_at) as oldest
    from todos t
   where t.state = 'pending'
   group by t.queue_id
  union all
  select t.queue_id, 'claimed', count(*), null
    from todos t
   where t.state = 'claimed'
   group by t.queue_id
  union all
  select t.queue_id, 'failed', count(*), null
    from todos t
   where t.state = 'failed' and t.next_retry_at is not null
   group by t.queue_id
  union all
  select t.queue_id, 'failed', count(*), null
    from todos t
   where t.state = 'failed' and t.next_retry_at is null
   group by t.queue_id
  union all
  select t.queue_id, 'done', count(*), null
    from todos t
   where t.state = 'done'
   group by t.queue_id
), known as (
  select c.queue_id
    from counted c
   union
  select s.queue_id
    from endpoint_queues s
), named as (
  select k.queue_id, case when octet_length(q.name) <= 128 then q.name end as queue
    from known k
    join queues q on q.id = k.queue_id
)
select n.queue,
       coalesce(sum(c.n) filter (where c.state = 'pending'), 0)::bigint as pending,
       coalesce(sum(c.n) filter (where c.state = 'claimed'), 0)::bigint as claimed,
       coalesce(sum(c.n) filter (where c.state = 'done'), 0)::bigint as done,
       coalesce(sum(c.n) filter (where c.state = 'failed'), 0)::bigint as failed,
       greatest(coalesce(extract(epoch from (select clock()) - min(c.oldest)), 0), 0)::float8
         as oldest_pending_seconds
  from named n
  left join counted c on c.queue_id = n.queue_id
 group by n.queue
 order by min(n.queue_id);

-- name: read_budgeted
-- Queues with a live policy and their pending todos (R24). A queue whose endpoint has ended admits
-- nothing to anybody, so its policy is none any more.
select q.id as queue_id, case when octet_length(q.name) <= 128 then q.name end as queue,
       (select count(*)
          from todos t
         where t.queue_id = q.id and t.state = 'pending') as pending
  from queues q
  left join endpoints e on e.id = q.endpoint_id
 where q.has_policy
   and (e.id is null
        or (e.state = 'active' and (e.expires_at is null or e.expires_at > (select clock()))))
 order by q.id;
