"""The first page: what a stranger reads, and why work waits for whoever signed in."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import psycopg
import pytest
from flask.testing import FlaskClient

from app.domain.callers import Endpoint, Human
from app.web import present
from tests.support.client import Browser, Caller
from tests.support.clock import Clock
from tests.support.make import Make, QueueId
from tests.support.page import Element, Page, parse

PT = "America/Los_Angeles"
Seat = Callable[[Human], Browser]


def squeezed(text: str) -> str:
    return " ".join(text.split())


def board(seat: Browser) -> Page:
    answer = seat.get("/")
    assert answer.status_code == 200
    return parse(answer.text)


def by_id(page: Page, name: str) -> Element:
    found = [each for each in page.elements if each.get("id") == name]
    assert len(found) == 1, f"{len(found)} elements with the id {name}"
    return found[0]


def has_id(page: Page, name: str) -> bool:
    return any(each.get("id") == name for each in page.elements)


def within(page: Page, outer: Element, css_class: str) -> list[str]:
    return [squeezed(each.text) for each in page.elements
            if outer in each.inside and css_class in (each.get("class") or "").split()]


def seen(page: Page, queue_id: int) -> str:
    """The layer of a header that is seen."""
    live = by_id(page, f"q-{queue_id}-live")
    return squeezed(next(each.text for each in page.elements
                         if live in each.inside and each.get("aria-hidden") == "true"))


def heard(page: Page, queue_id: int) -> str:
    """The layer of a header that is heard."""
    live = by_id(page, f"q-{queue_id}-live")
    return next(each.text for each in page.elements
                if live in each.inside and each.get("data-sse-swap") == f"say-{queue_id}")


def section(page: Page, queue_id: int) -> Element:
    return next(each for each in page.all("section")
                if (each.get("aria-labelledby") or "").split()[:1] == [f"q-{queue_id}-h"])


def cards(page: Page, queue_id: int) -> list[Element]:
    listed = by_id(page, f"q-{queue_id}-cards")
    return [each for each in page.all("li") if each.inside and each.inside[-1] is listed]


def chips(page: Page, queue_id: int) -> list[str]:
    return within(page, by_id(page, f"q-{queue_id}-cards"), "chip")


def headings(page: Page) -> list[tuple[str, str]]:
    return [(each.tag, squeezed(each.text)) for each in page.all("h1", "h2", "h3")]


def live_in(make: Make, human: Human, zone: str) -> None:
    make.run("update humans set zone = %s where id = %s", zone, human.id)


@pytest.fixture
def ana(make: Make) -> Human:
    return make.human("Ana")


@pytest.fixture
def lane(make: Make, ana: Human) -> Endpoint:
    return make.endpoint(ana, queues=("investigations",), name="lane m")


@pytest.fixture
def investigations(make: Make, lane: Endpoint) -> QueueId:
    return make.queue_id(lane, "investigations")


def test_a_stranger_reads_what_this_is_and_how_to_sign_in(client: FlaskClient) -> None:
    page = client.get("/")

    assert page.status_code == 200
    assert "work queue for agents" in page.text
    assert 'href="/login"' in page.text
    assert "Sign out" not in page.text


def test_an_unknown_cookie_is_a_stranger(client: FlaskClient) -> None:
    client.set_cookie("sb_session", "unknown", domain="localhost")

    assert "work queue for agents" in client.get("/").text


def test_someone_without_queues_is_told_the_next_step(browser: Seat, make: Make) -> None:
    page = browser(make.human()).get("/").text

    assert "You have no queue yet." in page
    assert '<a href="/endpoints/vend/agent">Vend an endpoint</a>' in page
    assert 'id="pause"' not in page


@pytest.mark.req("REQ-11", "The owner sees why work waits")
def test_the_owner_sees_why_work_waits(
    browser: Seat, make: Make, clock: Clock, ana: Human, lane: Endpoint, investigations: QueueId
) -> None:
    clock.set("2026-11-30T22:00:00Z")
    live_in(make, ana, "Europe/Berlin")
    policy = make.policy(investigations, max_in_flight=5, max_claims_per_window=100, tz=PT)
    make.window(policy, datetime(2026, 11, 30, 8, tzinfo=UTC), used=100)
    waiting = [make.todo(lane, "investigations") for _ in range(12)]
    for _ in range(2):
        make.todo(lane, "investigations", state="claimed")

    page = board(browser(ana))

    assert "Budget used up" in seen(page, investigations)
    assert ("100 of 100 used · 2 of 5 in flight · resets 00:00 PT (09:00 your time)"
            in seen(page, investigations))
    assert heard(page, investigations) == (
        "investigations: budget used up, 100 of 100 used, 2 of 5 in flight,"
        " resets at midnight Pacific time, 09:00 your time")
    assert chips(page, investigations) == ["deferred · budget · eligible 00:00 PT"] * 12
    assert [by_id(page, f"todo-{todo}-link").get("aria-describedby") for todo in waiting] == [
        f"todo-{todo}-chip" for todo in waiting]


def test_a_header_has_the_markup_that_can_be_updated_and_heard(
    browser: Seat, make: Make, ana: Human, investigations: QueueId
) -> None:
    make.policy(investigations, max_in_flight=5, max_claims_per_window=100)

    page = board(browser(ana))
    number, whole = int(investigations), section(page, investigations)

    live = by_id(page, f"q-{number}-live")
    assert whole.get("class") == "queue queue--admitted"
    assert (live.tag, live.get("aria-live"), live.get("aria-atomic")) == ("p", "polite", "true")
    layers = [each for each in page.elements if each.inside and each.inside[-1] is live]
    assert [(each.get("aria-hidden"), each.get("data-sse-swap"), each.get("data-hx-swap"))
            for each in layers] == [("true", f"counts-{number}", None),
                                    (None, f"say-{number}", "textContent")]
    assert not [each for each in page.elements if layers[1] in each.inside]
    now = by_id(page, f"q-{number}-now")
    assert now.get("href") == f"/queues/{number}"
    assert squeezed(now.text) == (
        "Current figures for investigations: 0 of 100 used, 0 of 5 in flight")
    assert by_id(page, f"q-{number}-fig").text == "0 of 100 used, 0 of 5 in flight"
    assert live not in now.inside
    edit = by_id(page, f"q-{number}-edit")
    assert edit.get("href") == f"/queues/{number}/budget"
    assert edit.get("aria-label") == "Edit budget for investigations"
    assert squeezed(edit.text) == "Edit budget"


def test_headings_go_from_the_board_to_its_owners_to_their_queues(
    browser: Seat, make: Make, ana: Human, lane: Endpoint
) -> None:
    team = make.team("night")
    make.member(team, ana)
    make.team_queue(team, "triage")

    page = board(browser(ana))

    assert headings(page) == [
        ("h1", "Board"), ("h2", f"Endpoint {lane.slug}"), ("h3", "investigations"),
        ("h2", "Team night"), ("h3", "team:night/triage")]
    assert any(each.get("href") == f"/endpoints/{lane.id}" for each in page.all("a"))


def test_a_queue_that_needs_a_human_comes_first(
    browser: Seat, make: Make, ana: Human
) -> None:
    names = ("a-plain", "b-open", "c-full", "d-spent", "e-paused", "f-broken")
    lane = make.endpoint(ana, queues=names)
    ids = {name: make.queue_id(lane, name) for name in names}
    make.policy(ids["b-open"], max_in_flight=1)
    make.policy(ids["c-full"], max_in_flight=1)
    make.todo(lane, "c-full", state="claimed")
    spent = make.policy(ids["d-spent"], max_claims_per_window=3)
    make.window(spent, make.now().replace(hour=0, minute=0, second=0, microsecond=0), used=3)
    make.policy(ids["e-paused"], max_in_flight=0)
    broken = make.policy(ids["f-broken"], max_claims_per_window=3)
    make.run("update admission_policies set window_tz = 'Mars/Olympus' where id = %s", broken)

    page = board(browser(ana))

    assert [text for tag, text in headings(page) if tag == "h3"] == [
        "f-broken", "e-paused", "d-spent", "c-full", "a-plain", "b-open"]
    assert [seen(page, ids[name]).split(" of ")[0] for name in ("c-full", "b-open")] == [
        "At limit no limit on claims · 1", "Admitting no limit on claims · 0"]


@pytest.mark.req("REQ-9", "A policy that cannot be evaluated")
def test_a_budget_that_cannot_be_judged_shows_its_fault_and_others_go_on(
    browser: Seat, make: Make, ana: Human
) -> None:
    lane = make.endpoint(ana, queues=("broken", "sound"))
    broken, sound = make.queue_id(lane, "broken"), make.queue_id(lane, "sound")
    policy = make.policy(broken, max_claims_per_window=3, max_in_flight=2)
    make.run("update admission_policies set window_tz = 'Mars/Olympus' where id = %s", policy)
    make.policy(sound, max_in_flight=2)
    for queue in ("broken", "sound"):
        make.todo(lane, queue)

    page = board(browser(ana))

    assert seen(page, broken) == (
        "Unavailable the time zone of the budget is not known here, so no claim is admitted")
    assert heard(page, broken) == (
        "broken: unavailable, the time zone of the budget is not known here,"
        " so no claim is admitted")
    assert by_id(page, f"q-{broken}-fig").text == "unavailable"
    assert "0 of 0" not in squeezed(section(page, broken).text)
    assert chips(page, broken) == ["deferred · budget unavailable"]
    assert seen(page, sound) == "Admitting no limit on claims · 0 of 2 in flight"
    assert chips(page, sound) == []


def test_unreadable_policies_are_said_and_queues_without_one_stand(
    browser: Seat, make: Make, ana: Human
) -> None:
    lane = make.endpoint(ana, queues=("bound", "free"))
    bound, free = make.queue_id(lane, "bound"), make.queue_id(lane, "free")
    make.policy(bound, max_in_flight=2)
    make.todo(lane, "free")
    make.run("alter table admission_windows rename to away")
    make.run("alter table admission_policies rename to gone")
    try:
        page = board(browser(ana))
    finally:
        make.run("alter table gone rename to admission_policies")
        make.run("alter table away rename to admission_windows")

    assert seen(page, bound) == "Unavailable the budget cannot be read, so no claim is admitted"
    assert squeezed(by_id(page, f"q-{free}-todos").text) == "1 pending"
    assert squeezed(by_id(page, f"q-{free}-live").text) == ""
    assert "hidden" in by_id(page, f"q-{free}-now").attributes


def test_a_pause_says_who_when_and_why(
    browser: Seat, make: Make, clock: Clock, ana: Human, lane: Endpoint, investigations: QueueId
) -> None:
    clock.set("2026-11-30T14:05:00Z")
    seat = browser(ana)
    policy = make.policy(investigations, max_in_flight=0)
    for before, after, reason in ((None, 5, "start"), (5, 0, "deploy\nfreeze"), (0, 0, "edited")):
        make.run("insert into admission_policy_audit (policy_id, queue_id, actor_human_id, "
                 "actor_endpoint_id, action, before, after, reason) values "
                 "(%s, %s, %s, null, 'update', "
                 "jsonb_build_object('max_in_flight', %s::int), "
                 "jsonb_build_object('max_in_flight', %s::int), %s)",
                 policy, int(investigations), ana.id, before, after, reason)
        clock.advance(60)
    make.todo(lane, "investigations")

    page = board(seat)

    assert seen(page, investigations) == (
        "Paused no limit on claims · 0 in flight, limit 0"
        " paused by Ana at 14:06 UTC: deploy freeze")
    assert heard(page, investigations) == (
        "investigations: paused by Ana at 14:06 UTC: deploy freeze,"
        " no limit on claims, 0 in flight, limit 0")
    assert chips(page, investigations) == ["deferred · paused"]


def test_an_agent_that_paused_is_named_with_its_human(
    browser: Seat, make: Make, ana: Human, lane: Endpoint, investigations: QueueId
) -> None:
    live_in(make, ana, PT)
    policy = make.policy(investigations, max_claims_per_window=0)
    make.run("insert into admission_policy_audit (policy_id, queue_id, actor_human_id, "
             "actor_endpoint_id, action, after, at) values (%s, %s, %s, %s, 'create', "
             "'{\"max_in_flight\": null, \"max_claims_per_window\": 0}', "
             "'2020-01-02T03:04:00Z')", policy, int(investigations), ana.id, lane.id)

    page = board(browser(ana))

    assert seen(page, investigations) == (
        "Paused 0 used, limit 0 · 0 in flight, no limit"
        f" paused by Ana, through endpoint {lane.slug} at 19:04 on 1 Jan 2020")


def test_the_limits_that_bind_beside_the_first_are_named(
    browser: Seat, make: Make, clock: Clock, ana: Human, lane: Endpoint, investigations: QueueId
) -> None:
    clock.set("2026-11-30T22:00:00Z")
    policy = make.policy(investigations, max_in_flight=1, max_claims_per_window=50, period="week",
                         weekday="Thu", tz="Asia/Kathmandu")
    make.window(policy, datetime(2026, 11, 25, 18, 15, tzinfo=UTC), used=60)
    make.todo(lane, "investigations", state="claimed")

    page = board(browser(ana))

    assert seen(page, investigations) == (
        "Budget used up 60 of 50 used · 1 of 1 in flight"
        " · resets Thu 00:00 Asia/Kathmandu (Wed 18:15 UTC) also at limit")
    bars = [each for each in page.all("rect") if section(page, investigations) in each.inside]
    assert [(bar.get("class"), bar.get("x"), bar.get("width")) for bar in bars] == [
        ("track", None, "100"), ("bar", None, "100"), ("notch", "83", "2"), ("notch", "99", "1")]


@pytest.mark.parametrize(("used", "warns"), [(79, False), (80, True), (99, True), (100, False)])
def test_a_window_warns_from_80_percent_until_it_is_used_up(
    browser: Seat, make: Make, clock: Clock, ana: Human, investigations: QueueId, used: int,
    *, warns: bool,
) -> None:
    clock.set("2026-11-30T22:00:00Z")
    policy = make.policy(investigations, max_claims_per_window=100)
    make.window(policy, datetime(2026, 11, 30, tzinfo=UTC), used=used)

    page = board(browser(ana))

    assert f"{used} of 100 used" in seen(page, investigations)
    assert ("nearly used up" in seen(page, investigations)) is warns
    assert ("nearly used up" in heard(page, investigations)) is warns


@pytest.mark.rule("R64: a lock timeout is shown on the header, until the next admitted claim")
def test_a_claim_refused_at_a_busy_budget_is_on_the_header_until_one_is_admitted(
    browser: Seat, agent: Callable[[Endpoint], Caller], make: Make, db_url: str, ana: Human,
    lane: Endpoint, investigations: QueueId,
) -> None:
    live_in(make, ana, PT)
    seat = browser(ana)
    make.policy(investigations, max_in_flight=5)
    make.todo(lane, "investigations")
    with psycopg.connect(db_url) as holder:
        holder.execute("select 1 from admission_policies for update")
        refused = agent(lane).call("claim_next")
    at = make.value("select to_char(at at time zone %s, 'HH24:MI') from admission_faults", PT)
    said = f"claims refused at {at}: budget busy"

    shown = board(seat)
    claimed = agent(lane).call("claim_next")
    after = board(seat)

    assert refused.json["deferred"][0]["reason"] == "admission_unavailable"
    assert seen(shown, investigations) == f"Admitting no limit on claims · 0 of 5 in flight {said}"
    assert heard(shown, investigations).endswith(f", {said}")
    assert "todo" in claimed.json
    assert seen(after, investigations) == "Admitting no limit on claims · 1 of 5 in flight"


def test_a_queue_without_a_policy_offers_to_add_one(
    browser: Seat, make: Make, ana: Human, lane: Endpoint, investigations: QueueId
) -> None:
    make.todo(lane, "investigations")
    make.todo(lane, "investigations", state="claimed")
    make.todo(lane, "investigations", state="failed")
    make.todo(lane, "investigations", state="failed", attempt=1,
              next_retry_at=make.now() + timedelta(hours=1))
    make.todo(lane, "investigations", state="done")

    page = board(browser(ana))

    assert squeezed(by_id(page, f"q-{investigations}-todos").text) == (
        "1 pending, 1 claimed, 1 waiting for a retry, 1 dead letter")
    add = by_id(page, f"q-{investigations}-edit")
    assert (add.get("aria-label"), add.get("href")) == (
        "Add budget for investigations", f"/queues/{investigations}/budget")
    assert chips(page, investigations) == []


def test_cards_say_what_a_todo_is_and_offer_what_may_be_done(
    browser: Seat, make: Make, clock: Clock, ana: Human, lane: Endpoint, investigations: QueueId
) -> None:
    clock.set("2026-11-30T12:00:00Z")
    seat = browser(ana)
    old = make.now() - timedelta(hours=3)
    newer = make.todo(lane, "investigations", title="newer", source="github", attempt=2)
    older = make.todo(lane, "investigations", title="older", created_at=old, source="stripe")
    mine = make.todo(lane, "investigations", title="mine", state="claimed", holder=ana)
    theirs = make.todo(lane, "investigations", title="theirs", state="claimed", lease=-60)
    dead = make.todo(lane, "investigations", title="dead", state="failed", attempt=5)
    make.todo(lane, "investigations", state="done")

    page = board(seat)

    assert [squeezed(each.text) for each in cards(page, investigations)] == [
        "older pending · stripe · 3 h ago · attempt 0 of 5 Claim older Discard older",
        "newer pending · github · just now · attempt 2 of 5 Claim newer Discard newer",
        "theirs claimed · operator · just now · attempt 1 of 5"
        f" claimed by {lane.slug}, lease ended at 11:59 UTC",
        "mine claimed · operator · just now · attempt 1 of 5"
        " claimed by you, lease ends at 12:05 UTC",
        "dead dead letter · operator · just now · attempt 5 of 5 Retry now dead"]
    assert [each.get("href") for each in page.all("a")
            if re.fullmatch("todo-.*-link", each.get("id") or "")] == [
        f"/todos/{todo}" for todo in (older, newer, theirs, mine, dead)]
    acts = [(each.get("method"), each.get("action")) for each in page.all("form")
            if "/todos/" in (each.get("action") or "")]
    assert acts == [("post", f"/todos/{older}/claim"), ("post", f"/todos/{newer}/claim"),
                    ("post", f"/todos/{dead}/retry")]
    assert by_id(page, f"todo-{older}-discard").get("href") == f"/todos/{older}/discard?from=%2F"


def test_twenty_pending_cards_are_shown_and_the_rest_is_one_link_away(
    browser: Seat, make: Make, ana: Human, lane: Endpoint, investigations: QueueId
) -> None:
    waiting = [make.todo(lane, "investigations") for _ in range(23)]
    for _ in range(4):
        make.todo(lane, "investigations", state="failed")

    page = board(browser(ana))
    shown = [each.get("id") for each in cards(page, investigations)]
    links = {squeezed(each.text): each.get("href") for each in page.all("a")}

    assert shown[:20] == [f"todo-{todo}" for todo in waiting[:20]]
    assert len(shown) == 23
    assert links["All 23 pending todos of investigations"] == (
        f"/todos?queue={investigations}&state=pending")
    assert links["4 dead letters of investigations"] == (
        f"/todos?queue={investigations}&state=failed")
    assert links["Add todo to investigations"] == f"/queues/{investigations}/todos?from=%2F"


def test_queues_of_one_name_are_told_apart_by_their_owner(
    browser: Seat, make: Make, ana: Human
) -> None:
    first, second = (make.endpoint(ana, queues=("inbox",)) for _ in range(2))
    number = make.queue_id(first, "inbox")
    make.policy(number, max_in_flight=3)
    for _ in range(21):
        make.todo(second, "inbox")

    page = board(browser(ana))

    assert heard(page, number).startswith(f"inbox of {first.slug}: admitting, ")
    assert by_id(page, f"q-{number}-edit").get("aria-label") == (
        f"Edit budget for inbox of {first.slug}")
    links = {squeezed(each.text): each.get("href") for each in page.all("a")}
    assert links[f"All 21 pending todos of inbox of {second.slug}"] == (
        f"/todos?queue={make.queue_id(second)}&state=pending")


def test_nobody_sees_what_belongs_to_another(browser: Seat, make: Make, ana: Human) -> None:
    theirs = make.endpoint(make.human("Ben"), queues=("secret-lane",))
    make.policy(make.queue_id(theirs, "secret-lane"), max_in_flight=0)
    make.todo(theirs, "secret-lane", title="secret work")

    page = browser(ana).get("/").text

    assert "secret" not in page
    assert theirs.slug not in page


def test_a_member_sees_a_teams_header_without_its_control_until_they_leave(
    browser: Seat, make: Make, ana: Human
) -> None:
    team = make.team("night")
    triage = make.team_queue(team, "triage")
    make.policy(triage, max_in_flight=2)
    make.todo(queue=triage)
    make.member(team, ana)
    chief = make.human()
    make.member(team, chief, "admin")
    seat = browser(ana)

    page = board(seat)
    make.remove_member(team, ana)

    assert seen(page, triage) == "Admitting no limit on claims · 0 of 2 in flight"
    assert not has_id(page, f"q-{triage}-edit")
    assert has_id(board(browser(chief)), f"q-{triage}-edit")
    assert "night" not in seat.get("/").text


def test_a_revoked_endpoints_queue_is_shown_without_a_control(
    browser: Seat, make: Make, ana: Human
) -> None:
    lane = make.endpoint(ana, expires_at=make.now())
    number = make.queue_id(lane)
    make.policy(number, max_in_flight=2)
    dead = make.todo(lane, state="failed", attempt=5)

    page = board(browser(ana))

    assert (("h2", f"Endpoint {lane.slug}, revoked")) in headings(page)
    assert seen(page, number) == (
        "no limit on claims · 0 of 2 in flight"
        " the endpoint is revoked or has expired, so no agent can claim")
    assert has_id(page, f"todo-{dead}-link")
    assert not has_id(page, f"todo-{dead}-retry")  # it would be refused
    assert "dmitting" not in page.all("main")[0].text
    assert not any("Add todo to" in link.text for link in page.all("a"))  # it would be refused
    assert has_id(page, f"q-{number}-live")
    assert not has_id(page, f"q-{number}-edit")


def test_live_updates_can_be_paused_before_the_first_queue(
    browser: Seat, make: Make, clock: Clock, ana: Human, lane: Endpoint
) -> None:
    clock.set("2026-11-30T10:43:00Z")
    seat = browser(ana)

    going = seat.get("/").text
    make.run("update sessions set live_paused_at = '2026-11-30T10:42:00Z'")
    resting = seat.get("/").text

    assert 'action="/live/pause"' in going
    assert re.search(r'id="pause"[^>]*>Pause live updates<', going)
    assert going.index('id="pause"') < going.index("<h3")
    assert 'action="/live/resume"' in resting
    assert re.search(r'id="pause"[^>]*>Resume live updates<', resting)
    assert "Live updates paused at 10:42 UTC" in resting


def test_a_name_is_shown_as_text_whatever_it_holds(
    browser: Seat, make: Make
) -> None:
    ana = make.human("<script>alert(1)</script>")
    lane = make.endpoint(ana, queues=("<img src=x>",))
    make.policy(make.queue_id(lane, "<img src=x>"), max_in_flight=1)
    make.todo(lane, "<img src=x>", title="<b onclick=x()>")

    page = browser(ana).get("/").text

    assert "<script>alert" not in page
    assert "<img src=x" not in page
    assert "<b onclick" not in page
    assert "&lt;img src=x&gt;" in page


def test_a_persons_theme_is_in_the_page(browser: Seat, make: Make, ana: Human) -> None:
    make.run("update humans set theme = 'dark'")

    assert 'data-theme="dark"' in browser(ana).get("/").text


def test_a_moment_without_a_zone_is_said_in_utc() -> None:
    moment = datetime(2026, 9, 3, 5, 6, 7, tzinfo=UTC)

    said = present.instant(moment, None)

    assert said == present.Instant(machine="2026-09-03T05:06:07Z", words="3 Sep 2026, 05:06 UTC")
    assert present.instant(None, None) is None
