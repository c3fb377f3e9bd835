-- What an endpoint's presence is made of, and how much waits for it.

-- name: read_own
-- The endpoint of a credential, which was judged before.
select e.id as endpoint_id, e.shift, e.presence_override, e.override_until, e.override_by,
       e.override_set_at, e.presence_seen
  from endpoints e
 where e.id = %(endpoint_id)s;

-- name: read_seen
-- An endpoint by slug or id, when the human has one of `roles` in it; foreign and unknown are both
-- no row. A revoked one can be read still.
select e.id as endpoint_id, e.shift, e.presence_override, e.override_until, e.override_by,
       e.override_set_at, e.presence_seen
  from human_endpoints h
  join endpoints e on e.id = h.endpoint_id
 where h.human_id = %(human_id)s and h.role = any (%(roles)s)
   and (e.slug = %(ref)s or e.id = %(ref_id)s);

-- name: count_pending
-- Everything that waits in the queues it drains, eligible or not, admitted or not (R24).
select count(*)
  from endpoint_queues g
  join todos t on t.queue_id = g.queue_id and t.state = 'pending'
 where g.endpoint_id = %(endpoint_id)s;
