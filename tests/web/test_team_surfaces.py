"""Teams on the pages there were before them: who sees, who works, who sets up, and who nothing."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from werkzeug.test import TestResponse

from app.domain.callers import Endpoint, Human
from app.domain.verbs import ADMISSION
from tests.support import page
from tests.support.client import Browser
from tests.support.make import Make, QueueId, Team
from tests.web.test_vend import TYPED, hidden, walk

pytestmark = pytest.mark.rule("identity.md: Teams")
Seat = Callable[..., Browser]
VEND = "/endpoints/vend"


@dataclass(frozen=True, slots=True, kw_only=True)
class Crew:
    """A team with a queue under a budget, one person of each role, and one of another team."""

    team: Team
    triage: QueueId
    boss: Human
    chief: Human
    hand: Human
    stranger: Human
    other: Team
    others: QueueId


@pytest.fixture
def crew(make: Make) -> Crew:
    """The team `night`."""
    team, other = make.team("night"), make.team("day")
    boss, chief, hand, stranger = (make.human(name) for name in ("Boss", "Chief", "Hand", "Eve"))
    for human, role in ((boss, "owner"), (chief, "admin"), (hand, "member")):
        make.member(team, human, role)
    make.member(other, stranger, "owner")
    triage = make.team_queue(team, "triage")
    make.policy(triage, max_in_flight=5, max_claims_per_window=100, human=boss)
    return Crew(team=team, triage=triage, boss=boss, chief=chief, hand=hand, stranger=stranger,
                other=other, others=make.team_queue(other, "triage"))  # fmt: skip


def text(answer: TestResponse) -> str:
    """The words of a page, without markup and runs of space."""
    main = next(element for element in page.parse(answer.text).elements if element.tag == "main")
    return " ".join(main.text.split())


def links(answer: TestResponse) -> dict[str, str]:
    """Where each link of a page leads, by its text."""
    return {" ".join(a.text.split()): str(a.get("href")) for a in page.parse(answer.text).all("a")}


def choices(answer: TestResponse, name: str) -> list[str]:
    """The values a field of that name offers: options of a select, or radio buttons."""
    shown = page.parse(answer.text)
    radios = [each for each in shown.all("input") if each.get("name") == name]
    lists = [each for each in shown.all("select") if each.get("name") == name]
    options = [each for each in shown.all("option") if any(one in each.inside for one in lists)]
    return [str(each.get("value")) for each in [*radios, *options]]


# --- vending for a team --------------------------------------------------------------------------


def test_the_wizard_offers_the_teams_one_may_vend_for_and_no_other(
    browser: Seat, make: Make, crew: Crew
) -> None:
    offered = {human.display_name: choices(browser(human).get(f"{VEND}/agent"), "owner")
               for human in (crew.boss, crew.chief, crew.hand, crew.stranger)}  # fmt: skip
    make.run("update teams set suspended_at = clock() where slug = 'night'")
    offered["suspended"] = choices(browser(crew.boss).get(f"{VEND}/agent"), "owner")

    assert offered == {"Boss": ["me", "night"], "Chief": ["me", "night"], "Hand": [],
                       "Eve": ["me", "day"], "suspended": []}  # fmt: skip


def test_an_admin_vends_for_the_team_and_stays_accountable(
    browser: Seat, make: Make, crew: Crew
) -> None:
    seat = browser(crew.chief)
    walk(seat, "verbs")
    seat.post(f"{VEND}/verbs", {"drain": ["claim"], "limits": [ADMISSION[0]]})
    for step in ("webhook", "lifetime"):
        seat.post(f"{VEND}/{step}", TYPED[step])
    own = text(seat.get(f"{VEND}/confirm"))
    seat.post(f"{VEND}/agent?review=1", {**TYPED["agent"], "owner": "night"})
    review = seat.get(f"{VEND}/confirm")
    kept = seat.get(f"{VEND}/agent?review=1")

    shown = seat.get(seat.post(f"{VEND}/confirm", hidden(review)).headers["Location"])

    assert "Owner You." in own
    assert "change its own budget" in own
    assert "that it drains too" not in own
    assert "This covers the queues of team night that it drains too." in text(review)
    assert "Owner Team night: its admins and owners can change and revoke" in text(review)
    assert links(review)["Change the owner"] == f"{VEND}/agent?review=1"
    assert [box.get("value") for box in page.parse(kept.text).all("input")
            if box.get("name") == "owner" and "checked" in box.attributes] == ["night"]
    assert shown.status_code == 200
    assert make.rows("select a.owner_team_id, a.owner_human_id, e.vended_by_human_id from agents a"
                     " join endpoints e on e.agent_id = a.id") == [
                         (crew.team.id, None, crew.chief.id)]


def test_a_team_one_may_not_vend_for_is_refused_like_one_that_does_not_exist(
    browser: Seat, make: Make, crew: Crew
) -> None:
    answers = []
    for human, slug in ((crew.hand, "night"), (crew.chief, "day"), (crew.chief, "nowhere")):
        answer = browser(human).post(f"{VEND}/agent", {"name": "m", "owner": slug})
        answers.append((answer.status_code, "Choose yourself, or a team" in answer.text))

    assert answers == [(422, True)] * 3
    assert make.value("select count(*) from drafts") == 0


@pytest.mark.parametrize("loses", ["role", "membership"])
def test_who_lost_the_team_before_confirming_vends_nothing_and_may_choose_again(
    browser: Seat, make: Make, crew: Crew, loses: str
) -> None:
    seat = browser(crew.chief)
    walk(seat, "confirm")
    seat.post(f"{VEND}/agent?review=1", {"name": "lane m", "owner": "night"})
    reviewed = hidden(seat.get(f"{VEND}/confirm"))
    make.remove_member(crew.team, crew.chief)
    if loses == "role":
        make.member(crew.team, crew.chief)

    refused = seat.post(f"{VEND}/confirm", reviewed)
    seat.post(f"{VEND}/agent?review=1", {"name": "lane m", "owner": "me"})
    vended = seat.post(f"{VEND}/confirm", hidden(seat.get(f"{VEND}/confirm")))

    assert refused.status_code == 409
    assert "You may not vend for team" in refused.text
    assert vended.headers["Location"].startswith("/endpoints/shown/")
    assert make.rows("select owner_team_id, owner_human_id from agents") == [(None, crew.chief.id)]


def test_a_review_read_before_the_owner_changed_vends_nothing(
    browser: Seat, make: Make, crew: Crew
) -> None:
    seat = browser(crew.chief)
    walk(seat, "confirm")
    reviewed = hidden(seat.get(f"{VEND}/confirm"))
    seat.post(f"{VEND}/agent?review=1", {"name": "lane m", "owner": "night"})

    assert seat.post(f"{VEND}/confirm", reviewed).status_code == 409
    assert make.value("select count(*) from agents") == 0


# --- the team queues an endpoint drains ----------------------------------------------------------


def at(endpoint: Endpoint, below: str = "") -> str:
    """The address of an endpoint's page, or of its team queues."""
    return f"/endpoints/{endpoint.id}{below}"


def grants(make: Make) -> list[tuple[object, ...]]:
    """Every grant there is."""
    return make.rows("select endpoint_id, queue_id from endpoint_team_grants order by 1, 2")


def test_a_member_grants_a_team_queue_to_an_own_endpoint_and_takes_it_away(
    browser: Seat, make: Make, crew: Crew
) -> None:
    lane, seat = make.endpoint(crew.hand, name="lane m"), browser(crew.hand)
    empty = seat.get(at(lane))

    for _ in range(2):
        granted = seat.post(at(lane, "/team-queues"), {"team_queue": str(int(crew.triage))})
        assert granted.headers["Location"] == at(lane) + "#team-queues"
    drains = seat.get(at(lane))
    held = make.todo(queue=crew.triage, state="claimed", holder=lane, title="Held")
    remove = links(drains)[f"Take team:night/triage away from {lane.slug}"]
    asked = seat.get(remove)
    before = grants(make)
    removed = [seat.post(remove) for _ in range(2)]

    assert choices(empty, "team_queue") == [str(int(crew.triage))]
    assert "It drains no team queue." in text(empty)
    assert f"{lane.slug} drains team:night/triage now." in drains.text
    assert "It drains every team queue that you may grant it." in text(drains)
    assert "1 todo of it that" in text(asked)
    assert before == [(lane.id, int(crew.triage))]
    assert [answer.headers["Location"] for answer in removed] == [at(lane) + "#team-queues"] * 2
    assert grants(make) == []
    assert make.rows("select state, owner, attempt from todos where id = %s", held) == [
        ("pending", None, 1)]  # fmt: skip
    assert "does not drain" in seat.get(seat.get(remove).headers["Location"]).text


def test_a_grant_says_when_it_lets_an_agent_change_the_budget_of_the_teams_queue(
    browser: Seat, make: Make, crew: Crew
) -> None:
    """Only a team's endpoint with such a verb can (identity.md, "Who may configure a policy")."""
    limits = ("claim", *ADMISSION)
    endpoints = [make.endpoint(crew.chief, crew.team, verbs=limits),
                 make.endpoint(crew.chief, verbs=limits), make.endpoint(crew.chief, crew.team)]

    pages = [text(browser(crew.chief).get(at(endpoint))) for endpoint in endpoints]

    assert ["can then change that queue's budget too" in said for said in pages] == [
        True, False, False]
    assert all("may then claim its todos" in said for said in pages)


def test_what_may_be_granted_follows_the_owner_of_the_endpoint(
    browser: Seat, make: Make, crew: Crew
) -> None:
    """An own endpoint reaches every team of its owner; a team's reaches that team alone."""
    make.member(crew.other, crew.chief)
    own, shared = make.endpoint(crew.chief), make.endpoint(crew.boss, crew.team)
    alien = make.endpoint(crew.stranger, crew.other)
    seat = browser(crew.chief)

    offered = {lane.slug: choices(seat.get(at(lane)), "team_queue")
               for lane in (own, shared, alien)}  # fmt: skip
    outside = seat.post(at(shared, "/team-queues"), {"team_queue": str(int(crew.others))})
    made = seat.post(at(shared, "/team-queues"), {"team_queue": str(int(crew.triage))})

    assert offered == {own.slug: [str(int(crew.others)), str(int(crew.triage))],
                       shared.slug: [str(int(crew.triage))], alien.slug: []}  # fmt: skip
    assert outside.status_code == 422
    assert "Choose one of the team queues that you may grant." in outside.text
    assert made.status_code == 303
    assert grants(make) == [(shared.id, int(crew.triage))]


def test_a_plain_member_sees_what_a_teams_endpoint_drains_and_changes_nothing(
    browser: Seat, make: Make, crew: Crew
) -> None:
    shared = make.endpoint(crew.boss, crew.team)
    make.grant(shared, crew.triage)
    member, admin = browser(crew.hand), browser(crew.chief)
    below = f"/team-queues/{int(crew.triage)}/remove"

    seen, managed = member.get(at(shared)), admin.get(at(shared))
    answers = [member.post(at(shared, "/team-queues"), {"team_queue": str(int(crew.triage))}),
               member.get(at(shared, below)), member.post(at(shared, below))]  # fmt: skip

    assert links(seen)["team:night/triage"] == f"/queues/{int(crew.triage)}"
    assert "Take team:night/triage away" not in seen.text
    assert f"Take team:night/triage away from {shared.slug}" in links(managed)
    assert [answer.status_code for answer in answers] == [404] * 3
    assert grants(make) == [(shared.id, int(crew.triage))]
    assert browser(crew.stranger).get(at(shared)).status_code == 404


@pytest.mark.parametrize("queue", ["foreign", "unknown", "malformed"])
def test_a_queue_out_of_reach_reads_like_one_that_does_not_exist(
    browser: Seat, make: Make, crew: Crew, queue: str
) -> None:
    lane, seat = make.endpoint(crew.hand), browser(crew.hand)
    number = {"foreign": str(int(crew.others)), "unknown": "999999999",
              "malformed": f"+{int(crew.triage)}"}[queue]  # fmt: skip

    posted = seat.post(at(lane, "/team-queues"), {"team_queue": number})
    asked = seat.get(at(lane, f"/team-queues/{number}/remove"))
    removed = seat.post(at(lane, f"/team-queues/{number}/remove"))

    assert (posted.status_code, asked.status_code, removed.status_code) == (422, 404, 404)
    assert "Choose one of the team queues that you may grant." in posted.text
    assert grants(make) == []


def test_a_revoked_endpoint_keeps_what_it_drained_and_is_granted_nothing(
    browser: Seat, make: Make, crew: Crew
) -> None:
    lane, seat = make.endpoint(crew.hand), browser(crew.hand)
    make.grant(lane, crew.triage)
    make.run("update endpoints set state = 'revoked', revoked_at = clock() where id = %s", lane.id)

    shown = seat.get(at(lane))
    refused = seat.post(at(lane, "/team-queues"), {"team_queue": str(int(crew.triage))})

    assert "team:night/triage" in links(shown)
    assert "Take team:night/triage away" not in shown.text
    assert refused.status_code == 409


# --- webhooks into a team queue ------------------------------------------------------------------


def delivering(make: Make, human: Human, queue: str = "team:night/triage") -> dict[str, object]:
    """What is posted for a webhook of a new endpoint of the human's."""
    return {"endpoint": str(make.endpoint(human).id), "source_type": "generic",
            "target_queue": queue}  # fmt: skip


def known(answer: TestResponse) -> list[str]:
    """The team queues the field of a new webhook suggests."""
    return [queue for each in page.parse(answer.text).all("option")
            if (queue := str(each.get("value"))).startswith("team:")]  # fmt: skip


def test_a_webhook_may_target_a_queue_of_a_team_one_sets_up(
    browser: Seat, make: Make, crew: Crew
) -> None:
    made, offered = {}, {}
    for allows in (False, True):
        make.run("update teams set members_create_webhooks = %s", allows)
        for human in (crew.boss, crew.chief, crew.hand):
            seat, data = browser(human), delivering(make, human)
            offered[human.display_name, allows] = known(seat.get("/webhooks/new"))
            made[human.display_name, allows] = seat.post("/webhooks/new", data).status_code
    seat = browser(crew.stranger)
    foreign = seat.post("/webhooks/new", delivering(make, crew.stranger))
    unknown = seat.post("/webhooks/new", delivering(make, crew.stranger, "team:nowhere/triage"))

    assert made == {("Boss", False): 303, ("Chief", False): 303, ("Hand", False): 422,
                    ("Boss", True): 303, ("Chief", True): 303, ("Hand", True): 303}  # fmt: skip
    assert offered == {key: [] if code == 422 else ["team:night/triage"]
                       for key, code in made.items()}  # fmt: skip
    half = [seat.post("/webhooks/new", delivering(make, crew.stranger, target))
            for target in ("team:", "team:day/")]  # fmt: skip
    assert all("Queue: write a team's queue as team:SLUG/NAME." in text(one) for one in half)
    said = "There is no such queue that you may deliver to."
    assert [(answer.status_code, said in answer.text) for answer in (foreign, unknown)] == [
        (422, True)] * 2  # fmt: skip
    assert known(seat.get("/webhooks/new")) == ["team:day/triage"]


def test_a_webhook_of_a_team_queue_names_it_and_offers_no_route(
    browser: Seat, make: Make, crew: Crew
) -> None:
    hook = make.webhook(make.endpoint(crew.chief, name="lane m"), team_queue=crew.triage)
    make.endpoint(crew.chief)
    seat = browser(crew.chief)
    listed, shown = seat.get("/webhooks"), seat.get(f"/webhooks/{hook.id}")
    make.run("update teams set slug = 'dusk' where slug = 'night'")
    renamed = seat.get("/webhooks")
    make.remove_member(crew.team, crew.chief)
    left = [seat.get("/webhooks"), seat.get(f"/webhooks/{hook.id}")]

    assert links(listed)["team:night/triage"] == f"/queues/{int(crew.triage)}"
    assert "Every delivery becomes one todo of the team, in team:night/triage." in text(shown)
    assert "Add the route" not in shown.text
    assert "team:dusk/triage" in links(renamed)
    for answer in left:
        assert "out of your reach, and deliveries make no todo" in answer.text
        assert "Every delivery becomes one todo" not in answer.text
        assert "dusk" not in answer.text
        assert f"/queues/{int(crew.triage)}" not in answer.text


def test_the_webhooks_of_a_teams_endpoint_are_its_admins_to_set_up(
    browser: Seat, make: Make, crew: Crew
) -> None:
    hook = make.webhook(make.endpoint(crew.boss, crew.team))
    people = (crew.boss, crew.chief, crew.hand, crew.stranger)

    seen = {human.display_name: browser(human).get(f"/webhooks/{hook.id}").status_code
            for human in people}  # fmt: skip
    hosts = {human.display_name: len(choices(browser(human).get("/webhooks/new"), "endpoint"))
             for human in people}  # fmt: skip

    assert seen == {"Boss": 200, "Chief": 200, "Hand": 404, "Eve": 404}
    assert hosts == {"Boss": 1, "Chief": 1, "Hand": 0, "Eve": 0}


# --- the board, the queue's page, budgets ---------------------------------------------------------


def has(answer: TestResponse, id_: str) -> bool:
    """Whether an element of that id stands on the page."""
    return any(element.get("id") == id_ for element in page.parse(answer.text).elements)


@pytest.mark.rule("identity.md: Who may configure a policy")
def test_on_the_board_a_member_works_and_an_admin_sets_up_and_discards(
    browser: Seat, make: Make, crew: Crew
) -> None:
    number, lane = int(crew.triage), make.endpoint(crew.boss, crew.team)
    inbox = make.queue_id(lane)
    todo, own = make.todo(queue=crew.triage, title="Ours"), make.todo(lane, title="The lane's")
    boards = {human.display_name: browser(human).get("/")
              for human in (crew.boss, crew.chief, crew.hand, crew.stranger)}  # fmt: skip

    controls = {name: [has(shown, id_) for id_ in (
        f"q-{number}-page", f"todo-{todo}-claim", f"todo-{own}-claim", f"q-{number}-edit",
        f"q-{int(inbox)}-edit", f"todo-{todo}-discard", f"todo-{own}-discard",
    )] for name, shown in boards.items()}  # fmt: skip
    adds = {name: [f"Add todo to {queue}" in shown.text for queue in ("team:night/triage", "inbox")]
            for name, shown in boards.items()}  # fmt: skip

    everything, work = [True] * 7, [True] * 3 + [False] * 4
    assert controls == {"Boss": everything, "Chief": everything, "Hand": work,
                        "Eve": [False] * 7}  # fmt: skip
    assert adds == {"Boss": [True, True], "Chief": [True, True], "Hand": [True, False],
                    "Eve": [False, False]}  # fmt: skip
    for name in ("Boss", "Chief", "Hand"):
        assert links(boards[name])["Team night"] == "/teams/night"
        assert links(boards[name])[f"Endpoint {lane.slug} of team night"] == f"/endpoints/{lane.id}"
        assert "0 of 100 used · 0 of 5 in flight" in text(boards[name])
    assert "night" not in boards["Eve"].text


def test_the_queues_of_a_team_stand_together_under_it(
    browser: Seat, make: Make, crew: Crew
) -> None:
    make.team_queue(crew.team, "alerts")
    lane = make.endpoint(crew.hand, queues=("inbox",))

    shown = page.parse(browser(crew.hand).get("/").text)

    outline = [(each.tag, " ".join(each.text.split())) for each in shown.all("h2", "h3")]
    assert outline == [
        ("h2", f"Endpoint {lane.slug}"), ("h3", "inbox"),
        ("h2", "Team night"), ("h3", "team:night/alerts"), ("h3", "team:night/triage"),
    ]  # fmt: skip


def test_the_page_of_a_team_queue_says_who_may_change_its_budget(
    browser: Seat, make: Make, crew: Crew
) -> None:
    at_queue = f"/queues/{int(crew.triage)}"
    admin, member = browser(crew.chief), browser(crew.hand)
    seen, managed = member.get(at_queue), admin.get(at_queue)
    refused = [member.post(f"{at_queue}/{act}", {"revision": "1"}) for act in ("pause", "resume")]
    paused = admin.post(f"{at_queue}/pause", {"reason": "quiet hour"})
    told = member.get(at_queue)
    resumed = admin.post(f"{at_queue}/resume", {"revision": "2"})

    assert "An admin or owner of the team can change the budget." in text(seen)
    assert "An admin or owner" not in text(managed)
    for answer in (seen, managed):
        assert "people who claim from it, share the budget." in text(answer)
        assert has(answer, f"q-{int(crew.triage)}-add")
    assert (has(seen, f"q-{int(crew.triage)}-pause"), has(managed, f"q-{int(crew.triage)}-pause")
            ) == (False, True)  # fmt: skip
    assert [answer.status_code for answer in [*refused, paused, resumed]] == [404, 404, 303, 303]
    assert "quiet hour" in text(told)
    assert browser(crew.stranger).get(at_queue).status_code == 404


def test_budgets_list_the_team_queues_one_manages(browser: Seat, crew: Crew) -> None:
    shown = {human.display_name: "team:night/triage" in links(browser(human).get("/budgets"))
             for human in (crew.boss, crew.chief, crew.hand, crew.stranger)}  # fmt: skip

    assert shown == {"Boss": True, "Chief": True, "Hand": False, "Eve": False}


# --- todos of a team -----------------------------------------------------------------------------


def test_any_member_adds_and_works_a_todo_of_the_team_and_discards_none(
    browser: Seat, make: Make, crew: Crew
) -> None:
    number, member = int(crew.triage), browser(crew.hand)
    added = member.post(f"/queues/{number}/todos", {"title": "Look", "payload": "", "from": "/"})
    todo = make.value("select id from todos")
    shown = member.get(f"/todos/{todo}")
    claimed = member.post(f"/todos/{todo}/claim")
    failed = member.post(f"/todos/{todo}/fail", {"result": "", "summary": "", "artifact": ""})
    make.run("update todos set next_retry_at = null")
    retried = member.post(f"/todos/{todo}/retry")
    discards = {name: (seat.get(f"/todos/{todo}/discard").status_code,
                       seat.post(f"/todos/{todo}/discard").status_code)
                for name, seat in (("Eve", browser(crew.stranger)), ("Hand", member),
                                   ("Chief", browser(crew.chief)))}  # fmt: skip

    assert [answer.status_code for answer in (added, claimed, failed, retried)] == [303] * 4
    assert links(shown)["night"] == "/teams/night"
    assert discards == {"Eve": (404, 404), "Hand": (403, 403), "Chief": (200, 303)}
    assert browser(crew.stranger).post(
        f"/queues/{number}/todos", {"title": "Look", "payload": ""}).status_code == 404  # fmt: skip


def test_another_members_claim_is_seen_and_not_theirs_to_end(
    browser: Seat, make: Make, crew: Crew
) -> None:
    todo = make.todo(queue=crew.triage, state="claimed", holder=crew.hand, title="Held")
    admin = browser(crew.chief)

    shown = admin.get(f"/todos/{todo}")
    answers = [admin.post(f"/todos/{todo}/{act}").status_code
               for act in ("extend", "release", "complete", "fail")]  # fmt: skip

    assert "Hand" in text(shown)
    assert answers == [409] * 4
    assert make.row(todo)["owner"] == crew.hand.owner


def test_the_list_of_todos_is_narrowed_to_a_team_queue_for_members_alone(
    browser: Seat, make: Make, crew: Crew
) -> None:
    make.todo(queue=crew.triage, title="Ours")
    member, stranger = browser(crew.hand), browser(crew.stranger)

    for query in (f"?queue={int(crew.triage)}", "?queue=team:night/triage", ""):
        assert "Ours" in links(member.get(f"/todos{query}"))
        assert "Ours" not in stranger.get(f"/todos{query}").text
    foreign, unknown = (stranger.get(f"/todos?queue=team:night/{name}")
                        for name in ("triage", "nowhere"))  # fmt: skip
    same = re.sub("night(/|%2F)triage", r"night\1nowhere", foreign.text)
    assert same == unknown.text


def test_who_left_the_team_finds_nothing_of_it_on_any_page(
    browser: Seat, make: Make, crew: Crew
) -> None:
    todo, seat = make.todo(queue=crew.triage, title="Ours"), browser(crew.hand)
    lane, shared = make.endpoint(crew.hand), make.endpoint(crew.boss, crew.team)
    make.grant(lane, crew.triage)
    pages = ("/", "/todos", "/endpoints", "/webhooks", "/webhooks/new", "/budgets", at(lane),
             f"{VEND}/agent")  # fmt: skip
    things = (f"/queues/{int(crew.triage)}", f"/queues/{int(crew.triage)}/todos", f"/todos/{todo}",
              at(shared))  # fmt: skip
    assert [seat.get(path).status_code for path in things] == [200] * 4

    make.remove_member(crew.team, crew.hand)

    for path in pages:
        shown = seat.get(path).text
        assert "night" not in shown, path
        assert "Ours" not in shown, path
    assert [seat.get(path).status_code for path in things] == [404] * 4
    for act in ("claim", "retry"):
        assert seat.post(f"/todos/{todo}/{act}").status_code == 404
