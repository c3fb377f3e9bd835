-- Rings for work that waits although it rang before, or that nobody was there to hear
-- (contract push.md, "Heartbeat and attach"). For endpoints whose streams this process holds.

-- name: read_waiting_queues
-- The queues these endpoints drain where work waits; whether they admit is asked apart.
select distinct g.queue_id, g.has_policy
  from endpoint_queues g
 where g.endpoint_id = any (%(endpoint_ids)s::uuid[])
   and exists (select 1 from todos t where t.queue_id = g.queue_id and t.state = 'pending');

-- name: mark_due_rung
-- The selecting statement itself spends the ring, so two processes never ring the same todo: the
-- second one finds another `ring_attempts`. The best candidate of each endpoint comes first.
with queues_of as (
  select g.endpoint_id, g.queue_id
    from endpoint_queues g
   where g.endpoint_id = any (%(endpoint_ids)s::uuid[])
     and g.queue_id = any (%(queue_ids)s::bigint[])
), due as (
  select o.endpoint_id, t.id, t.ring_attempts,
         greatest(t.created_at, t.last_ringed_at, q.last_reopen_ring_at, d.last_digest_at)
           + case t.ring_attempts when 0 then interval '5 min'
                                  when 1 then interval '20 min'
                                  when 2 then interval '1 h'
                                  else interval '6 h' end as due_at
    from queues_of o
    join queues q on q.id = o.queue_id
    join todos t on t.queue_id = o.queue_id and t.state = 'pending'
    join events v on v.id = t.event_id and (v.verified or v.trust_mode = 'token')
    left join digest_stamps d on d.endpoint_id = o.endpoint_id and d.queue_id = o.queue_id
   where t.ring_attempts < 5
     and t.created_at <= (select clock()) - interval '5 min'
), ranked as (
  select c.endpoint_id, c.id, c.ring_attempts,
         row_number() over (partition by c.endpoint_id order by c.due_at, c.id) as place,
         c.due_at
    from due c
   where c.due_at <= (select clock())
), chosen as (
  select distinct on (r.id) r.id, r.endpoint_id, r.ring_attempts, r.place, r.due_at
    from ranked r
   where r.place <= %(limit)s
   order by r.id, r.place
), picked as (
  select c.id, c.endpoint_id, c.ring_attempts
    from chosen c
   order by c.place, c.due_at, c.id
   limit %(limit)s
), held as (
  select t.id, p.endpoint_id
    from picked p
    join todos t on t.id = p.id
   where t.state = 'pending' and t.ring_attempts = p.ring_attempts
   order by t.id
     for update of t skip locked
)
update todos t
   set ring_attempts = t.ring_attempts + 1, last_ringed_at = clock()
  from held h
 where t.id = h.id
returning t.id, h.endpoint_id;

-- name: mark_attach_rung
-- A stream that opens hears of the oldest eligible todos, at most once a minute each, on the same
-- budget of rings as the heartbeat. Queue by queue, so that a long backlog is not sorted.
with oldest as (
  select c.id, c.created_at
    from unnest(%(queue_ids)s::bigint[]) as q (id)
   cross join lateral (
         select w.id, w.created_at
           from todos w
           join events v on v.id = w.event_id and (v.verified or v.trust_mode = 'token')
          where w.queue_id = q.id and w.state = 'pending' and w.ring_attempts < 5
            and (w.last_ringed_at is null
                 or w.last_ringed_at <= (select clock()) - interval '1 min')
          order by w.created_at, w.id
          limit %(limit)s) c
   order by c.created_at, c.id
   limit %(limit)s
), held as (
  select t.id
    from oldest o
    join todos t on t.id = o.id
   where t.state = 'pending' and t.ring_attempts < 5
     and (t.last_ringed_at is null
          or t.last_ringed_at <= (select clock()) - interval '1 min')
   order by t.id
     for update of t skip locked
)
update todos t
   set ring_attempts = t.ring_attempts + 1, last_ringed_at = clock()
  from held h
 where t.id = h.id
returning t.id, %(endpoint_id)s::uuid as endpoint_id;
