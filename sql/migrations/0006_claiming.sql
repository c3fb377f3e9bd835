-- Why: the writes of a claim, said once for every claim path: the todo, its new attempt, the old
-- attempt of a takeover, the cap on history. The decision stays outside: the caller holds the
-- todo's row lock and has decided. Volatile: each statement in it takes its own snapshot (R2).
-- Locks: none on live data (functions only). Safe live: yes.

-- Attempts kept per todo: a setting, 50 when absent or not a whole number, never under 5.
create function attempt_history_cap() returns int
  language sql stable
  as $$
    select coalesce(
      (select case when value ~ '^[0-9]{1,6}$' then greatest(value::int, 5) else 50 end
         from settings
        where key = 'attempt_history_max_per_todo'), 50)
  $$;

-- Delete the oldest closed attempts of a todo beyond the cap, and count them on the todo.
create function prune_attempts(p_todo_id text, p_kept int) returns void
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
                  order by a.seq
                  limit greatest(p_kept - attempt_history_cap(), 0));
  get diagnostics v_deleted = row_count;
  if v_deleted > 0 then
    update todos set attempts_pruned = attempts_pruned + v_deleted where id = p_todo_id;
  end if;
end
$$;

create function mark_claimed(
  p_todo_id text, p_at timestamptz, p_lease_seconds int, p_kind text, p_endpoint_id uuid,
  p_session text, p_owner text, p_claimant text, p_claim_key text, p_args_hash bytea
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
                             claim_key, claim_args_hash)
  values (p_todo_id, v_total, v_attempt, p_kind, p_endpoint_id, p_session, p_owner, p_claimant,
          v_at, v_lease, p_claim_key, p_args_hash);

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
