-- What the next page of a session says once.

-- name: mark_flash
-- The session is named by the hash of its own cookie: nobody writes into another's.
update sessions
   set flash = %(flash)s
 where token_hash = %(token_hash)s;

-- name: mark_flash_said
-- Read and cleared by one statement: a second reader waits for the row, finds none, says nothing.
with held as (
  select token_hash, flash
    from sessions
   where token_hash = %(token_hash)s and flash is not null
     for update
)
update sessions s
   set flash = null
  from held
 where s.token_hash = held.token_hash
returning held.flash;
