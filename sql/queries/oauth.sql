-- Consent: the code that a yes is worth.

-- name: insert_agent_code
-- Who may consent is asked again here, and the verbs are held against the endpoint's scope once
-- more: whatever the page said, no code exists for what this human may not give. The same form
-- sent twice finds its code, until the app has used it or the answers are others.
insert into oauth_codes as c (code_hash, client_id, grant_id, granted_by_human_id, endpoint_id,
                              scope_verbs, redirect_uri, code_challenge, resource, expires_at)
select %(code_hash)s, %(client_id)s, %(grant_id)s, h.human_id, e.id, %(verbs)s::text[],
       %(redirect_uri)s, %(code_challenge)s, %(resource)s,
       clock() + make_interval(secs => %(seconds)s)
  from human_endpoints h
  join humans p on p.id = h.human_id and p.suspended_at is null
  join endpoints e on e.id = h.endpoint_id
  join agents a on a.id = e.agent_id
  left join teams t on t.id = a.owner_team_id
 where h.human_id = %(human_id)s and h.role in ('owner', 'admin')
   and e.id = %(endpoint_id)s
   and e.state = 'active' and (e.expires_at is null or e.expires_at > clock())
   and t.suspended_at is null
   and %(verbs)s::text[] <@ e.scope_verbs
    on conflict (code_hash) do update set grant_id = c.grant_id
 where c.used_at is null and c.expires_at > clock()
   and (c.endpoint_id, c.scope_verbs, c.client_id, c.redirect_uri, c.code_challenge, c.resource)
     = (excluded.endpoint_id, excluded.scope_verbs, excluded.client_id, excluded.redirect_uri,
        excluded.code_challenge, excluded.resource)
returning c.grant_id;

-- name: insert_operator_code
-- A human consents for nobody but themselves. The same form sent twice is answered as above.
insert into oauth_codes as c (code_hash, client_id, grant_id, granted_by_human_id, human_id,
                              redirect_uri, code_challenge, resource, expires_at)
select %(code_hash)s, %(client_id)s, %(grant_id)s, p.id, p.id,
       %(redirect_uri)s, %(code_challenge)s, %(resource)s,
       clock() + make_interval(secs => %(seconds)s)
  from humans p
 where p.id = %(human_id)s and p.suspended_at is null
    on conflict (code_hash) do update set grant_id = c.grant_id
 where c.used_at is null and c.expires_at > clock()
   and (c.human_id, c.client_id, c.redirect_uri, c.code_challenge, c.resource)
     = (excluded.human_id, excluded.client_id, excluded.redirect_uri, excluded.code_challenge,
        excluded.resource)
returning c.grant_id;

-- name: read_code
-- Nothing was inserted: was it this form, sent once more after its code was used?
select 1 from oauth_codes where code_hash = %(code_hash)s;

-- name: mark_client_used
-- Before the code: it holds the client's row, and keeps one that people use from being swept.
update oauth_clients set last_used_at = clock() where client_id = %(client_id)s;
