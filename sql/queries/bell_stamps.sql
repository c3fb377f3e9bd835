-- What a bell stamps, in statements of its own (contract push.md, "Delivery").

-- name: mark_rung
-- The taker of a creation bell stamps its todo and spends no ring of its budget. One statement
-- decides and stamps, so that a todo rings once a minute over all processes; answers those that
-- stay silent: what rang within the last minute, by a bell of its own or for a reopening, and what
-- is locked. A todo that is locked is being claimed, or stamped by another that rings it: the bell
-- does not wait for it, for it would hold up every stream of this process. A requeue forgets the
-- rings before it, not those after it.
with cleared as (
  select d.todo_id, max(d.created_at) as at
    from doorbells d
   where d.id = any (%(cleared)s::bigint[])
   group by d.todo_id
), free as (
  select t.id,
         coalesce(t.last_ringed_at > greatest((select clock()) - interval '1 min', c.at), false)
         or exists (select 1
                      from doorbells d
                     where d.queue_id = t.queue_id and d.kind = 'reopen'
                       and d.created_at > (select clock()) - interval '2 min'
                       and d.taken_at > greatest((select clock()) - interval '1 min', c.at)
                       and d.meta ->> 'rang' = t.id) as rang
    from todos t
    left join cleared c on c.todo_id = t.id
   where t.id = any (%(ids)s) and t.state = 'pending'
   order by t.id
     for no key update of t skip locked
), stamped as (
  update todos t
     set last_ringed_at = clock()
    from free f
   where t.id = f.id and not f.rang
)
select asked.id
  from unnest(%(ids)s::text[]) as asked (id)
 where not exists (select 1 from free f where f.id = asked.id and not f.rang);

-- name: mark_reopen_told
-- A reopen bell starts the silence of the todo it names and must not write the todo (R63): its own
-- row remembers which one it was.
update doorbells d
   set meta = jsonb_build_object('rang', r.todo_id)
  from unnest(%(row_ids)s::bigint[], %(todo_ids)s::text[]) as r (id, todo_id)
 where d.id = r.id;

-- name: mark_reopen_rung
-- One stamp pushes back the heartbeat of the whole queue (R63). In the order of their ids: several
-- processes may stamp the same team queues at once.
update queues q
   set last_reopen_ring_at = clock()
 where q.id in (select s.id
                  from queues s
                 where s.id = any (%(queue_ids)s::bigint[])
                 order by s.id
                   for no key update);

-- name: mark_digest_rung
-- One stamp per queue that the digest counted.
insert into digest_stamps (endpoint_id, queue_id, last_digest_at)
select %(endpoint_id)s, q.id, clock()
  from queues q
 where q.id = any (%(queue_ids)s::bigint[])
on conflict (endpoint_id, queue_id) do update set last_digest_at = excluded.last_digest_at;
