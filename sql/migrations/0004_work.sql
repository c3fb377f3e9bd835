-- Why: what arrives, what is owed, and who did it: events, todos, attempts, webhooks.
-- Locks: none on live data (new tables only). Safe live: yes.

create table endpoint_webhooks (
  id                    uuid primary key,
  endpoint_id           uuid not null references endpoints on delete cascade,
  source_type           text not null,
  target_queue          text not null,
  target_team_queue_id  bigint references queues on delete set null,
  trust_mode            text not null,
  ingest_token          text not null,
  secret                text,
  created_at            timestamptz not null default clock(),
  rotated_at            timestamptz,
  constraint endpoint_webhooks_token_unique unique (ingest_token),
  constraint endpoint_webhooks_trust check (trust_mode in ('signed', 'token', 'open'))
);
create index endpoint_webhooks_endpoint on endpoint_webhooks (endpoint_id);
create index endpoint_webhooks_team_queue on endpoint_webhooks (target_team_queue_id)
  where target_team_queue_id is not null;

create table webhook_routes (
  webhook_id           uuid not null references endpoint_webhooks on delete cascade,
  target_endpoint_id   uuid not null references endpoints on delete cascade,
  granted_by_human_id  uuid references humans on delete set null,
  granted_at           timestamptz not null default clock(),
  primary key (webhook_id, target_endpoint_id)
);
create index webhook_routes_target on webhook_routes (target_endpoint_id);

create table events (
  id             bigint generated always as identity primary key,
  source         text not null,
  family         text not null,
  event_type     text,
  external_id    text,
  trust_mode     text not null,
  verified       boolean not null,
  verify_detail  text,
  content_type   text,
  headers        jsonb not null default '{}',
  payload        bytea,
  payload_size   int not null default 0,
  source_ip      inet,
  received_at    timestamptz not null default clock(),
  webhook_id     uuid references endpoint_webhooks on delete set null,
  endpoint_id    uuid references endpoints on delete cascade,
  team_id        uuid references teams on delete cascade,
  constraint events_one_owner check (num_nonnulls(endpoint_id, team_id) = 1),
  constraint events_family check (family in ('webhook', 'queue', 'operator')),
  constraint events_trust check (trust_mode in ('signed', 'token', 'open', 'queue', 'operator'))
);
create unique index events_endpoint_external_unique on events (endpoint_id, source, external_id)
  where external_id is not null and endpoint_id is not null;
create unique index events_team_external_unique on events (team_id, source, external_id)
  where external_id is not null and team_id is not null;
create index events_received on events (received_at);
create index events_endpoint_list on events (endpoint_id, id desc) where endpoint_id is not null;
create index events_team_list on events (team_id, id desc) where team_id is not null;
create index events_webhook on events (webhook_id) where webhook_id is not null;

create table todos (
  id                      text primary key,
  queue_id                bigint not null references queues on delete cascade,
  endpoint_id             uuid,
  team_id                 uuid,
  source                  text,
  kind                    text,
  title                   text not null,
  payload                 jsonb,
  event_id                bigint references events on delete set null,
  idempotency_key         text,
  state                   text not null default 'pending',
  owner                   text,
  lease_expires_at        timestamptz,
  attempt                 int not null default 0,
  max_attempts            int not null default 5,
  result                  jsonb,
  created_at              timestamptz not null default clock(),
  updated_at              timestamptz not null default clock(),
  claimed_at              timestamptz,
  completed_at            timestamptz,
  next_retry_at           timestamptz,
  ring_attempts           int not null default 0,
  last_ringed_at          timestamptz,
  attempts_total          int not null default 0,
  attempts_pruned         int not null default 0,
  claimed_by_endpoint_id  uuid,
  constraint todos_id_shape check (id ~ '^td_[0-9a-f]{32}$'),
  constraint todos_one_owner check (num_nonnulls(endpoint_id, team_id) = 1),
  constraint todos_state check (state in ('pending', 'claimed', 'done', 'failed')),
  -- Only claimed todos hold a lease (R40).
  constraint todos_lease_is_claimed check ((state = 'claimed') = (lease_expires_at is not null)),
  constraint todos_retry_is_failed check (next_retry_at is null or state = 'failed'),
  constraint todos_queue_of_endpoint
    foreign key (queue_id, endpoint_id) references queues (id, endpoint_id) on delete cascade,
  constraint todos_queue_of_team
    foreign key (queue_id, team_id) references queues (id, team_id) on delete cascade
) with (
  -- A heartbeat must stay HOT, and every pick walks the dead prefix of a FIFO unless the index
  -- pass really runs: see the measurements behind data.md, "Work".
  fillfactor = 85,
  vacuum_index_cleanup = on,
  autovacuum_vacuum_scale_factor = 0,
  autovacuum_vacuum_threshold = 5000
);
-- At most one live row per owner and key; a terminal row does not block a new one.
create unique index todos_endpoint_key_live on todos (endpoint_id, idempotency_key)
  where idempotency_key is not null and idempotency_key <> '' and endpoint_id is not null
    and (state in ('pending', 'claimed') or (state = 'failed' and next_retry_at is not null));
create unique index todos_team_key_live on todos (team_id, idempotency_key)
  where idempotency_key is not null and idempotency_key <> '' and team_id is not null
    and (state in ('pending', 'claimed') or (state = 'failed' and next_retry_at is not null));
create index todos_pending on todos (queue_id, created_at, id) where state = 'pending';
create index todos_claimed on todos (queue_id) where state = 'claimed';
create index todos_due on todos (queue_id, next_retry_at)
  where state = 'failed' and next_retry_at is not null;
-- For the retry scheduler alone. The last condition is always true, and only the scheduler says it:
-- without it the planner may answer a claim's pick of one queue from the retries of all queues.
create index todos_next_retry on todos (next_retry_at)
  where state = 'failed' and next_retry_at is not null and max_attempts >= 0;
create index todos_terminal on todos (updated_at)
  where state = 'done' or (state = 'failed' and next_retry_at is null);
create index todos_endpoint_list on todos (endpoint_id, created_at desc, id desc)
  where endpoint_id is not null;
create index todos_team_list on todos (team_id, created_at desc, id desc)
  where team_id is not null;
create index todos_event on todos (event_id) where event_id is not null;

create table todo_attempts (
  todo_id              text not null references todos on delete cascade,
  seq                  int not null,
  attempt              int not null,
  claimer_kind         text not null,
  claimer_endpoint_id  uuid,
  claimer_session      text,
  owner                text not null,
  claimant             text,
  claimed_at           timestamptz not null,
  last_heartbeat_at    timestamptz,
  lease_expires_at     timestamptz not null,
  ended_at             timestamptz,
  outcome              text,
  disposition          text,
  summary              text,
  summary_truncated    boolean not null default false,
  artifact             text,
  lease_token_hash     bytea,
  claim_key            text,
  claim_args_hash      bytea,
  primary key (todo_id, seq),
  constraint todo_attempts_kind check (claimer_kind in ('endpoint', 'owner')),
  constraint todo_attempts_outcome check (
    outcome in ('completed', 'failed', 'released', 'lease_expired', 'reaped', 'revoked')),
  constraint todo_attempts_disposition check (
    disposition in ('done', 'retry_scheduled', 'dead_lettered', 'requeued')),
  constraint todo_attempts_closed_whole check (
    (ended_at is null) = (outcome is null) and (outcome is null) = (disposition is null)),
  constraint todo_attempts_claimant_size check (octet_length(claimant) <= 128),
  constraint todo_attempts_summary_size check (octet_length(summary) <= 2048),
  constraint todo_attempts_artifact_size check (octet_length(artifact) <= 512),
  constraint todo_attempts_token_size check (octet_length(lease_token_hash) = 32)
) with (
  fillfactor = 85,
  autovacuum_vacuum_scale_factor = 0,
  autovacuum_vacuum_threshold = 5000
);
-- At most one open attempt per todo; a takeover closes the old one before it opens the new one.
create unique index todo_attempts_one_open on todo_attempts (todo_id) where ended_at is null;
-- A committed claim remembers its Idempotency-Key while its attempt is open (R61).
create unique index todo_attempts_claim_key on todo_attempts (claimer_endpoint_id, claim_key)
  where ended_at is null and claim_key is not null;
