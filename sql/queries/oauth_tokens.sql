-- The token endpoint: one statement decides each use, and a refusal keeps what it used up.

-- name: read_client
-- A public client proves nothing; it must exist.
select 1 from oauth_clients where client_id = %(client_id)s;

-- name: mark_code_used
-- The condition is the lock: of any number of callers one finds the code unused. What it is bound
-- to is judged after it is used up, so that a guess costs the code.
update oauth_codes
   set used_at = clock()
 where code_hash = %(code_hash)s and used_at is null and expires_at > clock()
returning grant_id, client_id, redirect_uri, code_challenge, resource;

-- name: mark_replayed_revoked
-- A used code came back: what it was traded for ends, the rightful holder's tokens included. In a
-- statement of its own after the update above has waited, so that it sees the winner's row.
update oauth_tokens o
   set revoked_at = clock()
  from oauth_codes c
 where c.code_hash = %(code_hash)s and c.used_at is not null
   and o.grant_id = c.grant_id and o.revoked_at is null
returning o.grant_id, o.endpoint_id;

-- name: insert_grant
-- In this minute whoever consented may have been suspended or have lost the right to configure the
-- endpoint, and the endpoint may have ended.
insert into oauth_tokens (token_hash, refresh_hash, family_hash, client_id, grant_id, endpoint_id,
                          human_id, name, scope_verbs, resource, granted_by_human_id, expires_at,
                          refresh_expires_at)
select %(token_hash)s, %(refresh_hash)s, %(family_hash)s, c.client_id, c.grant_id, c.endpoint_id,
       c.human_id, k.client_name, c.scope_verbs, c.resource, c.granted_by_human_id,
       least(n.at + make_interval(secs => %(access_seconds)s), e.expires_at),
       least(n.at + make_interval(secs => %(refresh_seconds)s), e.expires_at)
  from oauth_codes c
  join oauth_clients k on k.client_id = c.client_id
  join humans g on g.id = c.granted_by_human_id and g.suspended_at is null
 cross join (select clock() as at) n
  left join endpoints e on e.id = c.endpoint_id
  left join agents a on a.id = e.agent_id
  left join humans h on h.id = a.owner_human_id
  left join teams t on t.id = a.owner_team_id
 where c.code_hash = %(code_hash)s
   and (c.human_id is not null
        or (e.state = 'active' and (e.expires_at is null or e.expires_at > n.at)
            and h.suspended_at is null and t.suspended_at is null
            and exists (select 1 from human_endpoints r
                         where r.endpoint_id = c.endpoint_id
                           and r.human_id = c.granted_by_human_id
                           and r.role in ('owner', 'admin'))))
returning grant_id, round(extract(epoch from expires_at - clock()))::int as expires_in,
          coalesce(scope_verbs, '{}') as scopes;

-- name: lock_grant
-- By the family that every refresh token of the grant begins with; the row is the whole grant, so
-- two refreshes come one after the other, and a revocation comes before or after, never between.
select grant_id, endpoint_id, client_id, refresh_hash, resource, scope_verbs,
       revoked_at is not null or refresh_expires_at <= clock() as is_over
  from oauth_tokens
 where family_hash = %(family_hash)s
   for update;

-- name: mark_family_revoked
-- A refresh token that was rotated away came back: one of the two who hold it is a thief.
update oauth_tokens
   set revoked_at = clock()
 where family_hash = %(family_hash)s and revoked_at is null
returning grant_id, endpoint_id;

-- name: mark_rotated
-- Fresh tokens in place of the old; nothing while the owner is suspended, the endpoint has ended, or
-- who consented is suspended or may not configure it: the token waits, for they may again.
update oauth_tokens o
   set token_hash = %(token_hash)s, refresh_hash = %(refresh_hash)s,
       token_verbs = %(verbs)s::text[],
       expires_at = least(n.at + make_interval(secs => %(access_seconds)s), e.expires_at),
       refresh_expires_at = least(n.at + make_interval(secs => %(refresh_seconds)s), e.expires_at)
  from oauth_tokens p
 cross join (select clock() as at) n
  left join humans u on u.id = p.human_id
  left join endpoints e on e.id = p.endpoint_id
  left join agents a on a.id = e.agent_id
  left join humans h on h.id = a.owner_human_id
  left join teams t on t.id = a.owner_team_id
 where o.family_hash = %(family_hash)s and o.revoked_at is null
   and p.token_hash = o.token_hash
   and u.suspended_at is null and h.suspended_at is null and t.suspended_at is null
   and (p.endpoint_id is null
        or (e.state = 'active' and (e.expires_at is null or e.expires_at > n.at)
            and exists (select 1 from human_endpoints r
                          join humans g on g.id = r.human_id and g.suspended_at is null
                         where r.endpoint_id = p.endpoint_id
                           and r.human_id = p.granted_by_human_id
                           and r.role in ('owner', 'admin'))))
returning o.grant_id, floor(extract(epoch from o.expires_at - n.at))::int as expires_in,
          coalesce(o.token_verbs, o.scope_verbs, '{}') as scopes;

-- name: mark_token_revoked
-- By the access token, or by any refresh token of the family, a rotated one too: all of it ends.
update oauth_tokens
   set revoked_at = clock()
 where (token_hash = %(token_hash)s or family_hash = %(family_hash)s)
   and client_id = %(client_id)s and revoked_at is null
returning grant_id, endpoint_id;
