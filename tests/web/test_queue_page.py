"""A queue's page: header, policy, forecast, windows, the two numbers, and who may see what."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from app.domain.callers import Human
from tests.support.client import Browser, Caller
from tests.support.clock import Clock
from tests.support.make import Make, QueueId
from tests.support.recorded import recorded
from tests.web.budgeting import DAILY, NOON, lane, rows, words

BERLIN = "update humans set zone = 'Europe/Berlin'"
PAGES = ("", "/budget", "/budget/clear", "/history")
ACTS = ("/budget", "/budget/clear", "/pause", "/resume")


@pytest.fixture(autouse=True)
def noon(clock: Clock) -> None:
    """Five in the morning in Los Angeles, and the clock stands."""
    clock.set(NOON)


@pytest.fixture
def ana(make: Make) -> Human:
    return make.human("Ana")


@pytest.fixture
def queue(make: Make, ana: Human) -> QueueId:
    return lane(make, ana)[1]


@pytest.fixture
def seat(browser: Callable[[Human], Browser], ana: Human) -> Browser:
    return browser(ana)


def windows(make: Make, count: int, limit: int = 100) -> None:
    """The newest `count` days of every policy: n units in the window n days ago, today 60."""
    make.run("insert into admission_windows (policy_id, window_start, used, retries, takeovers,"
             " limit_at_last_charge) select p.id, timestamptz '2026-09-30 07:00Z' - n * interval"
             " '1 day', case n when 0 then 60 else n end, case n when 0 then 6 else 0 end,"
             " case n when 0 then 2 else 0 end, %s from admission_policies p,"
             " generate_series(0, %s) n", limit, count - 1)


def charged(make: Make, queue: QueueId, hours_ago: int, count: int, human: Human) -> None:
    """So many attempts of today's window, claimed so long ago."""
    for _ in range(count):
        todo = make.todo(None, queue, state="done", holder=human)
        make.run("update todo_attempts set claimed_at = clock() - %s * interval '1 hour',"
                 " charged_policy_id = (select id from admission_policies where queue_id = %s),"
                 " charged_window_start = '2026-09-30 07:00Z' where todo_id = %s",
                 hours_ago, int(queue), todo.id)


def test_the_page_tells_policy_header_counts_and_windows(
    seat: Browser, make: Make, queue: QueueId, ana: Human
) -> None:
    make.run(BERLIN)
    windows(make, 31)
    charged(make, queue, 2, 3, ana)
    for state, count in (("pending", 12), ("claimed", 2), ("failed", 1)):
        for _ in range(count):
            make.todo(None, queue, state=state, holder=ana)

    answer = seat.get(f"/queues/{queue}")
    said = words(answer)

    assert answer.status_code == 200
    assert "<title>Queue investigations" in answer.text
    assert f'id="q-{queue}-live" class="q-live" aria-live="polite"' in answer.text
    assert f'data-sse-connect="/events?queue={queue}"' in answer.text
    assert "60 of 100 used · 2 of 5 in flight · resets 00:00 PT (09:00 your time)" in said
    assert "At most 100 claims a day, from 00:00 America/Los_Angeles; at most 5 at once." in said
    for link, text in (("pending", "12 pending"), ("claimed", "2 claimed"),
                       ("failed", "1 dead letter")):
        assert f'href="/todos?queue={queue}&amp;state={link}">{text}</a>' in answer.text
    assert f'href="/queues/{queue}/todos">Add todo to investigations</a>' in answer.text
    assert f'href="/queues/{queue}/budget?from=queue"' in answer.text
    table = [row for row in rows(answer) if len(row) == 5]
    assert len(table) == 30
    assert table[0] == ["30 Sep 2026, 00:00 PT", "60", "100", "6", "2"]
    assert table[29][:2] == ["1 Sep 2026, 00:00 PT", "29"]
    assert answer.text.split('<svg class="chart"')[1].count('<rect class="bar" ') == 30
    assert 'role="img" aria-label="Units used in 30 windows, oldest first' in answer.text
    assert "Units charged 60 Attempts marked with this window 3" in said
    assert "They differ by 57, which must not be." in said


@pytest.mark.rule("R62: units charged and attempts marked, side by side, agree")
def test_units_and_attempts_agree_after_real_claims(
    seat: Browser, make: Make, queue: QueueId, agent: Callable[[Any], Caller], ana: Human
) -> None:
    worker = make.endpoint(ana, name="worker", queues=("work",))
    work = make.queue_id(worker, "work")
    make.policy(work, max_claims_per_window=10, human=ana)
    for _ in range(3):
        make.todo(worker, "work")
    first = agent(worker).call("claim_next").get_json()["todo"]["id"]
    agent(worker).call("release", id=first)
    agent(worker).call("claim_next")

    said = words(seat.get(f"/queues/{work}"))

    assert "Units charged 2 Attempts marked with this window 2 They agree, as they must." in said
    assert "At the rate of the last hour, used up at about 16:00 UTC (estimate)." in said
    assert "The 2 waiting fit into this window (estimate)." in said


def test_attempts_that_may_be_pruned_are_not_held_against_the_units(
    seat: Browser, make: Make, queue: QueueId
) -> None:
    windows(make, 1)
    make.run("insert into settings (key, value) values"
             " ('attempts_pruned_through', '2026-09-30 07:00:00+00')")

    said = words(seat.get(f"/queues/{queue}"))

    assert "may have been pruned, so the two need not agree" in said
    assert "must not be" not in said


@pytest.mark.parametrize(("last_hour", "earlier", "pending", "said"), [
    (10, 50, 40, ["At the rate of the last hour, used up at about 09:00 PT (estimate).",
                  "The 40 waiting fit into this window (estimate)."]),
    (1, 59, 41, ["the budget lasts until the window ends (estimate).",
                 "The 41 waiting need until Thursday at this budget (estimate)."]),
    (0, 60, 1, ["The 1 waiting fits into this window (estimate)."]),
])
def test_a_forecast_is_made_when_it_can_be_and_marked_as_an_estimate(
    seat: Browser, make: Make, queue: QueueId, ana: Human, last_hour: int, earlier: int,
    pending: int, said: list[str],
) -> None:
    windows(make, 1)
    charged(make, queue, 0, last_hour, ana)
    for _ in range(pending):
        make.todo(None, queue)

    page = words(seat.get(f"/queues/{queue}"))

    assert all(sentence in page for sentence in said)
    assert ("rate of the last hour" in page) == bool(last_hour)


@pytest.mark.parametrize("limits", [
    {"max_in_flight": 0}, {"max_in_flight": 5, "max_claims_per_window": None},
    {"max_claims_per_window": 0},
])
def test_nothing_is_forecast_without_a_rate_to_carry_on(
    seat: Browser, make: Make, queue: QueueId, limits: dict[str, object]
) -> None:
    for column, value in limits.items():
        make.run(f"update admission_policies set {column} = %s", value)
    make.todo(None, queue)

    assert "(estimate)" not in words(seat.get(f"/queues/{queue}"))


def test_a_queue_without_a_policy_offers_one(seat: Browser, make: Make, ana: Human) -> None:
    endpoint = make.endpoint(ana, queues=("bare",))
    bare = make.queue_id(endpoint, "bare")

    answer = seat.get(f"/queues/{bare}")

    said = words(answer)
    assert "This queue has no budget: claims are not limited." in said
    assert 'aria-label="Add budget for bare"' in answer.text
    assert "No claim has been charged to a window yet." in said
    assert "Pause bare" in said
    assert "Units charged" not in said
    assert "The budget for bare was never changed." in said


def test_a_broken_policy_shows_its_fault_and_never_0_of_0(
    seat: Browser, make: Make, queue: QueueId
) -> None:
    make.run("update admission_policies set window_tz = 'Mars/Olympus'")
    windows(make, 1)

    said = words(seat.get(f"/queues/{queue}"))

    assert "Unavailable" in said
    assert "cannot be judged, so no claim is admitted" in said
    assert "0 of 0" not in said


def test_a_plain_member_sees_status_and_usage_but_no_editor_and_no_record(
    browser: Callable[[Human], Browser], make: Make, ana: Human
) -> None:
    team, ben = make.team("night"), make.human("Ben")
    make.member(team, ana, "admin")
    make.member(team, ben)
    shared = make.team_queue(team, "triage")
    make.policy(shared, max_claims_per_window=100, tz="America/Los_Angeles", human=ana)
    windows(make, 2)
    member, admin = browser(ben), browser(ana)

    seen = member.get(f"/queues/{shared}")
    refused = [*(member.get(f"/queues/{shared}{page}") for page in PAGES[1:]),
               *(member.post(f"/queues/{shared}{act}", DAILY) for act in ACTS)]
    unknown = member.get("/queues/987654")

    assert "60 of 100 used" in words(seen)
    assert len(rows(seen)) == 2
    for hidden in ("Edit budget", "Budget history", "/history", f"{shared}/pause", "/budget\""):
        assert hidden not in seen.text.split("<main")[1].split("</main>")[0]
    assert {answer.status_code for answer in refused} == {404}
    assert {answer.data for answer in refused} == {unknown.data}
    assert admin.get(f"/queues/{shared}/budget").status_code == 200
    assert admin.post(f"/queues/{shared}/pause").status_code == 303


@pytest.mark.req("REQ-10", "Another human's queue is opaque")
def test_foreign_unknown_and_misspelt_queues_are_one_404_everywhere(
    browser: Callable[[Human], Browser], make: Make, queue: QueueId,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mine = lane(make, make.human("Cleo"))[1]
    refs = (str(queue), str(mine), "987654", "9" * 19, "9" * 40, "0", "-1", "x", "1e3", "%00",
            "\u0661", str(queue) + "%20")
    wrong = {**DAILY, "max_in_flight": "many", "reason": "r" * 501}

    for method, path in [*(("get", page) for page in PAGES), *(("post", act) for act in ACTS)]:
        ben, answers, runs = browser(make.human("Ben")), [], []
        ben.get("/")
        for ref in refs:
            for form in ({}, wrong) if method == "post" else ({},):
                with recorded(monkeypatch) as said:
                    answers.append(ben.get(f"/queues/{ref}{path}") if method == "get"
                                   else ben.post(f"/queues/{ref}{path}", form))
                runs.append(said)
        assert {answer.status_code for answer in answers} == {404}, path
        assert len({answer.data for answer in answers}) == 1, path
        assert all(run == runs[0] for run in runs), path
        assert runs[0]
    assert make.value("select count(*) from admission_policy_audit") == 0


def test_a_stranger_is_sent_to_sign_in(client: Any, queue: QueueId) -> None:
    answers = [client.get(f"/queues/{queue}{page}") for page in PAGES]

    assert {(answer.status_code, answer.headers["Location"]) for answer in answers} == {
        (302, "/login")}
    assert client.get("/budgets").headers["Location"] == "/login"


def test_names_and_reasons_are_shown_as_text(
    browser: Callable[[Human], Browser], make: Make
) -> None:
    eve = make.human("<script>alert(1)</script>")
    _, queue = lane(make, eve, "<img src=x onerror=alert(1)>")
    seat = browser(eve)
    seat.post(f"/queues/{queue}/pause", {"reason": "<b>bold</b>"})

    for page in PAGES:
        answer = seat.get(f"/queues/{queue}{page}")
        assert answer.status_code == 200
        assert "<img src" not in answer.text
        assert "<b>bold" not in answer.text
    assert "&lt;b&gt;bold" in seat.get(f"/queues/{queue}/history").text
