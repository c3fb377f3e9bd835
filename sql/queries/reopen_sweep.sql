-- The backstop of reopening (contract push.md, "Reopen"): acts for nobody, returns nothing to a
-- caller.

-- name: read_marks
-- The queues that owe a ring, a page at a time. All of them, in the end: the longest closed are
-- often paused for good, and must not stand before the others.
select r.queue_id
  from admission_reopen r
 where r.queue_id > %(after)s
 order by r.queue_id
 limit %(limit)s;

-- name: read_unmarked
-- Queues with a policy where work waits and no ring is owed: a mark may have been lost with a
-- process. In the order of their ids, so that bounded sweeps come round to all of them.
select q.id as queue_id
  from queues q
 where q.has_policy and q.id > %(after)s
   and not exists (select 1 from admission_reopen r where r.queue_id = q.id)
   and exists (select 1 from todos t where t.queue_id = q.id and t.state = 'pending')
 order by q.id
 limit %(limit)s;
