-- What the catalogs say of the schema we live in; a dump asks them, so that no list can be stale.

-- name: list_tables
-- Ours, and whoever else's are here: a load must not touch those.
select c.relname
  from pg_class c
 where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p', 'f')
 order by c.relname;

-- name: list_columns
-- Named in the dump: a table that got its columns in another order loads all the same.
select a.attname
  from pg_attribute a
  join pg_class c on c.oid = a.attrelid
 where c.relnamespace = current_schema()::regnamespace and c.relname = %(table)s
   and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
 order by a.attnum;

-- name: list_references
-- Which table points to which: rows are loaded after what they point to.
select t.relname, r.relname
  from pg_constraint k
  join pg_class t on t.oid = k.conrelid
  join pg_class r on r.oid = k.confrelid
 where k.contype = 'f' and t.relnamespace = current_schema()::regnamespace
 order by t.relname, r.relname;

-- name: list_sequences
-- The numbering behind identity columns; it must go on where it was, also past deleted rows.
select s.relname, t.relname
  from pg_class s
  join pg_depend d on d.objid = s.oid and d.classid = 'pg_class'::regclass
                  and d.refclassid = 'pg_class'::regclass and d.deptype in ('a', 'i')
  join pg_class t on t.oid = d.refobjid
 where s.relkind = 'S' and s.relnamespace = current_schema()::regnamespace
 order by s.relname;

-- name: read_clock
-- When the snapshot was taken, near enough to tell one backup from another.
select clock();
