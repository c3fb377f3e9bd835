-- name: upsert_setting
-- The row may be missing: not every setting is seeded (contract data.md, "settings").
insert into settings (key, value)
values (%(key)s, %(value)s)
    on conflict (key) do update set value = excluded.value;
