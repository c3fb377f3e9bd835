-- Why: two rules were said again wherever they counted. What a webhook's target is called: a team
-- queue's name follows the team's slug while the endpoint's owner reaches the team, and is afterwards
-- the name it was made with. And whether an invite is backed: its maker may still give its role.
-- Locks: none on live data (views only). Safe live: yes.

create view webhook_targets as
  select w.id as webhook_id,
         coalesce('team:' || t.slug || '/' || q.name, w.target_queue) as target_queue
    from endpoint_webhooks w
    join endpoints e on e.id = w.endpoint_id
    join agents a on a.id = e.agent_id
    left join queues q on q.id = w.target_team_queue_id
     and (a.owner_team_id = q.team_id
          or exists (select 1 from team_roles r
                      where r.team_id = q.team_id and r.human_id = a.owner_human_id))
    left join teams t on t.id = q.team_id;

create view backed_invites as
  select i.id as invite_id
    from team_invites i
    join team_roles r on r.team_id = i.team_id and r.human_id = i.created_by
   where r.role = 'owner' or (r.role = 'admin' and i.role <> 'owner');
