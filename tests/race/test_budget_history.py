"""Random histories against a model: the product does what the model does, and remembers the same.

A history that once failed is kept in HISTORIES, as the steps it took.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from app.db.database import Database
from app.domain import errors
from app.domain.queues import QueueAddress
from app.transactions import claiming, policies, settling, sweeps
from app.transactions.claims import Claimed, ClaimRequest, NothingClaimed
from app.transactions.settling import Settlement
from tests.race.model import AGENT, BOARD, Conflict, Model, Policy, Refused, Todo
from tests.support.clock import Clock
from tests.support.make import Make
from tests.support.pg import Fresh
from tests.support.race import all_returned, together
from tests.support.rounds import LONG, rounds
from tests.support.verify import Verify

pytestmark = [pytest.mark.race, pytest.mark.timeout(0 if LONG else 300)]
QUEUES = ("one", "two")
NOON = int(datetime(2026, 10, 1, 12, 10, tzinfo=UTC).timestamp())
_pick = st.integers(0, 30)
_queue = st.sampled_from(QUEUES)
_asked = st.sampled_from((None, *QUEUES))
_lease = st.sampled_from((1, 40, 300))
_limits = st.sampled_from((None, 0, 1, 2, 3, 5))


def _same(call: Callable[[], object], expected: Callable[[], object]) -> object:
    """Both do it, or both refuse it for the same reason; what the product answered."""
    refusal: str | None = None
    try:
        expected()
    except Conflict:
        refusal = "conflict"
    except Refused as why:
        refusal = str(why)
    answer, said = None, None
    try:
        answer = call()
    except errors.Conflict:
        said = "conflict"
    except errors.Deferred as why:
        said = str(why.extras["reason"])
    assert said == refusal
    return answer


class History(RuleBasedStateMachine):
    """One endpoint with two queues, its human, and a clock that stands still between steps."""

    fresh: Fresh
    make: Make
    clock: Clock

    def __init__(self) -> None:
        super().__init__()
        self.db: Database = self.fresh.db
        self.make.run("truncate todos, admission_windows cascade")
        self.model = Model(NOON, QUEUES)
        self.human = self.make.human()
        self.endpoint = self.make.endpoint(self.human, queues=QUEUES)
        self.ids: list[str] = []
        self._set_clock()

    def _set_clock(self) -> None:
        self.clock.set(datetime.fromtimestamp(self.model.now, UTC))

    def _some(self, pick: int) -> tuple[Todo, str]:
        number = pick % len(self.ids)
        return self.model.todos[number], self.ids[number]

    @initialize(limits=st.tuples(_limits, _limits, _limits))
    def begin(self, limits: tuple[int | None, ...]) -> None:
        """Something to claim, and mostly something that limits it."""
        for queue, cap, limit in zip(QUEUES, limits, limits[1:], strict=False):
            self.add(queue, 2, 4)
            self.add(queue, 1, 2)
            if cap or limit:
                self.set_policy(queue, cap, limit, "hour", 0)

    @rule(queue=_queue, most=st.sampled_from((1, 2, 5)), number=st.integers(1, 3))
    def add(self, queue: str, most: int, number: int) -> None:
        for _ in range(number):
            self.model.add(queue, most)
            self.ids.append(str(self.make.todo(self.endpoint, queue, max_attempts=most)))

    @rule(seconds=st.sampled_from((1, 29, 40, 301, 1800, 3000, 80_000)))
    def wait(self, seconds: int) -> None:
        self.model.now += seconds
        self._set_clock()

    @rule(queue=_queue, cap=_limits, limit=_limits, period=st.sampled_from(("hour", "day")),
          minute=st.sampled_from((0, 30)))
    def set_policy(self, queue: str, cap: int | None, limit: int | None, period: str,
                   minute: int) -> None:
        if cap is None and limit is None:
            cap = 4
        start = f"00:{minute:02}" if period == "hour" else "00:00"
        window = {"period": period, "tz": "UTC", "start": start}
        policies.save(self.db, self.human, self._address(queue), {
            "max_in_flight": cap, "max_claims_per_window": limit, "window": window})
        self.model.queues[queue].policy = Policy(cap, limit, period, minute)

    @rule(queue=_queue)
    def clear_policy(self, queue: str) -> None:
        was = policies.clear(self.db, self.human, self._address(queue))
        assert was == (self.model.queues[queue].policy is not None)
        self.model.queues[queue].policy = None

    def _address(self, queue: str) -> QueueAddress:
        return QueueAddress(f"endpoint:{self.endpoint.slug}", queue)

    def _claim_next(self, queue: str | None, lease: int) -> Claimed | NothingClaimed:
        request = ClaimRequest(lease_ttl_seconds=lease)
        return claiming.claim_next(self.db, self.endpoint, queue, request, gone=lambda: False)

    @rule(queue=_asked, lease=_lease)
    def claim_next(self, queue: str | None, lease: int) -> None:
        asked = (queue,) if queue else QUEUES
        expected = self.model.next_ones(asked)
        deferred = self.model.deferred(asked)
        answer = self._claim_next(queue, lease)
        if not isinstance(answer, Claimed):
            assert expected == []
            assert {each.queue: str(each.reason) for each in answer.deferred} == deferred
            return
        todo = self.model.todos[self.ids.index(answer.todo.id)]
        assert todo in expected
        self._agree(answer, todo, self.model.claim(todo, AGENT, lease))

    @precondition(lambda self: self.ids)
    @rule(pick=_pick, lease=_lease)
    def claim(self, pick: int, lease: int) -> None:
        todo, todo_id = self._some(pick)
        used: list[int | None] = []
        answer = _same(
            lambda: claiming.claim(self.db, self.endpoint, todo_id,
                                   ClaimRequest(lease_ttl_seconds=lease), gone=lambda: False),
            lambda: used.append(self.model.claim(todo, AGENT, lease)))
        if isinstance(answer, Claimed):
            self._agree(answer, todo, used[0])

    @precondition(lambda self: self.ids)
    @rule(pick=_pick)
    def board_claim(self, pick: int) -> None:
        todo, todo_id = self._some(pick)
        _same(lambda: claiming.board_claim(self.db, self.human, todo_id, gone=lambda: False),
              lambda: self.model.claim(todo, BOARD, 300))

    def _agree(self, answer: Claimed, todo: Todo, used: int | None) -> None:
        policy, left = self.model.queues[todo.queue].policy, answer.admission
        assert (left is None) == (policy is None)
        if left is not None:
            assert left.used == used
            assert left.in_flight == self.model.in_flight(todo.queue)

    @precondition(lambda self: self.ids)
    @rule(pick=_pick, outcome=st.sampled_from(("completed", "failed", "released")),
          owner=st.sampled_from((AGENT, AGENT, AGENT, BOARD)))
    def settle(self, pick: int, outcome: str, owner: str) -> None:
        todo, todo_id = self._some(pick)
        verbs = {
            (AGENT, "completed"): settling.complete, (BOARD, "completed"): settling.complete_as,
            (AGENT, "failed"): settling.fail, (BOARD, "failed"): settling.fail_as,
            (AGENT, "released"): settling.release, (BOARD, "released"): settling.release_as,
        }
        who = self.endpoint if owner == AGENT else self.human
        _same(lambda: verbs[owner, outcome](self.db, who, todo_id, Settlement()),
              lambda: self.model.settle(todo, owner, outcome))

    @precondition(lambda self: self.ids)
    @rule(pick=_pick, lease=_lease)
    def heartbeat(self, pick: int, lease: int) -> None:
        todo, todo_id = self._some(pick)
        _same(lambda: settling.heartbeat(self.db, self.endpoint, todo_id,
                                         lease_ttl_seconds=lease, lease_token=None),
              lambda: self.model.heartbeat(todo, AGENT, lease))

    @precondition(lambda self: self.ids)
    @rule(pick=_pick)
    def retry_now(self, pick: int) -> None:
        todo, todo_id = self._some(pick)
        _same(lambda: settling.retry_now(self.db, self.human, todo_id),
              lambda: self.model.retry_now(todo))

    @precondition(lambda self: self.ids)
    @rule(pick=_pick)
    def discard(self, pick: int) -> None:
        todo, todo_id = self._some(pick)
        _same(lambda: settling.discard(self.db, self.human, todo_id),
              lambda: self.model.discard(todo))

    @rule()
    def sweep(self) -> None:
        sweeps.reap(self.db)
        sweeps.requeue(self.db)
        self.model.sweep()

    @precondition(lambda self: self.ids)
    @rule(queue=_asked, callers=st.integers(2, 5), settled=st.one_of(st.none(), _pick))
    def claim_at_once(self, queue: str | None, callers: int, settled: int | None) -> None:
        """Callers at once, perhaps beside a complete: as many claims as one by one, no lie."""
        asked = (queue,) if queue else QUEUES
        held = self._held(settled)

        def act(number: int) -> Claimed | NothingClaimed | None:
            if number < callers:
                return self._claim_next(queue, 300)
            settling.complete(self.db, self.endpoint, held[0][1], Settlement())
            return None

        counts = [self._one_by_one(asked, callers)]
        answers = all_returned(together(callers + len(held), act))
        for todo, _ in held:
            self.model.settle(todo, AGENT, "completed")
        counts.append(self._one_by_one(asked, callers))
        claimed = [each.todo.id for each in answers if isinstance(each, Claimed)]
        assert len(set(claimed)) == len(claimed)
        assert min(counts) <= len(claimed) <= max(counts)
        for todo_id in claimed:
            self.model.claim(self.model.todos[self.ids.index(todo_id)], AGENT, 300)
        reasons = {str(one.reason) for each in answers if isinstance(each, NothingClaimed)
                   for one in each.deferred}
        assert "admission_unavailable" not in reasons

    def _held(self, pick: int | None) -> list[tuple[Todo, str]]:
        """A todo the agent may complete: claimed by it, and not to be taken over meanwhile."""
        if pick is None:
            return []
        todo, todo_id = self._some(pick)
        is_its = (todo.state, todo.owner) == ("claimed", AGENT) and not self.model.is_lapsed(todo)
        return [(todo, todo_id)] if is_its else []

    def _one_by_one(self, asked: tuple[str, ...], callers: int) -> int:
        """How many of so many callers would claim, one after the other."""
        kept = self._snapshot()
        made = 0
        for _ in range(callers):
            expected = self.model.next_ones(asked)
            if expected:
                self.model.claim(expected[-1], AGENT, 300)
                made += 1
        self._restore(kept)
        return made

    def _snapshot(self) -> list[dict[str, object]]:
        return [*(dict(vars(each)) for each in self.model.todos),
                *({"used": dict(each.used)} for each in self.model.queues.values())]

    def _restore(self, kept: list[dict[str, object]]) -> None:
        things = [*self.model.todos, *self.model.queues.values()]
        for thing, values in zip(things, kept, strict=True):
            vars(thing).update(values)

    @invariant()
    def the_database_holds_what_the_model_holds(self) -> None:
        rows = self.make.rows(
            "select id, state, attempt, attempts_total, extract(epoch from lease_expires_at)::int,"
            " extract(epoch from next_retry_at)::int from todos where endpoint_id = %s order by id",
            self.endpoint.id)
        assert rows == [(todo_id, each.state, each.attempt, each.total, each.lease, each.retry)
                        for todo_id, each in zip(self.ids, self.model.todos, strict=True)]
        used = self.make.rows(
            "select q.name, extract(epoch from w.window_start)::int, w.used from"
            " admission_windows w join admission_policies p on p.id = w.policy_id"
            " join queues q on q.id = p.queue_id"
            " where q.endpoint_id = %s order by 1, 2", self.endpoint.id)
        assert used == [(name, start, units) for name, each in self.model.queues.items()
                        for start, units in sorted(each.used.items())]

    def teardown(self) -> None:
        """Each history ends with the invariants that hold after every race."""
        Verify(self.make).all_well()


@pytest.fixture
def history(fresh_database: Fresh):
    """The machine over a database of its own."""
    make = Make(fresh_database.url)
    yield type("Here", (History,), {"fresh": fresh_database, "make": make,
                                    "clock": Clock(fresh_database.url)})
    make.close()


@pytest.mark.req("REQ-3")
@pytest.mark.req("REQ-4")
@pytest.mark.rule("issue B: random histories, some of them concurrent, against an in-memory model")
def test_random_histories_agree_with_the_model(history: type[History]) -> None:
    run_state_machine_as_test(history, settings=settings(
        max_examples=rounds(50, 1000), stateful_step_count=40, deadline=None, database=None,
        derandomize=not LONG, suppress_health_check=list(HealthCheck), print_blob=True))


Step = tuple[str, dict[str, object]]
HISTORIES: dict[str, list[Step]] = {
    "a cap that is full admits its takeover, and the takeover alone": [
        ("set_policy", {"queue": "one", "cap": 1, "limit": None, "period": "hour", "minute": 0}),
        ("add", {"queue": "one", "most": 5, "number": 3}),
        ("claim_next", {"queue": None, "lease": 1}), ("wait", {"seconds": 29}),
        ("claim_at_once", {"queue": None, "callers": 5, "settled": None}),
        ("claim_next", {"queue": "one", "lease": 1}), ("sweep", {}),
    ],
    "a budget cleared and revived keeps what its window used": [
        ("add", {"queue": "two", "most": 5, "number": 3}),
        ("set_policy", {"queue": "two", "cap": None, "limit": 2, "period": "day", "minute": 0}),
        ("claim_next", {"queue": None, "lease": 300}), ("clear_policy", {"queue": "two"}),
        ("claim_next", {"queue": None, "lease": 300}),
        ("set_policy", {"queue": "two", "cap": 3, "limit": 1, "period": "day", "minute": 0}),
        ("claim_next", {"queue": None, "lease": 300}), ("wait", {"seconds": 80_000}),
        ("claim_next", {"queue": None, "lease": 300}),
    ],
}


@pytest.mark.parametrize("name", HISTORIES)
def test_a_history_that_is_kept_agrees_with_the_model(history: type[History], name: str) -> None:
    machine = history()
    for step, arguments in HISTORIES[name]:
        getattr(machine, step)(**arguments)
        machine.the_database_holds_what_the_model_holds()
    machine.teardown()
