-- The todos page: what the viewer may see, narrowed. The viewer's id is in every statement, and the
-- owners are named before a todo is looked at, so that each walk stays on its owner's index.

-- name: read_queues
-- What the list can be narrowed to. Touches no todo.
select q.id as queue_id, q.has_policy, e.slug as endpoint,
       case when q.team_id is null then q.name
            else 'team:' || t.slug || '/' || q.name end as queue,
       count(*) over (partition by q.team_id, q.name) > 1 as is_namesake
  from human_queues h
  join queues q on q.id = h.queue_id
  left join teams t on t.id = q.team_id
  left join endpoints e on e.id = q.endpoint_id
 where h.human_id = %(human_id)s
 order by 4, 3 nulls last, 1;

-- name: read_counts
-- Every todo the queue and the text let through, by state: exact, so it looks at all of them.
with visible as (
  select q.id as queue_id, q.endpoint_id, q.team_id
    from human_queues h
    join queues q on q.id = h.queue_id
   where h.human_id = %(human_id)s
     and (%(queue_ids)s::bigint[] is null or q.id = any (%(queue_ids)s))
), found as (
  select d.state
    from todos d
   where d.endpoint_id in (select v.endpoint_id from visible v where v.endpoint_id is not null)
     and d.queue_id in (select v.queue_id from visible v)
     and (%(pattern)s::text is null or d.title ilike %(pattern)s or d.id ilike %(pattern)s
          or d.source ilike %(pattern)s or d.kind ilike %(pattern)s)
  union all
  select d.state
    from todos d
   where d.team_id in (select v.team_id from visible v where v.team_id is not null)
     and d.queue_id in (select v.queue_id from visible v)
     and (%(pattern)s::text is null or d.title ilike %(pattern)s or d.id ilike %(pattern)s
          or d.source ilike %(pattern)s or d.kind ilike %(pattern)s)
)
select f.state, count(*) as n
  from found f
 group by f.state;

-- name: read_page
-- Newest first. One walk down the list index per owner as far as the page reaches, merged after;
-- the rows of the page alone are read whole, without payload and result. A human sees all queues of
-- an owner or none: without a queue filter the index alone tells the way.
with visible as (
  select q.id as queue_id, q.endpoint_id, q.team_id
    from human_queues h
    join queues q on q.id = h.queue_id
   where h.human_id = %(human_id)s
     and (%(queue_ids)s::bigint[] is null or q.id = any (%(queue_ids)s))
), newest as (
  select l.id, l.created_at
    from (select distinct v.endpoint_id from visible v where v.endpoint_id is not null) o
   cross join lateral (
          select d.id, d.created_at
            from todos d
           where d.endpoint_id = o.endpoint_id
             and (%(queue_ids)s::bigint[] is null
                  or d.queue_id in (select v.queue_id from visible v))
             and (%(state)s::text is null or d.state = %(state)s)
             and (%(pattern)s::text is null or d.title ilike %(pattern)s or d.id ilike %(pattern)s
                  or d.source ilike %(pattern)s or d.kind ilike %(pattern)s)
           order by d.created_at desc, d.id desc
           limit %(reach)s) l
  union all
  select l.id, l.created_at
    from (select distinct v.team_id from visible v where v.team_id is not null) o
   cross join lateral (
          select d.id, d.created_at
            from todos d
           where d.team_id = o.team_id
             and (%(queue_ids)s::bigint[] is null
                  or d.queue_id in (select v.queue_id from visible v))
             and (%(state)s::text is null or d.state = %(state)s)
             and (%(pattern)s::text is null or d.title ilike %(pattern)s or d.id ilike %(pattern)s
                  or d.source ilike %(pattern)s or d.kind ilike %(pattern)s)
           order by d.created_at desc, d.id desc
           limit %(reach)s) l
   order by 2 desc, 1 desc
   limit %(size)s offset %(start)s
)
select r.id, r.queue_id, r.queue, r.title, r.source, r.kind, r.state, r.attempt, r.max_attempts,
       r.lease_expires_at, r.next_retry_at, r.created_at, r.has_policy
  from newest n
  join todo_rows r on r.id = n.id
 order by r.created_at desc, r.id desc;

-- name: read_page_from_end
-- The same page walked to from the oldest todo, when that is nearer: the last page of a million is
-- one link away.
with visible as (
  select q.id as queue_id, q.endpoint_id, q.team_id
    from human_queues h
    join queues q on q.id = h.queue_id
   where h.human_id = %(human_id)s
     and (%(queue_ids)s::bigint[] is null or q.id = any (%(queue_ids)s))
), newest as (
  select l.id, l.created_at
    from (select distinct v.endpoint_id from visible v where v.endpoint_id is not null) o
   cross join lateral (
          select d.id, d.created_at
            from todos d
           where d.endpoint_id = o.endpoint_id
             and (%(queue_ids)s::bigint[] is null
                  or d.queue_id in (select v.queue_id from visible v))
             and (%(state)s::text is null or d.state = %(state)s)
             and (%(pattern)s::text is null or d.title ilike %(pattern)s or d.id ilike %(pattern)s
                  or d.source ilike %(pattern)s or d.kind ilike %(pattern)s)
           order by d.created_at, d.id
           limit %(reach)s) l
  union all
  select l.id, l.created_at
    from (select distinct v.team_id from visible v where v.team_id is not null) o
   cross join lateral (
          select d.id, d.created_at
            from todos d
           where d.team_id = o.team_id
             and (%(queue_ids)s::bigint[] is null
                  or d.queue_id in (select v.queue_id from visible v))
             and (%(state)s::text is null or d.state = %(state)s)
             and (%(pattern)s::text is null or d.title ilike %(pattern)s or d.id ilike %(pattern)s
                  or d.source ilike %(pattern)s or d.kind ilike %(pattern)s)
           order by d.created_at, d.id
           limit %(reach)s) l
   order by 2, 1
   limit %(size)s offset %(start)s
)
select r.id, r.queue_id, r.queue, r.title, r.source, r.kind, r.state, r.attempt, r.max_attempts,
       r.lease_expires_at, r.next_retry_at, r.created_at, r.has_policy
  from newest n
  join todo_rows r on r.id = n.id
 order by r.created_at desc, r.id desc;

-- name: read_page_of_few
-- The same page when the filters let few todos through: a walk would look at all of them for it, so
-- they are found first, by whatever way is shortest, and sorted then.
with visible as (
  select q.id as queue_id, q.endpoint_id, q.team_id
    from human_queues h
    join queues q on q.id = h.queue_id
   where h.human_id = %(human_id)s
     and (%(queue_ids)s::bigint[] is null or q.id = any (%(queue_ids)s))
), found as materialized (
  select d.id, d.created_at
    from todos d
   where d.endpoint_id in (select v.endpoint_id from visible v where v.endpoint_id is not null)
     and d.queue_id in (select v.queue_id from visible v)
     and (%(state)s::text is null or d.state = %(state)s)
     and (%(pattern)s::text is null or d.title ilike %(pattern)s or d.id ilike %(pattern)s
          or d.source ilike %(pattern)s or d.kind ilike %(pattern)s)
  union all
  select d.id, d.created_at
    from todos d
   where d.team_id in (select v.team_id from visible v where v.team_id is not null)
     and d.queue_id in (select v.queue_id from visible v)
     and (%(state)s::text is null or d.state = %(state)s)
     and (%(pattern)s::text is null or d.title ilike %(pattern)s or d.id ilike %(pattern)s
          or d.source ilike %(pattern)s or d.kind ilike %(pattern)s)
), newest as (
  select f.id
    from found f
   order by f.created_at desc, f.id desc
   limit %(size)s offset %(start)s
)
select r.id, r.queue_id, r.queue, r.title, r.source, r.kind, r.state, r.attempt, r.max_attempts,
       r.lease_expires_at, r.next_retry_at, r.created_at, r.has_policy
  from newest n
  join todo_rows r on r.id = n.id
 order by r.created_at desc, r.id desc;
