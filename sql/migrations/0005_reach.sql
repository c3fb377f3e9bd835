-- Why: who may act where, said once. Every tenant query joins one of these views with the
-- caller's id, so the owner predicate stands in the query itself and reach is never cached.
-- Locks: none on live data (views only). Safe live: yes.

-- The strongest role a human holds in a team (manual and group memberships may both exist).
create view team_roles as
  select m.team_id, m.human_id,
         case when bool_or(m.role = 'owner') then 'owner'
              when bool_or(m.role = 'admin') then 'admin'
              else 'member' end as role
    from team_members m
    join teams t on t.id = m.team_id
   where t.suspended_at is null
   group by m.team_id, m.human_id;

-- Endpoints whose owner scope includes the human, with the role held there.
create view human_endpoints as
  select a.owner_human_id as human_id, e.id as endpoint_id, 'owner'::text as role
    from agents a
    join endpoints e on e.agent_id = a.id
   where a.owner_human_id is not null
  union all
  select r.human_id, e.id, r.role
    from agents a
    join endpoints e on e.agent_id = a.id
    join team_roles r on r.team_id = a.owner_team_id;

-- Queues a human may see and work in, and whether the human may configure them.
create view human_queues as
  select h.human_id, q.id as queue_id, h.role in ('owner', 'admin') as may_configure
    from human_endpoints h
    join queues q on q.endpoint_id = h.endpoint_id
  union all
  select r.human_id, q.id, r.role in ('owner', 'admin')
    from team_roles r
    join queues q on q.team_id = r.team_id;

-- Queues an endpoint drains: its grant within its owner's live reach, evaluated per call.
create view endpoint_queues as
  select e.id as endpoint_id, q.id as queue_id, q.name as queue, q.has_policy,
         null::uuid as team_id, q.name
    from endpoints e
    join queues q on q.endpoint_id = e.id and q.name = any (e.scope_queues)
   where e.state = 'active'
     and (e.expires_at is null or e.expires_at > (select clock()))
  union all
  select g.endpoint_id, q.id, 'team:' || t.slug || '/' || q.name, q.has_policy, q.team_id,
         q.name
    from endpoint_team_grants g
    join endpoints e on e.id = g.endpoint_id
    join agents a on a.id = e.agent_id
    join queues q on q.id = g.queue_id
    join teams t on t.id = q.team_id and t.suspended_at is null
   where e.state = 'active'
     and (e.expires_at is null or e.expires_at > (select clock()))
     and (a.owner_team_id = q.team_id
          or exists (select 1 from team_members m
                      where m.team_id = q.team_id and m.human_id = a.owner_human_id));

-- A todo with its queue's display name: a bare name, or team:<slug>/<name>.
create view todo_rows as
  select t.id, t.queue_id, t.endpoint_id, t.team_id, t.source, t.kind, t.title, t.payload,
         t.event_id, t.idempotency_key, t.state, t.owner, t.lease_expires_at, t.attempt,
         t.max_attempts, t.result, t.created_at, t.updated_at, t.claimed_at, t.completed_at,
         t.next_retry_at, t.attempts_total, t.attempts_pruned, t.claimed_by_endpoint_id,
         q.name as queue_name, q.has_policy,
         case when t.team_id is null then q.name
              else 'team:' || m.slug || '/' || q.name end as queue,
         m.slug as team
    from todos t
    join queues q on q.id = t.queue_id
    left join teams m on m.id = t.team_id;
