-- Live OAuth grants, to those who may end them.

-- name: read_grants
-- All of them, or one by its id: another's is the same as none. The effective verbs are what every
-- call is judged by: ticked at consent, within the endpoint's.
select o.grant_id, c.client_name,
       case when o.human_id is null then 'agent' else 'operator' end as kind,
       e.slug as endpoint_slug,
       array(select v.verb from unnest(e.scope_verbs) v (verb)
              where v.verb = any (o.scope_verbs)) as verbs,
       g.display_name as granted_by, o.created_at, o.last_used_at,
       o.refresh_expires_at as expires_at, count(*) over ()::int as in_all
  from oauth_tokens o
  join oauth_clients c on c.client_id = o.client_id
  left join endpoints e on e.id = o.endpoint_id
  left join humans g on g.id = o.granted_by_human_id
 where o.revoked_at is null and o.refresh_expires_at > clock()
   and (%(grant_id)s::uuid is null or o.grant_id = %(grant_id)s)
   and (o.human_id = %(human_id)s
        or (e.state = 'active' and (e.expires_at is null or e.expires_at > clock())
            and exists (select 1 from human_endpoints h
                         where h.endpoint_id = o.endpoint_id and h.human_id = %(human_id)s
                           and h.role in ('owner', 'admin'))))
 order by o.created_at desc, o.grant_id
 limit %(most)s;

-- name: read_is_ended
-- Of a grant that was theirs to end; one of the endpoint's while they may configure it.
select exists (select 1
                 from oauth_tokens o
                where o.grant_id = %(grant_id)s and o.revoked_at is not null
                  and (o.human_id = %(human_id)s
                       or exists (select 1 from human_endpoints h
                                   where h.endpoint_id = o.endpoint_id
                                     and h.human_id = %(human_id)s
                                     and h.role in ('owner', 'admin')))) as is_ended;
