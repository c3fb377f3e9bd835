-- name: read_newest_of_endpoint
-- Newest first over the granted queues. One walk down the list index per owner, merged after: a
-- plain join would sort the whole history.
with granted as (
  select g.queue_id, q.endpoint_id, q.team_id
    from endpoint_queues g
    join queues q on q.id = g.queue_id
   where g.endpoint_id = %(endpoint_id)s
     and (%(queue_id)s::bigint is null or g.queue_id = %(queue_id)s)
),
newest as (
  select l.id, l.created_at
    from (select distinct endpoint_id from granted where endpoint_id is not null) o
   cross join lateral (
          select t.id, t.created_at
            from todos t
           where t.endpoint_id = o.endpoint_id
             and t.queue_id in (select queue_id from granted)
             and (%(state)s::text is null or t.state = %(state)s)
           order by t.created_at desc, t.id desc
           limit %(limit)s) l
  union all
  select l.id, l.created_at
    from (select distinct team_id from granted where team_id is not null) o
   cross join lateral (
          select t.id, t.created_at
            from todos t
           where t.team_id = o.team_id
             and t.queue_id in (select queue_id from granted)
             and (%(state)s::text is null or t.state = %(state)s)
           order by t.created_at desc, t.id desc
           limit %(limit)s) l
   order by 2 desc, 1 desc
   limit %(limit)s
)
select r.id, r.queue_id, r.queue, r.queue_name, r.team, r.endpoint_id, r.team_id, r.source,
       r.kind, r.title, r.payload, r.event_id, r.idempotency_key, r.state, r.owner,
       r.lease_expires_at, r.attempt, r.max_attempts, r.next_retry_at, r.result, r.created_at,
       r.updated_at, r.claimed_at, r.completed_at, r.attempts_total, r.attempts_pruned,
       r.has_policy, r.claimed_by_endpoint_id
  from newest n
  join todo_rows r on r.id = n.id
 order by r.created_at desc, r.id desc;

-- name: read_newest_of_human
-- The same within a human's reach, by page: rows after the cursor (created_at, id), newest first.
with visible as (
  select q.id as queue_id, q.endpoint_id, q.team_id
    from human_queues h
    join queues q on q.id = h.queue_id
    left join endpoints e on e.id = q.endpoint_id
    left join teams m on m.id = q.team_id
   where h.human_id = %(human_id)s
     and (%(queue)s::text is null
          or %(queue)s = case when q.team_id is null then q.name
                              else 'team:' || m.slug || '/' || q.name end)
     and (%(endpoint)s::text is null or e.slug = %(endpoint)s or e.id::text = %(endpoint)s)
     and (%(team)s::text is null or m.slug = %(team)s or m.id::text = %(team)s)
),
newest as (
  select l.id, l.created_at
    from (select distinct endpoint_id from visible where endpoint_id is not null) o
   cross join lateral (
          select t.id, t.created_at
            from todos t
           where t.endpoint_id = o.endpoint_id
             and t.queue_id in (select queue_id from visible)
             and (%(state)s::text is null or t.state = %(state)s)
             and (%(before_id)s::text is null
                  or (t.created_at, t.id) < (%(before_at)s::timestamptz, %(before_id)s))
           order by t.created_at desc, t.id desc
           limit %(limit)s) l
  union all
  select l.id, l.created_at
    from (select distinct team_id from visible where team_id is not null) o
   cross join lateral (
          select t.id, t.created_at
            from todos t
           where t.team_id = o.team_id
             and t.queue_id in (select queue_id from visible)
             and (%(state)s::text is null or t.state = %(state)s)
             and (%(before_id)s::text is null
                  or (t.created_at, t.id) < (%(before_at)s::timestamptz, %(before_id)s))
           order by t.created_at desc, t.id desc
           limit %(limit)s) l
   order by 2 desc, 1 desc
   limit %(limit)s
)
select r.id, r.queue_id, r.queue, r.queue_name, r.team, r.endpoint_id, r.team_id, r.source,
       r.kind, r.title, r.payload, r.event_id, r.idempotency_key, r.state, r.owner,
       r.lease_expires_at, r.attempt, r.max_attempts, r.next_retry_at, r.result, r.created_at,
       r.updated_at, r.claimed_at, r.completed_at, r.attempts_total, r.attempts_pruned,
       r.has_policy, r.claimed_by_endpoint_id
  from newest n
  join todo_rows r on r.id = n.id
 order by r.created_at desc, r.id desc;

-- name: read_of_endpoint
-- One todo of a granted queue; foreign, unknown and ungranted are the same nothing.
select r.id, r.queue_id, r.queue, r.queue_name, r.team, r.endpoint_id, r.team_id, r.source,
       r.kind, r.title, r.payload, r.event_id, r.idempotency_key, r.state, r.owner,
       r.lease_expires_at, r.attempt, r.max_attempts, r.next_retry_at, r.result, r.created_at,
       r.updated_at, r.claimed_at, r.completed_at, r.attempts_total, r.attempts_pruned,
       r.has_policy, r.claimed_by_endpoint_id
  from todo_rows r
  join endpoint_queues g on g.queue_id = r.queue_id and g.endpoint_id = %(endpoint_id)s
 where r.id = %(todo_id)s;

-- name: read_of_human
-- One todo within a human's reach.
select r.id, r.queue_id, r.queue, r.queue_name, r.team, r.endpoint_id, r.team_id, r.source,
       r.kind, r.title, r.payload, r.event_id, r.idempotency_key, r.state, r.owner,
       r.lease_expires_at, r.attempt, r.max_attempts, r.next_retry_at, r.result, r.created_at,
       r.updated_at, r.claimed_at, r.completed_at, r.attempts_total, r.attempts_pruned,
       r.has_policy, r.claimed_by_endpoint_id
  from todo_rows r
 where r.id = %(todo_id)s
   and exists (select 1
                 from human_queues h
                where h.human_id = %(human_id)s and h.queue_id = r.queue_id);

-- name: read_attempts
-- Newest first, the open one included.
select a.seq, a.attempt, a.claimer_kind, a.claimant, a.claimed_at, a.last_heartbeat_at, a.ended_at,
       a.outcome, a.disposition, a.summary, a.summary_truncated, a.artifact
  from todo_attempts a
 where a.todo_id = %(todo_id)s
 order by a.seq desc
 limit %(limit)s;

-- name: read_body
-- The delivery's bytes, when they were not JSON and so are not the payload: the first 64 KiB.
select substring(e.payload from 1 for 65536) as first_bytes, e.content_type,
       octet_length(e.payload) > 65536 as is_truncated
  from todos t
  join events e on e.id = t.event_id
 where t.id = %(todo_id)s and t.payload is null and octet_length(e.payload) > 0;
