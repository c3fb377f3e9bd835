-- Doorbell rows: taken by one process, judged again (contract push.md, "Delivery").

-- name: mark_bells_taken
-- A conditional update decides who delivers; a row nobody took within a minute is void. A team's
-- row has no endpoint: whoever holds a stream of one that drains the queue and is in may take it.
-- Two looks, each by its index: rows that nobody will ever take are not read again and again.
update doorbells d
   set taken_at = clock(), taken_by = %(process)s
 where d.id in (
         select w.id
           from doorbells w
          where w.taken_at is null
            and w.id = any (array(
                  select o.id
                    from doorbells o
                   where o.taken_at is null and o.endpoint_id = any (%(held)s::uuid[])
                     and o.created_at > (select clock()) - interval '60 s'
                  union all
                  select o.id
                    from doorbells o
                   where o.taken_at is null and o.endpoint_id is null
                     and o.created_at > (select clock()) - interval '60 s'
                     and exists (select 1
                                   from endpoint_queues g
                                  where g.queue_id = o.queue_id
                                    and g.endpoint_id = any (%(present)s::uuid[]))))
          order by w.id
          limit %(limit)s
            for update skip locked)
returning d.id, d.endpoint_id, d.queue_id, d.todo_id, d.kind, d.meta;

-- name: read_held
-- The endpoints among these that are alive, with what their presence is made of.
select e.id as endpoint_id, e.shift, e.presence_override, e.override_until, e.override_by,
       e.override_set_at
  from endpoints e
 where e.id = any (%(held)s::uuid[]) and e.state = 'active'
   and (e.expires_at is null or e.expires_at > (select clock()));

-- name: read_drains
-- Which of these endpoints drain which of these queues, within live reach.
select g.endpoint_id, g.queue_id
  from endpoint_queues g
 where g.endpoint_id = any (%(endpoint_ids)s::uuid[])
   and g.queue_id = any (%(queue_ids)s::bigint[]);

-- name: read_oldest
-- What a reopen bell says: the oldest pending todo of each of these queues that may ring. In one
-- statement with its facts, or a claim in between would silence a queue where others wait.
select r.id, r.queue_id, r.queue, r.has_policy, r.title, r.kind, r.source
  from unnest(%(queue_ids)s::bigint[]) as q (id)
 cross join lateral (
       select t.id
         from todos t
         join events e on e.id = t.event_id and (e.verified or e.trust_mode = 'token')
        where t.queue_id = q.id and t.state = 'pending'
        order by t.created_at, t.id
        limit 1) o
  join todo_rows r on r.id = o.id;

-- name: read_todos
-- What a bell says of its todo, while that is pending.
select r.id, r.queue_id, r.queue, r.has_policy, r.title, r.kind, r.source
  from todo_rows r
 where r.id = any (%(ids)s) and r.state = 'pending';
