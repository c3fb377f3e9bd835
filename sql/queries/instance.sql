-- Settings of the instance, the same for everyone (contract data.md, "settings").

-- name: read_setting
-- One setting; null when nobody ever wrote it.
select s.value
  from settings s
 where s.key = %(key)s;
