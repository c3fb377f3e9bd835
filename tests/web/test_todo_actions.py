"""What a person does to a todo: each state and each act, once, charged, and led back in order."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from urllib.parse import quote

import pytest
from flask.testing import FlaskClient

from app.domain.callers import Endpoint, Human
from app.web.todo_back import own_path
from tests.support import page as markup
from tests.support.client import Browser
from tests.support.clock import Clock
from tests.support.make import Make, TodoId

Seat = Callable[..., Browser]
HX = {"HX-Request": "true"}
ACTS = ("claim", "complete", "fail", "release", "extend", "retry", "discard")


def refusal(text: str) -> str:
    """What the page says was refused."""
    return next(each.text for each in markup.parse(text).all("div") if each.get("id") == "refused")


def _todo(make: Make, lane: Endpoint, ana: Human, case: str) -> TodoId:
    now = make.now()
    return {
        "pending": lambda: make.todo(lane),
        "own": lambda: make.todo(lane, state="claimed", holder=ana),
        "agent's": lambda: make.todo(lane, state="claimed"),
        "lapsed": lambda: make.todo(lane, state="claimed", lease=-1),
        "parked": lambda: make.todo(lane, state="failed", next_retry_at=now + timedelta(hours=1)),
        "due": lambda: make.todo(lane, state="failed", next_retry_at=now - timedelta(seconds=1)),
        "dead": lambda: make.todo(lane, state="failed", attempt=5),
        "done": lambda: make.todo(lane, state="done"),
    }[case]()


# state: the acts that are taken, and the state each leads to
TABLE = {
    "pending": {"claim": "claimed", "discard": "failed"},
    "own": {"complete": "done", "fail": "failed", "release": "pending", "extend": "claimed"},
    "agent's": {},
    "lapsed": {"claim": "claimed"},
    "parked": {"retry": "pending", "discard": "failed"},
    "due": {"claim": "claimed", "retry": "pending", "discard": "failed"},
    "dead": {"retry": "pending"},
    "done": {},
}


@pytest.mark.parametrize("case", TABLE)
def test_every_act_in_every_state_is_taken_or_refused_in_words(
    browser: Seat, make: Make, case: str
) -> None:
    ana = make.human()
    lane = make.endpoint(ana)
    seat = browser(ana)
    for act in ACTS:
        todo = _todo(make, lane, ana, case)
        before = make.row(todo)

        answer = seat.post(f"/todos/{todo}/{act}", {"from": "/"})

        if act in TABLE[case]:
            assert (answer.status_code, answer.location) == (303, f"/#todo-{todo}-link"), act
            assert make.row(todo)["state"] == TABLE[case][act]
        else:
            assert answer.status_code == 409, act
            assert refusal(answer.text).strip().startswith("Could not")
            assert "<title>Error: " in answer.text
            assert make.row(todo) == before


def test_a_claim_is_for_five_minutes_and_says_so_once(
    browser: Seat, make: Make, clock: Clock
) -> None:
    clock.set("2026-03-02T20:00:00Z")
    ana = make.human()
    todo = make.todo(make.endpoint(ana), title="Sort the mail")
    seat = browser(ana)

    answer = seat.post(f"/todos/{todo}/claim")
    page = seat.get(f"/todos/{todo}").text
    again = seat.get(f"/todos/{todo}").text

    assert answer.location == f"/todos/{todo}#todo-state"
    assert make.row(todo)["owner"] == ana.owner
    assert make.row(todo)["lease_expires_at"] == datetime(2026, 3, 2, 20, 5, tzinfo=UTC)
    said = "Claimed Sort the mail. The lease ends 2 Mar 2026, 20:05 UTC."
    assert said in page
    assert said not in again
    assert [each["claimer_kind"] for each in make.attempts(todo)] == ["owner"]


def test_a_board_claim_is_charged_and_the_second_click_claims_nothing_twice(
    browser: Seat, make: Make
) -> None:
    ana = make.human()
    lane = make.endpoint(ana)
    make.policy(make.queue_id(lane), max_claims_per_window=5)
    todo = make.todo(lane)
    seat = browser(ana)

    first, second = (seat.post(f"/todos/{todo}/claim") for _ in range(2))

    assert (first.status_code, second.status_code) == (303, 409)
    assert "It is claimed by you" in refusal(second.text)
    assert make.value("select sum(used) from admission_windows") == 1
    assert len(make.attempts(todo)) == 1


@pytest.mark.parametrize(("policy", "used", "chip", "said"), [
    ({"max_claims_per_window": 2, "tz": "America/Los_Angeles"}, 2,
     "deferred \u00b7 budget \u00b7 eligible 00:00 PT",
     "no claim is admitted until 00:00 PT (09:00 your time)"),
    ({"max_in_flight": 0}, 0, "deferred \u00b7 paused", "inbox is paused"),
    ({"max_in_flight": 1}, 0, "deferred \u00b7 in flight \u00b7 about 20:05 UTC (estimate)",
     "A slot may be free at about 20:05 UTC"),
    ({"max_claims_per_window": 2, "tz": "Mars/Olympus"}, 0,
     "deferred \u00b7 budget unavailable", "could not be judged"),
])
@pytest.mark.parametrize("headers", [{}, HX])
def test_a_deferred_claim_is_409_with_reason_time_and_chip(
    browser: Seat, make: Make, clock: Clock, policy: dict[str, object], used: int, chip: str,
    said: str, headers: dict[str, str],
) -> None:
    """R44: a human is not exempt, from a pause least of all; B15: htmx shows it too."""
    clock.set("2026-03-02T20:00:00Z")
    ana = make.human()
    make.run("update humans set zone = 'Europe/Berlin'")
    lane = make.endpoint(ana)
    made = make.policy(make.queue_id(lane), **policy)  # type: ignore[arg-type]
    if used:
        make.window(made, datetime(2026, 3, 2, 8, tzinfo=UTC), used)
    make.todo(lane, state="claimed")
    todo = make.todo(lane)
    before = make.row(todo)

    answer = browser(ana).post(f"/todos/{todo}/claim", {"from": "/"}, headers=headers)

    assert answer.status_code == 409
    assert said in refusal(answer.text)
    assert f'id="todo-refused-chip">{chip}</span>' in answer.text
    assert ("<html" in answer.text) == (not headers)
    assert ('id="refused" tabindex="-1" autofocus' in answer.text) == (not headers)
    assert make.row(todo) == before
    assert make.attempts(todo) == []


def test_what_is_said_when_a_claim_ends_is_kept(browser: Seat, make: Make) -> None:
    ana = make.human()
    lane = make.endpoint(ana)
    seat = browser(ana)
    done, failed = (make.todo(lane, state="claimed", holder=ana) for _ in range(2))
    said = {"result": '{"ok": true}', "summary": " all well ",
            "artifact": "https://example.com/r"}

    answers = [seat.post(f"/todos/{done}/complete", said), seat.post(f"/todos/{failed}/fail", said)]

    assert [answer.status_code for answer in answers] == [303, 303]
    assert make.row(done)["state"] == "done"
    assert make.row(failed)["state"] == "failed"
    assert make.row(failed)["next_retry_at"] is not None
    for todo in (done, failed):
        assert make.row(todo)["result"] == {"ok": True}
        attempt = make.attempts(todo)[0]
        assert (attempt["summary"], attempt["artifact"]) == ("all well", "https://example.com/r")


@pytest.mark.parametrize("headers", [{}, HX])
def test_a_wrong_result_or_artifact_is_422_with_a_sentence_per_field_and_all_values(
    browser: Seat, make: Make, headers: dict[str, str]
) -> None:
    ana = make.human()
    todo = make.todo(make.endpoint(ana), state="claimed", holder=ana)

    answer = browser(ana).post(f"/todos/{todo}/fail", {
        "result": '{"a": <b>', "summary": "kept", "artifact": "http://example.com",
        "from": "/todos?q=x"}, headers=headers)

    seen = markup.parse(answer.text)
    assert answer.status_code == 422
    assert [link.get("href") for link in seen.all("a") if link.inside[-1].tag == "li"
            and link.text.startswith(("Result", "Artifact"))] == ["#result", "#artifact"]
    assert "Result is not valid JSON. See line 1, column 7" in answer.text
    assert "https address" in answer.text
    assert "&lt;b&gt;</textarea>" in answer.text
    assert "kept</textarea>" in answer.text
    assert 'value="http://example.com"' in answer.text
    assert 'value="/todos?q=x"' in answer.text
    invalid = [each for each in seen.all("textarea", "input") if each.get("aria-invalid")]
    assert {each.get("name") for each in invalid} == {"result", "artifact"}
    assert make.row(todo)["state"] == "claimed"


def test_complete_said_twice_is_one_and_fail_after_it_is_refused(
    browser: Seat, make: Make
) -> None:
    """R66: the first word stands, and its repeat is no error."""
    ana = make.human()
    todo = make.todo(make.endpoint(ana), state="claimed", holder=ana)
    seat = browser(ana)

    answers = [seat.post(f"/todos/{todo}/{act}", {"result": result}) for act, result in
               (("complete", "1"), ("complete", "2"), ("fail", "3"))]

    assert [answer.status_code for answer in answers] == [303, 303, 409]
    said = answers[2].text  # the next page says it once
    assert "had ended already. What was said first stands" in said
    assert "nothing of what you sent now was recorded" in said
    assert "It is done." in refusal(answers[2].text)
    assert make.row(todo)["result"] == 1
    assert len(make.attempts(todo)) == 1


def test_retry_now_gives_fresh_attempts_but_not_past_a_live_namesake(
    browser: Seat, make: Make
) -> None:
    ana = make.human()
    lane = make.endpoint(ana)
    dead = make.todo(lane, state="failed", attempt=5, key="k")
    seat = browser(ana)

    first = seat.post(f"/todos/{dead}/retry")
    make.run("update todos set state = 'failed'")
    make.todo(lane, key="k")
    second = seat.post(f"/todos/{dead}/retry")

    assert (first.status_code, second.status_code) == (303, 409)
    assert "same idempotency key" in refusal(second.text)


def test_retry_on_a_revoked_endpoint_is_refused(browser: Seat, make: Make) -> None:
    ana = make.human()
    dead = make.todo(make.endpoint(ana), state="failed", attempt=5)
    make.run("update endpoints set state = 'revoked', revoked_at = clock()")

    answer = browser(ana).post(f"/todos/{dead}/retry")

    assert answer.status_code == 409
    assert "revoked or expired" in refusal(answer.text)


def test_a_todo_that_stays_locked_is_503_and_changes_nothing(browser: Seat, make: Make) -> None:
    ana = make.human()
    todo = make.todo(make.endpoint(ana))
    make.run("create function busy() returns trigger language plpgsql as "
             "$$ begin raise lock_not_available; end $$")
    make.run("create trigger busy before update on todos for each row execute function busy()")
    try:
        answer = browser(ana).post(f"/todos/{todo}/claim")
    finally:
        make.run("drop function busy cascade")

    assert answer.status_code == 503
    assert "nothing was changed" in answer.text
    assert make.row(todo)["state"] == "pending"


def test_foreign_unknown_and_impossible_ids_are_one_404(browser: Seat, make: Make) -> None:
    theirs = make.todo(make.endpoint(make.human()))
    before = make.row(theirs)
    seat = browser(make.human())
    ids = (theirs, f"td_{'0' * 32}", "7", "%3Cb%3E")

    for act in ACTS:
        answers = [seat.post(f"/todos/{each}/{act}", {"result": "1"}) for each in ids]

        assert {answer.status_code for answer in answers} == {404}, act
        assert len({answer.get_data() for answer in answers}) == 1, act
    assert make.row(theirs) == before


@pytest.mark.parametrize("headers", [{}, HX])
def test_a_missing_stale_or_foreign_token_is_403_and_keeps_the_values(
    browser: Seat, make: Make, headers: dict[str, str]
) -> None:
    ana, other = make.human(), browser(make.human())
    todo = make.todo(make.endpoint(ana), state="claimed", holder=ana)
    before = make.row(todo)
    seat = browser(ana)
    said = {"result": "[1, 2]", "summary": "typed", "artifact": "https://example.com/typed",
            "from": "/todos?q=a"}

    for act, token in [*((act, "stale") for act in ACTS), ("fail", ""), ("fail", other.csrf)]:
        answer = seat.post(f"/todos/{todo}/{act}", {"csrf_token": token, **said}, headers=headers)

        assert answer.status_code == 403, act
        assert f'value="{seat.csrf}"' in answer.text
        assert all(kept in answer.text for kept in said.values()), act
    assert make.row(todo) == before


@pytest.mark.parametrize("act", ["complete", "fail"])
def test_an_expired_session_is_401_with_the_same_form_and_its_values(
    client: FlaskClient, browser: Seat, make: Make, act: str
) -> None:
    ana = make.human()
    todo = make.todo(make.endpoint(ana), state="claimed", holder=ana)
    said = {"result": "[1, 2]", "summary": "typed", "artifact": "https://example.com/typed",
            "csrf_token": "old", "from": "/"}

    refused = client.post(f"/todos/{todo}/{act}", data=said)

    assert refused.status_code == 401
    assert 'href="/login"' in refused.text
    names = {field.get("name"): field for field in
             markup.parse(refused.text).all("input", "textarea")}
    assert names["result"].text.strip() == "[1, 2]"
    assert names["summary"].text.strip() == "typed"
    assert names["artifact"].get("value") == "https://example.com/typed"
    assert names["from"].get("value") == "/"
    assert make.row(todo)["state"] == "claimed"
    saved = browser(ana).post(f"/todos/{todo}/{act}", {**said, "csrf_token": ""})
    assert saved.status_code == 403


def test_a_team_members_act_is_their_own(browser: Seat, make: Make) -> None:
    team, ana = make.team("night"), make.human()
    make.member(team, ana)
    todo = make.todo(queue=make.team_queue(team, "triage"))
    seat = browser(ana)

    claimed = seat.post(f"/todos/{todo}/claim")
    make.remove_member(team, ana)

    assert claimed.status_code == 303
    assert seat.post(f"/todos/{todo}/complete").status_code == 404


@pytest.mark.parametrize(("said", "location"), [
    ("/todos?state=pending", "/todos?state=pending#found"),
    ("/todos?state=claimed&page=2", "/todos?state=claimed&page=2#todo-{id}-link"),
    ("/todos?q=a%20b", "/todos?q=a%20b#todo-{id}-link"),
    ("/todos/{id}", "/todos/{id}#todo-state"),
    ("/#q-7-h", "/#q-7-h"),
    ("/queues/7", "/queues/7#todo-{id}-link"),
    ("", "/todos/{id}#todo-state"),
    ("https://evil.example/", "/todos/{id}#todo-state"),
    ("//evil.example", "/todos/{id}#todo-state"),
    ("/\\evil.example", "/todos/{id}#todo-state"),
    ("/todos\\..\\x", "/todos/{id}#todo-state"),
    ("/\t/evil.example", "/todos/{id}#todo-state"),
    ("/ /evil.example", "/todos/{id}#todo-state"),
    ("javascript:alert(1)", "/todos/{id}#todo-state"),
    ("evil.example", "/todos/{id}#todo-state"),
    ("/" + "x" * 3000, "/todos/{id}#todo-state"),
])
def test_an_act_leads_back_to_where_the_form_was_and_nowhere_else(
    browser: Seat, make: Make, said: str, location: str
) -> None:
    ana = make.human()
    todo = make.todo(make.endpoint(ana))

    answer = browser(ana).post(f"/todos/{todo}/claim", {"from": said.replace("{id}", todo)})

    assert answer.location == location.replace("{id}", todo)


@pytest.mark.parametrize("name", ["from", "back"])
def test_a_form_may_call_its_place_by_either_name(browser: Seat, make: Make, name: str) -> None:
    ana = make.human()
    todo = make.todo(make.endpoint(ana))

    answer = browser(ana).post(f"/todos/{todo}/claim", {name: "/"})

    assert answer.location == f"/#todo-{todo}-link"


def test_htmx_is_sent_to_where_the_form_was(browser: Seat, make: Make) -> None:
    ana = make.human()
    todo = make.todo(make.endpoint(ana))

    answer = browser(ana).post(f"/todos/{todo}/claim", {"from": "/todos?q=x"}, headers=HX)

    assert answer.status_code == 200
    assert answer.headers["HX-Redirect"] == f"/todos?q=x#todo-{todo}-link"


def test_a_claim_refused_by_a_busy_budget_says_so_and_to_try_again(
    browser: Seat, make: Make
) -> None:
    ana = make.human()
    lane = make.endpoint(ana)
    make.policy(make.queue_id(lane), max_claims_per_window=5)
    todo, seat = make.todo(lane), browser(ana)
    make.run("create function busy() returns trigger language plpgsql as "
             "$$ begin raise lock_not_available; end $$")
    make.run("create trigger busy before insert on admission_windows "
             "for each row execute function busy()")
    try:
        answer = seat.post(f"/todos/{todo}/claim")
    finally:
        make.run("drop function busy cascade")

    assert answer.status_code == 409
    said = " ".join(refusal(answer.text).split())
    assert "was busy when you claimed, so this claim was refused and nothing was charged." in said
    assert "Try again." in said
    assert "no claim is admitted" not in said
    assert seat.post(f"/todos/{todo}/claim").status_code == 303


@pytest.mark.parametrize("text", ["//h", "/\\h", "http://h", "h", "", "/a\nb", "/a b", "\\\\h",
                                  "/\u2028", "///h", "/#%0d%0aX: y", "/#a%00", "/a%0ab",
                                  "/#%c2%85", "/#%e2%80%a8"])
def test_no_spelling_of_another_host_is_a_path_of_ours(text: str) -> None:
    assert own_path(text) is None


def test_a_path_of_ours_keeps_its_query_and_its_fragment() -> None:
    back = own_path(f"/todos?q={quote('ü/&')}#found")

    assert back is not None
    assert (back.path, back.fragment) == ("/todos?q=%C3%BC/%26", "found")
    assert back.value == "/todos?q=%C3%BC/%26#found"
