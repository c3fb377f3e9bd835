"""The faults, each with the text it replaces and the tests that must notice."""

from __future__ import annotations

from dataclasses import dataclass

BUDGETS = "tests/transactions/test_budgets.py"
CLAIMS = "tests/transactions/test_claiming.py"
SETTLES = "tests/transactions/test_settling.py"
LONE = "tests/transactions/test_lone_queue.py"
SPENT = "tests/transactions/test_spent.py"
LIMITER = "tests/transactions/test_write_limit.py"
POLICIES = "tests/transactions/test_policies.py"
WINDOWS = "tests/domain/test_windows.py"
DECIDES = "tests/domain/test_admission.py"

SCHEMA = "sql/migrations/0007_admission.sql"
LOOKS = "app/transactions/looks.py"
ADMITTING = "app/transactions/admitting.py"
SEARCHING = "app/transactions/searching.py"


@dataclass(frozen=True)
class Mutant:
    """One fault: in `file`, `old` becomes `new`; `tests` is what pytest is given to notice it.

    `and_also` are more such pairs, for a statement that moves.
    """

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]
    and_also: tuple[tuple[str, str], ...] = ()


# The faults in the claim itself; `python3 tests` plants these five, `python3 tests mutants` all.
CLAIM = (
    Mutant(
        "policy lock removed", SCHEMA,
        "   where p.queue_id = p_queue_id and p.deleted_at is null\n     for update;",
        "   where p.queue_id = p_queue_id and p.deleted_at is null;",
        (BUDGETS, "-k", "share_no_gate"),
    ),
    Mutant(
        "window guard removed", SCHEMA,
        "if clock() >= p_ends_at then", "if false then",
        (BUDGETS, "-k", "outlives_its_window"),
    ),
    Mutant(
        "clock read before the lock", SCHEMA,
        "begin\n  select p.id, p.revision", "begin\n  v.at := clock();\n  select p.id, p.revision",
        (BUDGETS, "-k", "held_at_the_policy_lock"),
        and_also=(("  v.at := clock();\n\n  if", "  if"),
                  ("         p.window_start, p.window_weekday\n    into v.policy_id",
                   "         p.window_start, p.window_weekday, v.at\n    into v.policy_id"),
                  ("         v.window_tz, v.window_start, v.window_weekday\n",
                   "         v.window_tz, v.window_start, v.window_weekday, v.at\n")),
    ),
    Mutant(
        "candidate counted as in flight", SCHEMA, " and t.id <> p_todo_id", "",
        (BUDGETS, "-k", "takeover"),
    ),
    Mutant(
        "a broken policy is waved through", ADMITTING,
        "    except PolicyBroken as broken:\n        return _unjudged(db, queue_id, broken.kind)",
        "    except PolicyBroken:\n        return picking.take_next(\n"
        "            db, claimer, queue_id, Kind.PENDING, gone)",
        (BUDGETS, "-k", "broken_policy"),
    ),
)

REST = (
    Mutant(
        "the transaction's start for the clock", SCHEMA, "v.at := clock();", "v.at := now();",
        (BUDGETS, "-k", "held_at_the_policy_lock"),
    ),
    Mutant(
        "lock and count in one statement", SCHEMA,
        "         p.window_start, p.window_weekday\n    into v.policy_id",
        "         p.window_start, p.window_weekday,\n"
        "         (select count(*) from todos t where t.queue_id = p_queue_id\n"
        "             and t.state = 'claimed' and t.id <> p_todo_id)\n    into v.policy_id",
        (BUDGETS, "-k", "share_no_gate"),
        and_also=(("         v.window_tz, v.window_start, v.window_weekday\n",
                   "         v.window_tz, v.window_start, v.window_weekday, v.in_flight\n"),
                  ("  if v.max_in_flight is not null then", "  if false then")),
    ),
    Mutant(
        "count bounded by a remembered cap", SCHEMA,
        "limit v.max_in_flight + 1) others", "limit 6) others",
        (BUDGETS, "-k", "raised_cap"),
    ),
    Mutant(
        "only live leases count as in flight", SCHEMA,
        "t.state = 'claimed' and t.id <> p_todo_id",
        "t.state = 'claimed' and t.lease_expires_at > clock() and t.id <> p_todo_id",
        (BUDGETS, "-k", "candidate_of_a_takeover or full_cap_admits"),
    ),
    Mutant(
        "candidate subtracted after the count", SCHEMA,
        " and t.id <> p_todo_id\n             limit v.max_in_flight + 1) others;",
        "\n             limit v.max_in_flight) others;\n"
        "    v.in_flight := greatest(v.in_flight - 1, 0);",
        (BUDGETS, "-k", "candidate_of_a_takeover or full_cap"),
    ),
    Mutant(
        "a reached limit admits one more", "app/domain/admission.py",
        "    return count >= limit", "    return count > limit", (DECIDES, BUDGETS),
    ),
    Mutant(
        "a pause is ignored", "app/domain/admission.py",
        "    if policy.pauses:", "    if False:", (DECIDES, BUDGETS),
    ),
    Mutant(
        "exhausted hides behind full", "app/domain/admission.py",
        """    if _reached(usage.used, policy.max_claims_per_window):
        binding.append(Reason.WINDOW_EXHAUSTED)
    if _reached(usage.in_flight, policy.max_in_flight):
        binding.append(Reason.IN_FLIGHT_FULL)""",
        """    if _reached(usage.in_flight, policy.max_in_flight):
        binding.append(Reason.IN_FLIGHT_FULL)
    if _reached(usage.used, policy.max_claims_per_window):
        binding.append(Reason.WINDOW_EXHAUSTED)""",
        (DECIDES,),
    ),
    Mutant(
        "a retry is not charged", ADMITTING,
        "            if span is not None:\n                charges",
        "            if span is not None and not seen.attempts_total:\n                charges",
        (BUDGETS, "-k", "retry_is_charged"),
    ),
    Mutant(
        "a charge is not marked", ADMITTING,
        "policy_id=seen.policy_id if span else None",
        "policy_id=None", (BUDGETS, "-k", "charges_and_marks"),
    ),
    Mutant(
        "a release refunds", "sql/queries/settling.sql",
        "outcome = 'released', disposition = 'requeued',\n       summary",
        "outcome = 'released', disposition = 'requeued', charged_policy_id = null,"
        " charged_window_start = null,\n       summary",
        (BUDGETS, "-k", "charges_and_marks"),
    ),
    Mutant(
        "the expected window is trusted", LOOKS,
        "    if seen.expected == span.starts_at:", "    if seen.expected is not None:",
        (BUDGETS, "-k", "held_at_the_policy_lock or pacific"),
    ),
    Mutant(
        "the guard is told the wrong end", ADMITTING,
        '{"ends_at": span.ends_at}', '{"ends_at": span.ends_at + (span.ends_at - span.starts_at)}',
        (BUDGETS, "-k", "outlives_its_window"),
    ),
    Mutant(
        "has_policy is not asked after the wait", "app/transactions/picking.py",
        "    if found.has_policy:\n        return None\n", "",
        (BUDGETS, "-k", "pause_during"),
    ),
    Mutant(
        "the plain claim forgets has_policy", "sql/queries/picking.sql",
        "and (select not g.has_policy", "and (select true",
        (BUDGETS, "-k", "plain_claim"),
    ),
    Mutant(
        "a lone queue is not asked for", "sql/queries/looks.sql",
        "(select count(*) = 1 and bool_and(g.queue_id", "(select true or bool_and(g.queue_id",
        (LONE, "-k", "granted"),
    ),
    Mutant(
        "the claim without a peek forgets has_policy", "sql/queries/picking.sql",
        "and bool_and(g.queue_id = %(queue_id)s and not g.has_policy)",
        "and bool_and(g.queue_id = %(queue_id)s)", (LONE, "-k", "policy"),
    ),
    Mutant(
        "the claim without a peek overlooks due retries", "sql/queries/picking.sql",
        "where d.queue_id = %(queue_id)s and d.state = 'failed'", "where false",
        (LONE, "-k", "due_retry"),
    ),
    Mutant(
        "a spent window is remembered past its end", "app/transactions/spent.py",
        " or not span.starts_at <= now.at < span.ends_at", "", (SPENT, "-k", "new_window"),
    ),
    Mutant(
        "a spent window outlives its policy", "app/transactions/spent.py",
        "_policy(now) != spent.policy or ", "", (SPENT, "-k", "raised_limit"),
    ),
    Mutant(
        "a hidden head is called empty", SEARCHING,
        "            if not admitted or (is_last", "            if True or (is_last",
        (BUDGETS, "-k", "waits_for_the_head"),
    ),
    Mutant(
        "a full cap is never looked at for takeovers", SEARCHING,
        "        if deferral.reason is not Reason.IN_FLIGHT_FULL or queue_id in self.has_repicked:",
        "        if deferral is not None:",
        (BUDGETS, "-k", "takeover"),
    ),
    Mutant(
        "a refusal is counted at every look", "app/transactions/refusals.py",
        "    if queue_id in claimer.request.counted:\n        return\n", "",
        (BUDGETS, "-k", "once_per_call"),
    ),
    Mutant(
        "a client that left is charged", ADMITTING,
        "        leave_if(attempt.gone)\n", "", (BUDGETS, "-k", "gone_client"),
    ),
    Mutant(
        "a fault leaves no trace", ADMITTING,
        "    faults.note(db, queue_id, kind)\n", "",
        (BUDGETS, "-k", "broken_policy or held_policy_lock"),
    ),
    Mutant(
        "the lock deadline is not set", LOOKS,
        'conn.execute(SQL["set_limits"], {"lock_ms": str(deadline.left_ms())})',
        'conn.execute(SQL["set_limits"], {"lock_ms": "60000"})',
        (BUDGETS, "-k", "held_policy_lock", "--timeout=20"),
    ),
    Mutant(
        "isolation left to the role", "sql/queries/looks.sql",
        "begin isolation level read committed;", "begin;", (BUDGETS, "-k", "default_isolation"),
    ),
    Mutant(
        "a key takes no lock", "app/transactions/replaying.py",
        '    conn.execute(SQL["lock_claim_key"], params)\n', "",
        (CLAIMS, "-k", "one_key_used_twice"),
    ),
    Mutant(
        "a takeover leaves the old attempt open", SCHEMA,
        "disposition = 'requeued'\n   where todo_id = p_todo_id",
        "disposition = 'requeued'\n   where false and todo_id = p_todo_id",
        (CLAIMS, "-k", "taken_over"),
    ),
    Mutant(
        "the fence is not asked", "app/domain/settlement.py",
        "    if fenced and not _same_fence(latest, token_hash):", "    if False:",
        (SETTLES, "-k", "fence"),
    ),
    Mutant(
        "a gap begins before it", "app/domain/wallclock.py",
        "    if before < after:\n        return _transition(label, zone, before, after)\n", "",
        (WINDOWS,),
    ),
    Mutant(
        "a repeated label is its second occurrence", "app/domain/wallclock.py",
        "    return (label - before).replace(tzinfo=UTC)",
        "    return (label - after).replace(tzinfo=UTC)", (WINDOWS,),
    ),
    Mutant(
        "merged hours begin with the last", "app/domain/windows.py",
        "        starts_at = ends_at\n", "        pass\n", (WINDOWS,),
    ),
    Mutant(
        "the limiter's burst is eleven", "sql/queries/write_limit.sql",
        "values (%(id)s, 9, clock())", "values (%(id)s, 10, clock())", (LIMITER,),
    ),
    Mutant(
        "the limiter refills twice as fast", "sql/queries/write_limit.sql",
        "extract(epoch from clock() - b.refilled_at)",
        "2 * extract(epoch from clock() - b.refilled_at)", (LIMITER,),
    ),
    Mutant(
        "a cleared policy starts anew", "sql/queries/policies.sql",
        "set deleted_at = clock(), revision = revision + 1",
        "set id = gen_random_uuid(), deleted_at = clock(), revision = revision + 1", (POLICIES,),
    ),
)

ALL = (*CLAIM, *REST)
