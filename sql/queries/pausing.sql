-- Pausing and resuming a queue. Both write through the policies' own statements.

-- name: read_newest_change
-- The record a resume is made of, with the revision it belongs to: one statement, so that a change
-- between two looks cannot pair one policy with the record of another (R68).
select p.revision, c.before, c.after
  from admission_policies p
  left join lateral (
         select a.before, a.after
           from admission_policy_audit a
          where a.queue_id = p.queue_id
          order by a.at desc, a.id desc
          limit 1) c on true
 where p.queue_id = %(queue_id)s and p.deleted_at is null;
