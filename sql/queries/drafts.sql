-- The vend wizard's answers between two steps: one draft per human, the human in every statement.

-- name: read_vend_draft
-- An expired draft is none, whether or not it has been swept.
select d.id, d.data, d.updated_at
  from drafts d
 where d.human_id = %(human_id)s and d.kind = 'vend' and d.expires_at > (select clock());

-- name: upsert_vend_draft
-- Answers are merged, so that two tabs on two steps both keep theirs; an expired draft begins anew.
insert into drafts (id, human_id, kind, data, expires_at)
values (%(id)s, %(human_id)s, 'vend', %(changes)s, clock() + interval '24 hours')
    on conflict (human_id) where kind = 'vend' do update
   set id = case when drafts.expires_at > clock() then drafts.id else excluded.id end,
       data = case when drafts.expires_at > clock() then drafts.data || excluded.data
                   else excluded.data end,
       updated_at = clock(), expires_at = excluded.expires_at;

-- name: delete_vend_draft
-- Starting over is the person's wish.
delete from drafts where human_id = %(human_id)s and kind = 'vend';
