"""One todo's page: everything known of it, escaped, exact, and nobody else's."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from flask.testing import FlaskClient

from app.db.database import Database
from app.domain.authoring import NewWork
from app.transactions import authoring
from tests.support import page as markup
from tests.support.client import Browser
from tests.support.clock import Clock
from tests.support.make import Make

Seat = Callable[..., Browser]
HX = {"HX-Request": "true"}


def facts(text: str) -> dict[str, str]:
    """The lists of facts: name to words."""
    seen = markup.parse(text)
    return {name.text: words.text for name, words
            in zip(seen.all("dt"), seen.all("dd"), strict=True)}


def acts(text: str) -> set[str]:
    """What the page offers to do."""
    return {(each.get("id") or "").removeprefix("todo-act-")
            for each in markup.parse(text).all("button", "a")
            if (each.get("id") or "").startswith("todo-act-")}


def cells(text: str) -> list[list[str]]:
    """The rows of the attempts table."""
    body = text.split("<tbody>")[1].split("</tbody>")[0]
    return [[each.text for each in markup.parse(row).all("th", "td")]
            for row in body.split("</tr>")[:-1]]


def test_a_pending_todo_says_admitted_its_place_and_what_is_known(
    browser: Seat, make: Make
) -> None:
    ana = make.human("Ana")
    lane = make.endpoint(ana, queues=("lane",))
    queue = make.queue_id(lane, "lane")
    make.policy(queue, max_in_flight=5)
    begin = make.now() - timedelta(hours=1)
    made = [make.todo(lane, "lane", title=f"t{n}", created_at=begin + timedelta(seconds=n // 2),
                      payload={"n": n}, kind="webhook", source="github", key=f"key-{n}")
            for n in range(14)]
    make.todo(lane, "lane", state="claimed")
    make.todo(lane, "lane", state="done")
    twelfth = sorted(made, key=lambda each: (make.row(each)["created_at"], each))[11]

    answer = browser(ana).get(f"/todos/{twelfth}")

    said = facts(answer.text)
    assert said["Admission"] == "admitted"
    assert said["Position in the queue"] == "12th of 14"
    assert said["Id"] == twelfth
    assert said["Queue"] == "lane"
    assert said["Endpoint"] == lane.slug
    assert (said["Source"], said["Kind"]) == ("github", "webhook")
    assert said["Attempt"] == "0 of 5"
    assert said["Idempotency key"] == make.row(twelfth)["idempotency_key"]
    assert said["Duplicates"] == "none"
    assert "State: Pending" in answer.text
    assert "chip" not in answer.text
    assert "Nobody has claimed it yet." in answer.text
    assert acts(answer.text) == {"claim", "discard"}


def test_a_todo_of_a_queue_without_a_budget_is_admitted_too(browser: Seat, make: Make) -> None:
    ana = make.human()
    todo = make.todo(make.endpoint(ana))

    said = facts(browser(ana).get(f"/todos/{todo}").text)

    assert said["Admission"] == "admitted (the queue has no budget)"
    assert said["Position in the queue"] == "1st of 1"


@pytest.mark.parametrize(("policy", "used", "expected"), [
    ({"max_claims_per_window": 2, "tz": "America/Los_Angeles"}, 2,
     "deferred \u00b7 budget \u00b7 eligible 00:00 PT"),
    ({"max_in_flight": 0}, 0, "deferred \u00b7 paused"),
    ({"max_in_flight": 1}, 0,
     "deferred \u00b7 in flight \u00b7 about 20:05 UTC (estimate)"),
    ({"max_claims_per_window": 2, "tz": "Mars/Olympus"}, 0,
     "deferred \u00b7 budget unavailable"),
])
def test_a_deferred_todo_wears_its_chip_and_claim_is_described_by_it(
    browser: Seat, make: Make, clock: Clock, policy: dict[str, object], used: int, expected: str
) -> None:
    clock.set("2026-03-02T20:00:00Z")
    ana = make.human()
    lane = make.endpoint(ana)
    made = make.policy(make.queue_id(lane), **policy)  # type: ignore[arg-type]
    if used:
        make.window(made, datetime(2026, 3, 2, 8, tzinfo=UTC), used)
    make.todo(lane, state="claimed")
    todo = make.todo(lane)

    text = browser(ana).get(f"/todos/{todo}").text

    assert f'id="todo-chip">{expected}</span>' in text
    assert 'id="todo-act-claim" aria-describedby="todo-chip"' in text
    assert facts(text)["Admission"] == "deferred"


def test_a_lease_of_ones_own_can_be_extended_released_completed_and_failed(
    browser: Seat, make: Make, clock: Clock
) -> None:
    clock.set("2026-03-02T20:00:00Z")
    ana = make.human("Ana")
    lane = make.endpoint(ana)
    mine, theirs = (make.todo(lane, state="claimed", holder=who) for who in (ana, lane))
    seat = browser(ana)

    own, other = (seat.get(f"/todos/{todo}").text for todo in (mine, theirs))

    assert facts(own)["Claimed by"] == "you"
    assert '<time datetime="2026-03-02T20:05:00Z">2 Mar 2026, 20:05 UTC</time>' in own
    assert acts(own) == {"extend", "release", "complete", "fail"}
    assert facts(other)["Claimed by"] == lane.agent_name
    assert acts(other) == set()


def test_a_lapsed_lease_says_so_and_may_be_claimed(browser: Seat, make: Make) -> None:
    ana = make.human()
    lane = make.endpoint(ana)
    lapsed = make.todo(lane, state="claimed", lease=-5)
    spent = make.todo(lane, state="claimed", lease=-5, attempt=5)
    seat = browser(ana)

    text = seat.get(f"/todos/{lapsed}").text

    assert "Lease ended" in facts(text)
    assert acts(text) == {"claim"}
    assert acts(seat.get(f"/todos/{spent}").text) == set()


def test_a_parked_retry_says_when_and_a_dead_letter_that_it_is_one(
    browser: Seat, make: Make, clock: Clock
) -> None:
    now = clock.set("2026-03-02T20:00:00Z")
    ana = make.human()
    lane = make.endpoint(ana)
    parked = make.todo(lane, state="failed", next_retry_at=now + timedelta(minutes=4))
    due = make.todo(lane, state="failed", next_retry_at=now)
    dead = make.todo(lane, state="failed", attempt=5)
    seat = browser(ana)

    waits, ready, over = (seat.get(f"/todos/{todo}").text for todo in (parked, due, dead))

    assert facts(waits)["Retry at"] == "2 Mar 2026, 20:04 UTC"
    assert acts(waits) == {"retry", "discard"}
    assert acts(ready) == {"claim", "retry", "discard"}
    assert "State: Failed, dead letter" in over
    assert acts(over) == {"retry"}


def test_a_dead_letter_of_a_revoked_endpoint_offers_nothing(browser: Seat, make: Make) -> None:
    ana = make.human()
    lane = make.endpoint(ana)
    dead = make.todo(lane, state="failed", attempt=5)
    make.run("update endpoints set state = 'revoked', revoked_at = clock()")

    assert acts(browser(ana).get(f"/todos/{dead}").text) == set()


def test_payload_and_result_are_shown_indented_and_as_text(browser: Seat, make: Make) -> None:
    ana = make.human()
    lane = make.endpoint(ana)
    todo = make.todo(lane, state="done", payload={"a": [1], "html": "<script>alert(1)</script>é"},
                     title="<img src=x onerror=y>")
    make.run("update todos set result = '{\"ok\": true}'")

    text = browser(ana).get(f"/todos/{todo}").text
    bodies = [each.text for each in markup.parse(text).all("code")]

    assert bodies == ['{\n  "a": [\n    1\n  ],\n  "html": "<script>alert(1)</script>é"\n}',
                      '{\n  "ok": true\n}']
    assert "<script>alert" not in text
    assert "<img" not in text


def test_a_delivery_that_was_not_json_is_shown_as_it_came(browser: Seat, make: Make) -> None:
    ana = make.human()
    lane = make.endpoint(ana)
    todo = make.todo(lane)
    make.run("""
        with made as (
          insert into events (source, family, trust_mode, verified, content_type, payload,
                              endpoint_id)
          values ('generic', 'webhook', 'token', true, 'text/plain', '\\x3c623effc3a9'::bytea, %s)
          returning id)
        update todos set event_id = made.id from made where todos.id = %s""", lane.id, str(todo))

    text = browser(ana).get(f"/todos/{todo}").text

    assert "Not JSON (text/plain)." in text
    assert "<code>&lt;b&gt;\ufffdé</code>" in text


def test_the_newest_ten_attempts_stand_with_claimant_outcome_and_https_artifact(
    browser: Seat, make: Make
) -> None:
    ana = make.human()
    lane = make.endpoint(ana)
    todo = make.todo(lane, state="claimed", attempt=12, max_attempts=20)
    make.run("""update todo_attempts set claimant = '<b>worker</b>', summary = 'did <i>it</i>',
                summary_truncated = true, artifact = 'https://example.com/a?b=1&c=2'
                where seq = 11""")
    make.run("update todo_attempts set artifact = 'javascript:alert(1)' where seq = 10")
    make.run("update todo_attempts set outcome = 'reaped' where seq = 9")

    text = browser(ana).get(f"/todos/{todo}").text
    rows = cells(text)

    assert [row[0] for row in rows] == [str(n) for n in range(12, 2, -1)]
    assert rows[0][1] == "under way"
    assert rows[0][5] == "not yet"
    assert rows[1][1:4] == ["released, pending again", "agent", "<b>worker</b>"]
    assert rows[1][6:] == ["did <i>it</i> (cut)", "https://example.com/a?b=1&c=2"]
    assert rows[2][7] == "javascript:alert(1)"
    assert rows[3][1] == "lease ended, pending again"
    links = [each for each in markup.parse(text).all("a") if "example.com" in each.text]
    assert [(each.get("href"), each.get("rel")) for each in links] == [
        ("https://example.com/a?b=1&c=2", "noopener noreferrer")]
    assert 'href="javascript' not in text
    assert "The newest 10 of 12 attempts." in text


def test_creates_that_met_the_key_again_are_counted(
    browser: Seat, make: Make, db: Database
) -> None:
    ana = make.human()
    lane = make.endpoint(ana)
    work = NewWork(title="once", key="delivery-1")
    made = [authoring.add_todo(db, ana, lane.slug, work) for _ in range(4)]

    said = facts(browser(ana).get(f"/todos/{made[0].todo.id}").text)

    assert {each.todo.id for each in made} == {made[0].todo.id}
    assert said["Duplicates"] == (
        "3 todos with this key were not added, for this one was there")


def test_the_count_of_a_todo_that_is_pruned_goes_with_it(make: Make, db: Database) -> None:
    ana = make.human()
    lane = make.endpoint(ana)
    work = NewWork(title="once", key="delivery-1")
    for _ in range(2):
        authoring.add_todo(db, ana, lane.slug, work)

    before = make.value("select n from todo_repeats")
    make.run("delete from todos")

    assert before == 1
    assert make.value("select count(*) from todo_repeats") == 0


def test_htmx_gets_the_same_content_as_a_region_that_leads_to_the_page(
    browser: Seat, make: Make
) -> None:
    ana = make.human()
    todo = make.todo(make.endpoint(ana), title="Sort the mail", payload={"n": 1})
    seat = browser(ana)

    page, part = (seat.get(f"/todos/{todo}", headers=headers) for headers in ({}, HX))
    seen = markup.parse(part.text)

    assert "<html" not in part.text
    assert seen.all("aside")[0].get("aria-labelledby") == "todo-side-heading"
    assert seen.all("a")[0].text == "Open full page"
    assert [each.get("tabindex") for each in seen.all("h2")] == ["-1"]
    assert facts(part.text) == facts(page.text)
    assert acts(part.text) == acts(page.text)
    assert page.headers["Vary"].count("HX-Request") == 1


def test_foreign_unknown_and_impossible_ids_are_one_404(browser: Seat, make: Make) -> None:
    theirs = make.todo(make.endpoint(make.human()))
    seat = browser(make.human())
    paths = [f"/todos/{theirs}", f"/todos/td_{'0' * 32}", "/todos/7", "/todos/%3Cb%3E",
             "/todos/td_%00"]

    answers = [seat.get(path) for path in paths]
    discards = [seat.get(f"{path}/discard") for path in paths]

    assert {answer.status_code for answer in [*answers, *discards]} == {404}
    assert len({answer.get_data() for answer in answers}) == 1
    assert len({answer.get_data() for answer in discards}) == 1


def test_a_plain_member_sees_the_teams_todo_without_discard(browser: Seat, make: Make) -> None:
    team, ana = make.team("night"), make.human()
    make.member(team, ana)
    todo = make.todo(queue=make.team_queue(team, "triage"))
    seat = browser(ana)

    text = seat.get(f"/todos/{todo}").text

    assert facts(text)["Team"] == "night"
    assert facts(text)["Queue"] == "team:night/triage"
    assert acts(text) == {"claim"}
    assert seat.get(f"/todos/{todo}/discard").status_code == 403


def test_without_a_session_the_page_sends_one_to_sign_in(client: FlaskClient, make: Make) -> None:
    todo = make.todo(make.endpoint())

    answer = client.get(f"/todos/{todo}")

    assert (answer.status_code, answer.location) == (302, "/login")


def test_times_are_the_viewers_own(browser: Seat, make: Make, clock: Clock) -> None:
    clock.set("2026-03-02T20:00:00Z")
    ana = make.human()
    todo = make.todo(make.endpoint(ana))
    make.run("update humans set zone = 'Europe/Berlin'")

    assert facts(browser(ana).get(f"/todos/{todo}").text)["Created"] == "2 Mar 2026, 21:00 CET"
