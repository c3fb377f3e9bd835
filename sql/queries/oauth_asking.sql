-- What a client asks for: who it is, and what a human could give it.

-- name: read_client
-- Its redirect URIs come whole: they are compared as text, in every character.
select client_id, client_name, redirect_uris
  from oauth_clients
 where client_id = %(client_id)s;

-- name: read_choices
-- Active endpoints the human may configure; of a slug that is foreign, unknown or ended, no row.
select e.id, e.slug, a.name as agent_name, t.slug as team, e.scope_verbs
  from human_endpoints h
  join endpoints e on e.id = h.endpoint_id
  join agents a on a.id = e.agent_id
  left join teams t on t.id = a.owner_team_id
 where h.human_id = %(human_id)s and h.role in ('owner', 'admin')
   and (%(slug)s::text is null or e.slug = %(slug)s)
   and e.state = 'active' and (e.expires_at is null or e.expires_at > clock())
   and t.suspended_at is null
 order by e.created_at desc, e.id desc;
