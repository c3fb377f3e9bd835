"""Pause and Resume: what was in force comes back from the record, or the editor opens (R68)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from app.domain.callers import Human
from app.domain.queues import QueueAddress
from app.domain.verbs import ADMISSION, BASICS
from app.transactions import pauses, policies
from tests.support import page
from tests.support.client import Browser, Caller
from tests.support.clock import Clock
from tests.support.make import Make, QueueId
from tests.web.budgeting import NOON, audit, values, words

DAY = {"period": "day", "tz": "UTC", "start": "00:00"}
OPEN = {"max_in_flight": 5, "max_claims_per_window": 100, "window": DAY}


@pytest.fixture(autouse=True)
def noon(clock: Clock) -> None:
    clock.set(NOON)


@pytest.fixture
def ana(make: Make) -> Human:
    return make.human("Ana")


@pytest.fixture
def endpoint(make: Make, ana: Human) -> Any:
    return make.endpoint(ana, name="lane", queues=("lane-m",), verbs=(*BASICS, *ADMISSION))


@pytest.fixture
def queue(make: Make, endpoint: Any) -> QueueId:
    return make.queue_id(endpoint, "lane-m")


@pytest.fixture
def address(endpoint: Any) -> QueueAddress:
    return QueueAddress(f"endpoint:{endpoint.slug}", "lane-m")


@pytest.fixture
def seat(browser: Callable[[Human], Browser], ana: Human) -> Browser:
    return browser(ana)


@pytest.fixture
def budget(db: Any, ana: Human, address: QueueAddress) -> None:
    """The policy that is in force before each pause."""
    policies.save(db, ana, address, OPEN)


def revision(seat: Browser, queue: QueueId) -> str:
    """What the page of the queue would post."""
    return values(seat.get(f"/queues/{queue}"))["revision"]


def press(seat: Browser, queue: QueueId, act: str, **typed: object) -> Any:
    """The one button of the page, with the revision the page shows."""
    return seat.post(f"/queues/{queue}/{act}", {"revision": revision(seat, queue), **typed})


def in_force(make: Make, queue: QueueId) -> tuple[object, ...] | None:
    """Cap and window limit of the live policy."""
    found = make.rows("select max_in_flight, max_claims_per_window from admission_policies"
                      " where queue_id = %s and deleted_at is null", int(queue))
    return found[0] if found else None


def summary(answer: Any) -> str:
    """What the error summary says, which has the focus."""
    box = next(each for each in page.parse(answer.text).all("div")
               if each.get("id") == "error-summary")
    assert box.get("autofocus") is not None
    return " ".join(box.text.split())


@pytest.mark.usefixtures("budget")
def test_pause_sets_the_cap_to_0_and_resume_restores_the_policy(
    seat: Browser, make: Make, queue: QueueId, endpoint: Any, agent: Callable[[Any], Caller]
) -> None:
    make.todo(endpoint, "lane-m")

    paused = press(seat, queue, "pause", reason="deploy freeze")
    paused_page = seat.get(f"/queues/{queue}")
    refused = agent(endpoint).call("claim_next").get_json()
    resumed = press(seat, queue, "resume", reason="over")

    for answer in (paused, resumed):
        assert answer.status_code == 303
        assert answer.headers["Location"] == f"/queues/{queue}#q-{queue}-pause"
    said = words(paused_page)
    assert "lane-m is paused." in said
    assert "Resume lane-m" in said
    assert "Pause lane-m" not in said
    assert "by Ana" in said
    assert "deploy freeze" in said
    assert refused["deferred"][0]["reason"] == "paused"
    assert in_force(make, queue) == (5, 100)
    assert [(action, reason) for action, _, reason in audit(make, queue)] == [
        ("create", None), ("update", "deploy freeze"), ("update", "over")]
    assert "lane-m is resumed with the budget it had." in words(seat.get(f"/queues/{queue}"))


def test_each_reason_says_who_will_read_it(
    seat: Browser, queue: QueueId, budget: None
) -> None:
    path = f"/queues/{int(queue)}"

    pause = seat.get(path).text
    seat.post(f"{path}/pause", {"reason": "off"})
    resume = seat.get(path).text
    editor = seat.get(f"{path}/budget").text

    assert "Shown to everyone who can see the queue." in pause
    assert "Shown to everyone who may read the budget history." in resume
    assert "with an in-flight cap of 0 to everyone who can see the queue." in editor


def test_a_pause_without_a_policy_makes_one_and_resume_clears_it(
    seat: Browser, make: Make, queue: QueueId
) -> None:
    paused = press(seat, queue, "pause")
    held = in_force(make, queue)
    resumed = press(seat, queue, "resume")

    assert (paused.status_code, resumed.status_code) == (303, 303)
    assert held == (0, None)
    assert in_force(make, queue) is None
    assert [action for action, *_ in audit(make, queue)] == ["create", "delete"]



@pytest.mark.usefixtures("budget")
@pytest.mark.parametrize("limit", ["max_in_flight", "max_claims_per_window"])
@pytest.mark.parametrize("way", ["api", "agent", "editor"])
def test_every_way_of_pausing_is_undone(
    seat: Browser, make: Make, queue: QueueId, endpoint: Any, ana: Human, way: str, limit: str,
    operator: Callable[[Human], Caller], agent: Callable[[Any], Caller],
) -> None:
    policy = {**OPEN, limit: 0}
    if way == "api":
        answer = operator(ana).put(f"/admission/endpoint:{endpoint.slug}/lane-m", json=policy)
        assert answer.status_code == 200
    elif way == "agent":
        answer = agent(endpoint).call("set_admission_policy", queue="lane-m", policy=policy)
        assert answer.status_code == 200
    else:
        form = {"max_in_flight": policy["max_in_flight"], **DAY, "weekday": "",
                "max_claims_per_window": policy["max_claims_per_window"], "revision": "1"}
        warned = values(seat.post(f"/queues/{queue}/budget", form))["warned"]
        assert seat.post(f"/queues/{queue}/budget", {**form, "warned": warned}).status_code == 303

    resumed = press(seat, queue, "resume")

    assert resumed.headers["Location"] == f"/queues/{queue}#q-{queue}-pause"
    assert in_force(make, queue) == (5, 100)


@pytest.mark.usefixtures("budget")
def test_an_edit_while_paused_opens_the_editor_and_says_why(
    seat: Browser, make: Make, queue: QueueId, db: Any, ana: Human, address: QueueAddress
) -> None:
    press(seat, queue, "pause")
    policies.save(db, ana, address, {**OPEN, "max_in_flight": 0, "max_claims_per_window": 70})

    resumed = press(seat, queue, "resume")
    editor = seat.get(resumed.headers["Location"])

    assert (resumed.status_code, editor.status_code) == (303, 200)
    assert resumed.headers["Location"] == f"/queues/{queue}/budget?from=queue"
    assert ("lane-m is still paused. The budget was changed while the queue was paused."
            in words(editor))
    assert values(editor)["max_claims_per_window"] == "70"
    assert in_force(make, queue) == (0, 70)

    reasoned = press(seat, queue, "resume", reason="it is over " * 45)

    assert reasoned.status_code == 409
    assert "lane-m is still paused. The budget was changed" in summary(reasoned)
    assert values(reasoned)["reason"] == "it is over " * 45
    saved = seat.post(f"/queues/{queue}/budget?from=queue", {
        **values(reasoned), "max_in_flight": "3"})
    assert saved.headers["Location"] == f"/queues/{queue}#q-{queue}-edit"
    assert audit(make, queue)[-1][2] == "it is over " * 45


def test_a_pause_nobody_recorded_opens_the_editor(
    seat: Browser, make: Make, queue: QueueId, ana: Human
) -> None:
    make.policy(queue, max_in_flight=0, human=ana)

    resumed = press(seat, queue, "resume")

    assert resumed.headers["Location"].startswith(f"/queues/{queue}/budget")
    assert "does not say how" in words(seat.get(resumed.headers["Location"]))


@pytest.mark.usefixtures("budget")
def test_a_second_pause_changes_nothing_whichever_limit_is_0(
    seat: Browser, make: Make, queue: QueueId, db: Any, ana: Human, address: QueueAddress
) -> None:
    policies.save(db, ana, address, {**OPEN, "max_claims_per_window": 0})

    again = seat.post(f"/queues/{queue}/pause", {"reason": "twice"})

    assert again.status_code == 303
    assert ("lane-m was paused already. Nothing was changed, so the reason you typed was not"
            " recorded." in words(seat.get(f"/queues/{queue}")))
    assert len(audit(make, queue)) == 2
    press(seat, queue, "resume")
    assert in_force(make, queue) == (5, 100)


@pytest.mark.usefixtures("budget")
@pytest.mark.parametrize("seen", ["1", "", "x", "9" * 25])
def test_a_stale_resume_is_refused_and_changes_nothing(
    seat: Browser, make: Make, queue: QueueId, seen: str
) -> None:
    press(seat, queue, "pause")

    stale = seat.post(f"/queues/{queue}/resume", {"revision": seen, "reason": "mine"})

    assert stale.status_code == 409
    assert "<title>Error: Queue lane-m" in stale.text
    said = summary(stale)
    for fact in ("changed since you looked", "Nothing was changed.", "saved by Ana",
                 "In force now: At most 100 claims a day", "at most 0 at once"):
        assert fact in said
    assert values(stale)["reason"] == "mine"
    assert values(stale)["revision"] == "2", "the next press is no stale one"
    assert in_force(make, queue) == (0, 100)


@pytest.mark.usefixtures("budget")
def test_a_resume_of_a_queue_that_is_open_is_refused(seat: Browser, queue: QueueId) -> None:
    refused = press(seat, queue, "resume", reason="late")

    assert refused.status_code == 409
    assert "The queue is not paused." in summary(refused)
    assert "In force now: At most 100 claims a day" in summary(refused)
    assert values(refused)["reason"] == "late"


@pytest.mark.usefixtures("budget")
def test_a_pause_is_not_lost_to_an_edit_at_the_same_moment(
    make: Make, queue: QueueId, db: Any, ana: Human, address: QueueAddress,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    save, edits = policies.save, iter([60, 70])

    def late(*args: Any, **named: Any) -> Any:
        limit = next(edits, None)
        if limit is not None:
            save(db, ana, address, {**OPEN, "max_claims_per_window": limit})
        return save(*args, **named)

    monkeypatch.setattr(policies, "save", late)

    assert pauses.pause(db, ana, address, reason=None)
    assert in_force(make, queue) == (0, 70)


@pytest.mark.parametrize("act", ["pause", "resume"])
def test_a_reason_too_long_is_said_beside_the_button(
    seat: Browser, make: Make, queue: QueueId, act: str
) -> None:
    if act == "resume":
        press(seat, queue, "pause")

    answer = press(seat, queue, act, reason="r" * 501)

    assert answer.status_code == 422
    assert "<title>Error: Queue lane-m" in answer.text
    assert values(answer)["reason"] == "r" * 501
    assert len(audit(make, queue)) == (1 if act == "resume" else 0)


def test_a_policy_that_cannot_be_judged_is_not_paused_but_edited(
    seat: Browser, make: Make, queue: QueueId, ana: Human
) -> None:
    make.policy(queue, max_claims_per_window=5, human=ana)
    make.run("update admission_policies set window_tz = 'Mars/Olympus'")

    shown = seat.get(f"/queues/{queue}")
    refused = [seat.post(f"/queues/{queue}/{act}", {"reason": "freeze"})
               for act in ("pause", "resume")]

    assert "Pause lane-m" not in words(shown)
    assert "cannot be judged" in words(shown)
    assert "Edit the budget to mend it" in words(shown)
    for answer in refused:
        assert answer.status_code == 409
        assert "<title>Error: Edit budget for lane-m" in answer.text
        assert "Edit it to replace it" in summary(answer)
        assert values(answer)["reason"] == "freeze"
        assert f'action="/queues/{queue}/budget?from=queue"' in answer.text


@pytest.mark.usefixtures("budget")
def test_a_pause_or_resume_on_a_revoked_endpoint_is_refused_on_the_queues_page(
    seat: Browser, make: Make, queue: QueueId
) -> None:
    make.run("update endpoints set state = 'revoked', revoked_at = clock()")

    for act in ("pause", "resume"):
        refused = seat.post(f"/queues/{queue}/{act}", {"reason": "freeze"})

        assert refused.status_code == 409
        assert "The endpoint is revoked. Nothing was changed." in summary(refused)
        assert "The reason you typed: freeze" in words(refused)
    assert in_force(make, queue) == (5, 100)


def test_only_a_post_with_the_sessions_own_token_pauses(
    seat: Browser, make: Make, queue: QueueId, browser: Callable[[Human], Browser], client: Any
) -> None:
    other = browser(make.human())

    answers = [
        client.post(f"/queues/{queue}/pause", data={"reason": "kept"}),
        seat.client.post(f"/queues/{queue}/pause", data={"reason": "kept"}),
        seat.post(f"/queues/{queue}/pause", {"reason": "kept", "csrf_token": other.csrf}),
        seat.get(f"/queues/{queue}/pause"),
    ]

    assert [answer.status_code for answer in answers] == [401, 403, 403, 405]
    assert all(values(answer)["reason"] == "kept" for answer in answers[:3])
    assert in_force(make, queue) is None
