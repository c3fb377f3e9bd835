-- A grant ends: one row, so that no refresh under way can outlive it.

-- name: mark_grant_revoked
-- Who may end it stands here: the human of an operator grant, those who may configure the
-- endpoint of an agent grant.
update oauth_tokens o
   set revoked_at = clock()
 where o.grant_id = %(grant_id)s and o.revoked_at is null
   and (o.human_id = %(human_id)s
        or exists (select 1 from human_endpoints h
                    where h.endpoint_id = o.endpoint_id and h.human_id = %(human_id)s
                      and h.role in ('owner', 'admin')))
returning o.grant_id, o.endpoint_id;
