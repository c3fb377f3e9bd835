-- Why: admission control (SPEC-0030): policies, the units their windows have spent, who changed
-- them, faults to show, and the limiter of their writes.
-- Locks: todo_attempts, briefly, for two nullable columns without a default. Safe live: yes.

create table admission_policies (
  id                     uuid primary key,
  queue_id               bigint not null references queues on delete cascade,
  max_in_flight          int,
  max_claims_per_window  int,
  window_period          text,
  window_tz              text,
  window_start           text,
  window_weekday         text,
  revision               bigint not null default 1,
  created_by_human_id    uuid not null,
  updated_by_human_id    uuid not null,
  created_at             timestamptz not null default clock(),
  updated_at             timestamptz not null default clock(),
  deleted_at             timestamptz,
  -- One row per queue, live or soft-deleted: re-creating revives it and its windows (R14, R52).
  constraint admission_policies_queue_unique unique (queue_id),
  constraint admission_policies_some_limit
    check (num_nonnulls(max_in_flight, max_claims_per_window) >= 1),
  constraint admission_policies_max_in_flight check (max_in_flight between 0 and 10000),
  constraint admission_policies_max_claims check (max_claims_per_window between 0 and 1000000),
  constraint admission_policies_window_whole check (
    max_claims_per_window is null
    or num_nonnulls(window_period, window_tz, window_start) = 3),
  constraint admission_policies_period check (window_period in ('hour', 'day', 'week')),
  constraint admission_policies_weekday check (
    coalesce(window_period = 'week', false) = (window_weekday is not null)),
  constraint admission_policies_weekday_name check (
    window_weekday in ('Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun')),
  constraint admission_policies_start check (window_start ~ '^([01][0-9]|2[0-3]):[0-5][0-9]$')
);

-- Written only by an admitted claim under a window limit; never lowered.
create table admission_windows (
  policy_id             uuid not null references admission_policies on delete cascade,
  window_start          timestamptz not null,
  used                  int not null,
  retries               int not null default 0,
  takeovers             int not null default 0,
  limit_at_last_charge  int not null,
  updated_at            timestamptz not null default clock(),
  primary key (policy_id, window_start),
  constraint admission_windows_used check (used >= 0 and retries >= 0 and takeovers >= 0)
) with (
  -- The one row that every claim updates stays HOT.
  fillfactor = 50
);

create table admission_policy_audit (
  id                 bigint generated always as identity primary key,
  policy_id          uuid not null,
  queue_id           bigint not null references queues on delete cascade,
  actor_human_id     uuid not null,
  actor_endpoint_id  uuid,
  action             text not null,
  before             jsonb,
  after              jsonb,
  reason             text,
  at                 timestamptz not null default clock(),
  constraint admission_policy_audit_action check (action in ('create', 'update', 'delete')),
  constraint admission_policy_audit_reason check (char_length(reason) <= 500)
);
create index admission_policy_audit_queue on admission_policy_audit (queue_id, at desc, id desc);

create table admission_faults (
  queue_id  bigint primary key references queues on delete cascade,
  at        timestamptz not null default clock(),
  kind      text not null,
  constraint admission_faults_kind check (
    kind in ('lock_timeout', 'gate_timeout', 'database', 'invalid_policy', 'unknown_zone'))
);

create table admission_write_buckets (
  human_id     uuid references humans on delete cascade,
  endpoint_id  uuid references endpoints on delete cascade,
  tokens       numeric not null,
  refilled_at  timestamptz not null default clock(),
  constraint admission_write_buckets_one check (num_nonnulls(human_id, endpoint_id) = 1),
  constraint admission_write_buckets_human unique (human_id),
  constraint admission_write_buckets_endpoint unique (endpoint_id)
);

-- The unit each attempt was charged; both null = not charged (R62). No foreign key: the attempt
-- outlives every policy edit.
alter table todo_attempts
  add column charged_policy_id uuid,
  add column charged_window_start timestamptz,
  add constraint todo_attempts_charge_whole
    check ((charged_policy_id is null) = (charged_window_start is null));
create index todo_attempts_charged on todo_attempts (charged_policy_id, charged_window_start)
  where charged_policy_id is not null;

-- has_policy is true exactly while a live policy exists; nothing else writes it (R51).
create function mirror_has_policy() returns trigger
  language plpgsql
  as $$
declare
  v_queue_id bigint := case when tg_op = 'DELETE' then old.queue_id else new.queue_id end;
  v_has_policy boolean := tg_op <> 'DELETE' and new.deleted_at is null;
begin
  update queues
     set has_policy = v_has_policy
   where id = v_queue_id and has_policy is distinct from v_has_policy;
  return null;
end
$$;
create trigger admission_policies_mirror
  after insert or update or delete on admission_policies
  for each row execute function mirror_has_policy();

-- Units still to be verified keep their attempt: the pruner of a claim leaves them alone.
create or replace function prune_attempts(p_todo_id text, p_kept int) returns void
  language plpgsql volatile
  as $$
declare
  v_deleted int;
begin
  delete from todo_attempts
   where todo_id = p_todo_id
     and seq in (select a.seq
                   from todo_attempts a
                  where a.todo_id = p_todo_id and a.ended_at is not null
                    and (a.charged_window_start is null
                         or a.charged_window_start < clock() - interval '35 days')
                  order by a.seq
                  limit greatest(p_kept - attempt_history_cap(), 0));
  get diagnostics v_deleted = row_count;
  if v_deleted > 0 then
    update todos set attempts_pruned = attempts_pruned + v_deleted where id = p_todo_id;
  end if;
end
$$;

-- What the locked section of a claim sees, after its todo is locked: the policy row, locked; then
-- the count in flight; then the clock; then the usage of the window we expect. Four statements,
-- each with a snapshot of its own, because a statement that locks and counts in one uses a
-- snapshot from before its wait and lets one too many in (R2). No row of a policy: policy_id null.
create type admission_view as (
  policy_id uuid, revision bigint, max_in_flight int, max_claims_per_window int,
  window_period text, window_tz text, window_start text, window_weekday text,
  in_flight int, at timestamptz, used int
);

create function look_under_lock(p_queue_id bigint, p_todo_id text, p_expected timestamptz)
  returns admission_view
  language plpgsql volatile
  as $$
declare
  v admission_view;
begin
  select p.id, p.revision, p.max_in_flight, p.max_claims_per_window, p.window_period, p.window_tz,
         p.window_start, p.window_weekday
    into v.policy_id, v.revision, v.max_in_flight, v.max_claims_per_window, v.window_period,
         v.window_tz, v.window_start, v.window_weekday
    from admission_policies p
   where p.queue_id = p_queue_id and p.deleted_at is null
     for update;

  -- With the locked row's cap, never a remembered one, and without the candidate (R3).
  if v.max_in_flight is not null then
    select count(*)
      into v.in_flight
      from (select 1
              from todos t
             where t.queue_id = p_queue_id and t.state = 'claimed' and t.id <> p_todo_id
             limit v.max_in_flight + 1) others;
  end if;

  v.at := clock();

  if v.policy_id is not null and p_expected is not null then
    select w.used
      into v.used
      from admission_windows w
     where w.policy_id = v.policy_id and w.window_start = p_expected;
  end if;
  return v;
end
$$;

-- One unit of one window, under the policy's lock; insert when the window is new.
create function charge_window(
  p_policy_id uuid, p_window_start timestamptz, p_limit int, p_at timestamptz,
  p_is_retry boolean, p_is_takeover boolean
) returns int
  language plpgsql volatile
  as $$
declare
  v_used int;
begin
  update admission_windows
     set used = used + 1, retries = retries + p_is_retry::int,
         takeovers = takeovers + p_is_takeover::int, limit_at_last_charge = p_limit,
         updated_at = p_at
   where policy_id = p_policy_id and window_start = p_window_start
  returning used into v_used;
  if not found then
    insert into admission_windows (policy_id, window_start, used, retries, takeovers,
                                   limit_at_last_charge, updated_at)
    values (p_policy_id, p_window_start, 1, p_is_retry::int, p_is_takeover::int, p_limit, p_at)
    returning used into v_used;
  end if;
  return v_used;
end
$$;

-- The last statement before COMMIT: a unit must be charged to the window that contains the commit
-- (REQ-3), so a claim that outlived its window starts over.
create function guard_window(p_ends_at timestamptz) returns void
  language plpgsql volatile
  as $$
begin
  if clock() >= p_ends_at then
    raise exception 'the window ended before the claim was committed' using errcode = 'SB001';
  end if;
end
$$;

-- The claim's write learns to note the unit it was charged and the hash of its lease token.
drop function mark_claimed(text, timestamptz, int, text, uuid, text, text, text, text, bytea);

create function mark_claimed(
  p_todo_id text, p_at timestamptz, p_lease_seconds int, p_kind text, p_endpoint_id uuid,
  p_session text, p_owner text, p_claimant text, p_claim_key text, p_args_hash bytea,
  p_token_hash bytea, p_policy_id uuid, p_window_start timestamptz
) returns setof todo_rows
  language plpgsql volatile
  as $$
declare
  v_at timestamptz := coalesce(p_at, clock());
  v_lease timestamptz := v_at + make_interval(secs => p_lease_seconds);
  v_total int;
  v_attempt int;
  v_kept int;
begin
  -- A takeover: the lapsed attempt closes before the new one opens.
  update todo_attempts
     set ended_at = v_at, outcome = 'lease_expired', disposition = 'requeued'
   where todo_id = p_todo_id and ended_at is null;

  update todos t
     set state = 'claimed', owner = p_owner, claimed_at = v_at, lease_expires_at = v_lease,
         attempt = t.attempt + 1, attempts_total = t.attempts_total + 1, next_retry_at = null,
         claimed_by_endpoint_id = p_endpoint_id, updated_at = v_at
   where t.id = p_todo_id
  returning t.attempts_total, t.attempt, t.attempts_total - t.attempts_pruned
       into v_total, v_attempt, v_kept;

  insert into todo_attempts (todo_id, seq, attempt, claimer_kind, claimer_endpoint_id,
                             claimer_session, owner, claimant, claimed_at, lease_expires_at,
                             claim_key, claim_args_hash, lease_token_hash, charged_policy_id,
                             charged_window_start)
  values (p_todo_id, v_total, v_attempt, p_kind, p_endpoint_id, p_session, p_owner, p_claimant,
          v_at, v_lease, p_claim_key, p_args_hash, p_token_hash, p_policy_id, p_window_start);

  if v_kept > 5 then
    perform prune_attempts(p_todo_id, v_kept);
  end if;

  return query
    select r.id, r.queue_id, r.endpoint_id, r.team_id, r.source, r.kind, r.title, r.payload,
           r.event_id, r.idempotency_key, r.state, r.owner, r.lease_expires_at, r.attempt,
           r.max_attempts, r.result, r.created_at, r.updated_at, r.claimed_at, r.completed_at,
           r.next_retry_at, r.attempts_total, r.attempts_pruned, r.claimed_by_endpoint_id,
           r.queue_name, r.has_policy, r.queue, r.team
      from todo_rows r
     where r.id = p_todo_id;
end
$$;
