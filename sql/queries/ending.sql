-- The end of an endpoint: todos locked first, in id order, then moved.

-- name: mark_expired
-- The sweep's half: the state follows the lifetime, once.
update endpoints
   set state = 'revoked', revoked_at = clock()
 where id = %(endpoint_id)s and state = 'active' and expires_at <= clock();

-- name: lock_ending_todos
-- Live todos of the endpoint and team todos it holds, in id order and waiting: none may slip by.
select t.id
  from todos t
 where t.id in (
       select p.id from todos p join queues q on q.id = p.queue_id
        where q.endpoint_id = %(endpoint_id)s and p.state = 'pending'
       union all
       select c.id from todos c join queues q on q.id = c.queue_id
        where q.endpoint_id = %(endpoint_id)s and c.state = 'claimed'
       union all
       select f.id from todos f join queues q on q.id = f.queue_id
        where q.endpoint_id = %(endpoint_id)s and f.state = 'failed'
          and f.next_retry_at is not null
       union all
       select h.id from todos h
        where h.state = 'claimed' and h.team_id is not null
          and h.claimed_by_endpoint_id = %(endpoint_id)s)
 order by t.id
   for update of t;

-- name: mark_dead_lettered
-- Pending, claimed and parked alike end here; no retry will take them up.
update todos t
   set state = 'failed', next_retry_at = null, owner = null, lease_expires_at = null,
       claimed_by_endpoint_id = null, updated_at = clock()
 where t.id = any (%(ids)s) and t.endpoint_id = %(endpoint_id)s
   and (t.state in ('pending', 'claimed')
        or (t.state = 'failed' and t.next_retry_at is not null))
returning t.id, t.queue_id;

-- name: mark_team_todos_released
-- As on lost membership: the team's work goes back, no attempt spent.
update todos t
   set state = 'pending', owner = null, lease_expires_at = null,
       claimed_by_endpoint_id = null, updated_at = clock()
 where t.id = any (%(ids)s) and t.team_id is not null and t.state = 'claimed'
   and t.claimed_by_endpoint_id = %(endpoint_id)s
returning t.id, t.queue_id;

-- name: lock_unreached
-- What endpoints hold of teams they no longer drain for, and what humans took by hand where they no
-- longer are. In id order and waiting.
select t.id
  from todos t
 where t.state = 'claimed'
   and (%(queue_ids)s::bigint[] is null or t.queue_id = any (%(queue_ids)s))
   and (t.team_id is not null
        and (t.claimed_by_endpoint_id = any (%(endpoint_ids)s::uuid[])
             or t.claimed_by_endpoint_id in (
                select e.id from agents a join endpoints e on e.agent_id = a.id
                 where a.owner_human_id = any (%(human_ids)s::uuid[])))
        and not exists (select 1
                          from endpoint_queues g
                         where g.endpoint_id = t.claimed_by_endpoint_id
                           and g.queue_id = t.queue_id)
        or exists (select 1
                     from unnest(%(human_ids)s::uuid[]) as m (human_id)
                    where t.owner = 'op:' || m.human_id
                      and not exists (select 1
                                        from human_queues h
                                       where h.human_id = m.human_id
                                         and h.queue_id = t.queue_id)))
 order by t.id
   for update of t;

-- name: mark_given_back
-- The rows are locked, and so is who holds them: back to where they were, no attempt spent.
update todos t
   set state = 'pending', owner = null, lease_expires_at = null,
       claimed_by_endpoint_id = null, updated_at = clock()
 where t.id = any (%(ids)s);

-- name: mark_attempts_closed
-- The transition that ends the lease closes its attempt, in the same transaction.
update todo_attempts a
   set ended_at = clock(), outcome = %(outcome)s, disposition = %(disposition)s
  from todos t
  join queues q on q.id = t.queue_id
 where a.todo_id = any (%(ids)s) and a.ended_at is null and t.id = a.todo_id
returning q.name as queue, q.id as queue_id, q.has_policy;

-- name: mark_tokens_revoked
-- An agent grant dies with its endpoint.
update oauth_tokens
   set revoked_at = clock()
 where endpoint_id = %(endpoint_id)s and revoked_at is null;
