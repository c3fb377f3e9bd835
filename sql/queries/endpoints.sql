-- Endpoints: vended, changed, revoked, deleted.

-- name: read_team_role
-- Outside the team no row comes back, as for an unknown slug. The share makes a delete of the team
-- wait, and one that came first leaves no row here.
select t.id as team_id, r.role
  from teams t
  join team_roles r on r.team_id = t.id
 where t.slug = %(slug)s and r.human_id = %(human_id)s
   for key share of t;

-- name: insert_agent
-- The record that owns the endpoint; who made it confers nothing.
insert into agents (id, owner_human_id, owner_team_id, name, created_by_human_id)
values (%(id)s, %(owner_human_id)s, %(owner_team_id)s, %(name)s, %(human_id)s);

-- name: insert_endpoint
-- No row comes back when the slug is taken; the caller draws another tail.
insert into endpoints (id, agent_id, slug, credential_hash, credential_prefix, scope_queues,
                       scope_verbs, webhook_max, webhook_source_types, webhook_queues,
                       expires_at, default_lease_ttl_seconds, vended_by_human_id)
values (%(id)s, %(agent_id)s, %(slug)s, %(credential_hash)s, %(credential_prefix)s,
        %(queues)s, %(verbs)s, 1, %(source_types)s, %(queues)s,
        clock() + %(lifetime)s::interval, %(default_lease)s, %(human_id)s)
on conflict on constraint endpoints_slug_unique do nothing
returning id, slug, expires_at;

-- name: insert_scope_queues
-- One queue identity per scope queue, in the order they were named.
insert into queues (endpoint_id, name)
select %(endpoint_id)s, given.name
  from unnest(%(names)s::text[]) with ordinality as given(name, place)
 order by given.place;

-- name: mark_revoked
-- Ownership in the same statement; an expired endpoint counts as revoked already.
update endpoints e
   set state = 'revoked', revoked_at = clock()
 where e.id = %(endpoint_id)s and e.state = 'active'
   and (e.expires_at is null or e.expires_at > clock())
   and exists (select 1 from human_endpoints h
                where h.endpoint_id = e.id and h.human_id = %(human_id)s
                  and h.role in ('owner', 'admin'));

-- name: delete_revoked
-- Ownership and state in the same statement; the endpoint goes with its agent, one to one.
delete from agents a
 using endpoints e, human_endpoints h
 where e.agent_id = a.id and e.id = %(endpoint_id)s
   and (e.state = 'revoked' or e.expires_at <= clock())
   and h.endpoint_id = e.id and h.human_id = %(human_id)s and h.role in ('owner', 'admin');

-- name: mark_default_lease
-- The owner's change; a revoked endpoint keeps what it had.
update endpoints e
   set default_lease_ttl_seconds = %(seconds)s
  from agents a, human_endpoints h
 where a.id = e.agent_id and e.id = %(endpoint_id)s
   and e.state = 'active' and (e.expires_at is null or e.expires_at > clock())
   and h.endpoint_id = e.id and h.human_id = %(human_id)s and h.role in ('owner', 'admin')
returning e.id, e.slug, a.name as agent_name, e.state, e.scope_queues as queues,
          e.scope_verbs as verbs, e.expires_at, e.default_lease_ttl_seconds;

-- name: mark_own_default_lease
-- The agent's own change, in the scope of its own credential.
update endpoints
   set default_lease_ttl_seconds = %(seconds)s
 where id = %(endpoint_id)s and state = 'active'
   and (expires_at is null or expires_at > clock());
