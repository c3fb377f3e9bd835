-- name: read_queue_grant
-- A queue as the caller named it: granted, or its own but not granted, or (no row) not there.
select g.queue_id, true as is_granted
  from endpoint_queues g
 where g.endpoint_id = %(endpoint_id)s and g.queue = %(queue)s
union all
select q.id, false
  from queues q
 where q.endpoint_id = %(endpoint_id)s and q.name = %(queue)s
 limit 1;

-- name: read_granted_queues
-- What a waiting claim_next listens to: reach as it is now, never remembered past the call.
select g.queue_id
  from endpoint_queues g
 where g.endpoint_id = %(endpoint_id)s
   and (%(queue_id)s::bigint is null or g.queue_id = %(queue_id)s);
