-- name: read_endpoint_by_credential
-- A revoked or expired credential is no row: to the caller the same as one that never was.
select e.id, e.slug, e.agent_id, a.name as agent_name, e.scope_queues, e.scope_verbs,
       a.owner_human_id, a.owner_team_id, e.vended_by_human_id, e.expires_at,
       e.default_lease_ttl_seconds,
       coalesce(h.suspended_at, t.suspended_at) is not null as is_suspended,
       e.last_seen_at is null or e.last_seen_at < clock() - interval '60 seconds' as is_stale,
       null::text as grant_hash, null::uuid as grant_id
  from endpoints e
  join agents a on a.id = e.agent_id
  left join humans h on h.id = a.owner_human_id
  left join teams t on t.id = a.owner_team_id
 where e.credential_hash = %(token_hash)s
   and e.state = 'active'
   and (e.expires_at is null or e.expires_at > clock());

-- name: read_endpoint_by_grant
-- An agent grant is bound to one endpoint and lives no longer than that endpoint does. Its verbs
-- are worked out at every call: what was ticked at consent, or what a refresh narrowed it to, and
-- never one that the endpoint's own scope lacks. A grant without verbs opens none. It holds only
-- while who gave it may configure the endpoint (human_endpoints, but that a suspended owner is told
-- so), and so ends at the first call after a demotion, and works again with the role.
select e.id, e.slug, e.agent_id, a.name as agent_name, e.scope_queues,
       array(select v.verb from unnest(e.scope_verbs) v (verb)
              where v.verb = any (o.scope_verbs)
                and (o.token_verbs is null or v.verb = any (o.token_verbs))) as scope_verbs,
       a.owner_human_id, a.owner_team_id, e.vended_by_human_id, e.expires_at,
       e.default_lease_ttl_seconds,
       coalesce(h.suspended_at, t.suspended_at) is not null as is_suspended,
       e.last_seen_at is null or e.last_seen_at < clock() - interval '60 seconds'
         or o.last_used_at is null or o.last_used_at < clock() - interval '60 seconds' as is_stale,
       o.token_hash as grant_hash, o.grant_id
  from oauth_tokens o
  join endpoints e on e.id = o.endpoint_id
  join agents a on a.id = e.agent_id
  left join humans h on h.id = a.owner_human_id
  left join teams t on t.id = a.owner_team_id
 where o.token_hash = %(token_hash)s
   and o.revoked_at is null
   and (o.expires_at is null or o.expires_at > clock())
   and e.state = 'active'
   and (e.expires_at is null or e.expires_at > clock())
   and (a.owner_human_id = o.granted_by_human_id
        or exists (select 1 from team_members m
                     join humans g on g.id = m.human_id and g.suspended_at is null
                    where m.team_id = a.owner_team_id and m.human_id = o.granted_by_human_id
                      and m.role in ('owner', 'admin')));

-- name: read_human_by_operator_token
-- Operator tokens and operator grants are the rows that name a human.
select o.human_id, h.display_name, h.email, o.token_hash, o.name, o.grant_id, o.created_at,
       o.last_used_at,
       o.last_used_at is null or o.last_used_at < clock() - interval '60 seconds' as is_stale
  from oauth_tokens o
  join humans h on h.id = o.human_id
 where o.token_hash = %(token_hash)s
   and o.revoked_at is null
   and (o.expires_at is null or o.expires_at > clock())
   and h.suspended_at is null;

-- name: read_live_grants
-- Of these agent grants, those whose access token still opens their endpoint, as for a call.
select o.grant_id
  from oauth_tokens o
  join endpoints e on e.id = o.endpoint_id
  join agents a on a.id = e.agent_id
 where o.grant_id = any (%(grant_ids)s)
   and o.revoked_at is null and o.expires_at > clock()
   and (a.owner_human_id = o.granted_by_human_id
        or exists (select 1 from team_members m
                     join humans g on g.id = m.human_id and g.suspended_at is null
                    where m.team_id = a.owner_team_id and m.human_id = o.granted_by_human_id
                      and m.role in ('owner', 'admin')));

-- name: read_session
-- Two ends: 12 hours without a request (expires_at), and 30 days after sign-in whatever happens.
-- It is stale when moving its end now would move it by a minute or more.
select s.token_hash, s.human_id, h.display_name, h.email, h.zone, h.theme, h.announce,
       s.live_paused_at, s.flash is not null as has_flash,
       exists (select from team_members m where m.human_id = s.human_id) as is_in_team,
       s.expires_at < least(clock() + interval '12 hours', s.created_at + interval '30 days')
                      - interval '60 seconds' as is_stale
  from sessions s
  join humans h on h.id = s.human_id
 where s.token_hash = %(token_hash)s
   and s.expires_at > clock()
   and s.created_at > clock() - interval '30 days'
   and h.suspended_at is null;

-- name: read_login_link
-- A look only: showing the page must not burn the link (identity.md).
select 1
  from login_links l
  join humans h on h.id = l.human_id
 where l.token_hash = %(token_hash)s
   and l.used_at is null
   and l.expires_at > clock()
   and h.suspended_at is null;
