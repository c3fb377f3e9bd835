"""An agent that was opted in, over two servers: how often it may change its budget; no refill."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from app.domain.callers import Endpoint, Human
from app.domain.verbs import ADMISSION, BASICS
from tests.support.oauth import an_app
from tests.support.race import all_returned, together
from tests.support.servers import Fleet, HttpCaller, agent
from tests.support.verify import away_from_boundaries

pytestmark = [pytest.mark.race, pytest.mark.timeout(300)]

AUDIT = ("select action, actor_human_id, actor_endpoint_id from admission_policy_audit"
         " where actor_endpoint_id = %s order by id")  # fmt: skip


@pytest.fixture
def ada(pair: Fleet) -> Human:
    """The owner."""
    return pair.make.human("Ada")


@pytest.fixture
def lane(pair: Fleet, ada: Human) -> Endpoint:
    """An agent of Ada's that may change its own budget."""
    return pair.make.endpoint(ada, queues=("inbox", "rest"), verbs=(*BASICS, *ADMISSION))


@pytest.fixture
def still(pair: Fleet) -> Iterator[None]:
    """The clock stands, so that a slow machine earns nobody another write."""
    pair.clock.set(pair.clock.now())
    yield
    pair.clock.real()


def callers(pair: Fleet, ada: Human, lane: Endpoint) -> list[HttpCaller]:
    """Four sessions of one agent: on either server, by its credential and by a grant."""
    app = an_app(pair.db, pair.make)
    grant = app.tokens(ada, lane, (*BASICS, *ADMISSION)).access_token
    return [agent(server.url, token) for server in pair
            for token in (pair.make.credential(lane), grant)]  # fmt: skip


@pytest.mark.req("REQ-10", "An owner opts an agent in")
@pytest.mark.rule("R43: one write a second after a burst of ten, whatever writes and from wherever")
def test_ten_changes_at_once_and_then_one_a_second_over_two_servers_exactly(
    pair: Fleet, ada: Human, lane: Endpoint, still: None
) -> None:
    sessions = callers(pair, ada, lane)

    def write(number: int) -> int:
        """Sets and clears by turns, on two queues, with good and with bad arguments."""
        caller, queue = sessions[number % 4], ("inbox", "rest")[number // 4 % 2]
        if number % 3 == 0:
            return caller.call("clear_admission_policy", queue=queue).status
        policy = {"max_in_flight": number + 1 if number % 5 else -1}
        return caller.call("set_admission_policy", queue=queue, policy=policy).status

    passed = []
    for seconds in (0, 1, 3, 0, 12):
        pair.clock.advance(seconds)
        statuses = Counter(all_returned(together(40, write)))
        assert set(statuses) <= {200, 400, 429}
        passed.append(40 - statuses[429])

    assert passed == [10, 1, 3, 0, 10]
    written = pair.make.rows(AUDIT, lane.id)
    assert 0 < len(written) <= 24
    assert {(human, endpoint) for _, human, endpoint in written} == {(ada.id, lane.id)}


@pytest.mark.req("REQ-10", "An owner opts an agent in")
@pytest.mark.rule("REQ-10: clear and set does not refill a budget")
def test_clear_and_set_gives_nothing_back(pair: Fleet, ada: Human, lane: Endpoint) -> None:
    make, sessions = pair.make, callers(pair, ada, lane)
    policy = {"max_claims_per_window": 3, "window": away_from_boundaries(pair.clock.now())}
    for _ in range(8):
        make.todo(lane)

    assert sessions[0].call("set_admission_policy", queue="inbox", policy=policy).status == 200
    claimed = [each.call("claim_next", queue="inbox").json["empty"] for each in sessions]
    assert claimed == [False, False, False, True]
    for turn in range(3):
        one, other = sessions[turn], sessions[turn + 1]
        cleared = one.call("clear_admission_policy", queue="inbox")
        made = other.call("set_admission_policy", queue="inbox", policy=policy)
        assert (cleared.status, made.status) == (200, 200)
        usage = made.json["usage"]
        assert isinstance(usage, dict)
        assert (usage["used"], usage["remaining"]) == (3, 0)
        refused = one.call("claim_next", queue="inbox").json
        assert refused["empty"] is True
        assert [each["reason"] for each in refused["deferred"]] == ["window_exhausted"]

    assert [action for action, *_ in make.rows(AUDIT, lane.id)] == (
        ["create"] + ["delete", "create"] * 3)


@pytest.mark.req("REQ-10", "An owner opts an agent in")
@pytest.mark.rule("REQ-10: it names its own queue, and another's is unknown")
def test_it_sets_fifty_and_no_other_endpoint_is_named_on_either_server(
    pair: Fleet, ada: Human, lane: Endpoint
) -> None:
    make = pair.make
    twin = make.endpoint(ada, queues=("twin",), verbs=(*BASICS, *ADMISSION))
    window = {"period": "day", "tz": "America/Los_Angeles", "start": "00:00"}
    fifty = {"max_claims_per_window": 50, "window": window}
    sessions = callers(pair, ada, lane)

    assert sessions[0].call("set_admission_policy", queue="inbox", policy=fifty).status == 200
    for caller in sessions:
        shown = caller.call("admission_status", queue="inbox").json["queues"]
        assert isinstance(shown, list)
        assert shown[0]["policy"]["max_claims_per_window"] == 50
        answers = [caller.call("set_admission_policy", queue=name, policy=fifty)
                   for name in ("twin", "unknown")]
        assert [(each.status, each.body) for each in answers] == [(404, answers[0].body)] * 2

    assert make.rows(AUDIT, lane.id) == [("create", ada.id, lane.id)]
    assert make.rows(AUDIT, twin.id) == []
