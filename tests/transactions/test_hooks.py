"""Notify hooks: who may make, rotate, switch and delete them, and what becomes of their calls."""

from __future__ import annotations

import json
import re
import socket
import threading
import uuid
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from app.db.database import Database
from app.db.outbox import Backlog, QueueBacklog, Ready
from app.domain.addresses import AddressRules, parse_networks
from app.domain.callers import Endpoint
from app.domain.errors import (
    CeilingExceeded,
    Conflict,
    Forbidden,
    InvalidArgument,
    NotFound,
    RateLimited,
)
from app.domain.hooks import Failure, HookRules, Verdict
from app.domain.verbs import BASICS, NOTIFY
from app.reads import hooks as hook_list
from app.transactions import hook_calls, hooks
from app.transactions.hook_calls import Call, NoCall, Owed
from app.transactions.hooks import MintedHook
from tests.support.clock import Clock
from tests.support.make import Make, QueueId

URL = "https://8.8.8.8/wake?token=hush"
RULES = HookRules()
VERBS = (*BASICS, *NOTIFY)


@pytest.fixture
def lane(make: Make) -> Endpoint:
    """An endpoint that may have hooks."""
    return make.endpoint(queues=("inbox", "lane"), verbs=VERBS)


def create(db: Database, lane: Endpoint, url: str = URL, *, rules: HookRules = RULES,
           queues: tuple[str, ...] = (), ignore_presence: bool = False) -> MintedHook:
    return hooks.create(db, lane, url, queues=queues, ignore_presence=ignore_presence, rules=rules)


# --- made, rotated, deleted ----------------------------------------------------------------------


def test_a_hook_gets_a_secret_of_its_own_kind_and_only_its_seal_is_stored(
    db: Database, make: Make, lane: Endpoint
) -> None:
    made = create(db, lane, queues=("lane",), ignore_presence=True)

    assert re.fullmatch(r"whsec_[A-Za-z0-9+/]{43}=", made.signing_secret)
    row = make.rows("select url, secret, queues, ignore_presence, enabled from notify_hooks")[0]
    assert row[0] == URL
    assert row[1].startswith("enc:v1:")
    assert row[2:] == (["lane"], True, True)
    assert db.sealer.open(row[1], str(made.id)) == made.signing_secret


def test_the_ceiling_holds_when_many_ask_at_once(
    db: Database, make: Make, lane: Endpoint
) -> None:
    def ask(number: int) -> bool:
        try:
            create(db, lane, f"https://8.8.8.8/{number}")
        except CeilingExceeded:
            return False
        return True

    with ThreadPoolExecutor(hooks.AT_ONCE) as pool:  # more would be told to come back later
        made = list(pool.map(ask, range(12)))

    assert sum(made) == 5
    assert make.value("select count(*) from notify_hooks") == 5


def test_the_setting_moves_the_ceiling_and_0_turns_hooks_off(db: Database, lane: Endpoint) -> None:
    create(db, lane, rules=HookRules(most=1))

    with pytest.raises(CeilingExceeded, match="has its 1"):
        create(db, lane, rules=HookRules(most=1))
    with pytest.raises(CeilingExceeded, match="turned off"):
        create(db, lane, rules=HookRules(most=0))


@pytest.mark.parametrize("url", [
    "http://8.8.8.8/", "https://127.0.0.1/", "https://10.0.0.1/", "https://169.254.169.254/",
    "https://[::1]/", "https://[fd00::1]/", "https://[fe80::1]/", "https://0.0.0.0/",
    "https://224.0.0.1/", "https://100.64.0.1/", "https://[::ffff:127.0.0.1]/",
    "https://[::ffff:8.8.8.8]/", "https://[64:ff9b::7f00:1]/", "https://[64:ff9b:1::7f00:1]/",
    "https://[2002:7f00:1::]/", "https://[2001:0:7f00:1::]/", "https://[fec0::1]/",
    "https://0177.0.0.1/", "https://127.1/", "https://2130706433/", "https://0x7f.1/",
    "https://localhost/", "https://ana@8.8.8.8/", "https://nowhere.invalid/", "",
])  # fmt: skip
def test_a_url_that_may_not_be_dialled_is_refused_and_nothing_is_stored(
    db: Database, make: Make, lane: Endpoint, url: str
) -> None:
    with pytest.raises(InvalidArgument) as refused:
        create(db, lane, url)

    assert refused.value.field == "url"
    assert make.value("select count(*) from notify_hooks") == 0


def test_slow_names_hold_a_bounded_number_of_threads(
    db: Database, lane: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    released, asked = threading.Event(), threading.Semaphore(0)

    def slow(*_: object, **__: object) -> list[object]:
        asked.release()
        released.wait(20)
        return []

    monkeypatch.setattr(socket, "getaddrinfo", slow)
    with ThreadPoolExecutor(hooks.AT_ONCE) as pool:
        held = [pool.submit(create, db, lane, "https://slow.example/")
                for _ in range(hooks.AT_ONCE)]
        for _ in range(hooks.AT_ONCE):
            assert asked.acquire(timeout=10)
        with pytest.raises(RateLimited):
            create(db, lane)
        released.set()

    assert {type(each.exception()) for each in held} == {InvalidArgument}
    monkeypatch.undo()
    assert create(db, lane)


def test_an_allowlist_frees_and_our_own_port_stays_refused(db: Database, lane: Endpoint) -> None:
    allowed = parse_networks(["127.0.0.0/8"])
    rules = HookRules(addresses=AddressRules(allowed=allowed, own_port=8080))

    assert create(db, lane, "https://127.0.0.1:8081/", rules=rules)
    with pytest.raises(InvalidArgument, match="own"):
        create(db, lane, "https://127.0.0.1:8080/", rules=rules)


def test_a_queue_outside_scope_is_forbidden_and_one_twice_invalid(
    db: Database, make: Make, lane: Endpoint
) -> None:
    make.queue(lane, "outside")

    for queues in (("outside",), ("inbox", "nonsense"), ("team:night/triage",)):
        with pytest.raises(Forbidden):
            create(db, lane, queues=queues)
    with pytest.raises(InvalidArgument) as refused:
        create(db, lane, queues=("inbox", "inbox"))
    assert refused.value.field == "queues"
    assert make.value("select count(*) from notify_hooks") == 0


def test_the_verbs_must_be_granted(db: Database, make: Make) -> None:
    plain = make.endpoint()

    with pytest.raises(Forbidden):
        create(db, plain)
    with pytest.raises(Forbidden):
        hook_list.list_for_endpoint(db, plain)
    with pytest.raises(Forbidden):
        hooks.rotate(db, plain, str(uuid.uuid4()))
    with pytest.raises(Forbidden):
        hooks.delete(db, plain, str(uuid.uuid4()))


def test_rotating_keeps_the_old_secret_for_a_day_and_enables(
    db: Database, make: Make, lane: Endpoint, clock: Clock
) -> None:
    now = clock.set("2026-09-30T12:00:00Z")
    made = create(db, lane)
    make.run("update notify_hooks set enabled = false, disabled_reason = 'consecutive_failures',"
             " disabled_at = clock(), consecutive_failures = 10")

    rotated = hooks.rotate(db, lane, str(made.id))

    assert rotated.signing_secret != made.signing_secret
    assert rotated.previous_valid_until == now + timedelta(hours=24)
    row = hook_list.list_for_endpoint(db, lane)[0]
    assert (row.enabled, row.disabled_reason, row.consecutive_failures) == (True, None, 0)
    assert row.rotated_at == now
    assert secrets_of(db, make, lane, made) == (rotated.signing_secret, made.signing_secret)
    clock.advance(24 * 3600)
    assert secrets_of(db, make, lane, made) == (rotated.signing_secret,)


def test_another_endpoints_and_malformed_hooks_are_not_found(
    db: Database, make: Make, lane: Endpoint
) -> None:
    foreign = create(db, make.endpoint(verbs=VERBS))

    for name in (str(foreign.id), str(uuid.uuid4()), "", "x", "x" * 5000):
        with pytest.raises(NotFound):
            hooks.rotate(db, lane, name)
        with pytest.raises(NotFound):
            hooks.delete(db, lane, name)
    assert make.value("select count(*) from notify_hooks where rotated_at is null") == 1


def test_deleting_frees_a_place(db: Database, lane: Endpoint) -> None:
    one = HookRules(most=1)
    made = create(db, lane, rules=one)

    assert hooks.delete(db, lane, str(made.id)) == made.id
    assert create(db, lane, rules=one)


# --- the owner's switch --------------------------------------------------------------------------


def test_the_owner_switches_a_hook_off_and_on_and_deletes_it(db: Database, make: Make) -> None:
    ana = make.human()
    lane = make.endpoint(ana, verbs=VERBS)
    made = create(db, lane)
    names = (str(lane.id), str(made.id))
    make.run("update notify_hooks set consecutive_failures = 9")

    assert hooks.disable_as(db, ana, *names)
    assert not hooks.disable_as(db, ana, *names)
    row = hook_list.list_of_endpoint(db, ana, lane.id)[0]
    assert (row.enabled, row.disabled_reason) == (False, "operator")
    assert hooks.enable_as(db, ana, *names)
    assert not hooks.enable_as(db, ana, *names)
    row = hook_list.list_of_endpoint(db, ana, lane.id)[0]
    assert (row.enabled, row.disabled_reason, row.consecutive_failures) == (True, None, 0)
    assert db.counters.value("switchboard_notify_hooks_disabled_total", reason="operator") == 1
    hooks.delete_as(db, ana, *names)
    assert hook_list.list_of_endpoint(db, ana, lane.id) == []


def test_strangers_and_plain_members_switch_nothing(db: Database, make: Make) -> None:
    team, member = make.team(), make.human()
    make.member(team, member)
    lane = make.endpoint(team=team, verbs=VERBS)
    made = create(db, lane)

    for human in (make.human(), member):
        for act in (hooks.disable_as, hooks.enable_as, hooks.delete_as):
            for names in ((str(lane.id), str(made.id)), (str(lane.id), "x"), ("x", str(made.id))):
                with pytest.raises(NotFound):
                    act(db, human, *names)
        assert hook_list.list_of_endpoint(db, human, lane.id) == []
    assert make.value("select enabled from notify_hooks") is True


def test_the_hooks_of_a_revoked_endpoint_can_no_longer_be_changed(
    db: Database, make: Make
) -> None:
    ana = make.human()
    lane = make.endpoint(ana, verbs=VERBS)
    made = create(db, lane)
    make.run("update endpoints set state = 'revoked', revoked_at = clock()")

    with pytest.raises(Conflict):
        hooks.disable_as(db, ana, str(lane.id), str(made.id))
    with pytest.raises(Conflict):
        create(db, lane)


# --- who is told ---------------------------------------------------------------------------------


def told(db: Database, *notices: Ready | Backlog) -> list[uuid.UUID]:
    return [each.hook_id for each in hook_calls.owed(db, notices)]


def ready(make: Make, lane: Endpoint | None, queue: str | QueueId = "inbox") -> Ready:
    todo = make.todo(lane, queue, rings=True, title="issue 41 opened", kind="webhook")
    return Ready(todo_id=todo.id, queue_id=todo.queue_id, why="created")


def test_a_hook_hears_of_the_queues_it_names_or_of_all(
    db: Database, make: Make, lane: Endpoint
) -> None:
    every, inbox, other = create(db, lane), create(db, lane, queues=("inbox",)), create(
        db, lane, queues=("lane",))
    off = create(db, lane)
    make.run("update notify_hooks set enabled = false, disabled_reason = 'operator' where id = %s",
             off.id)
    create(db, make.endpoint(verbs=VERBS))

    assert set(told(db, ready(make, lane))) == {every.id, inbox.id}
    assert set(told(db, ready(make, lane, "lane"))) == {every.id, other.id}


def test_a_queue_that_left_the_scope_is_not_told_of(
    db: Database, make: Make, lane: Endpoint
) -> None:
    create(db, lane)
    create(db, lane, queues=("lane",))
    notice = ready(make, lane, "lane")
    make.run("update endpoints set scope_queues = '{inbox}'")

    assert told(db, notice) == []


def test_of_a_team_queue_only_the_teams_own_endpoints_are_told(db: Database, make: Make) -> None:
    ana, team = make.human(), make.team("night")
    make.member(team, ana)
    queue = make.team_queue(team, "triage")
    members, own, deaf = (make.endpoint(ana, verbs=VERBS), make.endpoint(team=team, verbs=VERBS),
                          make.endpoint(team=team, verbs=VERBS))
    make.grant(members, queue)
    make.grant(own, queue)
    create(db, members)
    theirs = create(db, own, queues=("team:night/triage",))
    create(db, own, queues=("inbox",))
    create(db, deaf)

    notice = ready(make, None, queue)

    assert told(db, notice) == [theirs.id]
    call = prepared(db, theirs, notice)
    assert json.loads(call.message.body)["queue"] == "team:night/triage"


def test_of_a_backlog_hooks_are_told_that_heed_presence(
    db: Database, make: Make, lane: Endpoint
) -> None:
    heeds = create(db, lane)
    create(db, lane, ignore_presence=True)
    create(db, make.endpoint(verbs=VERBS))

    assert told(db, backlog(make, lane)) == [heeds.id]


def backlog(make: Make, lane: Endpoint) -> Backlog:
    inbox, other = (int(make.queue_id(lane, name)) for name in ("inbox", "lane"))
    return Backlog(endpoint_id=lane.id, reason="clock_in", waiting=(
        QueueBacklog(queue_id=inbox, queue="inbox", pending=3, oldest_pending_seconds=60),
        QueueBacklog(queue_id=other, queue="lane", pending=2, oldest_pending_seconds=90),
    ))


# --- judged again, right before ------------------------------------------------------------------


def prepare(db: Database, made: MintedHook, notice: Ready | Backlog) -> Call | NoCall:
    return hook_calls.prepare(db, Owed(hook_id=made.id, notice=notice), None)


def prepared(db: Database, made: MintedHook, notice: Ready | Backlog) -> Call:
    call = prepare(db, made, notice)
    assert isinstance(call, Call)
    return call


def secrets_of(db: Database, make: Make, lane: Endpoint, made: MintedHook) -> tuple[str, ...]:
    return prepared(db, made, ready(make, lane)).secrets


def test_a_ready_todo_is_told_with_what_the_contract_says(
    db: Database, make: Make, lane: Endpoint
) -> None:
    made, notice = create(db, lane), ready(make, lane)

    call = prepared(db, made, notice)

    assert call.url == URL
    assert re.fullmatch(r"msg_[0-9A-HJKMNP-TV-Z]{26}", call.message.id)
    body = json.loads(call.message.body)
    assert body.pop("created_at")
    assert body == {"type": "todo.ready", "reason": "created", "todo_id": notice.todo_id,
                    "queue": "inbox", "kind": "webhook", "source": "operator",
                    "summary": "issue 41 opened", "endpoint": lane.slug, "attempt": 0}


def test_a_repeated_attempt_keeps_its_message_and_takes_no_token(
    db: Database, make: Make, lane: Endpoint, clock: Clock
) -> None:
    clock.set("2026-09-30T12:00:00Z")
    made, notice = create(db, lane), ready(make, lane)
    first = prepared(db, made, notice)
    clock.advance(1)
    make.run("update notify_hooks set rate_tokens = 0, rate_refilled_at = clock()")

    again = hook_calls.prepare(db, Owed(hook_id=made.id, notice=notice), first.message)

    assert isinstance(again, Call)
    assert again.message is first.message
    assert (again.at - first.at).total_seconds() == 1


CLOCK_OUT = ("update endpoints set presence_override = 'out', override_by = 'agent',"
             " override_set_at = clock()")


@pytest.mark.parametrize("change", [
    "update todos set state = 'done', completed_at = clock()",
    "update notify_hooks set enabled = false, disabled_reason = 'operator'",
    "update endpoints set state = 'revoked'",
    "update endpoints set expires_at = clock()",
    "update endpoints set scope_queues = '{lane}'",
    "delete from notify_hooks",
    "delete from todos",
    CLOCK_OUT,
])
def test_what_changed_meanwhile_silences_the_call(
    db: Database, make: Make, lane: Endpoint, change: str
) -> None:
    made, notice = create(db, lane), ready(make, lane)
    make.run(change)

    assert prepare(db, made, notice) is NoCall.NOT_DUE


@pytest.mark.req("REQ-8")
def test_ignore_presence_bypasses_presence_and_never_admission(
    db: Database, make: Make, lane: Endpoint
) -> None:
    made, notice = create(db, lane, ignore_presence=True), ready(make, lane)
    make.run(CLOCK_OUT)
    assert isinstance(prepare(db, made, notice), Call)

    make.policy(notice.queue_id, max_in_flight=0)

    assert prepare(db, made, notice) is NoCall.NOT_DUE


def test_a_filtered_hook_is_told_its_share_of_a_backlog(
    db: Database, make: Make, lane: Endpoint
) -> None:
    whole, part = create(db, lane), create(db, lane, queues=("lane",))
    notice = backlog(make, lane)

    bodies = [json.loads(prepared(db, each, notice).message.body) for each in (whole, part)]

    assert [(b["pending"], b["queues"], b["oldest_pending_seconds"]) for b in bodies] == [
        (5, ["inbox", "lane"], 90), (2, ["lane"], 90)]
    assert {b["reason"] for b in bodies} == {"clock_in"}


def test_a_backlog_leaves_out_what_is_deferred_and_nobody_who_left(
    db: Database, make: Make, lane: Endpoint
) -> None:
    made, notice = create(db, lane), backlog(make, lane)
    make.policy(make.queue_id(lane, "lane"), max_in_flight=0)
    assert json.loads(prepared(db, made, notice).message.body)["queues"] == ["inbox"]

    make.policy(make.queue_id(lane), max_in_flight=0)
    assert prepare(db, made, notice) is NoCall.NOT_DUE

    make.run("delete from admission_policies")
    make.run(CLOCK_OUT)
    assert prepare(db, made, notice) is NoCall.NOT_DUE


def test_120_a_minute_over_all_processes(
    db: Database, make: Make, lane: Endpoint, clock: Clock
) -> None:
    clock.set("2026-09-30T12:00:00Z")
    made, notice = create(db, lane), ready(make, lane)
    make.run("update notify_hooks set rate_tokens = 3")

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: prepare(db, made, notice), range(8)))

    assert sum(isinstance(each, Call) for each in answers) == 3
    assert answers.count(NoCall.DROPPED) == 5
    clock.advance(1)
    assert [isinstance(prepare(db, made, notice), Call) for _ in range(3)] == [True, True, False]
    clock.advance(3600)
    prepare(db, made, notice)
    assert make.value("select rate_tokens from notify_hooks") == 119


# --- health --------------------------------------------------------------------------------------

FAILED = Verdict(status=503, failure=Failure.HTTP_STATUS)


def test_ten_failed_deliveries_in_a_row_switch_a_hook_off_once(
    db: Database, make: Make, lane: Endpoint
) -> None:
    made = create(db, lane)
    for _ in range(9):
        hook_calls.record(db, made.id, FAILED, is_last=True)
    assert hook_list.list_for_endpoint(db, lane)[0].enabled

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: hook_calls.record(db, made.id, FAILED, is_last=True), range(4)))

    row = hook_list.list_for_endpoint(db, lane)[0]
    assert (row.enabled, row.disabled_reason) == (False, "consecutive_failures")
    assert (row.last_status, row.last_error) == (503, "http_status")
    assert row.disabled_at is not None
    assert db.counters.value("switchboard_notify_hooks_disabled_total",
                             reason="consecutive_failures") == 1


def test_a_success_forgives_and_an_attempt_that_is_repeated_does_not_count(
    db: Database, lane: Endpoint
) -> None:
    made = create(db, lane)
    for _ in range(9):
        hook_calls.record(db, made.id, FAILED, is_last=True)
    hook_calls.record(db, made.id, Verdict(failure=Failure.TIMEOUT), is_last=False)
    row = hook_list.list_for_endpoint(db, lane)[0]
    assert (row.consecutive_failures, row.last_error, row.last_status) == (9, "timeout", None)

    hook_calls.record(db, made.id, Verdict(status=204), is_last=True)

    row = hook_list.list_for_endpoint(db, lane)[0]
    assert (row.consecutive_failures, row.last_error, row.last_status) == (0, None, 204)


def test_a_hook_its_owner_switched_off_stays_so_whatever_still_fails(
    db: Database, make: Make
) -> None:
    ana = make.human()
    lane = make.endpoint(ana, verbs=VERBS)
    made = create(db, lane)
    hooks.disable_as(db, ana, str(lane.id), str(made.id))

    for _ in range(11):
        hook_calls.record(db, made.id, FAILED, is_last=True)

    assert hook_list.list_for_endpoint(db, lane)[0].disabled_reason == "operator"
    assert db.counters.value("switchboard_notify_hooks_disabled_total",
                             reason="consecutive_failures") == 0
