-- Humans and what proves one of them: sign-in links, sessions, operator tokens.

-- name: lock_first_human
-- Two servers that start on one empty database make one first human, not two.
select pg_advisory_xact_lock(%(key)s);

-- name: read_is_empty
-- Its own statement after the lock: a fresh snapshot sees what the other server committed.
select not exists (select 1 from humans);

-- name: insert_human
-- No identity of a provider: this human signs in by link.
insert into humans (id, display_name, email)
values (%(id)s, %(display_name)s, %(email)s)
returning id, display_name, email;

-- name: insert_login_link
-- Fifteen minutes, once; only the hash is kept. One that a form sent twice has made already stays
-- as it is. No row: there is no such human, or that link is spent.
insert into login_links as l (token_hash, human_id, expires_at)
select %(token_hash)s, h.id, clock() + interval '15 minutes'
  from humans h
 where h.id = %(human_id)s and h.suspended_at is null
on conflict (token_hash) do update set expires_at = l.expires_at
 where l.human_id = excluded.human_id and l.used_at is null and l.expires_at > clock()
returning human_id;

-- name: mark_link_used
-- The condition is the lock: of two posts of one link, one finds it unused.
update login_links l
   set used_at = clock()
  from humans h
 where l.token_hash = %(token_hash)s and l.used_at is null and l.expires_at > clock()
   and h.id = l.human_id and h.suspended_at is null
returning l.human_id;

-- name: insert_session
-- Ends after 12 hours without a request; the reader slides it, never past 30 days.
insert into sessions (token_hash, human_id, expires_at, issuer, provider_sub)
values (%(token_hash)s, %(human_id)s, clock() + interval '12 hours', %(issuer)s,
        %(provider_sub)s);

-- name: delete_session
-- Signing out forgets the session everywhere at once.
delete from sessions where token_hash = %(token_hash)s;

-- name: insert_operator_token
-- A row with a human and no client, no refresh hash and no expiry is an operator token. One that a
-- form sent twice has minted already stays as it is; once revoked, it answers nothing.
insert into oauth_tokens as t (token_hash, human_id, name)
select %(token_hash)s, h.id, %(name)s
  from humans h
 where h.id = %(human_id)s and h.suspended_at is null
on conflict (token_hash) do update set name = t.name
 where t.human_id = excluded.human_id and t.revoked_at is null
returning human_id;

-- name: mark_operator_token_revoked
-- The owner predicate stands here: a human revokes only tokens of their own.
update oauth_tokens
   set revoked_at = clock()
 where token_hash = %(token_hash)s and human_id = %(human_id)s and revoked_at is null;
