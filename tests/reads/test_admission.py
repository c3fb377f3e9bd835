"""What policies say now: every reason, every kind of policy, faults that stay where they are."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from app.db.database import Database
from app.domain.admission import UNAVAILABLE, Admitted, Decision, Deferral, Reason, Usage
from app.domain.callers import Endpoint
from app.domain.errors import Forbidden, NotFound
from app.reads import admission, todos
from app.reads.admission import QueueStatus
from tests.support.clock import Clock
from tests.support.make import Make, QueueId
from tests.support.recorded import recorded

NOON = datetime(2026, 9, 30, 12, tzinfo=UTC)
TODAY, TOMORROW = NOON.replace(hour=0), NOON.replace(hour=0, day=1, month=10)
HINT = timedelta(seconds=30)


@pytest.fixture(autouse=True)
def noon(clock: Clock) -> datetime:
    """The clock stands."""
    return clock.set(NOON)


@pytest.fixture
def endpoint(make: Make) -> Endpoint:
    return make.endpoint(queues=("inbox", "lane", "third"))


@pytest.fixture
def inbox(make: Make, endpoint: Endpoint) -> QueueId:
    return make.queue_id(endpoint)


def status(db: Database, queue_id: int, *, counts_all: bool = True) -> QueueStatus:
    """The status of one queue that has a policy."""
    with db.reading() as conn:
        return admission.statuses(conn, [queue_id], counts_all=counts_all)[queue_id]


def unavailable(also: tuple[Reason, ...] = ()) -> Decision:
    """What a policy that cannot be judged says: nothing but that."""
    return Deferral(reason=Reason.ADMISSION_UNAVAILABLE, also_binding=also)


# --- reasons -------------------------------------------------------------------------------------


@pytest.mark.rule("R5, R49, R56: the first reason, its time, and what else binds")
@pytest.mark.parametrize(("cap", "limit", "claimed", "used", "reason", "also"), [
    (2, None, 1, 0, None, ()),
    (2, None, 2, 0, Reason.IN_FLIGHT_FULL, ()),
    (2, None, 3, 0, Reason.IN_FLIGHT_FULL, ()),
    (None, 5, 9, 4, None, ()),
    (None, 5, 9, 5, Reason.WINDOW_EXHAUSTED, ()),
    (None, 5, 9, 6, Reason.WINDOW_EXHAUSTED, ()),
    (2, 5, 2, 5, Reason.WINDOW_EXHAUSTED, (Reason.IN_FLIGHT_FULL,)),
    (0, None, 0, 0, Reason.PAUSED, ()),
    (0, 5, 0, 5, Reason.PAUSED, (Reason.WINDOW_EXHAUSTED,)),
    (2, 0, 2, 0, Reason.PAUSED, (Reason.IN_FLIGHT_FULL,)),
    (0, 0, 3, 3, Reason.PAUSED, ()),
])
def test_every_combination_of_limits(
    db: Database, make: Make, endpoint: Endpoint, inbox: QueueId, cap: int | None,
    limit: int | None, claimed: int, used: int, reason: Reason | None, also: tuple[Reason, ...],
) -> None:
    policy = make.policy(inbox, max_in_flight=cap, max_claims_per_window=limit)
    for seconds in range(claimed):
        make.todo(endpoint, state="claimed", lease=300 + seconds)
    make.window(policy, TODAY, used)

    decisions = [status(db, inbox).decision, status(db, inbox, counts_all=False).decision]

    expected: Decision = Admitted()
    if reason is not None:
        at = {
            Reason.WINDOW_EXHAUSTED: TOMORROW,
            Reason.IN_FLIGHT_FULL: NOON + timedelta(seconds=300) + HINT,
        }.get(reason)
        expected = Deferral(reason=reason, next_eligible_at=at, also_binding=also,
                            exact=reason is Reason.WINDOW_EXHAUSTED)
    assert decisions == [expected, expected]


@pytest.mark.rule("R23: the earliest live lease and a reaper round; without one, now and a round")
def test_the_hint_of_a_full_cap(
    db: Database, make: Make, endpoint: Endpoint, inbox: QueueId
) -> None:
    make.policy(inbox, max_in_flight=1)
    make.todo(endpoint, state="claimed", lease=-10)
    lapsed = status(db, inbox).decision
    make.todo(endpoint, state="claimed", lease=500)
    make.todo(endpoint, state="claimed", lease=200)

    live = status(db, inbox).decision

    assert lapsed == Deferral(reason=Reason.IN_FLIGHT_FULL, next_eligible_at=NOON + HINT)
    assert live == Deferral(reason=Reason.IN_FLIGHT_FULL,
                            next_eligible_at=NOON + timedelta(seconds=200) + HINT)


@pytest.mark.rule("R42: what has no limit is null; in_flight is always counted where it is shown")
def test_usage_of_each_kind_of_policy(
    db: Database, make: Make, endpoint: Endpoint, inbox: QueueId
) -> None:
    lane = make.queue_id(endpoint, "lane")
    make.policy(inbox, max_in_flight=1)
    windowed = make.policy(lane, max_claims_per_window=5)
    make.window(windowed, TODAY, 7, limit=9)
    make.window(windowed, TODAY - timedelta(days=1), 100)
    for queue in ("inbox", "lane"):
        for _ in range(3):
            make.todo(endpoint, queue, state="claimed")

    assert status(db, inbox).usage == Usage(
        in_flight=3, slot_hint_at=NOON + timedelta(seconds=300) + HINT)
    assert status(db, lane).usage == Usage(
        in_flight=3, used=7, window_started_at=TODAY, window_resets_at=TOMORROW,
        slot_hint_at=NOON + timedelta(seconds=300) + HINT)
    bounded = status(db, inbox, counts_all=False).usage
    assert bounded is not None
    assert bounded.in_flight == 2


@pytest.mark.req("REQ-5", "A Pacific day")
def test_the_next_window_begins_at_zero_by_itself(
    db: Database, make: Make, inbox: QueueId, clock: Clock
) -> None:
    policy = make.policy(inbox, max_claims_per_window=5, tz="America/Los_Angeles")
    make.window(policy, datetime(2026, 9, 30, 7, tzinfo=UTC), 5)
    exhausted = status(db, inbox).decision

    clock.set("2026-10-01T06:59:59Z")
    late = status(db, inbox).decision
    clock.set("2026-10-01T07:00:00Z")

    resets_at = datetime(2026, 10, 1, 7, tzinfo=UTC)
    assert exhausted == late == Deferral(
        reason=Reason.WINDOW_EXHAUSTED, next_eligible_at=resets_at, exact=True)
    assert status(db, inbox).decision == Admitted()


# --- many queues, few statements -----------------------------------------------------------------


@pytest.mark.rule("R26: every queue is evaluated once per call, in three statements for any number")
def test_any_number_of_queues_takes_three_statements(
    db: Database, make: Make, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    queues = [make.queue_id(endpoint, name) for name in ("inbox", "lane", "third")]
    for queue in queues[:2]:
        make.policy(queue, max_claims_per_window=5)
        for _ in range(100):
            make.todo(endpoint, queue.name)
    found = todos.list_for_endpoint(db, endpoint, None, None, 200)
    assert len(found) == 200

    with recorded(monkeypatch) as said:
        statuses = admission.of_todos(db, found)

    assert len(said) == 3
    assert set(statuses) == {todo.id for todo in found}
    assert set(map(repr, statuses.values())) == {"Admitted()"}


@pytest.mark.rule("R13: without a policy no admission table is read")
def test_queues_without_a_policy_read_no_admission_table(
    db: Database, make: Make, endpoint: Endpoint, inbox: QueueId, monkeypatch: pytest.MonkeyPatch
) -> None:
    make.todo(endpoint)
    found = todos.list_for_endpoint(db, endpoint, None, None, 200)

    with recorded(monkeypatch) as said:
        assert admission.of_todos(db, found) == {}
        assert said == []
        with db.reading() as conn:
            assert admission.statuses(conn, []) == {}
            assert admission.statuses(conn, [inbox]) == {}

    assert not [text for text in said if "admission_" in text]


def test_a_policy_that_vanished_meanwhile_is_left_out(
    db: Database, make: Make, inbox: QueueId
) -> None:
    make.run("update queues set has_policy = true where id = %s", int(inbox))

    with db.reading() as conn:
        assert admission.statuses(conn, [inbox]) == {}


# --- faults --------------------------------------------------------------------------------------


@pytest.mark.req("REQ-9", "A policy that cannot be evaluated")
@pytest.mark.parametrize("fault", [
    "set window_tz = 'Mars/Olympus'",
    "set window_tz = '../etc/passwd'",
    "set window_tz = 'America'",
    "set window_tz = null",
    "set window_start = '99:99'",
    "set window_period = 'year'",
    "set window_weekday = 'Mon'",
    "set max_claims_per_window = -1",
    "set max_claims_per_window = null",
])
def test_a_broken_row_is_unavailable_and_its_neighbour_is_not(
    db: Database, make: Make, endpoint: Endpoint, inbox: QueueId, fault: str
) -> None:
    lane = make.queue_id(endpoint, "lane")
    make.policy(inbox, max_claims_per_window=5)
    make.policy(lane, max_claims_per_window=5)
    constraints = make.rows(
        "select conname, pg_get_constraintdef(oid) from pg_constraint"
        " where conrelid = 'admission_policies'::regclass and contype = 'c'")
    for name, _ in constraints:
        make.run(f"alter table admission_policies drop constraint {name}")
    make.run(f"update admission_policies {fault} where queue_id = %s", int(inbox))

    broken, sound = status(db, inbox), status(db, lane)

    make.run("delete from admission_policies where queue_id = %s", int(inbox))
    for name, text in constraints:
        make.run(f"alter table admission_policies add constraint {name} {text}")
    assert (broken.decision, broken.policy, broken.usage) == (unavailable(), None, None)
    assert sound.decision == Admitted()


@pytest.mark.rule("R39: unreadable tables make every queue with a policy unavailable, and no other")
@pytest.mark.parametrize("table", ["admission_policies", "admission_windows"])
def test_unreadable_tables_are_unavailable_and_not_an_error(
    db: Database, make: Make, endpoint: Endpoint, inbox: QueueId, table: str
) -> None:
    make.policy(inbox, max_claims_per_window=5)
    todo, free = make.todo(endpoint), make.todo(endpoint, "lane")
    found = todos.list_for_endpoint(db, endpoint, None, None, 200)
    make.run(f"alter table {table} rename to hidden")

    broken, shown = status(db, inbox), admission.of_todos(db, found)
    listed = admission.for_endpoint(db, endpoint, None)

    make.run(f"alter table hidden rename to {table}")
    assert (broken.queue, broken.decision) == ("inbox", UNAVAILABLE)
    assert shown == {todo.id: UNAVAILABLE}
    assert free.id not in shown
    assert [each.status.decision if each.status else None for each in listed] == [
        UNAVAILABLE, None, None,
    ]


def test_a_fault_leaves_the_transaction_around_it_usable(
    db: Database, make: Make, inbox: QueueId
) -> None:
    make.policy(inbox, max_claims_per_window=5)
    make.run("alter table admission_windows rename to hidden")

    with db.transaction() as conn:
        found = admission.statuses(conn, [inbox])
        at = db.now(conn)

    make.run("alter table hidden rename to admission_windows")
    assert (found[inbox].decision, at) == (UNAVAILABLE, NOON)


# --- todo rows -----------------------------------------------------------------------------------


@pytest.mark.rule("R25, R26: only pending rows of a queue with a policy say whether they wait")
def test_only_pending_todos_of_budgeted_queues_have_a_status(
    db: Database, make: Make, endpoint: Endpoint, inbox: QueueId
) -> None:
    make.policy(inbox, max_in_flight=0)
    waits = make.todo(endpoint)
    for state in ("claimed", "done", "failed"):
        make.todo(endpoint, state=state)
    make.todo(endpoint, state="failed", next_retry_at=NOON + timedelta(seconds=30))
    make.todo(endpoint, "lane")

    shown = admission.of_todos(db, todos.list_for_endpoint(db, endpoint, None, None, 200))

    assert shown == {waits.id: Deferral(reason=Reason.PAUSED)}


# --- for an endpoint -----------------------------------------------------------------------------


@pytest.mark.rule("R24: pending is the plain count of pending todos")
def test_pending_counts_pending_todos_and_nothing_else(
    db: Database, make: Make, endpoint: Endpoint, inbox: QueueId
) -> None:
    make.policy(inbox, max_in_flight=0)
    for _ in range(3):
        make.todo(endpoint)
    make.todo(endpoint, state="claimed", lease=-10)
    make.todo(endpoint, state="failed", next_retry_at=NOON - timedelta(seconds=1))
    make.todo(endpoint, "lane")

    listed = admission.for_endpoint(db, endpoint, None)

    assert [(each.queue, each.pending, each.status is None) for each in listed] == [
        ("inbox", 3, False), ("lane", 1, True), ("third", 0, True),
    ]


@pytest.mark.req("REQ-7", "Status is scoped to the caller")
@pytest.mark.req("REQ-2", "Same name, different owners")
def test_nothing_is_said_about_queues_outside_the_grant(
    db: Database, make: Make, endpoint: Endpoint
) -> None:
    other = make.endpoint(queues=("inbox", "elsewhere"))
    make.policy(make.queue_id(other), max_in_flight=0)
    make.queue(endpoint, "outside")
    team = make.team()
    reachable, distant = make.team_queue(team, "near"), make.team_queue(make.team(), "far")
    assert endpoint.owner_human_id is not None
    make.run("insert into team_members (team_id, human_id, role, source)"
             " values (%s, %s, 'member', 'manual')", team.id, endpoint.owner_human_id)
    make.grant(endpoint, reachable)
    make.grant(endpoint, distant)

    listed = admission.for_endpoint(db, endpoint, None)

    assert [each.queue for each in listed] == ["inbox", "lane", "third", reachable.name]
    assert [each.status for each in listed] == [None] * 4
    assert [each.queue for each in admission.for_endpoint(db, endpoint, reachable.name)] == [
        reachable.name]
    for name in ("outside", "elsewhere", "unknown"):
        with pytest.raises(Forbidden):
            admission.for_endpoint(db, endpoint, name)
    for name in (distant.name, "team:nobody/x"):
        with pytest.raises(NotFound):
            admission.for_endpoint(db, endpoint, name)
