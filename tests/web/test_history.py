"""The record of policy changes: who, when, what in words, and why; newest first, page by page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from app.domain.callers import Human
from app.domain.queues import QueueAddress
from app.domain.verbs import ADMISSION, BASICS
from app.transactions import policies
from tests.support.client import Browser, Caller
from tests.support.clock import Clock
from tests.support.make import Make
from tests.web.budgeting import NOON, rows, words

DAY = {"period": "day", "tz": "America/Los_Angeles", "start": "00:00"}


@pytest.fixture(autouse=True)
def noon(clock: Clock) -> None:
    clock.set(NOON)


@pytest.fixture
def ana(make: Make) -> Human:
    return make.human("Ana")


@pytest.mark.req("REQ-10", "An owner opts an agent in")
def test_the_record_names_people_agents_changes_and_reasons_and_survives_a_clear(
    make: Make, db: Any, ana: Human, browser: Callable[[Human], Browser],
    agent: Callable[[Any], Caller], clock: Clock,
) -> None:
    make.run("update humans set zone = 'America/New_York'")
    worker = make.endpoint(ana, name="lane-m-worker", queues=("lane-m",),
                           verbs=(*BASICS, *ADMISSION))
    queue = make.queue_id(worker, "lane-m")
    address = QueueAddress(f"endpoint:{worker.slug}", "lane-m")
    policies.save(db, ana, address, {"max_claims_per_window": 100, "window": DAY})
    agent(worker).call("set_admission_policy", queue="lane-m", reason="<i>busy</i>",
                       policy={"max_claims_per_window": 50, "max_in_flight": 2, "window": DAY})
    clock.advance(60)
    policies.clear(db, ana, address, reason="over")

    answer = browser(ana).get(f"/queues/{queue}/history")

    assert [row[1:] for row in rows(answer)] == [
        ["Ana", "budget cleared; it was: at most 50 claims a day, from 00:00 America/Los_Angeles;"
                " at most 2 at once", "over"],
        [f"Ana, through endpoint {worker.slug}",
         "claims per window from 100 to 50in-flight cap from no limit to 2", "<i>busy</i>"],
        ["Ana", "budget set: at most 100 claims a day, from 00:00 America/Los_Angeles",
         "none given"]]
    assert "&lt;i&gt;busy" in answer.text
    assert [row[0] for row in rows(answer)][:2] == ["30 Sep 2026, 08:01 ET",
                                                    "30 Sep 2026, 08:00 ET"]
    assert '<th scope="row"><time datetime="2026-09-30T12:01:00Z">' in answer.text
    assert 'role="region" aria-label="Budget history of lane-m, table" tabindex="0"' in answer.text
    assert "<caption>Changes of the budget for lane-m, newest first</caption>" in answer.text
    assert "null" not in answer.text.split("<main")[1]
    assert "3 changes" in words(answer)
    assert "Pages of the budget history" not in answer.text


def test_people_and_endpoints_that_are_gone_are_said_so(
    make: Make, ana: Human, browser: Callable[[Human], Browser]
) -> None:
    lane = make.endpoint(ana, queues=("lane-m",))
    queue = make.queue_id(lane, "lane-m")
    make.run("insert into admission_policy_audit (policy_id, queue_id, actor_human_id,"
             " actor_endpoint_id, action, after) select gen_random_uuid(), %s, gen_random_uuid(),"
             " gen_random_uuid(), 'create', '{\"max_in_flight\": 1}'", int(queue))

    assert rows(browser(ana).get(f"/queues/{queue}/history"))[0][1] == (
        "A person who has left, through an endpoint that is deleted")


def test_the_record_is_paged_by_links(
    make: Make, ana: Human, browser: Callable[[Human], Browser]
) -> None:
    lane = make.endpoint(ana, queues=("lane-m",))
    queue = make.queue_id(lane, "lane-m")
    make.run("insert into admission_policy_audit (policy_id, queue_id, actor_human_id, action,"
             " before, after, at, reason) select gen_random_uuid(), %s, %s, 'update',"
             " '{\"max_in_flight\": 1}', '{\"max_in_flight\": 2}', clock() - n * interval '1 h',"
             " 'n ' || n from generate_series(1, 45) n", int(queue), ana.id)
    seat = browser(ana)
    path = f"/queues/{queue}/history"

    reasons = [[row[3] for row in rows(seat.get(f"{path}{query}"))]
               for query in ("", "?page=2", "?page=3")]
    odd = [rows(seat.get(f"{path}?page={page}"))[0][3]
           for page in ("0", "-1", "x", "", "99", "9" * 40)]
    second = seat.get(f"{path}?page=2").text

    assert [len(page) for page in reasons] == [20, 20, 5]
    assert [reason for page in reasons for reason in page] == [f"n {n}" for n in range(1, 46)]
    assert odd == ["n 1", "n 1", "n 1", "n 1", "n 41", "n 41"]
    nav = second.split('<nav class="pager" aria-label="Pages of the budget history of lane-m">')[1]
    assert f'href="{path}?page=2" aria-current="page"' in nav
    assert f'href="{path}?page=3" rel="next"' in nav
    assert "45 changes" in second


def test_an_empty_record_is_a_sentence_with_a_next_step(
    make: Make, ana: Human, browser: Callable[[Human], Browser]
) -> None:
    lane = make.endpoint(ana, queues=("lane-m",))
    queue = make.queue_id(lane, "lane-m")

    answer = browser(ana).get(f"/queues/{queue}/history")

    assert "The budget for lane-m was never changed. Go to the queue" in words(answer)
