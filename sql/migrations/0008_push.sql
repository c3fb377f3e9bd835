-- Why: doorbells, presence and notify hooks (SPEC-0030 REQ-8): rings owed, the mark of a closed
-- queue that owes one, who is in, and where an endpoint wants to be called.
-- Locks: endpoints and queues, briefly, for nullable columns and defaults that rewrite nothing.
-- Safe live: yes.

alter table endpoints
  add column shift                text,
  add column presence_override    text,
  add column override_until       timestamptz,
  add column override_by          text,
  add column override_set_at      timestamptz,
  -- What was last acted on; out to in is decided by one conditional update of it (push.md).
  add column presence_seen        text not null default 'in',
  add column reconnect_digest_at  timestamptz,
  add constraint endpoints_presence_override check (presence_override in ('in', 'out')),
  add constraint endpoints_presence_seen check (presence_seen in ('in', 'out')),
  add constraint endpoints_override_whole check (
    presence_override is null or num_nonnulls(override_by, override_set_at) = 2);

-- Who has to be looked at when the clock moves; everyone else is in for good.
create index endpoints_timed on endpoints (id)
  where state = 'active'
    and (shift is not null or presence_override is not null or presence_seen = 'out');

-- A reopening or a digest pushes back the heartbeat of a whole backlog in one row (R63).
alter table queues add column last_reopen_ring_at timestamptz;

create table digest_stamps (
  endpoint_id     uuid not null references endpoints on delete cascade,
  queue_id        bigint not null references queues on delete cascade,
  last_digest_at  timestamptz not null,
  primary key (endpoint_id, queue_id)
);
create index digest_stamps_queue on digest_stamps (queue_id);

-- One row per ring owed, the hand-off between processes. A conditional update of `taken_at`
-- decides who delivers; a row nobody took within 60 s is void.
create table doorbells (
  id           bigint generated always as identity primary key,
  endpoint_id  uuid references endpoints on delete cascade,
  queue_id     bigint references queues on delete cascade,
  todo_id      text,
  kind         text not null,
  meta         jsonb,
  created_at   timestamptz not null default clock(),
  taken_at     timestamptz,
  taken_by     text,
  constraint doorbells_kind check (kind in ('todo', 'reopen', 'digest')),
  constraint doorbells_digest check (
    case when kind = 'digest' then endpoint_id is not null and queue_id is null
         else queue_id is not null and todo_id is not null end)
) with (fillfactor = 70);
create index doorbells_owed on doorbells (id) where taken_at is null;
create index doorbells_endpoint on doorbells (endpoint_id) where endpoint_id is not null;
create index doorbells_queue on doorbells (queue_id) where queue_id is not null;
create index doorbells_age on doorbells (created_at);

-- "This queue is closed and owes a ring." Bookkeeping, not a status: that stays derived (R28).
create table admission_reopen (
  queue_id     bigint primary key references queues on delete cascade,
  deferred_at  timestamptz not null default clock(),
  reason       text not null
);

create table notify_hooks (
  id                      uuid primary key,
  endpoint_id             uuid not null references endpoints on delete cascade,
  url                     text not null,
  secret                  text not null,
  prev_secret             text,
  prev_secret_expires_at  timestamptz,
  queues                  text[] not null default '{}',
  ignore_presence         boolean not null default false,
  enabled                 boolean not null default true,
  disabled_reason         text,
  disabled_at             timestamptz,
  consecutive_failures    int not null default 0,
  last_attempt_at         timestamptz,
  last_status             int,
  last_error              text,
  rate_tokens             numeric not null default 120,
  rate_refilled_at        timestamptz not null default clock(),
  created_at              timestamptz not null default clock(),
  rotated_at              timestamptz,
  constraint notify_hooks_url check (octet_length(url) <= 2048),
  constraint notify_hooks_disabled_reason
    check (disabled_reason in ('consecutive_failures', 'operator')),
  constraint notify_hooks_disabled_whole check (enabled = (disabled_reason is null)),
  constraint notify_hooks_last_error check (
    last_error in ('timeout', 'tls', 'network', 'redirect', 'http_status', 'rejected_ssrf'))
);
create index notify_hooks_endpoint on notify_hooks (endpoint_id, created_at, id);
