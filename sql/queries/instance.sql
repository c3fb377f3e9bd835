-- Settings of the instance, the same for everyone (contract data.md, "settings").

-- name: read_setting
-- One setting; null when nobody ever wrote it.
select s.value
  from settings s
 where s.key = %(key)s;

-- name: list_settings
-- All of them: a handful of rows.
select s.key, s.value
  from settings s
 order by s.key;
