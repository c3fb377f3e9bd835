-- Humans who sign in through a provider.

-- name: mark_known
-- The pair of issuer and subject is the person; an email address never is (data.md, humans).
-- A suspended person's row is left as it is.
update humans
   set email = case when suspended_at is null then %(email)s else email end,
       oidc_groups = case when suspended_at is null then %(groups)s::text[] else oidc_groups end
 where oidc_issuer = %(issuer)s and oidc_subject = %(subject)s
returning id, suspended_at is not null as is_suspended;

-- name: insert_newcomer
-- Two first sign-ins of one person at once make one human: the second meets the unique pair.
insert into humans (id, oidc_issuer, oidc_subject, display_name, email, oidc_groups)
values (%(id)s, %(issuer)s, %(subject)s, %(display_name)s, %(email)s, %(groups)s::text[])
on conflict (oidc_issuer, oidc_subject) do update
   set email = excluded.email, oidc_groups = excluded.oidc_groups
returning id, suspended_at is not null as is_suspended;
