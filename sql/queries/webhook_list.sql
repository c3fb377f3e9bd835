-- Webhooks and routes as their owner sees them. A team queue's name follows the team's slug while
-- the endpoint's owner reaches the team; afterwards it is the name it was made with.

-- name: read_endpoint_id
-- By slug or id, only what the human may configure.
select e.id
  from human_endpoints h
  join endpoints e on e.id = h.endpoint_id
 where h.human_id = %(human_id)s and h.role in ('owner', 'admin')
   and (e.slug = %(ref)s or e.id = %(ref_id)s);

-- name: read_webhooks_of_endpoint
-- Oldest first: the one vended with the endpoint leads.
select w.id, w.endpoint_id, e.slug, w.source_type,
       n.target_queue,
       w.trust_mode, w.ingest_token, w.created_at, w.rotated_at
  from endpoint_webhooks w
  join endpoints e on e.id = w.endpoint_id
  join webhook_targets n on n.webhook_id = w.id
 where w.endpoint_id = %(endpoint_id)s
 order by w.created_at, w.id;

-- name: read_webhooks_of_human
-- Everything the human may rotate or delete.
select w.id, w.endpoint_id, e.slug, w.source_type,
       n.target_queue,
       w.trust_mode, w.ingest_token, w.created_at, w.rotated_at
  from human_endpoints h
  join endpoint_webhooks w on w.endpoint_id = h.endpoint_id
  join endpoints e on e.id = w.endpoint_id
  join webhook_targets n on n.webhook_id = w.id
 where h.human_id = %(human_id)s and h.role in ('owner', 'admin')
 order by w.created_at, w.id;

-- name: read_ceiling
-- Advice to the caller; a create counts again under its lock.
select e.webhook_max as max, e.webhook_source_types as allowed_source_types,
       e.webhook_queues as allowed_queues,
       (select count(*) from endpoint_webhooks w where w.endpoint_id = e.id) as used
  from endpoints e
 where e.id = %(endpoint_id)s;

-- name: read_may_configure
-- Foreign, unknown and malformed alike are false.
select exists (
  select 1
    from endpoint_webhooks w
    join human_endpoints h on h.endpoint_id = w.endpoint_id
   where w.id = %(webhook_id)s and h.human_id = %(human_id)s
     and h.role in ('owner', 'admin'));

-- name: read_routes
-- Asked only for a webhook the caller may configure, and scoped again all the same.
select r.target_endpoint_id as endpoint_id, e.slug, r.granted_at
  from webhook_routes r
  join endpoint_webhooks w on w.id = r.webhook_id
  join human_endpoints h on h.endpoint_id = w.endpoint_id
  join endpoints e on e.id = r.target_endpoint_id
 where r.webhook_id = %(webhook_id)s and h.human_id = %(human_id)s
   and h.role in ('owner', 'admin')
 order by r.granted_at, r.target_endpoint_id;
