"""Discard: asked once, free, and open to a queue that is paused (R65)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from tests.support.client import Browser
from tests.support.make import Make

Seat = Callable[..., Browser]


@pytest.mark.parametrize("policy", [
    None, {"max_in_flight": 0}, {"max_claims_per_window": 1},
    {"max_claims_per_window": 1, "tz": "Mars/Olympus"},
])
def test_discarding_makes_a_dead_letter_and_touches_no_admission_row(
    browser: Seat, make: Make, policy: dict[str, object] | None
) -> None:
    ana = make.human()
    lane = make.endpoint(ana)
    if policy is not None:
        made = make.policy(make.queue_id(lane), **policy)  # type: ignore[arg-type]
        make.window(made, make.now().replace(hour=0, minute=0, second=0, microsecond=0), 1)
    todo = make.todo(lane, title="Sort the mail")
    seat = browser(ana)
    tables = ("admission_policies", "admission_windows", "admission_faults",
              "admission_policy_audit", "todo_attempts")
    before = [make.rows(f"select * from {table}") for table in tables]

    confirm = seat.get(f"/todos/{todo}/discard?from=/")
    untouched = make.row(todo)["state"]
    done = seat.post(f"/todos/{todo}/discard", {"from": "/"})

    assert confirm.status_code == 200
    assert '<button type="submit" class="primary" id="discard"' in confirm.text
    assert "Discard Sort the mail</button>" in confirm.text
    assert 'name="from" value="/"' in confirm.text
    assert 'id="discard-cancel" href="/">Keep Sort the mail' in confirm.text
    assert untouched == "pending"
    assert (done.status_code, done.location) == (303, f"/#todo-{todo}-link")
    row = make.row(todo)
    assert (row["state"], row["next_retry_at"], row["attempts_total"]) == ("failed", None, 0)
    assert [make.rows(f"select * from {table}") for table in tables] == before
    assert "Discarded Sort the mail." in seat.get("/todos").text


def test_a_parked_retry_is_discarded_and_its_attempts_stay(browser: Seat, make: Make) -> None:
    ana = make.human()
    lane = make.endpoint(ana)
    todo = make.todo(lane, state="failed", next_retry_at=make.now() + timedelta(hours=1))
    attempts = make.attempts(todo)
    seat = browser(ana)

    answers = [seat.get(f"/todos/{todo}/discard"), seat.post(f"/todos/{todo}/discard")]

    assert [answer.status_code for answer in answers] == [200, 303]
    assert answers[1].location == f"/todos/{todo}#todo-state"
    assert make.row(todo)["next_retry_at"] is None
    assert make.attempts(todo) == attempts


@pytest.mark.parametrize("state", ["claimed", "done", "failed"])
def test_what_cannot_be_discarded_is_409_already_when_asked(
    browser: Seat, make: Make, state: str
) -> None:
    ana = make.human()
    todo = make.todo(make.endpoint(ana), state=state)
    seat = browser(ana)
    before = make.row(todo)

    asked, posted = seat.get(f"/todos/{todo}/discard"), seat.post(f"/todos/{todo}/discard")

    for answer in (asked, posted):
        assert answer.status_code == 409
        assert "Only a pending todo or a parked retry can be discarded." in answer.text
    assert make.row(todo) == before


def test_the_second_click_is_refused(browser: Seat, make: Make) -> None:
    ana = make.human()
    todo = make.todo(make.endpoint(ana))
    seat = browser(ana)

    codes = [seat.post(f"/todos/{todo}/discard").status_code for _ in range(2)]

    assert codes == [303, 409]


@pytest.mark.parametrize(("role", "status"), [("member", 403), ("admin", 303), ("owner", 303)])
def test_in_a_team_an_admin_or_owner_discards(
    browser: Seat, make: Make, role: str, status: int
) -> None:
    team, ana = make.team(), make.human()
    make.member(team, ana, role)
    todo = make.todo(queue=make.team_queue(team))

    answer = browser(ana).post(f"/todos/{todo}/discard")

    assert answer.status_code == status
    assert make.row(todo)["state"] == ("pending" if status == 403 else "failed")
