-- name: read_candidate_of_endpoint
-- Unlocked, before claim by id: own tenant or not found; then whether the queue is granted, and
-- which gate to enter.
select q.id as queue_id, q.name, q.has_policy,
       exists (select 1
                 from endpoint_queues g
                where g.endpoint_id = %(endpoint_id)s and g.queue_id = q.id) as is_granted
  from todos t
  join queues q on q.id = t.queue_id
 where t.id = %(todo_id)s
   and (t.endpoint_id = %(endpoint_id)s
        or exists (select 1
                     from endpoint_queues g
                    where g.endpoint_id = %(endpoint_id)s and g.queue_id = q.id));

-- name: read_candidate_of_human
-- The same question for the board: within the human's reach, or not found.
select q.id as queue_id, q.name, q.has_policy, true as is_granted
  from todos t
  join queues q on q.id = t.queue_id
 where t.id = %(todo_id)s
   and exists (select 1
                 from human_queues h
                where h.human_id = %(human_id)s and h.queue_id = q.id);

-- name: read_is_reached
-- After the commit, in a snapshot of its own: whether the claimer still reaches the queue.
select exists (select 1
                 from endpoint_queues g
                where g.endpoint_id = %(endpoint_id)s and g.queue_id = %(queue_id)s)
       or exists (select 1
                    from human_queues h
                   where h.human_id = %(human_id)s and h.queue_id = %(queue_id)s);
