-- Webhooks: minted, rotated, deleted under the ceiling.

-- name: lock_endpoint
-- The ceiling is counted under this lock, so two creates never both take the last place. No key
-- update: deliveries and claims that refer to the endpoint do not wait.
select e.webhook_max, e.webhook_source_types, e.webhook_queues,
       case when e.state = 'revoked' or e.expires_at <= clock() then 'revoked'
            else 'active' end as state
  from endpoints e
 where e.id = %(endpoint_id)s
   for no key update;

-- name: read_count
-- Its own statement after the lock: a fresh snapshot is the point.
select count(*) from endpoint_webhooks where endpoint_id = %(endpoint_id)s;

-- name: read_team_target
-- Outside the team no row; inside it a missing queue leaves queue_id null.
select t.id as team_id, r.role, t.members_create_webhooks, q.id as queue_id
  from teams t
  join team_roles r on r.team_id = t.id
  left join queues q on q.team_id = t.id and q.name = %(name)s
 where t.slug = %(slug)s and r.human_id = %(human_id)s;

-- name: read_owner_reaches_team
-- The endpoint's owner, not the caller, is who will be delivering: a human in the team, or itself.
select exists (
  select 1
    from endpoints e
    join agents a on a.id = e.agent_id
   where e.id = %(endpoint_id)s
     and (a.owner_team_id = %(team_id)s
          or exists (select 1 from team_roles r
                      where r.team_id = %(team_id)s and r.human_id = a.owner_human_id)));

-- name: lock_webhook_of_endpoint
-- The agent's own webhook; another endpoint's is no row. A team's queue is named as the lists name
-- it: as today while the endpoint's owner reaches the team, else as it was then (webhook_targets).
select w.id, w.endpoint_id, w.source_type,
       n.target_queue, w.trust_mode,
       'active' as state
  from endpoint_webhooks w
  join endpoints e on e.id = w.endpoint_id
  join webhook_targets n on n.webhook_id = w.id
 where w.id = %(webhook_id)s and w.endpoint_id = %(endpoint_id)s
   for update of w;

-- name: lock_webhook_of_human
-- A webhook of an endpoint the human may configure; foreign and unknown are no row. Named as above.
select w.id, w.endpoint_id, w.source_type,
       n.target_queue, w.trust_mode,
       case when e.state = 'revoked' or e.expires_at <= clock() then 'revoked'
            else 'active' end as state
  from endpoint_webhooks w
  join endpoints e on e.id = w.endpoint_id
  join webhook_targets n on n.webhook_id = w.id
 where w.id = %(webhook_id)s
   and exists (select 1 from human_endpoints h
                where h.endpoint_id = w.endpoint_id and h.human_id = %(human_id)s
                  and h.role in ('owner', 'admin'))
   for update of w;

-- name: delete_webhook
-- Locked and judged by the statement before.
delete from endpoint_webhooks where id = %(webhook_id)s;
