-- Why: what a human owns and vends: agents, their endpoints, the queues those drain, and the
-- tokens that open a surface.
-- Locks: none on live data (new tables only). Safe live: yes.

create table agents (
  id                   uuid primary key,
  owner_human_id       uuid references humans on delete cascade,
  owner_team_id        uuid references teams on delete cascade,
  name                 text not null,
  description          text,
  runtime_meta         jsonb,
  created_by_human_id  uuid references humans on delete set null,
  created_at           timestamptz not null default clock(),
  constraint agents_one_owner check (num_nonnulls(owner_human_id, owner_team_id) = 1)
);
create index agents_owner_human on agents (owner_human_id) where owner_human_id is not null;
create index agents_owner_team on agents (owner_team_id) where owner_team_id is not null;

create table endpoints (
  id                         uuid primary key,
  agent_id                   uuid not null references agents on delete cascade,
  slug                       text not null,
  credential_hash            text not null,
  credential_prefix          text not null,
  scope_queues               text[] not null,
  scope_verbs                text[] not null,
  webhook_max                int not null default 0,
  webhook_source_types       text[] not null default '{}',
  webhook_queues             text[] not null default '{}',
  mutability                 text not null default 'immutable',
  state                      text not null default 'active',
  created_at                 timestamptz not null default clock(),
  revoked_at                 timestamptz,
  expires_at                 timestamptz,
  last_seen_at               timestamptz,
  default_lease_ttl_seconds  int,
  vended_by_human_id         uuid not null references humans on delete cascade,
  constraint endpoints_agent_unique unique (agent_id),
  constraint endpoints_slug_unique unique (slug),
  constraint endpoints_credential_unique unique (credential_hash),
  constraint endpoints_state check (state in ('active', 'revoked')),
  constraint endpoints_default_lease check (default_lease_ttl_seconds between 60 and 86400)
);
create index endpoints_vended_by on endpoints (vended_by_human_id);
create index endpoints_expiring on endpoints (expires_at)
  where state = 'active' and expires_at is not null;

create table queues (
  id           bigint generated always as identity primary key,
  endpoint_id  uuid references endpoints on delete cascade,
  team_id      uuid references teams on delete cascade,
  name         text not null,
  has_policy   boolean not null default false,
  created_at   timestamptz not null default clock(),
  constraint queues_one_owner check (num_nonnulls(endpoint_id, team_id) = 1),
  constraint queues_endpoint_name_unique unique (endpoint_id, name),
  constraint queues_team_name_unique unique (team_id, name),
  -- Targets of the composite foreign keys of todos: a todo's owner is its queue's owner.
  constraint queues_id_endpoint_unique unique (id, endpoint_id),
  constraint queues_id_team_unique unique (id, team_id)
);

create table endpoint_team_grants (
  endpoint_id  uuid not null references endpoints on delete cascade,
  queue_id     bigint not null references queues on delete cascade,
  granted_at   timestamptz not null default clock(),
  primary key (endpoint_id, queue_id)
);
create index endpoint_team_grants_queue on endpoint_team_grants (queue_id);

create table oauth_tokens (
  token_hash    text primary key,
  refresh_hash  text,
  client_id     text,
  endpoint_id   uuid references endpoints on delete cascade,
  human_id      uuid references humans on delete cascade,
  name          text,
  created_at    timestamptz not null default clock(),
  expires_at    timestamptz,
  revoked_at    timestamptz,
  last_used_at  timestamptz,
  constraint oauth_tokens_one_subject check (num_nonnulls(endpoint_id, human_id) = 1)
);
create index oauth_tokens_endpoint on oauth_tokens (endpoint_id) where endpoint_id is not null;
create index oauth_tokens_human on oauth_tokens (human_id) where human_id is not null;
