-- The pages of webhooks, for one human who may configure their endpoints.

-- name: read_webhooks
-- Newest first; the last delivery is one step into an index. The URL's token is for whoever may
-- rotate it. A team's queue out of the human's reach reads like one that is gone, under the name it
-- had when the webhook was made: what it is called now is no longer theirs to know.
select w.id, w.endpoint_id, e.slug, w.ingest_token, w.source_type, w.trust_mode, w.created_at, w.rotated_at,
       coalesce('team:' || t.slug || '/' || q.name, w.target_queue) as target_queue,
       coalesce(q.id, o.id) as queue_id,
       case when e.state = 'revoked' or e.expires_at <= clock() then 'revoked'
            else 'active' end as state,
       (select count(*) from webhook_routes r where r.webhook_id = w.id) as routes,
       (select v.received_at from events v where v.webhook_id = w.id
         order by v.id desc limit 1) as last_received_at
  from human_endpoints h
  join endpoint_webhooks w on w.endpoint_id = h.endpoint_id
  join endpoints e on e.id = w.endpoint_id
  left join human_queues r on r.human_id = h.human_id and r.queue_id = w.target_team_queue_id
  left join queues q on q.id = r.queue_id
  left join teams t on t.id = q.team_id
  left join queues o on o.endpoint_id = w.endpoint_id and o.name = w.target_queue
 where h.human_id = %(human_id)s and h.role in ('owner', 'admin')
   and (%(webhook_id)s::uuid is null or w.id = %(webhook_id)s)
   and (%(endpoint_id)s::uuid is null or w.endpoint_id = %(endpoint_id)s)
 order by w.created_at desc, w.id desc;

-- name: read_hosts
-- Active endpoints that may have a webhook at all, and how many they have.
select e.id, e.slug, a.name as agent_name, e.webhook_max as max, e.webhook_source_types as types,
       e.webhook_queues as queues,
       (select count(*) from endpoint_webhooks w where w.endpoint_id = e.id) as used
  from human_endpoints h
  join endpoints e on e.id = h.endpoint_id
  join agents a on a.id = e.agent_id
 where h.human_id = %(human_id)s and h.role in ('owner', 'admin')
   and e.state = 'active' and (e.expires_at is null or e.expires_at > clock())
 order by e.created_at desc, e.id desc;

-- name: read_route_choices
-- Active endpoints the human may configure, the owning one and those with a route apart.
select e.id, e.slug, a.name as agent_name
  from human_endpoints h
  join endpoints e on e.id = h.endpoint_id
  join agents a on a.id = e.agent_id
  join endpoint_webhooks w on w.id = %(webhook_id)s
 where h.human_id = %(human_id)s and h.role in ('owner', 'admin')
   and e.state = 'active' and (e.expires_at is null or e.expires_at > clock())
   and e.id <> w.endpoint_id
   and not exists (select 1 from webhook_routes r
                    where r.webhook_id = w.id and r.target_endpoint_id = e.id)
 order by e.slug;
