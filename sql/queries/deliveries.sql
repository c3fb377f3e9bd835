-- name: read_webhook
-- The facts a delivery is judged by, and the instant of the judgement: one look, no lock.
select w.id, w.endpoint_id, w.source_type, w.target_queue, w.target_team_queue_id,
       w.ingest_token, w.secret, floor(extract(epoch from clock()))::bigint as at
  from endpoint_webhooks w
 where w.ingest_token = %(ingest_token)s;

-- name: lock_targets
-- The owning endpoint first, then the routes. The shared lock makes a revoke wait for this
-- transaction, so that it finds and dead-letters the todos made here; a token rotated or a
-- webhook deleted since the judgement leaves no target.
select e.id as endpoint_id, null::uuid as team_id, null::bigint as queue_id,
       w.target_queue as queue_name, w.target_queue as queue, null::text as team
  from endpoint_webhooks w
  join (select h.id as webhook_id, h.endpoint_id, null::timestamptz as granted_at
          from endpoint_webhooks h
         where h.id = %(webhook_id)s
        union all
        select r.webhook_id, r.target_endpoint_id, r.granted_at
          from webhook_routes r
          join endpoint_webhooks o on o.id = r.webhook_id
         where r.webhook_id = %(webhook_id)s and r.target_endpoint_id <> o.endpoint_id) t
    on t.webhook_id = w.id
  join endpoints e on e.id = t.endpoint_id
 where w.id = %(webhook_id)s and w.ingest_token = %(ingest_token)s
   and e.state = 'active' and (e.expires_at is null or e.expires_at > (select clock()))
 order by t.granted_at nulls first, e.id
   for share of w, e;

-- name: lock_team_target
-- The team queue, while it is there and within the live reach of the webhook's owner: the team
-- that owns the endpoint, or a team the owning human is a member of.
select null::uuid as endpoint_id, q.team_id, q.id as queue_id, q.name as queue_name,
       'team:' || t.slug || '/' || q.name as queue, t.slug as team
  from endpoint_webhooks w
  join endpoints e on e.id = w.endpoint_id
  join agents a on a.id = e.agent_id
  join queues q on q.id = w.target_team_queue_id
  join teams t on t.id = q.team_id and t.suspended_at is null
 where w.id = %(webhook_id)s and w.ingest_token = %(ingest_token)s
   and e.state = 'active' and (e.expires_at is null or e.expires_at > (select clock()))
   and (a.owner_team_id = q.team_id
        or exists (select 1 from team_members m
                    where m.team_id = q.team_id and m.human_id = a.owner_human_id))
   for share of w, e
   for key share of q;

-- name: insert_missing_queues
-- One row per target that has no queue of the name yet, in id order: two deliveries that make
-- the same rows never wait for each other in a circle.
insert into queues (endpoint_id, name)
select t.endpoint_id, %(queue_name)s
  from unnest(%(endpoint_ids)s::uuid[]) as t (endpoint_id)
 where not exists (select 1 from queues q
                    where q.endpoint_id = t.endpoint_id and q.name = %(queue_name)s)
 order by t.endpoint_id
    on conflict on constraint queues_endpoint_name_unique do nothing;

-- name: read_queue_ids
-- The queue of that name under each endpoint; its own statement, to see rows just made.
select q.endpoint_id, q.id as queue_id
  from queues q
 where q.endpoint_id = any (%(endpoint_ids)s) and q.name = %(queue_name)s;
