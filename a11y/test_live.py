"""A page that updates itself: what it says, what it leaves alone, and how it stops."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Page, expect

from a11y.support import say
from a11y.support.browser import Visit
from a11y.support.site import serving
from app.db.database import Database
from app.db.listener import Listener
from app.domain.callers import Endpoint, Human
from tests.support.events import Events
from tests.support.make import Make, QueueId, TodoId
from tests.support.wait import wait_for

pytestmark = pytest.mark.req("REQ-11")

Start = Callable[..., Visit]
LOST, AGAIN = "Live updates lost, retrying", "Live again"
NOON = datetime(2026, 3, 10, 12, tzinfo=UTC)
COUNT = """
  window.opened = 0
  document.addEventListener('htmx:sseOpen', () => { window.opened += 1 })
"""
HIDE = """
  hidden => {
    Object.defineProperty(document, 'hidden', {configurable: true, get: () => hidden})
    document.dispatchEvent(new Event('visibilitychange'))
  }
"""


@dataclass
class Scene:
    """A site whose person owns one queue with a budget of 100 a day, 5 at once."""

    url: str
    db: Database
    make: Make
    human: Human
    lane: Endpoint
    inbox: QueueId
    policy: object
    session: str
    requests: list[str] = field(default_factory=list)
    person: Visit | None = None

    def tell(self) -> None:
        """What a process does after a commit."""
        self.db.feed.changed(self.inbox)

    def use(self, used: int) -> None:
        """So many units of today are spent."""
        self.make.run(
            "insert into admission_windows (policy_id, window_start, used, limit_at_last_charge)"
            " values (%s, date_trunc('day', clock(), 'UTC'), %s, 100)"
            " on conflict (policy_id, window_start) do update set used = excluded.used",
            self.policy, used)
        self.tell()

    def todo(self, title: str) -> TodoId:
        made = self.make.todo(self.lane, title=title)
        self.tell()
        return made

    def remove(self, todo: TodoId) -> None:
        self.make.run("delete from todos where id = %s", str(todo))
        self.tell()

    def enter(self, visit: Start, path: str = "/", *, has_clock: bool = False) -> Page:
        """The person's page, once its stream is open."""
        page = self.visit(visit, path, has_clock=has_clock)
        until_live(page)
        return page

    def visit(
        self, visit: Start, path: str = "/", *, has_clock: bool = False, is_cut: bool = False,
        **settings: object
    ) -> Page:
        """The person's page; its clock is the test's with `has_clock`, `is_cut` has no stream."""
        person = visit(self.url, **settings)
        person.sign_in(self.session)
        person.listen()
        person.context.add_init_script(COUNT)
        person.context.on("request", lambda request: self.requests.append(request.url))
        self.person = person
        if not has_clock:
            return person.open(path)
        page = person.context.new_page()
        page.clock.install(time=NOON)
        page.clock.pause_at(NOON + timedelta(seconds=1))  # else it would also run by itself
        if is_cut:
            page.route("**/events*", lambda route: route.abort())
        page.goto(self.url + path)
        return page

    def streams(self) -> list[str]:
        """The streams asked for so far."""
        return [url for url in self.requests if "/events" in url]


@pytest.fixture
def scene(db: Database, listener: Listener, make: Make) -> Iterator[Scene]:
    ana = make.human("Ana")
    lane = make.endpoint(ana, name="lane m")
    inbox = make.queue_id(lane)
    policy = make.policy(inbox, max_in_flight=5, max_claims_per_window=100)
    with serving(db, listener) as url:
        yield Scene(url, db, make, ana, lane, inbox, policy, make.session(ana))


def until_live(page: Page, times: int = 1) -> None:
    """Returns once the page's stream has been opened so often."""
    page.wait_for_function("times => window.opened >= times", arg=times)


def said(page: Page) -> list[str]:
    """What the page announced about the stream itself."""
    return [utterance.said for utterance in say.heard(page, region="live")]


def seen(scene: Scene, page: Page, words: str) -> None:
    """Waits until the visible layer says it."""
    expect(page.locator(f"#q-{scene.inbox}-live .figures")).to_contain_text(words)


def focused(page: Page) -> str:
    return str(page.evaluate("() => document.activeElement.id"))


def test_ticks_are_seen_and_not_heard_and_an_alarm_is_one_sentence(
    visit: Start, scene: Scene
) -> None:
    scene.use(90)
    page = scene.enter(visit)
    region = page.locator(f"#q-{scene.inbox}-live")
    region.evaluate("region => { region.isTheSame = true }")
    page.locator(f"#q-{scene.inbox}-now").focus()

    for used in range(91, 100):  # with the alarm after them, ten swaps
        scene.use(used)
        seen(scene, page, f"{used} of 100 used")
        expect(page.locator(f"#q-{scene.inbox}-fig")).to_contain_text(f"{used} of 100 used")
    assert say.heard(page) == []
    scene.use(100)
    say.wait_for(page, "budget used up")

    (utterance,) = say.heard(page)
    assert utterance.said.startswith("inbox: budget used up, 100 of 100 used, 0 of 5 in flight")
    assert utterance.flags == ()
    expect(page.locator(f"#q-{scene.inbox}-fig")).to_have_text("100 of 100 used, 0 of 5 in flight")
    assert region.evaluate("region => region.isTheSame")
    assert region.locator(".vh").evaluate(
        "one => one.childNodes.length === 1 && one.firstChild.nodeType === Node.TEXT_NODE")
    assert focused(page) == f"q-{scene.inbox}-now"
    assert scene.person is not None
    scene.person.assert_clean()


def test_a_budget_cleared_or_added_elsewhere_shows_and_is_said_in_place(
    visit: Start, scene: Scene
) -> None:
    scene.use(100)
    page = scene.enter(visit)
    now, edit = (page.locator(f"#q-{scene.inbox}-{part}") for part in ("now", "edit"))
    region = page.locator(f"#q-{scene.inbox}-live")
    region.evaluate("region => { region.isTheSame = true }")
    now.focus()

    scene.make.run("delete from admission_policies")
    scene.tell()
    expect(region.locator(".tag")).to_have_count(0, timeout=2_000)
    expect(now).to_be_hidden()
    assert focused(page) == f"q-{scene.inbox}-page"
    expect(edit).to_have_accessible_name("Add budget for inbox")
    say.wait_for(page, "inbox: no budget")
    edit.focus()
    scene.make.policy(scene.inbox, max_in_flight=0)
    scene.tell()
    say.wait_for(page, "inbox: paused")
    expect(region.locator(".tag")).to_have_text("Paused")
    expect(now).to_contain_text("0 in flight")
    expect(edit).to_have_accessible_name("Edit budget for inbox")

    assert [one.said.partition(",")[0] for one in say.heard(page)] == [
        "inbox: no budget", "inbox: paused"]
    assert focused(page) == f"q-{scene.inbox}-edit"
    assert region.evaluate("region => region.isTheSame")
    assert scene.person is not None
    scene.person.assert_clean()


def test_a_paused_page_asks_nothing_and_stays_as_it_is(visit: Start, scene: Scene) -> None:
    page = scene.enter(visit)

    page.get_by_role("button", name="Pause live updates").click()
    expect(page.locator("#live-since")).to_contain_text("Live updates paused at ")
    expect(page.locator("#pause")).to_be_focused()
    page.goto(scene.url + "/help")
    page.goto(scene.url)
    scene.requests.clear()
    before = page.locator("main").inner_html()
    scene.use(50)
    scene.todo("unseen")
    page.wait_for_timeout(5_000)  # B6: nothing is to happen, so nothing can be waited for

    assert [url for url in scene.requests if "/static/" not in url] == []
    assert page.locator("main").inner_html() == before
    page.get_by_role("button", name="Resume live updates").click()
    seen(scene, page, "50 of 100 used")
    expect(page.locator("#pause")).to_be_focused()
    until_live(page)


def test_pausing_needs_no_script(visit: Start, scene: Scene) -> None:
    page = scene.visit(visit, java_script_enabled=False)

    page.get_by_role("button", name="Pause live updates").click()
    expect(page.locator("#live-since")).to_contain_text("Live updates paused at ")
    assert page.url.endswith("/#pause")
    page.get_by_role("button", name="Resume live updates").click()

    expect(page.get_by_role("button", name="Pause live updates")).to_be_visible()
    assert scene.streams() == []


def test_a_card_that_vanishes_under_the_focus_stays_until_the_focus_leaves(
    visit: Start, scene: Scene
) -> None:
    first, second = scene.todo("first"), scene.todo("second")
    page = scene.enter(visit)
    link = page.locator(f"#todo-{first}-link")
    link.focus()

    scene.remove(first)
    third = scene.todo("third")
    expect(page.locator(f"#todo-{third}")).to_be_visible()
    expect(page.locator(f"#todo-{first}")).to_contain_text("No longer in this list")

    assert focused(page) == f"todo-{first}-link"
    expect(page.locator(f"#q-{scene.inbox}-cards > li").first).to_have_id(f"todo-{first}")
    page.locator(f"#todo-{second}-link").focus()
    expect(page.locator(f"#todo-{first}")).to_have_count(0)
    assert focused(page) == f"todo-{second}-link"


def test_a_link_that_vanishes_under_the_focus_hands_it_to_the_next_and_at_last_to_the_queue(
    visit: Start, scene: Scene
) -> None:
    dead = scene.make.todo(scene.lane, state="failed", attempt=5, title="dead")
    page = scene.enter(visit)
    add, letters = (page.locator(f"#q-{scene.inbox}-{part}") for part in (
        "add", "all-failed-link"))  # fmt: skip
    letters.focus()

    scene.remove(dead)
    expect(letters).to_have_count(0)
    expect(page.locator(f"#q-{scene.inbox}-add")).to_be_focused()

    scene.make.todo(scene.lane, state="failed", attempt=5, title="another")
    scene.tell()
    expect(letters).to_have_text("1 dead letter of inbox")
    # And not on what stands there now.
    expect(page.locator(f"#q-{scene.inbox}-add")).to_be_focused()

    scene.make.run("delete from todos")
    scene.make.run("update endpoints set state = 'revoked', revoked_at = clock()")
    scene.tell()
    expect(add).to_have_count(0)
    expect(page.locator(f"#q-{scene.inbox}-page")).to_be_focused()


def test_a_button_that_vanishes_under_the_focus_leaves_it_on_its_card(
    visit: Start, scene: Scene
) -> None:
    todo = scene.todo("first")
    page = scene.enter(visit)
    page.locator(f"#todo-{todo}-claim").focus()

    scene.make.run(
        "update todos set state = 'claimed', lease_expires_at = clock() + interval '1 hour',"
        " owner = 'agent:x', attempt = 1, claimed_at = clock() where id = %s", str(todo))
    scene.tell()
    expect(page.locator(f"#todo-{todo}")).to_contain_text("claimed")

    assert focused(page) == f"todo-{todo}-link"


def test_a_chip_appears_and_disappears_without_moving_the_focus(
    visit: Start, scene: Scene
) -> None:
    todo = scene.todo("first")
    page = scene.enter(visit)
    page.locator(f"#todo-{todo}-claim").focus()
    chip = page.locator(f"#todo-{todo}-chip")

    scene.use(100)
    expect(chip).to_contain_text("deferred · budget · eligible")
    assert focused(page) == f"todo-{todo}-claim"
    scene.use(0)
    expect(chip).to_have_count(0)

    assert focused(page) == f"todo-{todo}-claim"


@pytest.mark.parametrize("busy", ["selection", "checkbox", "details"])
def test_changes_of_a_list_wait_while_the_reader_is_busy_in_it(
    visit: Start, scene: Scene, busy: str
) -> None:
    gone, _ = scene.todo("going"), scene.todo("staying")
    page = scene.enter(visit)
    begin, end = BUSY[busy]
    page.evaluate(begin, f"todo-{gone}")
    scene.remove(gone)
    new = [scene.todo("new one"), scene.todo("new two")]
    expect(page.locator(f"#q-{scene.inbox}-held")).to_have_text("3 changes waiting")
    expect(page.locator(f"#todo-{gone}")).to_be_visible()
    expect(page.locator(f"#q-{scene.inbox}-todos")).to_have_text("3 pending")

    page.evaluate(end)

    expect(page.locator(f"#todo-{gone}")).to_have_count(0)
    for todo in new:
        expect(page.locator(f"#todo-{todo}")).to_be_visible()
    expect(page.locator(f"#q-{scene.inbox}-held")).to_have_count(0)


# The board has no checkbox and no menu in its sections yet; these stand in for one.
_PLANT = "id => { document.getElementById(id).insertAdjacentHTML('beforeend', %r) }"
BUSY = {
    "selection": (
        "id => { document.getSelection().selectAllChildren(document.getElementById(id)) }",
        "() => document.getSelection().removeAllRanges()"),
    "checkbox": (
        _PLANT % "<input type=checkbox id=planted checked aria-label=x>",
        "() => document.getElementById('planted').click()"),
    "details": (
        _PLANT % "<details id=planted open><summary>x</summary></details>",
        "() => { document.getElementById('planted').open = false }"),
}


def test_a_stream_that_is_lost_is_said_after_ten_seconds_and_once_and_so_is_its_return(
    visit: Start, scene: Scene
) -> None:
    page = scene.visit(visit, has_clock=True, is_cut=True)

    page.clock.run_for(9_900)
    assert said(page) == []
    page.clock.run_for(200)
    assert said(page) == [LOST]
    page.clock.run_for(120_000)
    assert said(page) == [LOST]
    scene.use(40)
    page.unroute("**/events*")
    page.clock.run_for(120_000)
    until_live(page)

    seen(scene, page, "40 of 100 used")
    assert said(page) == [LOST, AGAIN]


def test_a_database_that_was_away_is_caught_up_with(visit: Start, scene: Scene) -> None:
    page = scene.enter(visit)
    scene.make.run("alter table sessions rename to sessions_away")
    scene.tell()
    page.wait_for_timeout(1_500)  # by now the stream has ended, and its retry is yet to come
    scene.make.run("alter table sessions_away rename to sessions")
    scene.use(70)
    todo = scene.todo("meanwhile")

    until_live(page, 2)

    seen(scene, page, "70 of 100 used")
    expect(page.locator(f"#todo-{todo}")).to_be_visible()
    assert said(page) == []


@pytest.mark.rule("accessibility.md B14")
def test_over_the_cap_the_page_says_so_once_and_does_not_storm(
    visit: Start, scene: Scene
) -> None:
    streams = [Events(scene.url, scene.session) for _ in range(4)]
    for stream in streams:
        stream.named("live")
    page = scene.visit(visit, has_clock=True)
    expect(page.locator("#live")).to_contain_text("Live updates are off")

    page.clock.run_for(59_000)
    assert len(scene.streams()) == 1
    page.clock.run_for(40_000)
    wait_for(lambda: page.evaluate("1") and len(scene.streams()) == 2)
    assert len(said(page)) == 1
    for stream in streams:
        stream.close()
    wait_for(lambda: page.clock.run_for(95_000) or page.evaluate("window.opened"), 20)

    assert said(page)[1:] == [AGAIN]
    assert scene.person is not None
    scene.person.assert_clean()


def test_an_ended_session_ends_the_stream_in_words_with_a_way_back(
    visit: Start, scene: Scene
) -> None:
    page = scene.enter(visit, has_clock=True)

    scene.make.run("delete from sessions")
    expect(page.locator("#live")).to_contain_text("You are signed out", timeout=10_000)

    page.clock.run_for(300_000)
    assert len(said(page)) == 1
    assert len(scene.streams()) == 1
    page.locator("#live").get_by_role("link", name="Sign in").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Sign in")


def test_eight_tabs_of_one_browser_all_load_and_take_turns(visit: Start, scene: Scene) -> None:
    """Headless pages all count as visible, which is the worst that can happen."""
    person = visit(scene.url)
    person.sign_in(scene.session)
    person.context.add_init_script(COUNT)

    tabs = [person.open("/") for _ in range(8)]

    for tab in tabs[:4]:
        until_live(tab)
    for tab in tabs[4:]:
        expect(tab.locator("#live")).to_contain_text("Live updates are off")
    scene.use(30)
    for tab in tabs[:4]:
        seen(scene, tab, "30 of 100 used")
    for tab in tabs[:4]:
        tab.evaluate(HIDE, arg=True)
    wait_for(lambda: sum(tab.evaluate("window.opened") for tab in tabs[4:]) == 4)
    expect(tabs[7].locator("#live")).to_contain_text(AGAIN)
    person.assert_clean()


def test_a_page_that_was_hidden_is_current_when_it_is_seen_again(
    visit: Start, scene: Scene
) -> None:
    page = scene.enter(visit)
    page.evaluate(HIDE, arg=True)
    scene.use(100)
    todo = scene.todo("meanwhile")
    page.wait_for_timeout(1_500)
    expect(page.locator(f"#q-{scene.inbox}-live .figures")).to_contain_text("0 of 100 used")

    page.evaluate(HIDE, arg=False)

    seen(scene, page, "100 of 100 used")
    expect(page.locator(f"#todo-{todo}")).to_be_visible()
    say.wait_for(page, "budget used up")
    (utterance,) = say.heard(page)
    assert utterance.region == f"q-{scene.inbox}-live"


def test_a_queue_that_is_new_is_told_of_and_not_put_under_the_reader(
    visit: Start, scene: Scene
) -> None:
    page = scene.enter(visit)

    other = scene.make.queue_id(scene.make.endpoint(scene.human, queues=("night",)), "night")
    scene.db.feed.changed(other)
    expect(page.locator("#live-changed")).to_contain_text("The queues on this page have changed")

    expect(page.get_by_role("heading", level=3)).to_have_count(1)
    page.get_by_role("link", name="Load the page again").click()
    expect(page.get_by_role("heading", level=3)).to_have_count(2)


@pytest.mark.parametrize("path", ["/todos", "/queues/{}"])
def test_every_page_with_a_header_is_live(visit: Start, scene: Scene, path: str) -> None:
    page = scene.enter(visit, path.format(scene.inbox))

    scene.use(100)

    seen(scene, page, "100 of 100 used")
    say.wait_for(page, "budget used up")
    assert len(say.heard(page)) == 1
    assert scene.person is not None
    scene.person.assert_clean()
