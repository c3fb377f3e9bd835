-- name: read_one_sealed
-- Any one stored secret: a server whose key does not open it would refuse every signed delivery.
select w.id, w.secret
  from endpoint_webhooks w
 where w.secret is not null
 order by w.created_at desc, w.id
 limit 1;

-- name: list_sealed
-- Every stored secret: after a restore each must open, or its deliveries are refused one by one.
select w.id, w.secret
  from endpoint_webhooks w
 where w.secret is not null
union all
select h.id, h.secret
  from notify_hooks h
union all
select h.id, h.prev_secret
  from notify_hooks h
 where h.prev_secret is not null
 order by 1, 2;
