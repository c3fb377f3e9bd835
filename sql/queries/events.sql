-- Events of one human's scope: own endpoints, and the teams they belong to.

-- name: read_events
-- Newest first by id, which only grows; the cursor is the last id of the page before. One walk
-- down the list index per owner, merged after: a plain join would sort the whole history.
with newest as (
  select l.id
    from human_endpoints h
   cross join lateral (
          select v.id
            from events v
           where v.endpoint_id = h.endpoint_id
             and (%(before)s::bigint is null or v.id < %(before)s::bigint)
           order by v.id desc
           limit %(limit)s) l
   where h.human_id = %(human_id)s
  union all
  select l.id
    from team_roles r
   cross join lateral (
          select v.id
            from events v
           where v.team_id = r.team_id
             and (%(before)s::bigint is null or v.id < %(before)s::bigint)
           order by v.id desc
           limit %(limit)s) l
   where r.human_id = %(human_id)s
   order by 1 desc
   limit %(limit)s
)
select v.id, v.source, v.family, v.event_type, v.external_id, v.trust_mode, v.verified,
       v.verify_detail, v.content_type, v.payload_size, v.received_at, v.webhook_id,
       v.endpoint_id, e.slug, t.slug as team
  from newest n
  join events v on v.id = n.id
  left join endpoints e on e.id = v.endpoint_id
  left join teams t on t.id = v.team_id
 order by v.id desc;

-- name: read_event
-- One event, with the same owner predicate.
select v.id, v.source, v.family, v.event_type, v.external_id, v.trust_mode, v.verified,
       v.verify_detail, v.content_type, v.payload_size, v.received_at, v.webhook_id,
       v.endpoint_id, e.slug, t.slug as team
  from events v
  left join endpoints e on e.id = v.endpoint_id
  left join teams t on t.id = v.team_id
 where v.id = %(event_id)s::bigint
   and (v.endpoint_id = any (array(select h.endpoint_id from human_endpoints h
                                    where h.human_id = %(human_id)s))
        or v.team_id = any (array(select r.team_id from team_roles r
                                   where r.human_id = %(human_id)s)));

-- name: read_event_body
-- Apart from the row: only the detail needs the bytes. Its todos are those the human may see.
select v.headers, v.payload,
       array(select d.id
               from todos d
               join human_queues s on s.queue_id = d.queue_id
              where d.event_id = v.id and s.human_id = %(human_id)s
              order by d.id) as todos
  from events v
 where v.id = %(event_id)s::bigint
   and (v.endpoint_id = any (array(select h.endpoint_id from human_endpoints h
                                    where h.human_id = %(human_id)s))
        or v.team_id = any (array(select r.team_id from team_roles r
                                   where r.human_id = %(human_id)s)));
