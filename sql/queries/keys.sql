-- name: read_one_sealed
-- Any one stored secret: a server whose key does not open it would refuse every signed delivery.
select w.id, w.secret
  from endpoint_webhooks w
 where w.secret is not null
 order by w.created_at desc, w.id
 limit 1;
