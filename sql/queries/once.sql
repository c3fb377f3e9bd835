-- Acts of a form that may arrive twice, and the secrets they leave for one look.

-- name: insert_act
-- No row for a form that has been here: its first arrival holds the key until it commits.
insert into drafts (id, human_id, kind, data, expires_at)
values (%(id)s, %(human_id)s, %(kind)s, '{}', clock() + interval '10 minutes')
    on conflict (id) do nothing;

-- name: lock_draft
-- The second confirmation waits here for the first, then finds what it left.
select d.id, d.kind, d.data
  from drafts d
 where d.id = %(id)s and d.human_id = %(human_id)s
   and (d.kind = 'vended' or (d.kind = 'vend' and d.expires_at > (select clock())))
   for update;

-- name: mark_kept
-- What was answered goes; what is shown once waits sealed, ten minutes at most.
update drafts
   set kind = %(kind)s, data = %(data)s, updated_at = clock(),
       expires_at = clock() + interval '10 minutes'
 where id = %(id)s and human_id = %(human_id)s;

-- name: lock_kept
-- One look gets the secrets: the next waits here and finds them gone.
select d.data, d.expires_at <= (select clock()) as is_over
  from drafts d
 where d.id = %(id)s and d.human_id = %(human_id)s and d.kind = %(kind)s
   for update;

-- name: mark_looked_at
-- The row stays a day without its secrets, so that the same form sent again still acts no more.
update drafts
   set data = data - 'sealed', updated_at = clock(), expires_at = clock() + interval '24 hours'
 where id = %(id)s and human_id = %(human_id)s;

-- name: delete_surplus
-- A bounded number per human: the newest twenty, the wizard's own draft apart.
delete from drafts
 where id = any (array(
       select d.id
         from drafts d
        where d.human_id = %(human_id)s and d.kind <> 'vend'
        order by d.updated_at desc, d.id desc
       offset 20
          for update skip locked));
