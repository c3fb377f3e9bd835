"""Setting and clearing a policy: what is stored, what is recorded, who may, and who may not."""

from __future__ import annotations

import random
import threading

import pytest

from app.db.database import Database
from app.domain.admission import Admitted, Deferral, Reason
from app.domain.callers import Endpoint, Human
from app.domain.errors import Conflict, Forbidden, InvalidArgument, NotFound
from app.domain.queues import QueueAddress, address_of
from app.domain.values import Json
from app.domain.verbs import ADMISSION, BASICS
from app.reads.budgets import Budget
from app.transactions import policies
from tests.support.feed import RecordingFeed
from tests.support.make import Make
from tests.support.race import all_returned, together

WINDOW: dict[str, Json] = {"period": "day", "tz": "America/Los_Angeles", "start": "00:00"}
DAILY: dict[str, Json] = {"max_claims_per_window": 100, "window": WINDOW}
STORED = ("select max_in_flight, max_claims_per_window, window_period, window_tz, window_start,"
          " window_weekday, revision, deleted_at is null from admission_policies")
AUDIT = ("select action, before, after, reason, actor_human_id, actor_endpoint_id"
         " from admission_policy_audit order by id")
TABLES = ("select queue_id, id, revision, updated_at, updated_by_human_id, max_in_flight,"
          " max_claims_per_window, window_tz, deleted_at from admission_policies")


@pytest.fixture
def ada(make: Make) -> Human:
    return make.human("Ada")


@pytest.fixture
def lane(make: Make, ada: Human) -> Endpoint:
    return make.endpoint(ada, queues=("lane-m", "inbox"))


@pytest.fixture
def at(lane: Endpoint) -> QueueAddress:
    return QueueAddress(f"endpoint:{lane.slug}", "lane-m")


@pytest.fixture
def granted(make: Make, ada: Human) -> Endpoint:
    """An endpoint of Ada's that may change its own budget."""
    return make.endpoint(ada, queues=("lane-m", "inbox"), verbs=(*BASICS, *ADMISSION))


def body(**settings: Json) -> dict[str, Json]:
    """A policy body with every key."""
    return {"max_in_flight": None, "max_claims_per_window": None, "window": None, **settings}


# --- what is stored ------------------------------------------------------------------------------


@pytest.mark.req("REQ-1", "A daily budget")
def test_a_daily_budget_is_stored_and_answered(
    db: Database, make: Make, ada: Human, lane: Endpoint, at: QueueAddress
) -> None:
    saved = policies.save(db, ada, at, DAILY)

    assert (saved.scope, saved.queue) == (f"endpoint:{lane.slug}", "lane-m")
    assert saved.status is not None
    assert saved.status.usage is not None
    assert (saved.status.revision, saved.status.usage.used) == (1, 0)
    assert saved.status.decision == Admitted()
    assert make.rows(STORED) == [
        (None, 100, "day", "America/Los_Angeles", "00:00", None, 1, True)
    ]
    kept = make.rows("select created_by_human_id, updated_by_human_id from admission_policies")
    assert kept == [(ada.id, ada.id)]
    assert make.value("select has_policy from queues where name = 'lane-m'") is True
    assert make.value("select has_policy from queues where name = 'inbox'") is False


@pytest.mark.rule("R36: a write replaces the whole policy")
def test_a_key_left_out_is_taken_away(
    db: Database, make: Make, ada: Human, at: QueueAddress
) -> None:
    policies.save(db, ada, at, {"max_in_flight": 3})

    policies.save(db, ada, at, DAILY)

    assert make.rows(STORED)[0][:2] == (None, 100)


@pytest.mark.rule("R18: a window without a window limit is kept and ignored")
def test_a_window_alone_is_kept(db: Database, make: Make, ada: Human, at: QueueAddress) -> None:
    saved = policies.save(db, ada, at, {"max_in_flight": 3, "window": WINDOW})

    assert make.rows(STORED)[0][2] == "day"
    assert saved.status is not None
    assert saved.status.usage is not None
    assert saved.status.usage.used is None


@pytest.mark.req("REQ-1", "Zero pauses the queue")
@pytest.mark.rule("R17: either zero pauses, however roomy the other limit")
@pytest.mark.parametrize("raw", [
    {"max_in_flight": 0},
    {"max_in_flight": 0, "max_claims_per_window": 100, "window": WINDOW},
    {"max_in_flight": 10, "max_claims_per_window": 0, "window": WINDOW},
])
def test_zero_pauses_a_queue(
    db: Database, ada: Human, at: QueueAddress, raw: dict[str, Json]
) -> None:
    saved = policies.save(db, ada, at, raw)

    assert saved.status is not None
    assert saved.status.decision == Deferral(reason=Reason.PAUSED)


BAD: list[tuple[dict[str, Json], str]] = [
    ({}, "max_in_flight"),
    ({"max_in_flight": None, "window": WINDOW}, "max_in_flight"),
    ({"max_in_flight": 1, "surprise": 1}, "surprise"),
    ({"max_in_flight": -1}, "max_in_flight"),
    ({"max_in_flight": 10_001}, "max_in_flight"),
    ({"max_in_flight": "3"}, "max_in_flight"),
    ({"max_in_flight": True}, "max_in_flight"),
    ({"max_in_flight": 3.0}, "max_in_flight"),
    ({"max_claims_per_window": 1_000_001, "window": WINDOW}, "max_claims_per_window"),
    ({"max_claims_per_window": 5}, "window"),
    ({"max_claims_per_window": 5, "window": None}, "window"),
    ({"max_in_flight": 5, "window": []}, "window"),
    ({"max_claims_per_window": 5, "window": {**WINDOW, "period": "Day"}}, "window.period"),
    ({"max_claims_per_window": 5, "window": {**WINDOW, "tz": "Mars/Olympus"}}, "window.tz"),
    ({"max_in_flight": 5, "window": {**WINDOW, "tz": "america/los_angeles"}}, "window.tz"),
    ({"max_claims_per_window": 5, "window": {**WINDOW, "start": "24:00"}}, "window.start"),
    ({"max_claims_per_window": 5, "window": {**WINDOW, "start": "9:00"}}, "window.start"),
    ({"max_claims_per_window": 5, "window": {**WINDOW, "weekday": "Mon"}}, "window.weekday"),
    ({"max_claims_per_window": 5, "window": {**WINDOW, "period": "week"}}, "window.weekday"),
]


@pytest.mark.req("REQ-1", "Unknown zone is refused")
@pytest.mark.rule("R19: the first field that fails is named, and nothing is changed")
@pytest.mark.parametrize(("raw", "field"), BAD, ids=[f"{n}-{bad[1]}" for n, bad in enumerate(BAD)])
def test_a_policy_that_is_none_names_its_field_and_changes_nothing(
    db: Database, make: Make, ada: Human, at: QueueAddress, raw: dict[str, Json], field: str
) -> None:
    policies.save(db, ada, at, DAILY)
    before = make.rows(TABLES), make.rows(AUDIT)

    with pytest.raises(InvalidArgument) as refused:
        policies.save(db, ada, at, raw)

    assert refused.value.field == field
    assert (make.rows(TABLES), make.rows(AUDIT)) == before


@pytest.mark.rule("R55: a reason of at most 500 characters; blank is none")
def test_a_reason_is_kept_bounded_and_blank_is_none(
    db: Database, make: Make, ada: Human, at: QueueAddress
) -> None:
    policies.save(db, ada, at, {"max_in_flight": 1}, reason="x" * 500)
    policies.save(db, ada, at, {"max_in_flight": 2}, reason="  ")
    for raw in ("x" * 501, 5, "NUL \0"):
        with pytest.raises(InvalidArgument) as refused:
            policies.save(db, ada, at, {"max_in_flight": 3}, reason=raw)
        assert refused.value.field == "reason"
        with pytest.raises(InvalidArgument):
            policies.clear(db, ada, at, reason=raw)
    policies.clear(db, ada, at, reason="done")

    reasons = [row[0] for row in make.rows("select reason from admission_policy_audit order by id")]
    assert reasons == ["x" * 500, None, "done"]
    assert make.rows(STORED)[0][0] == 2


# --- what is recorded ----------------------------------------------------------------------------


@pytest.mark.rule("data.md: every create, change and delete appends its audit record")
def test_every_change_is_recorded_with_before_and_after(
    db: Database, make: Make, ada: Human, at: QueueAddress
) -> None:
    policies.save(db, ada, at, {"max_in_flight": 3}, reason="first")
    policies.save(db, ada, at, DAILY)
    policies.clear(db, ada, at)
    policies.save(db, ada, at, {"max_in_flight": 1})

    three, daily = body(max_in_flight=3), body(**DAILY)
    assert make.rows(AUDIT) == [
        ("create", None, three, "first", ada.id, None),
        ("update", three, daily, None, ada.id, None),
        ("delete", daily, None, None, ada.id, None),
        ("create", None, body(max_in_flight=1), None, ada.id, None),
    ]
    assert make.value("select count(distinct policy_id) from admission_policy_audit") == 1


@pytest.mark.rule("R35: an identical write leaves no trace; a clear without a policy neither")
def test_an_identical_write_and_a_second_clear_leave_no_trace(
    db: Database, make: Make, ada: Human, at: QueueAddress
) -> None:
    assert policies.clear(db, ada, at) is False
    policies.save(db, ada, at, DAILY)
    before = make.rows(TABLES)

    saved = policies.save(db, ada, at, body(**DAILY), reason="again")

    assert saved.status is not None
    assert saved.status.revision == 1
    assert make.rows(TABLES) == before
    assert policies.clear(db, ada, at) is True
    assert policies.clear(db, ada, at) is False
    assert [row[0] for row in make.rows(AUDIT)] == ["create", "delete"]


@pytest.mark.rule("R52: revision rises by 1 on every change, clear included")
def test_the_revision_counts_every_change(
    db: Database, make: Make, ada: Human, at: QueueAddress
) -> None:
    policies.save(db, ada, at, {"max_in_flight": 1})
    policies.save(db, ada, at, {"max_in_flight": 2})
    policies.clear(db, ada, at)

    saved = policies.save(db, ada, at, {"max_in_flight": 2})

    assert saved.status is not None
    assert saved.status.revision == 4


def test_a_write_from_a_stale_page_is_refused(
    db: Database, make: Make, ada: Human, at: QueueAddress
) -> None:
    policies.save(db, ada, at, {"max_in_flight": 1}, revision=policies.NO_POLICY)
    for stale in (policies.NO_POLICY, 2):
        with pytest.raises(Conflict):
            policies.save(db, ada, at, {"max_in_flight": 9}, revision=stale)
        with pytest.raises(Conflict):
            policies.clear(db, ada, at, revision=stale)

    policies.save(db, ada, at, {"max_in_flight": 2}, revision=1)

    assert make.rows(STORED)[0][0] == 2


@pytest.mark.rule("R8: what may reopen a queue is told after the commit")
def test_only_a_change_is_told(
    db: Database, make: Make, ada: Human, at: QueueAddress, lane: Endpoint
) -> None:
    feed = db.feed
    assert isinstance(feed, RecordingFeed)
    policies.save(db, ada, at, {"max_in_flight": 1})
    policies.save(db, ada, at, {"max_in_flight": 1})
    policies.clear(db, ada, at)
    policies.clear(db, ada, at)

    queue = int(make.queue_id(lane, "lane-m"))
    assert feed.ids("reopened") == [queue, queue]
    assert feed.ids("changed") == [queue, queue]


# --- usage outlives every edit -------------------------------------------------------------------


def used(saved: Budget) -> int | None:
    """Units used in the present window, as a saved policy's status says."""
    assert saved.status is not None
    assert saved.status.usage is not None
    return saved.status.usage.used


def spend(make: Make, saved: Budget, units: int) -> None:
    """Charges units to the present window, as that many claims would."""
    assert saved.status is not None
    assert saved.status.usage is not None
    policy_id, starts_at = saved.status.policy_id, saved.status.usage.window_started_at
    assert policy_id is not None
    assert starts_at is not None
    make.window(policy_id, starts_at, units)


@pytest.mark.rule("R14: clearing and setting again keeps the id and the usage")
def test_clearing_gives_no_unit_back(
    db: Database, make: Make, ada: Human, at: QueueAddress
) -> None:
    first = policies.save(db, ada, at, DAILY)
    spend(make, first, 7)

    policies.clear(db, ada, at)
    again = policies.save(db, ada, at, DAILY)

    assert used(again) == 7
    assert first.status is not None
    assert again.status is not None
    assert again.status.policy_id == first.status.policy_id


@pytest.mark.rule("R15: another window begins with its own usage; changing back finds the old")
def test_redefining_the_window_counts_in_the_window_it_gives(
    db: Database, make: Make, ada: Human, at: QueueAddress
) -> None:
    spend(make, policies.save(db, ada, at, DAILY), 7)
    # The minute of the hour is one that no day begins with, so the two starts never meet.
    hourly: dict[str, Json] = {**WINDOW, "period": "hour", "start": "00:17"}

    assert used(policies.save(db, ada, at, {**DAILY, "window": hourly})) == 0
    assert used(policies.save(db, ada, at, DAILY)) == 7
    assert used(policies.save(db, ada, at, {**DAILY, "max_claims_per_window": 3})) == 7


@pytest.mark.rule("R16: a limit taken away and set again in one window finds its usage")
def test_a_window_limit_taken_away_and_set_again_resumes(
    db: Database, make: Make, ada: Human, at: QueueAddress
) -> None:
    spend(make, policies.save(db, ada, at, DAILY), 7)

    assert used(policies.save(db, ada, at, {"max_in_flight": 5})) is None
    assert used(policies.save(db, ada, at, DAILY)) == 7


@pytest.mark.req("REQ-10", "Lowering mid-window")
def test_lowering_below_usage_admits_no_more_and_is_recorded(
    db: Database, make: Make, ada: Human, at: QueueAddress
) -> None:
    spend(make, policies.save(db, ada, at, DAILY), 60)

    lowered = policies.save(db, ada, at, {**DAILY, "max_claims_per_window": 50})

    assert used(lowered) == 60
    assert lowered.status is not None
    assert isinstance(lowered.status.decision, Deferral)
    assert lowered.status.decision.reason is Reason.WINDOW_EXHAUSTED
    assert make.rows(AUDIT)[1][:3] == (
        "update", body(**DAILY), body(**{**DAILY, "max_claims_per_window": 50}),
    )


@pytest.mark.req("REQ-9", "A policy that cannot be evaluated")
def test_a_broken_row_is_healed_by_a_valid_write(
    db: Database, make: Make, ada: Human, at: QueueAddress, lane: Endpoint
) -> None:
    queue = make.queue_id(lane, "lane-m")
    make.policy(queue, max_claims_per_window=5, tz="Mars/Olympus")

    saved = policies.save(db, ada, at, DAILY)

    assert saved.status is not None
    assert saved.status.decision == Admitted()
    assert saved.status.revision == 2
    broken: dict[str, Json] = {"period": "day", "tz": "Mars/Olympus", "start": "00:00"}
    assert make.rows(AUDIT)[0][:2] == (
        "update", body(max_claims_per_window=5, window=broken),
    )


# --- who may -------------------------------------------------------------------------------------


@pytest.mark.rule("R34, identity.md: who may configure a policy")
@pytest.mark.parametrize("role", ["owner", "admin", "member", None])
def test_a_team_is_configured_by_its_admins_and_owners(
    db: Database, make: Make, ada: Human, role: str | None
) -> None:
    team = make.team()
    if role is not None:
        make.member(team, ada, role)
    make.team_queue(team, "shared")
    endpoint = make.endpoint(team=team, queues=("inbox",))
    places = [
        QueueAddress(f"team:{team.slug}", "shared"),
        QueueAddress(f"team:{team.id}", "shared"),
        QueueAddress(f"endpoint:{endpoint.slug}", "inbox"),
        QueueAddress(f"endpoint:{endpoint.id}", "inbox"),
    ]

    for place in places:
        if role in ("owner", "admin"):
            saved = policies.save(db, ada, place, {"max_in_flight": 1})
            assert saved.scope in (f"team:{team.slug}", f"endpoint:{endpoint.slug}")
        else:
            with pytest.raises(NotFound):
                policies.save(db, ada, place, {"max_in_flight": 1})
            with pytest.raises(NotFound):
                policies.clear(db, ada, place)

    assert make.value("select count(*) from admission_policies") == (
        2 if role in ("owner", "admin") else 0
    )


@pytest.mark.rule("R34: a queue outside the scope still holds todos, so it can have a policy")
def test_a_human_may_configure_a_queue_outside_the_scope(
    db: Database, make: Make, ada: Human, lane: Endpoint
) -> None:
    make.queue(lane, "stray")

    saved = policies.save(db, ada, QueueAddress(f"endpoint:{lane.id}", "stray"), DAILY)

    assert saved.queue == "stray"


@pytest.mark.parametrize("place", [
    QueueAddress("endpoint:nobody-abcd", "lane-m"),
    QueueAddress("endpoint:", "lane-m"),
    QueueAddress("lane-m", "lane-m"),
    QueueAddress("team:nobody", "lane-m"),
    QueueAddress("human:ada", "lane-m"),
    QueueAddress("endpoint:\0", "lane-m"),
    QueueAddress("endpoint:\udcff", "\udcff"),
    QueueAddress("", ""),
])
def test_an_address_that_names_nothing_is_not_found(
    db: Database, ada: Human, lane: Endpoint, place: QueueAddress
) -> None:
    with pytest.raises(NotFound):
        policies.save(db, ada, place, {"max_in_flight": 1})


def test_a_name_with_odd_characters_is_found_as_it_is(
    db: Database, make: Make, ada: Human
) -> None:
    # Printable or not, any name a queue may bear must be found again.
    names = ("a/b:c", "\u00a0x", "\U0001f468\u200d\U0001f680", "x\u202ey", "%2F?#")
    endpoint = make.endpoint(ada, queues=names)

    for name in names:
        saved = policies.save(
            db, ada, QueueAddress(f"endpoint:{endpoint.slug}", name), {"max_in_flight": 1}
        )
        assert saved.queue == name

    assert make.value("select count(*) from queues where has_policy") == len(names)


@pytest.mark.rule("R34: the reserved name is an invalid argument")
def test_the_reserved_name_has_no_policy(
    db: Database, make: Make, ada: Human, granted: Endpoint
) -> None:
    for name in ("quarantine", "team:any/quarantine"):
        with pytest.raises(InvalidArgument) as refused:
            policies.save(db, granted, address_of(granted.id, name), DAILY)
        assert refused.value.field == "queue"
    with pytest.raises(InvalidArgument):
        policies.clear(db, ada, QueueAddress("endpoint:nobody", "quarantine"))


@pytest.mark.rule("R57: who may not manage is told so before the policy is judged")
def test_a_stranger_learns_nothing_from_a_bad_policy(
    db: Database, make: Make, ada: Human, at: QueueAddress
) -> None:
    for raw in (DAILY, {"max_in_flight": -1}, "nonsense"):
        with pytest.raises(NotFound):
            policies.save(db, make.human(), at, raw, reason=5)


@pytest.mark.rule("R35: a revoked endpoint's policies stay as they are")
@pytest.mark.parametrize("end", ["state = 'revoked'", "expires_at = clock() - interval '1 s'"])
def test_a_revoked_endpoint_is_a_conflict(
    db: Database, make: Make, ada: Human, at: QueueAddress, end: str
) -> None:
    policies.save(db, ada, at, DAILY)
    make.run(f"update endpoints set {end}")

    for write in (
        lambda: policies.save(db, ada, at, {"max_in_flight": 1}),
        lambda: policies.clear(db, ada, at),
    ):
        with pytest.raises(Conflict) as refused:
            write()
        assert refused.value.extras == {"state": "revoked"}
    with pytest.raises(NotFound):
        policies.save(db, make.human(), at, {"max_in_flight": 1})


# --- agents --------------------------------------------------------------------------------------


@pytest.mark.req("REQ-10", "By default an agent cannot raise its own ceiling")
def test_an_agent_without_the_verbs_changes_nothing(
    db: Database, make: Make, lane: Endpoint
) -> None:
    place = address_of(lane.id, "lane-m")
    make.policy(make.queue_id(lane, "lane-m"), max_in_flight=1)

    with pytest.raises(Forbidden):
        policies.save(db, lane, place, {"max_in_flight": 100})
    with pytest.raises(Forbidden):
        policies.clear(db, lane, place)

    assert make.rows(STORED)[0][0] == 1
    assert make.rows(AUDIT) == []


@pytest.mark.req("REQ-10", "An owner opts an agent in")
@pytest.mark.rule("R37: an agent's change names the endpoint and its accountable human")
def test_an_agent_with_the_verbs_changes_its_own_queue_and_no_other(
    db: Database, make: Make, ada: Human, granted: Endpoint, lane: Endpoint
) -> None:
    policies.save(db, granted, address_of(granted.id, "lane-m"), {
        "max_claims_per_window": 50, "window": WINDOW,
    })

    assert make.rows(AUDIT)[0][4:] == (ada.id, granted.id)
    kept = make.rows("select created_by_human_id, updated_by_human_id from admission_policies")
    assert kept == [(ada.id, ada.id)]
    make.queue(granted, "outside")
    for place in (
        QueueAddress(f"endpoint:{lane.id}", "lane-m"),
        QueueAddress(f"endpoint:{lane.slug}", "lane-m"),
        address_of(granted.id, "outside"),
        address_of(granted.id, "unknown"),
    ):
        with pytest.raises(NotFound):
            policies.save(db, granted, place, {"max_in_flight": 1})
        with pytest.raises(NotFound):
            policies.clear(db, granted, place)


@pytest.mark.rule("R37: a team queue only by an endpoint the team owns, named by who vended it")
def test_a_team_queue_is_changed_only_by_the_teams_own_endpoint(
    db: Database, make: Make, ada: Human
) -> None:
    team, verbs = make.team(), (*BASICS, *ADMISSION)
    make.member(team, ada, "admin")
    shared, other = make.team_queue(team, "shared"), make.team_queue(team, "other")
    owned = make.endpoint(ada, team, verbs=verbs)
    personal = make.endpoint(ada, verbs=verbs)
    for endpoint in (owned, personal):
        make.grant(endpoint, shared)

    saved = policies.save(db, owned, address_of(owned.id, shared.name), {"max_in_flight": 1})

    assert (saved.scope, saved.queue) == (f"team:{team.slug}", "shared")
    assert make.rows(AUDIT)[0][4:] == (ada.id, owned.id)
    for endpoint, queue in ((personal, shared), (owned, other)):
        with pytest.raises(NotFound):
            policies.save(db, endpoint, address_of(endpoint.id, queue.name), {"max_in_flight": 2})


# --- many writers --------------------------------------------------------------------------------


@pytest.mark.rule("R52: of two concurrent creates one is a create and one an update")
def test_two_creates_at_once_are_a_create_and_an_update(
    db: Database, make: Make, ada: Human, lane: Endpoint
) -> None:
    for turn in range(10):
        queue = make.queue(lane, f"turn-{turn}")
        place = QueueAddress(f"endpoint:{lane.slug}", queue.name)

        def create(number: int, place: QueueAddress = place) -> Budget:
            return policies.save(db, ada, place, {"max_in_flight": number + 1})

        all_returned(together(2, create))

        rows = make.rows("select action from admission_policy_audit where queue_id = %s"
                         " order by id", int(queue))
        assert rows == [("create",), ("update",)]
        assert make.rows("select revision from admission_policies where queue_id = %s",
                         int(queue)) == [(2,)]


@pytest.mark.timeout(300)
@pytest.mark.rule("R51: has_policy is true exactly while a live policy exists")
def test_has_policy_holds_through_500_sets_and_clears_of_4_writers(
    db: Database, db_url: str, make: Make, ada: Human, lane: Endpoint
) -> None:
    places = [QueueAddress(f"endpoint:{lane.slug}", name) for name in ("lane-m", "inbox")]
    places += [QueueAddress(f"endpoint:{lane.slug}", make.queue(lane, "third").name)]
    broken: list[object] = []
    done = threading.Event()

    def look() -> None:
        watcher = Make(db_url)
        while not done.is_set():
            broken.extend(watcher.rows(
                "select q.name from queues q left join admission_policies p"
                " on p.queue_id = q.id and p.deleted_at is null"
                " where q.has_policy <> (p.id is not null)"))
        watcher.close()

    def write(number: int) -> int:
        dice = random.Random(number)
        changes = 0
        for _ in range(125):
            place = dice.choice(places)
            if dice.random() < 0.5:
                policies.save(db, ada, place, {"max_in_flight": dice.randrange(1, 9)})
            else:
                changes += policies.clear(db, ada, place)
        return changes

    eye = threading.Thread(target=look)
    eye.start()
    deleted = all_returned(together(4, write, deadline=200))
    done.set()
    eye.join()

    assert broken == []
    assert make.rows(
        "select q.name from queues q left join admission_policies p on p.queue_id = q.id"
        " and p.deleted_at is null where q.has_policy <> (p.id is not null)") == []
    assert make.value("select count(*) from admission_policy_audit where action = 'delete'") == sum(
        deleted)
    # Every change left one record, and the revision counted it.
    assert make.rows(
        "select p.queue_id from admission_policies p where p.revision <> (select count(*)"
        " from admission_policy_audit a where a.queue_id = p.queue_id)") == []
