-- Presence written and settled. The row is locked first, so that what is evaluated is what is
-- stored when the edge is decided; a claim's look at its endpoint is not held up by it.

-- name: lock_own
-- The endpoint of a credential, while it is active.
select e.id as endpoint_id, e.shift, e.presence_override, e.override_until, e.override_by,
       e.override_set_at, e.presence_seen
  from endpoints e
 where e.id = %(endpoint_id)s and e.state = 'active'
   and (e.expires_at is null or e.expires_at > (select clock()))
   for no key update;

-- name: lock_owned
-- An endpoint the human may configure, while it is active; ownership in the same statement.
select e.id as endpoint_id, e.shift, e.presence_override, e.override_until, e.override_by,
       e.override_set_at, e.presence_seen
  from endpoints e
 where e.id = %(endpoint_id)s and e.state = 'active'
   and (e.expires_at is null or e.expires_at > (select clock()))
   and exists (select 1 from human_endpoints h
                where h.endpoint_id = e.id and h.human_id = %(human_id)s
                  and h.role in ('owner', 'admin'))
   for no key update of e;

-- name: mark_presence
-- Shift and override together: a change of one may end the other.
update endpoints e
   set shift = %(shift)s, presence_override = %(presence_override)s,
       override_until = %(override_until)s, override_by = %(override_by)s,
       override_set_at = %(override_set_at)s
 where e.id = %(endpoint_id)s and e.state = 'active';

-- name: mark_seen
-- Once across servers and restarts: whoever touches the row has won the edge.
update endpoints e
   set presence_seen = %(word)s
 where e.id = %(endpoint_id)s and e.state = 'active' and e.presence_seen <> %(word)s;
