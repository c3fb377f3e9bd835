-- name: create_schema_migrations
-- The only table the runner itself needs; it must exist before migration 1 does.
create table if not exists schema_migrations (
  version     text primary key,
  sha256      text not null,
  applied_at  timestamptz not null
);

-- name: lock_migrations
-- Two servers that start at once take turns; the lock ends with the transaction.
select pg_advisory_xact_lock(%(lock)s);

-- name: read_applied
-- What this database has; compared with the files by version and hash.
select version, sha256
  from schema_migrations
 order by version;

-- name: read_whether_migrated
-- A database nobody migrated has no such table, and that is not an error for /readyz.
select to_regclass('schema_migrations') is not null;

-- name: insert_applied
-- In the migration's own transaction: applied and recorded, or neither.
insert into schema_migrations (version, sha256, applied_at)
values (%(version)s, %(sha256)s, clock());
