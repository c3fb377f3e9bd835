"""Vend, revoke, expire, delete: what begins and ends with an endpoint."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import psycopg
import pytest

from app.db import minting
from app.db.database import Database
from app.domain.callers import Endpoint, Human
from app.domain.errors import Conflict, Forbidden, InvalidArgument, NotFound, RoleRequired
from app.domain.vending import VendRequest
from app.domain.verbs import BASICS
from app.reads import identity
from app.transactions import claiming, ending, endpoints, people, settling
from app.transactions.claims import ClaimRequest, NothingClaimed
from app.transactions.settling import Settlement
from tests.support.clock import Clock
from tests.support.feed import RecordingFeed
from tests.support.make import Make, TodoId
from tests.support.race import together
from tests.support.wait import wait_for


def told(db: Database) -> RecordingFeed:
    """What the verbs told the change feed."""
    assert isinstance(db.feed, RecordingFeed)
    return db.feed


# --- vend ----------------------------------------------------------------------------------------


def test_a_vended_credential_opens_its_endpoint(db: Database, make: Make) -> None:
    human = make.human()

    made = endpoints.vend(db, human, VendRequest(name="Lane M"))

    facts = identity.endpoint_by_token(db, made.token)
    assert facts is not None
    assert (facts.endpoint.id, facts.endpoint.slug) == (made.endpoint_id, made.slug)
    assert facts.endpoint.queues == ("inbox",)
    assert facts.endpoint.verbs == frozenset(BASICS)
    assert facts.endpoint.owner_human_id == facts.endpoint.vended_by_human_id == human.id
    assert made.slug.startswith("lane-m-")
    assert made.expires_at is None


def test_vending_makes_one_queue_row_per_scope_queue_and_one_webhook(
    db: Database, make: Make
) -> None:
    request = VendRequest(name="m", queues=("a/b", "c:d"), webhook_source_type="github")

    made = endpoints.vend(db, make.human(), request)

    names = make.rows(
        "select name from queues where endpoint_id = %s order by id", made.endpoint_id
    )
    webhook = make.rows(
        "select target_queue, source_type, trust_mode, secret from endpoint_webhooks"
        " where endpoint_id = %s",
        made.endpoint_id,
    )
    ceiling = make.rows(
        "select webhook_max, webhook_source_types, webhook_queues from endpoints where id = %s",
        made.endpoint_id,
    )
    assert names == [("a/b",), ("c:d",)]
    assert webhook[0][:3] == ("a/b", "github", "signed")
    sealed = str(webhook[0][3])
    assert sealed.startswith("enc:v1:")
    assert db.sealer.open(sealed, str(made.webhook.id)) == made.webhook.signing_secret
    assert ceiling == [(1, ["github"], ["a/b", "c:d"])]


def test_a_generic_webhook_has_no_secret(db: Database, make: Make) -> None:
    made = endpoints.vend(db, make.human(), VendRequest(name="m"))

    assert (made.webhook.trust_mode, made.webhook.signing_secret) == ("token", None)


def test_a_lifetime_ends_the_credential(db: Database, make: Make, clock: Clock) -> None:
    at = clock.set("2026-10-01T12:00:00Z")
    made = endpoints.vend(db, make.human(), VendRequest(name="m", lifetime="90m"))
    assert made.expires_at == at + timedelta(minutes=90)

    clock.advance(90 * 60)

    assert identity.endpoint_by_token(db, made.token) is None


def test_a_taken_slug_draws_another_tail(
    db: Database, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    human = make.human()
    tails = iter(["m-aaaa", "m-aaaa", "m-aaaa", "m-bbbb"])
    monkeypatch.setattr(minting, "slug", lambda head: next(tails))

    slugs = [endpoints.vend(db, human, VendRequest(name="m")).slug for _ in range(2)]

    assert slugs == ["m-aaaa", "m-bbbb"]


@pytest.mark.parametrize(
    ("request_", "field"),
    [
        (VendRequest(name=""), "name"),
        (VendRequest(name="x" * 101), "name"),
        (VendRequest(name="a\x00b"), "name"),
        (VendRequest(name="m", queues=()), "queues"),
        (VendRequest(name="m", queues=("a", "a")), "queues"),
        (VendRequest(name="m", queues=("quarantine",)), "queues"),
        (VendRequest(name="m", queues=("team:x/y",)), "queues"),
        (VendRequest(name="m", verbs=()), "verbs"),
        (VendRequest(name="m", verbs=("claim", "claim")), "verbs"),
        (VendRequest(name="m", verbs=("fly",)), "verbs"),
        (VendRequest(name="m", verbs=("whoami",)), "verbs"),
        (VendRequest(name="m", verbs=("clock_in",)), "verbs"),
        (VendRequest(name="m", lifetime="soon"), "lifetime"),
        (VendRequest(name="m", default_lease_ttl_seconds=59), "default_lease_ttl_seconds"),
        (VendRequest(name="m", webhook_source_type="fax"), "webhook_source_type"),
    ],
)
def test_what_cannot_be_vended_names_its_field_and_leaves_nothing(
    db: Database, make: Make, request_: VendRequest, field: str
) -> None:
    with pytest.raises(InvalidArgument) as refused:
        endpoints.vend(db, make.human(), request_)

    assert refused.value.field == field
    assert make.value("select count(*) from agents") == 0


@pytest.mark.parametrize("role", ["owner", "admin"])
def test_who_runs_a_team_vends_for_it(db: Database, make: Make, role: str) -> None:
    human, team = make.human(), make.team("ops")
    make.member(team, human, role)

    made = endpoints.vend(db, human, VendRequest(name="m", team="ops"))

    owners = make.rows(
        "select a.owner_human_id, a.owner_team_id, e.vended_by_human_id"
        " from agents a join endpoints e on e.agent_id = a.id where e.id = %s",
        made.endpoint_id,
    )
    assert owners == [(None, team.id, human.id)]


def test_a_member_may_not_vend_for_a_team(db: Database, make: Make) -> None:
    human, team = make.human(), make.team("ops")
    make.member(team, human)

    with pytest.raises(RoleRequired):
        endpoints.vend(db, human, VendRequest(name="m", team="ops"))


@pytest.mark.parametrize("slug", ["ops", "nobody", "", "\x00"])
def test_outside_the_team_it_does_not_exist(db: Database, make: Make, slug: str) -> None:
    make.team("ops")

    with pytest.raises(NotFound):
        endpoints.vend(db, make.human(), VendRequest(name="m", team=slug))


# --- revoke --------------------------------------------------------------------------------------


def test_revoke_dead_letters_pending_claimed_and_parked(db: Database, make: Make) -> None:
    human = make.human()
    endpoint = make.endpoint(human)
    pending = make.todo(endpoint)
    claimed = make.todo(endpoint, state="claimed")
    parked = make.todo(endpoint, state="failed", next_retry_at=make.now() + timedelta(hours=1))
    done = make.todo(endpoint, state="done")

    ended = endpoints.revoke(db, human, endpoint.slug)

    assert (ended.id, ended.slug, ended.agent_name) == (
        endpoint.id,
        endpoint.slug,
        endpoint.agent_name,
    )
    for todo in (pending, claimed, parked):
        row = make.row(todo)
        assert (row["state"], row["next_retry_at"], row["lease_expires_at"]) == (
            "failed",
            None,
            None,
        )
    assert make.row(done)["state"] == "done"
    attempt = make.attempts(claimed)[-1]
    assert (attempt["outcome"], attempt["disposition"]) == ("revoked", "dead_lettered")
    assert attempt["ended_at"] is not None


def test_revoke_tells_streams_and_boards_and_counts_the_attempt(db: Database, make: Make) -> None:
    human = make.human()
    endpoint = make.endpoint(human)
    claimed = make.todo(endpoint, state="claimed")

    endpoints.revoke(db, human, str(endpoint.id))

    assert told(db).ids("endpoints") == [endpoint.id]
    assert told(db).ids("changed") == [claimed.queue_id]
    closed = "switchboard_todo_attempts_closed_total"
    assert db.counters.value(closed, queue="inbox", outcome="revoked") == 1


def test_revoke_releases_a_team_todo_it_holds(db: Database, make: Make) -> None:
    human, team = make.human(), make.team()
    make.member(team, human)
    queue = make.team_queue(team)
    endpoint = make.endpoint(human)
    make.grant(endpoint, queue)
    held = make.todo(queue=queue, state="claimed", holder=endpoint)
    other = make.todo(queue=queue, state="claimed", holder=make.endpoint())

    endpoints.revoke(db, human, endpoint.slug)

    row, attempt = make.row(held), make.attempts(held)[-1]
    assert (row["state"], row["owner"], row["attempt"]) == ("pending", None, 1)
    assert (attempt["outcome"], attempt["disposition"]) == ("released", "requeued")
    assert make.row(other)["state"] == "claimed"
    assert told(db).ids("ready") == [int(queue)]


def test_revoke_kills_the_credential_and_the_agent_grants(db: Database, make: Make) -> None:
    human = make.human()
    made = endpoints.vend(db, human, VendRequest(name="m"))
    make.run(
        "insert into oauth_tokens (token_hash, endpoint_id) values ('h', %s)", made.endpoint_id
    )

    endpoints.revoke(db, human, made.slug)

    assert identity.endpoint_by_token(db, made.token) is None
    assert make.value("select revoked_at from oauth_tokens where token_hash = 'h'") is not None


def test_revoking_twice_conflicts_and_says_the_state(db: Database, make: Make) -> None:
    human = make.human()
    endpoint = make.endpoint(human)
    endpoints.revoke(db, human, endpoint.slug)

    with pytest.raises(Conflict) as refused:
        endpoints.revoke(db, human, endpoint.slug)

    assert refused.value.extras == {"state": "revoked"}


def test_of_many_revokes_at_once_one_ends_it(db: Database, make: Make) -> None:
    human = make.human()
    endpoint = make.endpoint(human)
    make.todo(endpoint, state="claimed")

    outcomes = together(6, lambda _: endpoints.revoke(db, human, endpoint.slug))

    assert sum(isinstance(outcome, endpoints.Revoked) for outcome in outcomes) == 1
    assert sum(isinstance(outcome, Conflict) for outcome in outcomes) == 5


@pytest.mark.parametrize(
    "ref", ["nobody-abcd", "00000000-0000-4000-8000-000000000000", "", "\x00", "x" * 5000]
)
def test_nothing_unknown_is_revoked(db: Database, make: Make, ref: str) -> None:
    with pytest.raises(NotFound):
        endpoints.revoke(db, make.human(), ref)


def test_a_stranger_and_a_team_member_find_no_endpoint_to_revoke(db: Database, make: Make) -> None:
    member, team = make.human(), make.team()
    make.member(team, member)
    endpoint = make.endpoint(team=team)

    for human in (member, make.human()):
        with pytest.raises(NotFound):
            endpoints.revoke(db, human, endpoint.slug)

    assert make.value("select state from endpoints where id = %s", endpoint.id) == "active"


def test_an_expired_endpoint_counts_as_revoked(db: Database, make: Make) -> None:
    human = make.human()
    endpoint = make.endpoint(human, expires_at=make.now() - timedelta(seconds=1))

    with pytest.raises(Conflict):
        endpoints.revoke(db, human, endpoint.slug)
    with pytest.raises(Conflict):
        endpoints.set_default_lease_as(db, human, endpoint.slug, 60)


# --- expiry --------------------------------------------------------------------------------------


def _expire(db: Database, endpoint: Endpoint) -> ending.Ended | None:
    with db.transaction() as conn:
        return ending.dead_letter_endpoint(conn, endpoint.id)


def test_the_sweep_ends_an_expired_endpoint_once(db: Database, make: Make) -> None:
    endpoint = make.endpoint(expires_at=make.now() - timedelta(seconds=1))
    claimed = make.todo(endpoint, state="claimed")

    ended = _expire(db, endpoint)

    assert ended is not None
    assert ended.closed == {("inbox", "revoked"): 1}
    assert make.row(claimed)["state"] == "failed"
    assert make.value("select state from endpoints where id = %s", endpoint.id) == "revoked"
    assert _expire(db, endpoint) is None


def test_the_sweep_leaves_an_endpoint_that_is_not_due(db: Database, make: Make) -> None:
    endpoint = make.endpoint(expires_at=make.now() + timedelta(hours=1))
    todo = make.todo(endpoint)

    assert _expire(db, endpoint) is None
    assert make.row(todo)["state"] == "pending"


# --- delete and default lease --------------------------------------------------------------------


def test_only_a_revoked_endpoint_is_deleted_with_all_it_held(db: Database, make: Make) -> None:
    human = make.human()
    endpoint = make.endpoint(human)
    make.todo(endpoint)
    with pytest.raises(Conflict) as refused:
        endpoints.delete(db, human, endpoint.slug)
    assert refused.value.extras == {"state": "active"}
    endpoints.revoke(db, human, endpoint.slug)

    assert endpoints.delete(db, human, endpoint.slug) == endpoint.id

    for table in ("endpoints", "agents", "queues", "todos"):
        assert make.value(f"select count(*) from {table}") == 0
    with pytest.raises(NotFound):
        endpoints.delete(db, human, endpoint.slug)


def test_a_stranger_deletes_nothing(db: Database, make: Make) -> None:
    owner = make.human()
    endpoint = make.endpoint(owner)
    endpoints.revoke(db, owner, endpoint.slug)

    with pytest.raises(NotFound):
        endpoints.delete(db, make.human(), endpoint.slug)


def test_owner_and_agent_change_the_default_lease(db: Database, make: Make) -> None:
    human = make.human()
    endpoint = make.endpoint(human)

    row = endpoints.set_default_lease_as(db, human, endpoint.slug, 600)
    assert (row.id, row.default_lease_ttl_seconds, row.state) == (endpoint.id, 600, "active")
    assert endpoints.set_default_lease(db, endpoint, None) is None

    stored = "select default_lease_ttl_seconds from endpoints where id = %s"
    assert make.value(stored, endpoint.id) is None


def test_an_agent_without_the_verb_keeps_its_lease(db: Database, make: Make) -> None:
    endpoint = make.endpoint(verbs=("claim",))

    with pytest.raises(Forbidden):
        endpoints.set_default_lease(db, endpoint, 60)


def test_an_agent_revoked_meanwhile_changes_nothing(db: Database, make: Make) -> None:
    human: Human = people.create_human(db, display_name="Ada")
    endpoint = make.endpoint(human)
    endpoints.revoke(db, human, endpoint.slug)

    with pytest.raises(Conflict):
        endpoints.set_default_lease(db, endpoint, 60)


# --- a revoke beside everything else -------------------------------------------------------------


def test_a_revoke_beside_claims_and_settlements_leaves_nothing_live(
    db: Database, make: Make
) -> None:
    human = make.human()
    for _ in range(3):
        endpoint = make.endpoint(human)
        for _ in range(12):
            make.todo(endpoint)

        def act(number: int, endpoint: Endpoint = endpoint) -> int | endpoints.Revoked:
            if number == 4:
                return endpoints.revoke(db, human, endpoint.slug)
            return _work(db, endpoint)

        outcomes = together(9, act)

        live = (
            "select count(*) from todos"
            " where endpoint_id = %s and (state in ('pending', 'claimed')"
            " or next_retry_at is not null)"
        )
        assert {type(outcome) for outcome in outcomes} == {int, endpoints.Revoked}
        assert make.value(live, endpoint.id) == 0
        assert make.value("select count(*) from todo_attempts where ended_at is null") == 0


def _work(db: Database, endpoint: Endpoint) -> int:
    """Claim and complete until there is nothing, or the revoke ends a claim first."""
    done = 0
    request = ClaimRequest()
    while True:
        claimed = claiming.claim_next(db, endpoint, None, request, gone=lambda: False)
        if isinstance(claimed, NothingClaimed):
            return done
        try:
            settling.complete(db, endpoint, claimed.todo.id, Settlement())
        except (Conflict, NotFound):
            return done
        done += 1


def test_a_retry_beside_a_revoke_brings_nothing_back(db: Database, make: Make) -> None:
    human = make.human()
    for _ in range(6):
        endpoint = make.endpoint(human)
        dead = [make.todo(endpoint, state="failed", attempt=5) for _ in range(5)]

        def act(
            number: int, endpoint: Endpoint = endpoint, dead: list[TodoId] = dead
        ) -> object:
            if number == 2:
                return endpoints.revoke(db, human, endpoint.slug)
            return settling.retry_now(db, human, dead[number % len(dead)])

        together(6, act)

        pending = "select count(*) from todos where endpoint_id = %s and state <> 'failed'"
        assert make.value(pending, endpoint.id) == 0


def test_a_retry_waits_for_a_revoke_under_way(db: Database, db_url: str, make: Make) -> None:
    human = make.human()
    endpoint = make.endpoint(human)
    todo = make.todo(endpoint, state="failed", attempt=5)
    revoking = "update endpoints set state = 'revoked', revoked_at = clock() where id = %s"
    waiting = (
        "select count(*) from pg_stat_activity"
        " where datname = current_database() and wait_event_type = 'Lock'"
    )

    with psycopg.connect(db_url) as conn, ThreadPoolExecutor(1) as thread:
        conn.execute(revoking, (endpoint.id,))
        retried = thread.submit(settling.retry_now, db, human, todo)
        wait_for(lambda: make.value(waiting) == 1, what="the retry waits for the revoke")
        conn.commit()

        with pytest.raises(Conflict):
            retried.result(10)
    assert make.row(todo)["state"] == "failed"
