-- Teams as rows. Every change but the first holds the team's row already (team_changes.sql), which
-- asked who may.

-- name: lock_slugs
-- One slug is given, given up or asked for by one transaction at a time. The caller sorts them.
select pg_advisory_xact_lock(hashtextextended('team slug ' || s.slug, 0))
  from unnest(%(slugs)s::text[]) with ordinality as s (slug, place)
 order by s.place;

-- name: read_slug_is_free
-- In its own statement after the lock: no team has it, and it does not rest.
select not exists (select 1 from teams where slug = %(slug)s)
   and not exists (select 1 from retired_team_slugs
                    where slug = %(slug)s and free_at > (select clock())) as is_free;

-- name: upsert_retired_slug
-- Thirty days from now, also when it rested before.
insert into retired_team_slugs (slug, free_at)
values (%(slug)s, clock() + interval '30 days')
    on conflict (slug) do update
   set retired_at = clock(), free_at = excluded.free_at;

-- name: insert_team
-- Its first member follows in the same transaction.
insert into teams (id, slug, display_name, created_by)
values (%(id)s, %(slug)s, %(display_name)s, %(human_id)s);

-- name: mark_edited
-- What is not named stays.
update teams
   set slug = coalesce(%(slug)s, slug),
       display_name = coalesce(%(display_name)s, display_name),
       members_create_webhooks = coalesce(%(members_create_webhooks)s, members_create_webhooks)
 where id = %(team_id)s;

-- name: lock_queues
-- Nobody adds a todo to a queue that is locked so: its foreign key waits.
select q.id
  from queues q
 where q.team_id = %(team_id)s
 order by q.id
   for update;

-- name: lock_team_key
-- Nobody adds a queue or an agent to a team that is locked so.
select t.id
  from teams t
 where t.id = %(team_id)s
   for update;

-- name: count_queues
-- In its own statement after the lock: one more than were locked came in between.
select count(*) from queues where team_id = %(team_id)s;

-- name: read_is_busy
-- An endpoint that works, or work that is not over, in the team's queues or its endpoints'.
select exists (select 1
                 from agents a
                 join endpoints e on e.agent_id = a.id
                where a.owner_team_id = %(team_id)s and e.state = 'active'
                  and (e.expires_at is null or e.expires_at > (select clock())))
    or exists (select 1
                 from queues q
                 left join endpoints e on e.id = q.endpoint_id
                 left join agents a on a.id = e.agent_id
                 join todos t on t.queue_id = q.id
                where (q.team_id = %(team_id)s or a.owner_team_id = %(team_id)s)
                  and (t.state in ('pending', 'claimed')
                       or (t.state = 'failed' and t.next_retry_at is not null))) as is_busy;

-- name: delete_team
-- Members, invites, links, queues, grants, endpoints that ended and their finished work go along.
delete from teams where id = %(team_id)s;
