-- The one fixed human of the development sign-in.

-- name: insert_developer
-- The unique pair makes it one human however many sign in at once; the update returns its id.
insert into humans (id, oidc_issuer, oidc_subject, display_name)
values (%(id)s, 'dev', 'dev', 'developer')
on conflict on constraint humans_oidc_unique do update set oidc_subject = excluded.oidc_subject
returning id;
