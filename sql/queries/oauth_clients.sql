-- Apps that register themselves.

-- name: insert_client
-- Swept again after a day when nobody lets it in.
insert into oauth_clients (client_id, client_name, redirect_uris)
values (%(client_id)s, %(client_name)s, %(redirect_uris)s)
returning client_id, client_name, redirect_uris, created_at;
