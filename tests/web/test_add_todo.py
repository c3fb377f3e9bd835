"""Add todo: as the API does it, with a form that keeps what was typed and adds nothing twice."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from flask.testing import FlaskClient

from tests.support import page as markup
from tests.support.client import Browser
from tests.support.make import Make

Seat = Callable[..., Browser]
HX = {"HX-Request": "true"}
TYPED = {"title": "Sort <b>", "kind": "chore", "payload": "[1,\n 2]", "key": "k-1"}


def once(text: str) -> str:
    """The name of the opened form."""
    return next(field.get("value") or "" for field in markup.parse(text).all("input")
                if field.get("name") == "once")


def test_the_form_names_the_queue_and_begins_at_its_first_field(
    browser: Seat, make: Make
) -> None:
    ana = make.human()
    queue = int(make.queue_id(make.endpoint(ana)))

    answer = browser(ana).get(f"/queues/{queue}/todos?from=/%23q-{queue}-h")

    seen = markup.parse(answer.text)
    assert answer.status_code == 200
    assert [h.text for h in seen.all("h1")] == ["Add todo to inbox"]
    assert [each.get("id") for each in seen.elements if each.get("autofocus") is not None] == [
        "title"]
    assert f'name="from" value="/#q-{queue}-h"' in answer.text
    assert f'id="add-cancel" href="/#q-{queue}-h"' in answer.text
    assert 'value="operator"' in answer.text


def test_a_todo_is_added_with_its_verified_event(browser: Seat, make: Make) -> None:
    ana = make.human()
    lane = make.endpoint(ana)
    queue = int(make.queue_id(lane))
    seat = browser(ana)

    answer = seat.post(f"/queues/{queue}/todos", {**TYPED, "from": "/"})

    (todo,) = [str(row[0]) for row in make.rows("select id from todos")]
    row = make.row(todo)
    assert (answer.status_code, answer.location) == (303, f"/#todo-{todo}-link")
    assert (row["title"], row["kind"], row["payload"]) == ("Sort <b>", "chore", [1, 2])
    assert (row["idempotency_key"], row["source"], row["queue_id"]) == ("k-1", "operator", queue)
    event = make.rows("select source, family, trust_mode, verified, event_type, payload, id "
                      "from events")[0]
    assert event[:5] == ("operator", "operator", "operator", True, "chore")
    assert (event[5], event[6]) == (b"[1,2]", row["event_id"])
    assert "Added Sort &lt;b&gt; to inbox." in seat.get("/todos").text


@pytest.mark.parametrize(("back", "location"), [
    ("/todos?q=x", "/todos?q=x#todo-{id}-link"),
    ("/#q-7-add", "/#q-7-add"),
    ("/queues/{queue}", "/queues/{queue}"),
    ("https://evil.example/", "/queues/{queue}"),
    ("", "/queues/{queue}"),
])
def test_it_leads_back_to_where_the_form_was_opened(
    browser: Seat, make: Make, back: str, location: str
) -> None:
    ana = make.human()
    queue = int(make.queue_id(make.endpoint(ana)))

    answer = browser(ana).post(f"/queues/{queue}/todos", {
        "title": "x", "from": back.replace("{queue}", str(queue))})

    todo = str(make.value("select id from todos"))
    assert answer.location == location.replace("{queue}", str(queue)).replace("{id}", todo)


@pytest.mark.parametrize(("wrong", "field", "said"), [
    ({"title": "  "}, "title", "Title: must not be blank."),
    ({"title": "\u200b"}, "title", "Title: must not be blank."),
    ({"title": " \u2060\ufeff\u202e\u00ad\u3164\ufe0f"}, "title", "Title: must not be blank."),
    ({"kind": "\u200d"}, "kind", "Kind: must not be blank."),
    ({"title": "é" * 101}, "title", "Title: at most 200 bytes."),
    ({"title": "a\x07b"}, "title", "Title: no control characters."),
    ({"kind": "k" * 65}, "kind", "Kind: at most 64 bytes."),
    ({"key": "k" * 257}, "key", "Key: at most 256 bytes."),
    ({"payload": "{'a': 1}"}, "payload", "Payload is not valid JSON. See line 1, column 2"),
    ({"payload": '{"a": 1, "a": 2}'}, "payload", "Payload names a key twice."),
    ({"payload": "NaN"}, "payload", "Payload contains NaN"),
    ({"payload": '"' + "x" * 65536 + '"'}, "payload", "Payload takes at most 64 KiB"),
    ({"payload": "[" * 70 + "]" * 70}, "payload", "Payload is nested too deeply."),
])
def test_a_wrong_value_is_422_with_its_sentence_and_every_value_kept(
    browser: Seat, make: Make, wrong: dict[str, str], field: str, said: str
) -> None:
    ana = make.human()
    queue = int(make.queue_id(make.endpoint(ana)))

    answer = browser(ana).post(f"/queues/{queue}/todos", {**TYPED, **wrong, "from": "/"})

    seen = markup.parse(answer.text)
    assert answer.status_code == 422
    assert "<title>Error: Add todo to inbox" in answer.text
    message = next(each.text for each in seen.elements if each.get("id") == f"{field}-error")
    assert message.startswith(said)
    assert f'<a href="#{field}">' in answer.text
    names = {each.get("name"): each for each in seen.all("input", "textarea")}
    assert names[field].get("aria-invalid") == "true"
    assert f"{field}-error" in (names[field].get("aria-describedby") or "").split()
    for name in {"title", "kind", "key"} - {field}:
        assert names[name].get("value") == TYPED[name]
    assert [each.get("id") for each in seen.elements if each.get("autofocus") is not None] == [
        "error-summary"]
    assert make.value("select count(*) from todos") == 0
    assert make.value("select count(*) from events") == 0


@pytest.mark.parametrize("headers", [{}, HX])
def test_a_live_key_is_said_with_a_link_and_adds_nothing(
    browser: Seat, make: Make, headers: dict[str, str]
) -> None:
    ana = make.human()
    lane = make.endpoint(ana)
    first = make.todo(lane, key="k-1", state="claimed")
    seat = browser(ana)

    answer = seat.post(f"/queues/{int(make.queue_id(lane))}/todos", TYPED, headers=headers)

    assert answer.status_code == 409
    assert f'<a id="existing" href="/todos/{first}">{first}, claimed</a>' in answer.text
    assert 'value="k-1"' in answer.text
    assert make.value("select count(*) from todos") == 1
    assert make.value("select count(*) from events") == 0
    assert make.value("select n from todo_repeats") == 1


def test_a_form_sent_twice_adds_one_also_without_a_key(browser: Seat, make: Make) -> None:
    ana = make.human()
    queue = int(make.queue_id(make.endpoint(ana)))
    seat = browser(ana)
    name = once(seat.get(f"/queues/{queue}/todos").text)
    other = once(seat.get(f"/queues/{queue}/todos").text)

    twice = [seat.post(f"/queues/{queue}/todos", {"title": "x", "once": name, "from": "/"})
             for _ in range(2)]
    seat.post(f"/queues/{queue}/todos", {"title": "x", "once": other})

    assert [answer.status_code for answer in twice] == [303, 303]
    assert twice[0].location == twice[1].location
    assert make.value("select count(*) from todos") == 2
    assert make.value("select count(*) from todo_repeats") == 0


@pytest.mark.parametrize("edit", [
    {"title": "Second"}, {"kind": "other"}, {"payload": "[2]"}, {"key": "k-2"}])
def test_a_form_edited_after_it_was_sent_says_what_it_has_added_and_then_adds_the_other(
    browser: Seat, make: Make, edit: dict[str, str]
) -> None:
    ana = make.human()
    queue = int(make.queue_id(make.endpoint(ana)))
    seat = browser(ana)
    path = f"/queues/{queue}/todos"
    sent = {**TYPED, "title": "First", "once": once(seat.get(path).text), "from": "/"}
    seat.post(path, sent)
    first = str(make.value("select id from todos"))
    if "key" not in edit:
        make.run("update todos set state = 'done'")  # so that the key is free again

    edited = seat.post(path, {**sent, **edit})

    assert edited.status_code == 409
    assert f'<a id="existing" href="/todos/{first}">First</a>' in edited.text
    assert make.value("select count(*) from todos") == 1
    assert "Added Second" not in seat.get("/todos").text
    again = seat.post(path, {**sent, **edit, "once": once(edited.text)})
    assert again.status_code == 303
    assert make.value("select count(*) from todos") == 2


@pytest.mark.parametrize("name", ["", "short", "x" * 65, "<script>alert(1)</script>"])
def test_a_form_name_we_never_gave_is_no_name(browser: Seat, make: Make, name: str) -> None:
    ana = make.human()
    queue = int(make.queue_id(make.endpoint(ana)))
    seat = browser(ana)

    for _ in range(2):
        assert seat.post(f"/queues/{queue}/todos", {"title": "x", "once": name}).status_code == 303

    assert make.value("select count(*) from todos") == 2


def test_any_member_writes_for_the_team(browser: Seat, make: Make) -> None:
    team, ana = make.team("night"), make.human()
    make.member(team, ana)
    queue = make.team_queue(team, "triage")
    seat = browser(ana)

    page = seat.get(f"/queues/{int(queue)}/todos")
    answers = [seat.post(f"/queues/{int(queue)}/todos", TYPED) for _ in range(2)]

    assert "Add todo to team:night/triage" in page.text
    assert [answer.status_code for answer in answers] == [303, 409]
    assert make.rows("select team_id, endpoint_id from todos") == [(team.id, None)]
    assert make.rows("select team_id, endpoint_id from events") == [(team.id, None)]


def test_a_queue_nobody_drains_takes_no_todo(browser: Seat, make: Make) -> None:
    ana = make.human()
    lane = make.endpoint(ana)
    stray = int(make.queue(lane, "stray"))
    inbox = int(make.queue_id(lane))
    seat = browser(ana)

    outside = seat.get(f"/queues/{stray}/todos"), seat.post(f"/queues/{stray}/todos", TYPED)
    make.run("update endpoints set state = 'revoked', revoked_at = clock()")
    revoked = seat.get(f"/queues/{inbox}/todos"), seat.post(f"/queues/{inbox}/todos", TYPED)

    for answer in (*outside, *revoked):
        assert answer.status_code == 409
        assert "takes no new todo" in answer.text
    assert make.value("select count(*) from todos") == 0
    assert make.value("select count(*) from events") == 0


def test_foreign_unknown_and_impossible_queues_are_one_404(browser: Seat, make: Make) -> None:
    theirs = int(make.queue_id(make.endpoint(make.human())))
    team, ana = make.team(), make.human()
    make.member(team, ana)
    members = int(make.queue_id(make.endpoint(team=team)))  # for an admin, as by the API
    seat = browser(ana)
    ids = (theirs, members, 10**9, "inbox", "-1", "9" * 30, "%D9%A3")

    shown = [seat.get(f"/queues/{each}/todos") for each in ids]
    posted = [seat.post(f"/queues/{each}/todos", TYPED) for each in ids]

    assert {answer.status_code for answer in [*shown, *posted]} == {404}
    assert len({answer.get_data() for answer in shown}) == 1
    assert len({answer.get_data() for answer in posted}) == 1
    assert make.value("select count(*) from todos") == 0


def test_a_wrong_token_is_403_and_an_ended_session_401_with_the_form_as_it_was(
    client: FlaskClient, browser: Seat, make: Make
) -> None:
    ana, other = make.human(), browser(make.human())
    queue = int(make.queue_id(make.endpoint(ana)))
    seat = browser(ana)
    path = f"/queues/{queue}/todos"

    refused = [seat.post(path, {**TYPED, "csrf_token": token, "from": "/"})
               for token in ("", "stale", other.csrf)]
    ended = client.post(path, data={**TYPED, "csrf_token": "old", "from": "/"})

    assert [answer.status_code for answer in [*refused, ended]] == [403, 403, 403, 401]
    for answer in [*refused, ended]:
        fields = {each.get("name"): each for each in
                  markup.parse(answer.text).all("input", "textarea")}
        assert [fields[name].get("value") for name in ("title", "kind", "key", "from")] == [
            "Sort <b>", "chore", "k-1", "/"]
        assert re.sub(r"\s", "", fields["payload"].text) == "[1,2]"
    assert f'value="{seat.csrf}"' in refused[0].text
    assert make.value("select count(*) from todos") == 0
    assert seat.post(path, {**TYPED, "from": "/"}).status_code == 303


def test_without_a_session_the_form_sends_one_to_sign_in(client: FlaskClient, make: Make) -> None:
    queue = int(make.queue_id(make.endpoint()))

    answer = client.get(f"/queues/{queue}/todos")

    assert (answer.status_code, answer.location) == (302, "/login")


def test_what_is_added_from_the_board_has_the_focus_there(browser: Seat, make: Make) -> None:
    ana = make.human("Ana")
    lane = make.endpoint(ana)
    queue = make.queue_id(lane)
    seat = browser(ana)
    link = f"/queues/{int(queue)}/todos?from=/"
    assert f'href="{link}"' in seat.get("/").text.replace("%2F", "/")

    def add() -> str:
        return seat.post(link, {"title": "new", "from": "/"}).headers["Location"]

    first = add()
    assert first.startswith("/#todo-td_")
    for _ in range(19):
        make.todo(lane)
    assert add() == f"/#q-{int(queue)}-page"
