-- What a queue header is made of. The viewer's id is in every statement that takes one; the others
-- are asked about queues the first one has let through.

-- name: read_queues
-- The viewer's queues, all or the named ones, with their owners and a fault that is still news
-- (R64). Namesakes are counted over all of them, so that a queue is called the same on every page.
select n.queue_id, n.queue, n.endpoint_id, n.endpoint, n.team, n.may_configure, n.has_policy,
       n.is_revoked, n.namesakes > 1 as is_namesake, f.kind as fault_kind, f.at as fault_at,
       clock() as now
  from (select q.id as queue_id, q.has_policy, h.may_configure, e.id as endpoint_id,
               e.slug as endpoint, coalesce(t.slug, o.slug) as team,
               coalesce(e.state <> 'active' or e.expires_at <= (select clock()), false)
                 as is_revoked,
               case when q.team_id is null then q.name
                    else 'team:' || t.slug || '/' || q.name end as queue,
               count(*) over (partition by q.team_id, q.name) as namesakes
          from human_queues h
          join queues q on q.id = h.queue_id
          left join teams t on t.id = q.team_id
          left join endpoints e on e.id = q.endpoint_id
          left join agents a on a.id = e.agent_id
          left join teams o on o.id = a.owner_team_id
         where h.human_id = %(human_id)s) n
  left join admission_faults f
    on f.queue_id = n.queue_id and f.at > (select clock()) - interval '10 minutes'
 where %(queue_ids)s::bigint[] is null or n.queue_id = any (%(queue_ids)s::bigint[])
 order by n.queue, n.queue_id;

-- name: read_counts
-- Todos by state, counted afresh (R24), each state down an index of its own; a state without any
-- has no row. `done` is left out: it is no work, and the only state that grows for ever.
select t.queue_id, 'pending' as state, count(*) as n
  from todos t
 where t.queue_id = any (%(queue_ids)s::bigint[]) and t.state = 'pending'
 group by t.queue_id
union all
select t.queue_id, 'claimed', count(*)
  from todos t
 where t.queue_id = any (%(queue_ids)s::bigint[]) and t.state = 'claimed'
 group by t.queue_id
union all
select t.queue_id, 'retrying', count(*)
  from todos t
 where t.queue_id = any (%(queue_ids)s::bigint[])
   and t.state = 'failed' and t.next_retry_at is not null
 group by t.queue_id
union all
select t.queue_id, 'dead', count(*)
  from todos t
 where t.queue_id = any (%(queue_ids)s::bigint[])
   and t.state = 'failed' and t.next_retry_at is null
 group by t.queue_id;

-- name: read_pauses
-- Who turned each queue to 0 last, when and why, whoever edited it while it was paused.
select p.queue_id, c.at, c.reason, h.display_name as human_name, e.slug as endpoint_slug
  from unnest(%(queue_ids)s::bigint[]) as p (queue_id)
 cross join lateral (
         select a.at, a.reason, a.actor_human_id, a.actor_endpoint_id
           from admission_policy_audit a
          where a.queue_id = p.queue_id
            and '0' in (a.after ->> 'max_in_flight', a.after ->> 'max_claims_per_window')
            and '0' is distinct from (a.before ->> 'max_in_flight')
            and '0' is distinct from (a.before ->> 'max_claims_per_window')
          order by a.at desc, a.id desc
          limit 1) c
  left join humans h on h.id = c.actor_human_id
  left join endpoints e on e.id = c.actor_endpoint_id;

-- name: read_claimed_since
-- Of queues with a fault, those that admitted a claim after it, by whichever process: the charge of
-- a window says so, or a todo that is claimed, or one that was and is parked or has ended since.
select f.queue_id
  from admission_faults f
 where f.queue_id = any (%(queue_ids)s::bigint[])
   and (exists (select 1
                  from admission_policies p
                  join admission_windows w on w.policy_id = p.id
                 where p.queue_id = f.queue_id and w.updated_at > f.at
                   and w.window_start > f.at - interval '8 days')
        or exists (select 1
                     from todos t
                    where t.queue_id = f.queue_id and t.state = 'claimed' and t.claimed_at > f.at)
        or exists (select 1
                     from todos t
                    where t.queue_id = f.queue_id and t.state = 'failed'
                      and t.next_retry_at is not null and t.claimed_at > f.at)
        or exists (select 1
                     from todos t
                    where (t.state = 'done' or (t.state = 'failed' and t.next_retry_at is null))
                      and t.updated_at > f.at and t.queue_id = f.queue_id
                      and t.claimed_at > f.at));
