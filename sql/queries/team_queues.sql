-- Team queues, made and deleted by an admin of the team. The team's row is held by then, so that
-- changes of its queues come one after the other; the role stands in each write all the same.

-- name: insert_queue
-- No row: the team has a queue of that name already.
insert into queues (team_id, name)
select r.team_id, %(name)s
  from team_roles r
 where r.team_id = %(team_id)s and r.human_id = %(human_id)s and r.role in ('admin', 'owner')
    on conflict on constraint queues_team_name_unique do nothing;

-- name: lock_queue
-- Every todo made in the queue holds its key first, and so does a retry: none appears from here to
-- the commit.
select q.id
  from queues q
  join team_roles r on r.team_id = q.team_id
 where q.id = %(queue_id)s and r.human_id = %(human_id)s
   for update of q;

-- name: read_has_live_todo
-- Its own statement after the lock: a fresh snapshot is the point.
select exists (select 1
                 from todos t
                where t.queue_id = %(queue_id)s
                  and (t.state in ('pending', 'claimed')
                       or (t.state = 'failed' and t.next_retry_at is not null))) as has_live;

-- name: delete_queue
-- Its finished todos, its policy and its grants go with it; webhooks that aimed at it are idle.
delete from queues q
 using team_roles r
 where q.id = %(queue_id)s and r.team_id = q.team_id and r.human_id = %(human_id)s
   and r.role in ('admin', 'owner');
