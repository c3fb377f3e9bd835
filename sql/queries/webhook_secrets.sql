-- The URL token and the sealed secret of a webhook.

-- name: insert_webhook
-- The secret is sealed before it gets here, bound to this row's id.
insert into endpoint_webhooks (id, endpoint_id, source_type, target_queue, target_team_queue_id,
                               trust_mode, ingest_token, secret)
values (%(id)s, %(endpoint_id)s, %(source_type)s, %(target_queue)s, %(team_queue_id)s,
        %(trust_mode)s, %(ingest_token)s, %(secret)s);

-- name: mark_rotated
-- The old URL and secret stop with this commit.
update endpoint_webhooks
   set ingest_token = %(ingest_token)s, secret = %(secret)s, rotated_at = clock()
 where id = %(webhook_id)s;
