-- Presence by the clock. Acts for nobody and returns nothing to a caller.

-- name: read_timed
-- A page of those whose presence the clock may change; everyone else is in for good.
select e.id as endpoint_id, e.shift, e.presence_override, e.override_until, e.override_by,
       e.override_set_at, e.presence_seen
  from endpoints e
 where e.state = 'active' and (e.expires_at is null or e.expires_at > (select clock()))
   and (e.shift is not null or e.presence_override is not null or e.presence_seen = 'out')
   and e.id > %(after)s
 order by e.id
 limit %(limit)s;
