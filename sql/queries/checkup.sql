-- What Postgres says of itself, for `doctor`.

-- name: read_server
-- Connections that only superusers may take do not count, unless the role is one.
select current_setting('server_version') as version,
       current_setting('server_version_num')::int as version_number,
       pg_encoding_to_char(d.encoding) as encoding,
       r.rolname as role,
       pg_is_in_recovery() as is_standby,
       least(current_setting('max_connections')::int
               - case when r.rolsuper then 0
                      else current_setting('superuser_reserved_connections')::int
                             + coalesce(current_setting('reserved_connections', true)::int, 0)
                 end,
             nullif(r.rolconnlimit, -1), nullif(d.datconnlimit, -1)) as most_connections
  from pg_roles r, pg_database d
 where r.rolname = current_user and d.datname = current_database();

-- name: list_server_settings
-- Of this session, so the role's and the database's own are counted in; times in milliseconds.
select s.name, s.setting
  from pg_settings s
 where s.name = any (%(names)s);

-- name: read_identity
-- The same for two connections exactly when they lead to one database of one running server; and
-- the process behind this one, which a pooler hides.
select d.oid || '/' || extract(epoch from pg_postmaster_start_time()) as identity,
       pg_backend_pid() as pid
  from pg_database d
 where d.datname = current_database();

-- name: read_clock
-- The product's clock: what it says is what counts.
select clock();

-- name: list_zones
-- Zones that live policies count their windows in.
select distinct p.window_tz
  from admission_policies p
 where p.deleted_at is null and p.window_tz is not null
 order by p.window_tz;
