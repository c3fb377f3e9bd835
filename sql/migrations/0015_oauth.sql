-- Why: our own OAuth server: apps that register themselves, codes that a consent hands out, and
-- the grants they are traded for. A grant is one row of oauth_tokens, rotated in place: revoking
-- it is one update that no refresh can slip past, and old refresh tokens need no history, because
-- every refresh token of a grant begins with the same secret family.
-- Locks: exclusive on oauth_tokens for a moment (nullable columns, checks and a key over a column
-- that is null in every row so far); the rest are new tables. Safe live: yes.

create table oauth_clients (
  client_id      text primary key,
  client_name    text not null,
  redirect_uris  text[] not null,
  created_at     timestamptz not null default clock(),
  last_used_at   timestamptz,
  constraint oauth_clients_redirects check (cardinality(redirect_uris) between 1 and 10)
);

-- One consent, waiting to be traded: hashed, used once, bound to client, redirect URI and PKCE.
create table oauth_codes (
  code_hash             text primary key,
  client_id             text not null references oauth_clients on delete cascade,
  grant_id              uuid not null,
  granted_by_human_id   uuid not null references humans on delete cascade,
  endpoint_id           uuid references endpoints on delete cascade,
  human_id              uuid references humans on delete cascade,
  scope_verbs           text[],
  redirect_uri          text not null,
  code_challenge        text not null,
  resource              text not null,
  created_at            timestamptz not null default clock(),
  expires_at            timestamptz not null,
  used_at               timestamptz,
  constraint oauth_codes_one_subject check (num_nonnulls(endpoint_id, human_id) = 1),
  constraint oauth_codes_agent_verbs check ((endpoint_id is null) = (scope_verbs is null)),
  constraint oauth_codes_grant_unique unique (grant_id)
);
create index oauth_codes_client on oauth_codes (client_id);
create index oauth_codes_endpoint on oauth_codes (endpoint_id) where endpoint_id is not null;
create index oauth_codes_granted_by on oauth_codes (granted_by_human_id);
create index oauth_codes_expiring on oauth_codes (expires_at);

-- scope_verbs: what was ticked at consent. token_verbs: what a refresh narrowed the access token
-- to, null for all of it. Both only ever take away from the endpoint's own scope.
alter table oauth_tokens
  add column grant_id uuid,
  add column family_hash text,
  add column refresh_expires_at timestamptz,
  add column scope_verbs text[],
  add column token_verbs text[],
  add column resource text,
  add column granted_by_human_id uuid references humans on delete set null,
  add constraint oauth_tokens_client foreign key (client_id)
      references oauth_clients on delete cascade,
  add constraint oauth_tokens_grant check ((client_id is null) = (grant_id is null));
create unique index oauth_tokens_grant_unique on oauth_tokens (grant_id)
  where grant_id is not null;
create unique index oauth_tokens_family_unique on oauth_tokens (family_hash)
  where family_hash is not null;
create index oauth_tokens_client on oauth_tokens (client_id) where client_id is not null;
create index oauth_tokens_granted_by on oauth_tokens (granted_by_human_id)
  where granted_by_human_id is not null;
