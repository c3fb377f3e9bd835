-- Why: the one clock of the product, and the people who sign in with it.
-- Locks: none on live data (new tables only). Safe live: yes.

-- The only clock a query or a default may name. Tests replace it in their own database; no
-- request and no setting reaches it. Volatile, so that two statements of one transaction may
-- read two instants (R1).
create function clock() returns timestamptz
  language sql volatile parallel safe
  as $$ select clock_timestamp() $$;

create table humans (
  id            uuid primary key,
  oidc_issuer   text,
  oidc_subject  text,
  display_name  text not null,
  email         text,
  created_at    timestamptz not null default clock(),
  suspended_at  timestamptz,
  zone          text,
  theme         text not null default 'system',
  announce      text not null default 'counts_and_status',
  oidc_groups   text[],
  constraint humans_oidc_both_or_neither check ((oidc_issuer is null) = (oidc_subject is null)),
  constraint humans_oidc_unique unique (oidc_issuer, oidc_subject),
  constraint humans_theme check (theme in ('system', 'light', 'dark')),
  constraint humans_announce check (announce in ('counts_and_status', 'status_only'))
);

create table login_links (
  token_hash  text primary key,
  human_id    uuid not null references humans on delete cascade,
  created_at  timestamptz not null default clock(),
  expires_at  timestamptz not null,
  used_at     timestamptz
);
create index login_links_human on login_links (human_id);

create table sessions (
  token_hash      text primary key,
  human_id        uuid not null references humans on delete cascade,
  created_at      timestamptz not null default clock(),
  expires_at      timestamptz not null,
  issuer          text,
  provider_sub    text,
  live_paused_at  timestamptz,
  flash           jsonb
);
create index sessions_human on sessions (human_id);

create table settings (
  key    text primary key,
  value  text not null
);
insert into settings (key, value) values
  ('retention_max_age_days', '30'),
  ('retention_max_rows', '500000'),
  ('sse_retry_ms', '3000');
