"""The todos page: counts, filters, search, rows and pages, exact and the viewer's own."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from urllib.parse import quote

import pytest
from flask.testing import FlaskClient

from tests.support import page as markup
from tests.support.client import Browser
from tests.support.clock import Clock
from tests.support.make import Make

Seat = Callable[..., Browser]
HX = {"HX-Request": "true"}


def titles(text: str) -> list[str]:
    """The titles of the listed todos, in order."""
    seen = markup.parse(text)
    return [link.text for link in seen.all("a") if link.get("data-drawer") is not None]


def counts(text: str) -> dict[str, int]:
    """The state links with their counts."""
    links = [link for link in markup.parse(text).all("a")
             if (link.get("id") or "").startswith("state-")]
    return {words[0]: int(words[1]) for words in (link.text.split() for link in links)}


def current(text: str) -> str | None:
    """The id of the state link that marks the list shown."""
    return next(link.get("id") for link in markup.parse(text).all("a")
                if link.get("aria-current") and (link.get("id") or "").startswith("state-"))


def found(text: str) -> str:
    """The heading above the table."""
    return next(h.text for h in markup.parse(text).all("h2") if h.get("id") == "found")


def test_states_are_counted_and_the_list_is_newest_first(browser: Seat, make: Make) -> None:
    ana = make.human()
    lane = make.endpoint(ana, queues=("inbox", "lane-m"))
    begin = make.now() - timedelta(hours=1)
    for number, state in enumerate(("pending", "pending", "claimed", "done", "failed")):
        make.todo(lane, ("inbox", "lane-m")[number % 2], state=state, title=f"t{number}",
                  created_at=begin + timedelta(seconds=number))

    seat = browser(ana)
    text = seat.get("/todos").text
    pending = seat.get("/todos?state=pending").text

    assert titles(text) == ["t4", "t3", "t2", "t1", "t0"]
    assert counts(text) == {"All": 5, "Pending": 2, "Claimed": 1, "Done": 1, "Failed": 1}
    assert found(text) == "5 todos"
    assert current(text) == "state-all"
    assert titles(pending) == ["t1", "t0"]
    assert counts(pending) == counts(text)
    assert found(pending) == "2 pending todos"
    assert current(pending) == "state-pending"


def test_the_list_is_a_real_table_in_a_named_scroller(browser: Seat, make: Make) -> None:
    ana = make.human()
    make.todo(make.endpoint(ana), title="one")

    seen = markup.parse(browser(ana).get("/todos").text)

    assert [each.get("aria-label") for each in seen.all("div") if each.get("role") == "region"
            and each.get("tabindex") == "0"] == ["Todos table"]
    assert len(seen.all("caption")) == 1
    assert {cell.get("scope") for cell in seen.all("th")} == {"col", "row"}


def test_a_deferred_pending_row_wears_its_chip_and_no_other_row_does(
    browser: Seat, make: Make, clock: Clock
) -> None:
    clock.set("2026-03-02T20:00:00Z")
    ana = make.human()
    lane = make.endpoint(ana, queues=("lane", "free"))
    policy = make.policy(make.queue_id(lane, "lane"), max_claims_per_window=3,
                         tz="America/Los_Angeles")
    make.window(policy, datetime(2026, 3, 2, 8, tzinfo=UTC), 3)
    waiting = make.todo(lane, "lane", title="waits")
    make.todo(lane, "lane", state="done", title="done")
    make.todo(lane, "free", title="free")

    text = browser(ana).get("/todos").text

    chips = [span for span in markup.parse(text).all("span")
             if "chip" in (span.get("class") or "").split()]
    assert [(chip.get("id"), chip.text) for chip in chips] == [
        (f"todo-{waiting}-chip", "deferred \u00b7 budget \u00b7 eligible 00:00 PT")]
    link = next(each for each in markup.parse(text).all("a")
                if each.get("id") == f"todo-{waiting}-link")
    assert link.get("aria-describedby") == f"todo-{waiting}-chip"
    assert any(outer.tag == "tr" for outer in chips[0].inside)


def test_every_listed_queue_with_a_policy_has_one_line_above_the_table(
    browser: Seat, make: Make
) -> None:
    ana = make.human()
    lane = make.endpoint(ana, queues=("a", "b", "plain"))
    for name in ("a", "b"):
        make.policy(make.queue_id(lane, name), max_in_flight=2, human=ana)
        make.todo(lane, name)
    theirs = make.endpoint(make.human(), queues=("secret",))
    make.policy(make.queue_id(theirs, "secret"), max_in_flight=1)
    seat = browser(ana)
    a, b = (int(make.queue_id(lane, name)) for name in ("a", "b"))

    every, one, plain = (seat.get(path).text for path in
                         ("/todos", f"/todos?queue={a}", "/todos?queue=plain"))

    assert [f'id="q-{key}-live"' in every for key in (a, b)] == [True, True]
    assert every.index(f'id="q-{a}-live"') < every.index("<table")
    assert "secret" not in every
    assert [f'id="q-{key}-live"' in one for key in (a, b)] == [True, False]
    assert "q-live" not in plain


def test_a_queue_is_chosen_by_id_or_by_name_and_a_name_may_mean_two(
    browser: Seat, make: Make
) -> None:
    ana = make.human()
    first, second = (make.endpoint(ana, queues=("inbox", "lane-m")) for _ in range(2))
    make.todo(first, title="first")
    make.todo(second, title="second")
    make.todo(first, "lane-m", title="lane")
    seat = browser(ana)
    key = int(make.queue_id(second))

    by_name, by_id = (seat.get(f"/todos?queue={value}").text for value in ("inbox", key))

    assert sorted(titles(by_name)) == ["first", "second"]
    assert found(by_name) == "2 todos in inbox"
    assert '<option value="inbox" selected>every inbox</option>' in by_name
    assert titles(by_id) == ["second"]
    assert found(by_id) == f"1 todo in inbox of {second.slug}"
    assert f'<option value="{key}" selected>inbox of {second.slug}</option>' in by_id
    assert counts(by_id)["Pending"] == 1


def test_a_queue_whose_name_is_a_number_is_still_found_by_it(browser: Seat, make: Make) -> None:
    ana = make.human()
    make.todo(make.endpoint(ana, queues=("987654",)), "987654", title="numbered")

    assert titles(browser(ana).get("/todos?queue=987654").text) == ["numbered"]


def test_a_team_queue_is_listed_by_its_display_name(browser: Seat, make: Make) -> None:
    team, ana = make.team("night"), make.human()
    make.member(team, ana)
    make.todo(queue=make.team_queue(team, "triage"), title="ours")
    seat = browser(ana)

    seen = titles(seat.get("/todos?queue=" + quote("team:night/triage", safe="")).text)
    make.remove_member(team, ana)

    assert seen == ["ours"]
    assert titles(seat.get("/todos").text) == []


@pytest.mark.parametrize(("text", "expected"), [
    ("INVOICE", ["An Invoice"]),
    ("%", ["100% of it"]),
    ("e_c", ["snake_case"]),
    ("\\", ["back\\slash"]),
    ("gitea", ["An Invoice"]),
    ("Review", ["snake_case"]),
    ("'; drop table todos; --", []),
])
def test_the_search_takes_every_character_as_itself_in_any_case(
    browser: Seat, make: Make, text: str, expected: list[str]
) -> None:
    ana = make.human()
    lane = make.endpoint(ana)
    make.todo(lane, title="An Invoice", source="gitea")
    make.todo(lane, title="100% of it", source="x")
    make.todo(lane, title="snake_case", kind="REVIEW", source="x")
    make.todo(lane, title="back\\slash", source="x")

    page = browser(ana).get("/todos", query_string={"q": text}).text

    assert titles(page) == expected
    assert counts(page)["All"] == len(expected)


def test_the_search_finds_an_id_and_keeps_the_other_filters(browser: Seat, make: Make) -> None:
    ana = make.human()
    lane = make.endpoint(ana, queues=("inbox", "lane-m"))
    wanted = make.todo(lane, title="wanted", state="done")
    make.todo(lane, "lane-m", title="other")
    seat = browser(ana)

    by_id = seat.get(f"/todos?q={wanted.id.upper()}").text
    both = seat.get(f"/todos?q={wanted.id}&state=pending").text

    assert titles(by_id) == ["wanted"]
    assert found(by_id) == f"1 todo with \u201c{wanted.id.upper()}\u201d"
    assert titles(both) == []
    assert counts(both)["Done"] == 1
    assert f'href="/todos?state=done&amp;q={wanted.id}"' in both
    assert 'name="state" value="pending"' in both


def test_fifty_rows_make_a_page_and_links_lead_on_with_the_filters(
    browser: Seat, make: Make
) -> None:
    ana = make.human()
    lane = make.endpoint(ana)
    begin = make.now() - timedelta(hours=1)
    for number in range(101):
        make.todo(lane, title=f"t{number}", created_at=begin + timedelta(seconds=number))
    seat = browser(ana)

    first, second, third, past = (
        seat.get(f"/todos?q=t&page={page}") for page in (1, 2, 3, 99_999_999_999_999))

    assert titles(first.text) == [f"t{n}" for n in range(100, 50, -1)]
    assert titles(second.text) == [f"t{n}" for n in range(50, 0, -1)]
    assert titles(third.text) == ["t0"]
    assert 'href="/todos?q=t&amp;page=3" rel="next"' in second.text
    assert 'href="/todos?q=t" rel="prev"' in second.text
    assert past.status_code == 200
    assert titles(past.text) == ["t0"], "past the end is the last page, as in every list"
    for odd in ("0", "-1", "two", "", "%D9%A3"):
        assert titles(seat.get(f"/todos?q=t&page={odd}").text)[0] == "t100", odd


@pytest.mark.parametrize(("query", "said"), [
    ("state=odd", "There is no state \u201codd\u201d"),
    ("q=" + "x" * 201, "at most 200 characters"),
    ("q=%00", "The search holds a character that no todo holds."),
    ("queue=%00", "holds a character"),
])
def test_a_filter_that_makes_no_sense_is_a_sentence(
    browser: Seat, make: Make, query: str, said: str
) -> None:
    ana = make.human()
    make.todo(make.endpoint(ana), title="unseen")

    answer = browser(ana).get(f"/todos?{query}")

    assert answer.status_code == 422
    assert said in answer.text
    assert "<title>Error: Todos" in answer.text
    assert titles(answer.text) == []


def test_a_queue_nobody_shows_you_is_as_unknown_as_none(browser: Seat, make: Make) -> None:
    theirs = make.endpoint(make.human(), queues=("secret",))
    make.todo(theirs, "secret")
    seat = browser(make.human())
    key = int(make.queue_id(theirs, "secret"))

    foreign, unknown = (seat.get(f"/todos?queue={value}") for value in (key, 10**9 + key))

    assert foreign.status_code == unknown.status_code == 200
    assert f"You have no queue called \u201c{key}\u201d." in foreign.text
    assert f"every {key}" not in foreign.text, "no choice of the filter that is none"
    said = "\u201c{}\u201d"
    assert [part for part in foreign.text.splitlines() if said.format(key) in part] == [
        part.replace(str(10**9 + key), str(key)) for part in unknown.text.splitlines()
        if said.format(10**9 + key) in part]
    assert "secret" not in foreign.text


def test_nobody_sees_counts_or_rows_of_another(browser: Seat, make: Make) -> None:
    theirs = make.endpoint(make.human())
    make.todo(theirs, title="secret")

    text = browser(make.human()).get("/todos?q=secret").text

    assert titles(text) == []
    assert counts(text)["All"] == 0


def test_someone_without_todos_is_told_so_with_a_next_step(browser: Seat, make: Make) -> None:
    text = browser(make.human()).get("/todos").text

    assert "You have no todo yet." in text
    assert 'href="/">See your queues on the board</a>' in text


def test_htmx_gets_the_panel_alone_but_not_on_its_way_back(browser: Seat, make: Make) -> None:
    ana = make.human()
    make.todo(make.endpoint(ana), title="one")
    seat = browser(ana)

    panel = seat.get("/todos", headers=HX)
    restored = seat.get("/todos", headers={**HX, "HX-History-Restore-Request": "true"})

    assert "<html" not in panel.text
    assert titles(panel.text) == ["one"]
    assert "HX-Request" in panel.headers["Vary"]
    assert "<html" in restored.text


def test_titles_and_names_are_shown_as_text(browser: Seat, make: Make) -> None:
    ana = make.human()
    lane = make.endpoint(ana, queues=("<i>q</i>",))
    make.todo(lane, "<i>q</i>", title="<script>alert(1)</script>", source="<b>", kind="\"><img>")

    answer = browser(ana).get("/todos", query_string={"q": "<script>", "queue": "<i>q</i>"})

    assert titles(answer.text) == ["<script>alert(1)</script>"]
    assert "<script>alert" not in answer.text
    assert "<i>q" not in answer.text


def test_without_a_session_the_list_sends_one_to_sign_in(client: FlaskClient) -> None:
    answer = client.get("/todos?state=pending")

    assert (answer.status_code, answer.location) == (302, "/login")
