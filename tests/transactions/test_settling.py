"""What ends a claim: by whom, how often, and what stays behind."""

from __future__ import annotations

from datetime import timedelta

import pytest

from app.db.database import Database
from app.domain.errors import Conflict, InvalidAttemptInput, NotFound, RoleRequired
from app.transactions import claiming, settling
from app.transactions.claims import ClaimRequest
from app.transactions.settling import Settlement
from tests.support.clock import Clock
from tests.support.make import Make
from tests.support.race import together

SAID = Settlement(result={"ok": True}, has_result=True, summary="done", artifact="https://x.example/1")


def claimed_by(db, endpoint, **request):
    return claiming.claim_next(db, endpoint, None, ClaimRequest(**request), gone=lambda: False)


def outcome_of(make: Make) -> tuple:
    return make.rows(
        "select outcome, disposition, summary from todo_attempts order by seq desc limit 1")[0]


@pytest.mark.rule("todos.md: claimed -> done by complete")
def test_complete_keeps_the_result_and_closes_the_attempt(db: Database, make: Make) -> None:
    endpoint = make.endpoint()
    make.todo(endpoint)
    claimed = claimed_by(db, endpoint)

    todo = settling.complete(db, endpoint, claimed.todo.id, SAID)

    assert (todo.state, todo.result, todo.lease_expires_at) == ("done", {"ok": True}, None)
    assert todo.completed_at is not None
    assert outcome_of(make) == ("completed", "done", "done")
    assert db.counters.value(
        "switchboard_todos_completed_total", queue="inbox", outcome="complete") == 1


@pytest.mark.rule("todos.md: the retry waits 30 s doubling, capped at 15 min")
@pytest.mark.parametrize(("attempt", "wait"), [(0, 30), (1, 60), (2, 120), (3, 240)])
def test_fail_parks_a_retry_below_the_cap(
    db: Database, make: Make, clock: Clock, attempt: int, wait: int
) -> None:
    endpoint = make.endpoint()
    make.todo(endpoint, attempt=attempt)
    at = clock.set("2026-10-01T12:00:00Z")
    claimed = claimed_by(db, endpoint)

    todo = settling.fail(db, endpoint, claimed.todo.id, SAID)

    assert (todo.state, todo.dead_letter, todo.owner) == ("failed", False, endpoint.owner)
    assert todo.next_retry_at == at + timedelta(seconds=wait)
    assert outcome_of(make)[:2] == ("failed", "retry_scheduled")


@pytest.mark.rule("todos.md: fail at the cap is a dead letter")
def test_fail_at_the_cap_is_a_dead_letter(db: Database, make: Make) -> None:
    endpoint = make.endpoint()
    make.todo(endpoint, attempt=4)
    claimed = claimed_by(db, endpoint)

    todo = settling.fail(db, endpoint, claimed.todo.id, SAID)

    assert (todo.state, todo.dead_letter) == ("failed", True)
    assert outcome_of(make)[:2] == ("failed", "dead_lettered")


@pytest.mark.rule("todos.md: release neither spends nor resets the attempt")
def test_release_returns_the_todo_unspent(db: Database, make: Make) -> None:
    endpoint = make.endpoint()
    make.todo(endpoint, attempt=2)
    claimed = claimed_by(db, endpoint)

    todo = settling.release(db, endpoint, claimed.todo.id, SAID)

    assert (todo.state, todo.owner, todo.attempt) == ("pending", None, 3)
    assert outcome_of(make)[:2] == ("released", "requeued")
    with pytest.raises(Conflict):
        settling.release(db, endpoint, claimed.todo.id, SAID)


@pytest.mark.rule("todos.md: a heartbeat moves the lease only and may shorten it")
def test_heartbeat_moves_the_lease_and_spends_nothing(
    db: Database, make: Make, clock: Clock
) -> None:
    endpoint = make.endpoint()
    make.todo(endpoint)
    at = clock.set("2026-10-01T12:00:00Z")
    claimed = claimed_by(db, endpoint)

    todo = settling.heartbeat(
        db, endpoint, claimed.todo.id, lease_ttl_seconds=10, lease_token=None)

    assert todo.lease_expires_at == at + timedelta(seconds=10)
    assert (todo.attempt, todo.attempts_total) == (1, 1)
    assert make.value("select last_heartbeat_at from todo_attempts") == at


@pytest.mark.rule("todos.md: heartbeats are HOT, no index holds the lease")
def test_heartbeats_stay_hot(db: Database, make: Make) -> None:
    endpoint = make.endpoint()
    make.todo(endpoint)
    claimed = claimed_by(db, endpoint)
    for _ in range(20):
        settling.heartbeat(db, endpoint, claimed.todo.id, lease_ttl_seconds=9, lease_token=None)
    make.run("select pg_stat_force_next_flush()")

    indexed = make.value("select count(*) from pg_indexes where indexdef like '%lease_expires_at%'")

    assert indexed == 0


@pytest.mark.rule("todos.md: a lapsed lease nobody took over or reaped still belongs to its owner")
def test_a_lapsed_lease_may_still_be_settled_by_its_owner(db: Database, make: Make) -> None:
    endpoint = make.endpoint()
    todo = make.todo(endpoint, state="claimed", attempt=1, lease=-60)

    assert settling.complete(db, endpoint, str(todo), SAID).state == "done"


@pytest.mark.rule("todos.md: foreign ids are not found, own ones in the wrong state conflict")
def test_a_foreign_todo_is_not_found_and_an_unclaimed_one_conflicts(
    db: Database, make: Make
) -> None:
    endpoint, stranger = make.endpoint(), make.endpoint()
    foreign = make.todo(stranger, state="claimed")
    pending = make.todo(endpoint)
    for act in (settling.complete, settling.fail, settling.release):
        for unknown in (str(foreign), "td_" + "f" * 32, "x\x00y"):
            with pytest.raises(NotFound):
                act(db, endpoint, unknown, SAID)
        with pytest.raises(Conflict):
            act(db, endpoint, str(pending), SAID)
    with pytest.raises(NotFound):
        settling.heartbeat(db, endpoint, str(foreign), lease_ttl_seconds=None, lease_token=None)


@pytest.mark.rule("R66: the same outcome said again answers 200 with the row as it is now")
def test_complete_said_again_keeps_the_first_result(db: Database, make: Make) -> None:
    endpoint = make.endpoint()
    make.todo(endpoint)
    claimed = claimed_by(db, endpoint)
    settling.complete(db, endpoint, claimed.todo.id, SAID)

    again = settling.complete(
        db, endpoint, claimed.todo.id, Settlement(result={"other": 1}, has_result=True))

    assert again.result == {"ok": True}
    with pytest.raises(Conflict):
        settling.fail(db, endpoint, claimed.todo.id, SAID)
    assert db.counters.value(
        "switchboard_todos_completed_total", queue="inbox", outcome="complete") == 1


@pytest.mark.rule("R66: fail said again is 200 even after the requeue, and 409 after another claim")
def test_fail_said_again_is_accepted_until_somebody_claims(db: Database, make: Make) -> None:
    endpoint = make.endpoint()
    make.todo(endpoint)
    claimed = claimed_by(db, endpoint)
    settling.fail(db, endpoint, claimed.todo.id, SAID)
    make.run("update todos set state = 'pending', owner = null, next_retry_at = null")

    assert settling.fail(db, endpoint, claimed.todo.id, SAID).state == "pending"
    with pytest.raises(Conflict):
        settling.complete(db, endpoint, claimed.todo.id, SAID)
    claimed_by(db, endpoint)
    settling.release(db, endpoint, claimed.todo.id, SAID)
    with pytest.raises(Conflict):
        settling.fail(db, endpoint, claimed.todo.id, SAID)


@pytest.mark.rule("todos.md, Fence: wrong, missing and unexpected tokens conflict")
def test_the_fence_is_asked_of_every_settling_verb(db: Database, make: Make) -> None:
    endpoint = make.endpoint()
    make.todo(endpoint)
    make.todo(endpoint)
    fenced = claimed_by(db, endpoint, require_fence=True)
    plain = claimed_by(db, endpoint)

    for token in (None, "wrong", ""):
        with pytest.raises(Conflict):
            settling.complete(db, endpoint, fenced.todo.id, Settlement(lease_token=token))
        with pytest.raises(Conflict):
            settling.heartbeat(
                db, endpoint, fenced.todo.id, lease_ttl_seconds=None, lease_token=token)
    with pytest.raises(Conflict):
        settling.complete(db, endpoint, plain.todo.id, Settlement(lease_token="unexpected"))
    done = settling.complete(
        db, endpoint, fenced.todo.id, Settlement(lease_token=fenced.lease_token))
    assert done.state == "done"
    with pytest.raises(Conflict):
        settling.complete(db, endpoint, fenced.todo.id, Settlement(lease_token=None))


@pytest.mark.rule("F4: the old holder is refused after a takeover and the new one is untouched")
def test_after_a_takeover_the_old_token_is_refused(db: Database, make: Make) -> None:
    endpoint = make.endpoint()
    make.todo(endpoint)
    old = claimed_by(db, endpoint, require_fence=True)
    make.run("update todos set lease_expires_at = clock() - interval '1 s'")
    new = claimed_by(db, endpoint, require_fence=True)

    for act in (settling.complete, settling.fail, settling.release):
        with pytest.raises(Conflict):
            act(db, endpoint, old.todo.id, Settlement(lease_token=old.lease_token))
    with pytest.raises(Conflict):
        settling.heartbeat(
            db, endpoint, old.todo.id, lease_ttl_seconds=9, lease_token=old.lease_token)
    done = settling.complete(db, endpoint, new.todo.id, Settlement(lease_token=new.lease_token))
    assert done.state == "done"


@pytest.mark.rule("todos.md: a bad artifact is refused and the todo stays claimed")
@pytest.mark.parametrize("artifact", ["http://x.example", "x", "https://", "https:///p",
                                      "https://x.example/" + "a" * 500, "https://[", "https://a b",
                                      "javascript:alert(1)", "https://x.example/\n"])
def test_a_bad_artifact_changes_nothing(db: Database, make: Make, artifact: str) -> None:
    endpoint = make.endpoint()
    make.todo(endpoint)
    claimed = claimed_by(db, endpoint)

    with pytest.raises(InvalidAttemptInput) as refused:
        settling.complete(db, endpoint, claimed.todo.id, Settlement(artifact=artifact))

    assert refused.value.field == "artifact"
    assert make.value("select state from todos") == "claimed"


@pytest.mark.rule("todos.md: a summary is cut at 2048 bytes on a character boundary")
def test_a_long_summary_is_cut_never_refused(db: Database, make: Make) -> None:
    endpoint = make.endpoint()
    make.todo(endpoint)
    claimed = claimed_by(db, endpoint)

    settling.complete(db, endpoint, claimed.todo.id, Settlement(summary="é" * 1500 + "\x00"))

    summary, cut = make.rows("select summary, summary_truncated from todo_attempts")[0]
    assert (summary, cut) == ("é" * 1024, True)


@pytest.mark.rule("todos.md: Retry now gives a fresh set of attempts; attempts_total is untouched")
def test_retry_now_starts_over(db: Database, make: Make) -> None:
    ada = make.human("ada")
    endpoint = make.endpoint(ada)
    make.todo(endpoint, attempt=4)
    claimed = claimed_by(db, endpoint)
    settling.fail(db, endpoint, claimed.todo.id, SAID)

    todo = settling.retry_now(db, ada, claimed.todo.id)

    assert (todo.state, todo.attempt, todo.result, todo.owner) == ("pending", 0, None, None)
    assert todo.attempts_total == claimed.attempts_total
    with pytest.raises(Conflict):
        settling.retry_now(db, ada, claimed.todo.id)
    with pytest.raises(NotFound):
        settling.retry_now(db, make.human("eve"), claimed.todo.id)


@pytest.mark.rule("todos.md: Retry now on a revoked or expired endpoint, or a taken key, conflicts")
def test_retry_now_is_refused_for_the_dead_and_for_taken_keys(db: Database, make: Make) -> None:
    ada = make.human("ada")
    endpoint = make.endpoint(ada)
    dead = make.todo(endpoint, state="failed", attempt=5, key="k")
    make.todo(endpoint, key="k")

    with pytest.raises(Conflict):
        settling.retry_now(db, ada, str(dead))
    make.run("update todos set idempotency_key = null")
    make.run("update endpoints set expires_at = clock() - interval '1 s'")
    with pytest.raises(Conflict):
        settling.retry_now(db, ada, str(dead))
    make.run("update endpoints set expires_at = null, state = 'revoked'")
    with pytest.raises(Conflict):
        settling.retry_now(db, ada, str(dead))


@pytest.mark.rule("R65: discard makes a dead letter of pending or parked work and charges nothing")
def test_discard_takes_pending_and_parked_work_only(db: Database, make: Make) -> None:
    ada = make.human("ada")
    endpoint = make.endpoint(ada)
    pending = make.todo(endpoint)
    later = make.now() + timedelta(hours=1)
    parked = make.todo(endpoint, state="failed", attempt=1, next_retry_at=later)
    refused = [make.todo(endpoint, state="claimed"), make.todo(endpoint, state="done"),
               make.todo(endpoint, state="failed", attempt=5)]
    before = make.value("select count(*) from todo_attempts")

    for todo in (pending, parked):
        assert settling.discard(db, ada, str(todo)).dead_letter
    for todo in refused:
        with pytest.raises(Conflict):
            settling.discard(db, ada, str(todo))
    with pytest.raises(NotFound):
        settling.discard(db, make.human("eve"), str(pending))
    assert make.value("select count(*) from todo_attempts") == before


@pytest.mark.rule("identity.md: a plain member works a team queue but does not discard from it")
def test_a_plain_member_may_not_discard(db: Database, make: Make) -> None:
    ada, bob = make.human("ada"), make.human("bob")
    team = make.team("crew")
    make.member(team, ada, "member")
    make.member(team, bob, "admin")
    todo = make.todo(queue=make.team_queue(team, "shared"))

    with pytest.raises(RoleRequired):
        settling.discard(db, ada, str(todo))
    assert settling.discard(db, bob, str(todo)).dead_letter


@pytest.mark.rule("identity.md: only the claiming endpoint settles a team todo, others not_found")
def test_only_the_claiming_endpoint_settles_a_team_todo(db: Database, make: Make) -> None:
    ada, bob = make.human("ada"), make.human("bob")
    team = make.team("crew")
    make.member(team, ada)
    make.member(team, bob)
    queue = make.team_queue(team, "shared")
    of_ada, of_bob = make.endpoint(ada), make.endpoint(bob)
    make.grant(of_ada, queue)
    make.grant(of_bob, queue)
    make.todo(queue=queue)
    claimed = claimed_by(db, of_ada)

    for act in (settling.complete, settling.fail, settling.release):
        with pytest.raises(NotFound):
            act(db, of_bob, claimed.todo.id, SAID)
    make.remove_member(team, ada)
    with pytest.raises(NotFound):
        settling.complete(db, of_ada, claimed.todo.id, SAID)


@pytest.mark.rule("operator-api.md: a human settles only a lease the human took; no fence asked")
def test_a_human_settles_only_an_own_lease(db: Database, make: Make) -> None:
    ada = make.human("ada")
    endpoint = make.endpoint(ada)
    make.todo(endpoint)
    make.todo(endpoint)
    of_agent = claimed_by(db, endpoint, require_fence=True)
    second = str(make.value("select id from todos where state = 'pending'"))
    claiming.board_claim(db, ada, second, gone=lambda: False)

    for act in (settling.complete_as, settling.fail_as, settling.release_as):
        with pytest.raises(Conflict):
            act(db, ada, of_agent.todo.id, SAID)
    assert settling.extend(db, ada, second).state == "claimed"
    assert settling.release_as(db, ada, second, SAID).state == "pending"


@pytest.mark.rule("F5: heartbeat and complete at once: no false alarm, no resurrected lease")
def test_heartbeat_racing_complete_never_resurrects_the_lease(db: Database, make: Make) -> None:
    endpoint = make.endpoint()
    for _ in range(40):
        make.todo(endpoint)
        claimed = claimed_by(db, endpoint)

        def act(number: int, todo_id: str = claimed.todo.id) -> object:
            if number == 0:
                return settling.complete(db, endpoint, todo_id, SAID)
            return settling.heartbeat(
                db, endpoint, todo_id, lease_ttl_seconds=60, lease_token=None)

        done, beat = together(2, act)

        assert not isinstance(done, BaseException)
        assert isinstance(beat, Conflict) or not isinstance(beat, BaseException)
    assert make.value("select count(*) from todos where state = 'done'") == 40
    assert make.value("select count(*) from todos where lease_expires_at is not null") == 0
