-- name: mark_fault
-- In its own statement after the rollback, so that the owner sees why claims are refused (R64).
insert into admission_faults (queue_id, at, kind)
values (%(queue_id)s, clock(), %(kind)s)
on conflict (queue_id) do update set at = excluded.at, kind = excluded.kind;

-- name: delete_fault
-- After an admitted claim by a process that wrote or heard of the fault.
delete from admission_faults
 where queue_id = %(queue_id)s;

-- name: read_slot_hint
-- The queue's display name, and the earliest live lease among its claimed todos (R23).
select case when q.team_id is null then q.name
            else 'team:' || m.slug || '/' || q.name end as queue,
       (select min(t.lease_expires_at)
          from todos t
         where t.queue_id = q.id and t.state = 'claimed'
           and t.lease_expires_at > (select clock())) as earliest,
       clock() as at
  from queues q
  left join teams m on m.id = q.team_id
 where q.id = %(queue_id)s;
