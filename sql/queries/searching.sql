-- name: peek_heads
-- Unlocked: the oldest pending todo and the oldest due retry of every granted queue, one index
-- probe each; any other shape reads the whole backlog. Lapsed leases have no index and stay out.
select g.queue_id, g.name, g.has_policy, p.created_at as pending_at, p.id as pending_id,
       d.created_at as due_at, d.id as due_id
  from endpoint_queues g
  left join lateral (
         select t.created_at, t.id
           from todos t
          where t.queue_id = g.queue_id and t.state = 'pending'
          order by t.created_at, t.id
          limit 1) p on true
  left join lateral (
         select t.created_at, t.id
           from todos t
          where t.queue_id = g.queue_id and t.state = 'failed'
            and t.next_retry_at <= (select clock()) and t.attempt < t.max_attempts
          order by t.created_at, t.id
          limit 1) d on true
 where g.endpoint_id = %(endpoint_id)s
   and (%(queue_id)s::bigint is null or g.queue_id = %(queue_id)s)
   and (p.id is not null or d.id is not null);

-- name: peek_lapsed
-- Which granted queues hold a lapsed lease that may be taken over, oldest first.
select g.queue_id, g.name, g.has_policy
  from endpoint_queues g
  join todos t on t.queue_id = g.queue_id and t.state = 'claimed'
 where g.endpoint_id = %(endpoint_id)s
   and (%(queue_id)s::bigint is null or g.queue_id = %(queue_id)s)
   and t.lease_expires_at <= (select clock()) and t.attempt < t.max_attempts
 group by g.queue_id, g.name, g.has_policy
 order by min(t.created_at), g.queue_id;

-- name: read_waiting_behind_policies
-- What a claim_next that claimed nothing must not call empty: granted queues with a policy and
-- pending work. A fresh probe decides who is listed; the count beside it may be 1 s old (R69).
select g.queue_id, g.queue, g.name
  from endpoint_queues g
 where g.endpoint_id = %(endpoint_id)s
   and g.has_policy
   and (%(queue_id)s::bigint is null or g.queue_id = %(queue_id)s)
   and exists (select 1
                 from todos t
                where t.queue_id = g.queue_id and t.state = 'pending')
 order by g.queue;

-- name: count_pending
-- The plain count of todos in state pending (R24).
select t.queue_id, count(*) as pending
  from todos t
 where t.queue_id = any(%(queue_ids)s) and t.state = 'pending'
 group by t.queue_id;

-- name: read_head
-- The oldest pending todo of a queue, unlocked: SKIP LOCKED may have hidden it (R7).
select t.id
  from todos t
 where t.queue_id = %(queue_id)s and t.state = 'pending'
   and exists (select 1
                 from endpoint_queues g
                where g.endpoint_id = %(endpoint_id)s and g.queue_id = %(queue_id)s)
 order by t.created_at, t.id
 limit 1;

-- name: read_seconds_until
-- Measured on the database's clock, for a waiter that sleeps to an exact boundary.
select extract(epoch from %(at)s::timestamptz - clock())::float8;
