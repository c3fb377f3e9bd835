-- What retention deletes, and never more than one batch per statement (data.md, "Retention").
-- Terminal: done, or failed with no retry to come. Everything else is live and stays.

-- name: read_setting
-- A retention setting as text; the caller judges it.
select value from settings where key = %(key)s;

-- name: read_age_cutoff
-- The instant before which a row is too old.
select clock() - make_interval(days => %(days)s);

-- name: read_event_cutoff
-- The newest event that is one too many; no row when all fit.
select received_at as at, id
  from events
 order by received_at desc, id desc
offset %(keep)s limit 1;

-- name: read_todo_cutoff
-- The newest terminal todo that is one too many; no row when all fit.
select updated_at as at, id
  from todos
 where state = 'done' or (state = 'failed' and next_retry_at is null)
 order by updated_at desc, id desc
offset %(keep)s limit 1;

-- name: read_event_owners
-- Owners with more events than their cap; whether a live todo needs them is judged per event.
select coalesce(endpoint_id, team_id) as owner_id
  from events
 group by 1
having count(*) > %(keep)s
 order by 1;

-- name: read_todo_owners
-- Owners with more terminal todos than their cap.
select coalesce(endpoint_id, team_id) as owner_id
  from todos
 where state = 'done' or (state = 'failed' and next_retry_at is null)
 group by 1
having count(*) > %(keep)s
 order by 1;

-- name: read_owner_event_cutoff
-- Of one owner's events that no live todo references: the newest that is one too many.
select e.received_at as at, e.id
  from events e
 where (e.endpoint_id = %(owner_id)s or e.team_id = %(owner_id)s)
   and not exists (
       select 1 from todos t
        where t.event_id = e.id
          and (t.state in ('pending', 'claimed')
               or (t.state = 'failed' and t.next_retry_at is not null)))
 order by e.received_at desc, e.id desc
offset %(keep)s limit 1;

-- name: read_owner_todo_cutoff
-- Of one owner's terminal todos: the newest that is one too many.
select updated_at as at, id
  from todos
 where (endpoint_id = %(owner_id)s or team_id = %(owner_id)s)
   and (state = 'done' or (state = 'failed' and next_retry_at is null))
 order by updated_at desc, id desc
offset %(keep)s limit 1;

-- name: pick_old_events
-- Events at or before the cutoff, of one owner when given, that no live todo references. The
-- oldest by index first, so that each batch reads its own rows only; then locked in id order.
select e.id
  from events e
 where e.id = any (array(
       select o.id
         from events o
        where (o.received_at, o.id) <= (%(at)s, %(id)s)
          and (%(owner_id)s::uuid is null
               or o.endpoint_id = %(owner_id)s or o.team_id = %(owner_id)s)
          and not exists (
              select 1 from todos t
               where t.event_id = o.id
                 and (t.state in ('pending', 'claimed')
                      or (t.state = 'failed' and t.next_retry_at is not null)))
        order by o.received_at, o.id
        limit %(batch)s))
 order by e.id
   for update skip locked;

-- name: lock_event_todos
-- The todos that would lose their event, locked so that none comes back to life meanwhile.
select id
  from todos
 where event_id = any (%(ids)s)
 order by id
   for update;

-- name: delete_events
-- In its own statement after the locks: an event that a live todo references now is spared.
delete from events e
 where e.id = any (%(ids)s)
   and not exists (
       select 1 from todos t
        where t.event_id = e.id
          and (t.state in ('pending', 'claimed')
               or (t.state = 'failed' and t.next_retry_at is not null)));

-- name: pick_old_todos
-- Terminal todos at or before the cutoff, of one owner when given. The oldest by index first, then
-- locked in id order; one that came back to life is spared.
select t.id
  from todos t
 where t.id = any (array(
       select o.id
         from todos o
        where (o.state = 'done' or (o.state = 'failed' and o.next_retry_at is null))
          and (o.updated_at, o.id) <= (%(at)s, %(id)s)
          and (%(owner_id)s::uuid is null
               or o.endpoint_id = %(owner_id)s or o.team_id = %(owner_id)s)
        order by o.updated_at, o.id
        limit %(batch)s))
   and (t.state = 'done' or (t.state = 'failed' and t.next_retry_at is null))
 order by t.id
   for update skip locked;

-- name: mark_attempts_pruned_through
-- With the delete, never apart from it: verify counts no window up to here, as attempts charged to
-- it are gone. Written in UTC and at full width, so that the greater text is the later instant.
insert into settings (key, value)
select 'attempts_pruned_through',
       to_char(max(a.charged_window_start) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
  from todo_attempts a
 where a.todo_id = any (%(ids)s) and a.charged_window_start is not null
having max(a.charged_window_start) is not null
    on conflict (key) do update
   set value = greatest(settings.value, excluded.value);

-- name: delete_todos
-- Locked and judged before; their attempts go with them.
delete from todos where id = any (%(ids)s);

-- name: delete_windows
-- Old enough, and more than enough newer ones of the same policy stay (R53).
with kept as materialized (
  select p.id as policy_id, n.window_start
    from admission_policies p
   cross join lateral (
         select w.window_start
           from admission_windows w
          where w.policy_id = p.id
          order by w.window_start desc
         offset 29 limit 1) n
),
old as materialized (
  select w.policy_id, w.window_start
    from kept k
    join admission_windows w on w.policy_id = k.policy_id and w.window_start < k.window_start
   where w.window_start <= (select clock() - interval '35 days')
   order by w.policy_id, w.window_start
   limit %(batch)s
     for update of w skip locked
)
delete from admission_windows w
 using old
 where w.policy_id = old.policy_id and w.window_start = old.window_start;

-- name: delete_faults
-- Shown for ten minutes; a day is for whoever looks at the database.
delete from admission_faults
 where queue_id = any (array(
       select queue_id
         from admission_faults
        where at < (select clock() - interval '1 day')
        order by queue_id
        limit %(batch)s
          for update skip locked));

-- name: delete_login_links
-- A link that was used or is too old opens nothing. It stays as long as the session of the form
-- that made it could last: the same form, sent again later, must not make the same link valid again.
delete from login_links
 where token_hash = any (array(
       select token_hash
         from login_links
        where (used_at is not null or expires_at <= (select clock()))
          and created_at <= (select clock()) - interval '30 days'
        order by token_hash
        limit %(batch)s
          for update skip locked));

-- name: delete_sessions
-- Past its end a session opens nothing.
delete from sessions
 where token_hash = any (array(
       select token_hash
         from sessions
        where expires_at <= (select clock())
        order by token_hash
        limit %(batch)s
          for update skip locked));

-- name: delete_tokens
-- Revoked, or expired with nothing left to refresh. One that a form minted stays as long as that
-- form's session could last, as a link does: sent again, it must not bring the token back.
delete from oauth_tokens
 where token_hash = any (array(
       select token_hash
         from oauth_tokens
        where (revoked_at is not null
               and (client_id is not null
                    or created_at <= (select clock()) - interval '30 days'))
           or (expires_at <= (select clock())
               and (refresh_hash is null or refresh_expires_at <= (select clock())))
        order by token_hash
        limit %(batch)s
          for update skip locked));

-- name: delete_codes
-- After the tokens: while the grant that a code was traded for lives, its being presented again
-- must still be recognised, for that ends the grant.
delete from oauth_codes
 where code_hash = any (array(
       select c.code_hash
         from oauth_codes c
        where c.expires_at <= (select clock())
          and not exists (select 1 from oauth_tokens t where t.grant_id = c.grant_id)
        order by c.code_hash
        limit %(batch)s
          for update skip locked));

-- name: delete_clients
-- Anyone may register an app: one that nobody let in within a day goes again, and so does one that
-- has held no grant for ninety days since it was last let in.
delete from oauth_clients
 where client_id = any (array(
       select k.client_id
         from oauth_clients k
        where coalesce(k.last_used_at + interval '90 days', k.created_at + interval '1 day')
              <= (select clock())
          and not exists (select 1 from oauth_tokens t where t.client_id = k.client_id)
          and not exists (select 1 from oauth_codes c where c.client_id = k.client_id)
        order by k.client_id
        limit %(batch)s
          for update skip locked));

-- name: delete_surplus_clients
-- A flood of registrations keeps ten thousand rows at most: the oldest that nobody let in go first.
delete from oauth_clients
 where client_id = any (array(
       select k.client_id
         from (select c.client_id, c.created_at
                 from oauth_clients c
                where c.last_used_at is null
                order by c.created_at desc, c.client_id
               offset %(keep)s) old
         join oauth_clients k on k.client_id = old.client_id
        order by old.created_at
        limit %(batch)s
          for update of k skip locked));

-- name: delete_drafts
-- Answers nobody came back to, and what was to be shown once and is over.
delete from drafts
 where id = any (array(
       select id
         from drafts
        where expires_at <= (select clock())
        order by expires_at, id
        limit %(batch)s
          for update skip locked));

-- name: delete_doorbells
-- Taken, or void since nine minutes: nobody will ring for it any more (push.md, "Delivery").
delete from doorbells
 where id = any (array(
       select id
         from doorbells
        where created_at < (select clock() - interval '10 min')
        order by created_at
        limit %(batch)s
          for update skip locked));
