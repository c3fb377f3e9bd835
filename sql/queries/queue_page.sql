-- One queue as a person's page shows it. Every statement but the first follows that look.

-- name: read_queue
-- The queue by its number, if the human may see it, and whether they may configure it; a foreign
-- number, an unknown one and no number at all are the same no row.
select q.id as queue_id, q.name,
       case when q.team_id is null then q.name else 'team:' || m.slug || '/' || q.name end as queue,
       case when q.team_id is null then 'endpoint:' || e.slug else 'team:' || m.slug end as scope,
       h.may_configure,
       case when e.state = 'revoked' or e.expires_at <= clock() then 'revoked'
            else 'active' end as state
  from human_queues h
  join queues q on q.id = h.queue_id
  left join endpoints e on e.id = q.endpoint_id
  left join teams m on m.id = q.team_id
 where h.human_id = %(human_id)s and h.queue_id = %(queue_id)s::bigint;

-- name: read_charges
-- Units charged to one window beside the attempts marked with it, in one statement, so that both
-- are of one moment while claims go on (R62); and the claims charged in the last hour, which may
-- reach back into the window before.
select coalesce((select w.used
                   from admission_windows w
                  where w.policy_id = %(policy_id)s
                    and w.window_start = %(window_start)s), 0) as used,
       count(*) filter (where a.charged_window_start = %(window_start)s) as marked,
       count(*) filter (where a.claimed_at > clock() - interval '1 hour') as last_hour
  from todo_attempts a
 where a.charged_policy_id = %(policy_id)s
   and a.charged_window_start >= %(since)s;

-- name: read_pruned_through
-- Attempts charged to a window that began by then may be gone, and rightly.
select s.value::timestamptz
  from settings s
 where s.key = 'attempts_pruned_through';
