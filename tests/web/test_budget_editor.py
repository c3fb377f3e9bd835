"""The budget editor: a plain form that previews, warns, keeps what was typed, and saves."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest

from app.domain.callers import Human
from app.transactions import policies
from tests.support.client import Browser, Caller
from tests.support.clock import Clock
from tests.support.limits import stop_refill
from tests.support.make import Make, QueueId
from tests.web.budgeting import DAILY, NOON, audit, lane, rows, values, words


@pytest.fixture(autouse=True)
def noon(clock: Clock) -> None:
    """Five in the morning in Los Angeles, and the clock stands."""
    clock.set(NOON)


@pytest.fixture
def ana(make: Make) -> Human:
    return make.human("Ana")


@pytest.fixture
def queue(make: Make, ana: Human) -> QueueId:
    return lane(make, ana)[1]


@pytest.fixture
def seat(browser: Callable[[Human], Browser], ana: Human) -> Browser:
    return browser(ana)


def used(make: Make, queue: QueueId, units: int) -> None:
    """So many units in the window that is now."""
    make.run("insert into admission_windows (policy_id, window_start, used, limit_at_last_charge)"
             " select id, '2026-09-30 07:00Z', %s, 100 from admission_policies"
             " where queue_id = %s", units, int(queue))


def stored(make: Make, queue: QueueId) -> tuple[object, ...]:
    """Limits and revision as they are stored."""
    return make.rows("select max_in_flight, max_claims_per_window, window_period, window_tz,"
                     " revision from admission_policies where queue_id = %s", int(queue))[0]


def test_the_editor_opens_on_the_policy_in_force(seat: Browser, make: Make, queue: QueueId) -> None:
    used(make, queue, 60)

    answer = seat.get(f"/queues/{queue}/budget")

    assert answer.status_code == 200
    assert "<title>Edit budget for investigations" in answer.text
    kept = {**DAILY, "revision": "1"}
    assert {name: values(answer).get(name, "") for name in kept} == kept
    said = words(answer)
    assert "At most 100 claims a day, from 00:00 America/Los_Angeles; at most 5 at once." in said
    assert "Admitting: 60 of 100 used, 0 of 5 in flight, resets 00:00 PT." in said
    for fact in ("0 pauses the queue", "nothing is refunded", "restarts counting",
                 "a burst where two windows meet"):
        assert fact in said
    assert answer.text.count("autofocus") == 1
    assert answer.text.index("autofocus") < answer.text.index('name="max_claims_per_window"')
    save, preview = (answer.text.index(f'value="{act}"') for act in ("save", "preview"))
    assert save < preview, "Enter presses the first button of a form"
    assert '<option value="Africa/Abidjan">' in answer.text
    assert 'href="/#q-' in answer.text


def test_without_a_policy_the_editor_offers_a_day_in_the_viewers_zone(
    seat: Browser, make: Make, ana: Human
) -> None:
    endpoint = make.endpoint(ana, queues=("bare",))
    bare = make.queue_id(endpoint, "bare")
    make.run("update humans set zone = 'Europe/Berlin'")

    answer = seat.get(f"/queues/{bare}/budget")

    assert "<title>Add budget for bare" in answer.text
    assert {k: values(answer).get(k) for k in ("period", "tz", "start", "max_in_flight")} == {
        "period": "day", "tz": "Europe/Berlin", "start": "00:00", "max_in_flight": ""}
    saved = seat.post(f"/queues/{bare}/budget", {**DAILY, "revision": values(answer)["revision"]})
    assert (saved.status_code, saved.headers["Location"]) == (303, f"/#q-{bare}-edit")
    assert stored(make, bare) == (5, 100, "day", "America/Los_Angeles", 1)


@pytest.mark.parametrize(("opened", "back"), [
    ("", "/"), ("?from=queue", "/queues/{}"), ("?from=budgets", "/budgets"),
    ("?from=//evil.example", "/"),
])
def test_a_save_goes_back_to_the_edit_control_where_it_was_opened(
    seat: Browser, make: Make, queue: QueueId, ana: Human, opened: str, back: str
) -> None:
    form = {**DAILY, "max_claims_per_window": "80", "reason": "  fewer\r\ntoday "}

    saved = seat.post(f"/queues/{queue}/budget{opened}", form)

    assert saved.status_code == 303
    assert saved.headers["Location"] == f"{back.format(queue)}#q-{queue}-edit"
    assert stored(make, queue) == (5, 80, "day", "America/Los_Angeles", 2)
    action, after, reason = audit(make, queue)[-1]
    assert (action, reason) == ("update", "  fewer\ntoday ")
    assert isinstance(after, dict)
    assert after["max_claims_per_window"] == 80
    assert "saved: at most 80 claims a day" in words(seat.get(f"/queues/{queue}"))


def test_an_identical_save_says_that_nothing_changed(
    seat: Browser, make: Make, queue: QueueId
) -> None:
    saved = seat.post(f"/queues/{queue}/budget", DAILY)

    assert saved.status_code == 303
    assert audit(make, queue) == []
    assert "Budget for investigations is as it was" in words(seat.get(f"/queues/{queue}"))
    seat.post(f"/queues/{queue}/budget", {**DAILY, "reason": "why not"})
    assert "the reason you typed was not recorded" in words(seat.get(f"/queues/{queue}"))


def test_a_window_typed_without_a_period_is_said_not_to_count(
    seat: Browser, make: Make, queue: QueueId
) -> None:
    form = {**DAILY, "max_claims_per_window": "", "period": "", "weekday": "Mon"}
    said = ("Without a period there is no window, so what you typed as zone, start and weekday"
            " does not count.")

    preview = seat.post(f"/queues/{queue}/budget", {**form, "act": "preview"})
    saved = seat.post(f"/queues/{queue}/budget", form)

    assert said in words(preview)
    assert values(preview)["tz"] == "America/Los_Angeles"
    assert saved.status_code == 303
    assert said in words(seat.get(f"/queues/{queue}"))
    assert stored(make, queue)[:4] == (5, None, None, None)


def test_a_policy_that_cannot_be_judged_is_shown_as_it_is_stored_with_its_fault(
    seat: Browser, make: Make, queue: QueueId
) -> None:
    make.run("update admission_policies set window_tz = 'Mars/Olympus'")

    answer = seat.get(f"/queues/{queue}/budget")
    held = values(answer)

    assert answer.status_code == 200
    kept = {**DAILY, "tz": "Mars/Olympus", "revision": held["revision"]}
    assert {name: held.get(name, "") for name in kept} == kept
    assert '<a href="#tz">' in answer.text
    assert answer.text.count("autofocus") == 1
    assert "the time zone of the budget is not known here" in words(answer).lower()
    assert "Stored: claims per window 100; in-flight cap 5" in words(answer)
    saved = seat.post(f"/queues/{queue}/budget", {**kept, "tz": "UTC"})
    assert saved.status_code == 303
    assert stored(make, queue)[:4] == (5, 100, "day", "UTC")


WRONG = {"max_in_flight": "many", "max_claims_per_window": "-5", "period": "week",
         "tz": "los angeles", "start": "9.30", "weekday": "", "reason": "r" * 501}


def test_a_wrong_form_comes_back_with_every_value_and_a_sentence_per_field(
    seat: Browser, make: Make, queue: QueueId
) -> None:
    answer = seat.post(f"/queues/{queue}/budget", {**DAILY, **WRONG})

    assert answer.status_code == 422
    assert "<title>Error: Edit budget for investigations" in answer.text
    assert {name: values(answer).get(name, "") for name in WRONG} == WRONG
    for field, sentence in {
        "max_in_flight": "In-flight cap (max_in_flight) must be a whole number from 0 to 10000.",
        "max_claims_per_window": "must be a whole number from 0 to 1000000.",
        "tz": "Did you mean America/Los_Angeles?",
        "start": "Start (window.start) must be HH:MM. Did you mean 09:30?",
        "weekday": "A weekly window needs a weekday (window.weekday): choose one.",
        "reason": "Reason (reason) is at most 500 characters; this one has 501.",
    }.items():
        assert f'<a href="#{field}">' in answer.text
        control = answer.text.split(f'id="{field}"')[1].split(">")[0]
        control = answer.text.rsplit(f'id="{field}"', 1)[0].rsplit("<", 1)[1] + control
        assert 'aria-invalid="true"' in control
        assert f"{field}-hint {field}-error" in control
        assert words(answer).count(sentence) == 2, "in the summary and at the field"
    assert answer.text.count("autofocus") == 1
    assert 'role="alert"' in answer.text
    assert stored(make, queue)[-1] == 1
    assert audit(make, queue) == []


@pytest.mark.req("REQ-1", "Unknown zone is refused")
@pytest.mark.parametrize(("typed", "field", "sentence"), [
    ({"tz": "Mars/Olympus"}, "tz", "must be an IANA zone name. One is America/Los_Angeles."),
    ({"tz": "Europe/Pariss"}, "tz", "Did you mean Europe/Paris?"),
    ({"tz": "z" * 50_000}, "tz", "One is America/Los_Angeles."),
    ({"start": "25:00"}, "start", "One is 09:30."),
    ({"weekday": "Mon"}, "weekday", "is only for weekly: choose none."),
    ({"max_in_flight": "", "max_claims_per_window": ""}, "max_in_flight", "or both."),
    ({"period": ""}, "period", "Claims per window need a window"),
    ({"period": "fortnight"}, "period", "must be hour, day or week."),
    ({"max_in_flight": "10001"}, "max_in_flight", "from 0 to 10000."),
    ({"max_in_flight": "\u0665"}, "max_in_flight", "from 0 to 10000."),
    ({"max_claims_per_window": "9" * 400}, "max_claims_per_window", "from 0 to 1000000."),
    ({"reason": "nul \0"}, "reason", "Reason (reason) must not contain NUL"),
])
def test_each_field_is_judged_by_the_domain(
    seat: Browser, make: Make, queue: QueueId, typed: dict[str, object], field: str, sentence: str
) -> None:
    answer = seat.post(f"/queues/{queue}/budget", {**DAILY, **typed})

    assert answer.status_code == 422
    assert f'<a href="#{field}">' in answer.text
    assert sentence in words(answer)
    assert stored(make, queue)[-1] == 1


def test_a_cap_alone_needs_no_window(seat: Browser, make: Make, queue: QueueId) -> None:
    saved = seat.post(f"/queues/{queue}/budget",
                      {**DAILY, "max_claims_per_window": "", "period": ""})

    assert saved.status_code == 303
    assert stored(make, queue) == (5, None, None, None, 2)


def test_preview_saves_nothing_and_names_the_next_windows(
    make: Make, queue: QueueId, clock: Clock, ana: Human, browser: Callable[[Human], Browser]
) -> None:
    clock.set("2026-10-30T12:00:00Z")
    seat = browser(ana)
    typed = {**DAILY, "max_claims_per_window": "7", "act": "preview", "reason": "kept"}

    answer = seat.post(f"/queues/{queue}/budget", typed)

    assert answer.status_code == 200
    kept = {name: value for name, value in typed.items() if name != "act"}
    assert {name: values(answer).get(name, "") for name in kept} == kept
    said = words(answer)
    assert "Preview: nothing is saved yet" in said
    assert "It would admit claims now: 0 of 7 used, 7 remaining, 0 of 5 in flight." in said
    assert "No todo waits in the queue." in said
    assert "Counting goes on" in said
    lengths = [row[3] for row in rows(answer)]
    assert lengths == ["24 hours", "24 hours", "25 hours, as the clocks go back", *["24 hours"] * 3]
    assert rows(answer)[2][1:3] == ["1 Nov 2026, 00:00 PT", "2 Nov 2026, 00:00 PT"]
    assert answer.text.count("autofocus") == 1
    assert stored(make, queue)[-1] == 1
    assert audit(make, queue) == []


@pytest.mark.parametrize(("typed", "said"), [
    ({"max_claims_per_window": "60"},
     ["It would admit no claim before 00:00 PT: 60 of 60 used, 0 remaining",
      "60 are used in this window and the new limit is 60: no further claim is admitted until"
      " 00:00 PT."]),
    ({"max_in_flight": "2"},
     ["It would admit no claim until about 05:05 PT (estimate): 60 of 100 used",
      "2 are in flight and the new cap is 2: no further claim is admitted until fewer than 2 are"
      " in flight, about 05:05 PT (estimate)."]),
    ({"max_in_flight": "0"}, ["It would pause the queue", "A limit of 0 pauses the queue"]),
    ({"period": "week", "weekday": "Mon"},
     ["Counting restarts, in the window that began 28 Sep 2026, 00:00 PT: 0 used there so far."]),
    ({"start": "06:00"},
     ["Counting restarts, in the window that began 29 Sep 2026, 06:00 PT: 11 used there so far."]),
    ({"max_claims_per_window": "", "period": ""},
     ["Claims would not be counted: there is no limit on claims per window."]),
])
def test_preview_says_what_the_new_policy_would_do_now(
    seat: Browser, make: Make, queue: QueueId, ana: Human, typed: dict[str, object],
    said: list[str],
) -> None:
    used(make, queue, 60)
    make.run("insert into admission_windows (policy_id, window_start, used, limit_at_last_charge)"
             " select id, '2026-09-29 13:00Z', 11, 100 from admission_policies")
    endpoint = make.rows("select endpoint_id from queues where id = %s", int(queue))[0][0]
    for _ in range(2):
        make.todo(None, queue, state="claimed", lease=300, holder=ana)
    make.todo(None, queue)
    assert endpoint is not None

    answer = seat.post(f"/queues/{queue}/budget", {**DAILY, **typed, "act": "preview"})

    assert answer.status_code == 200
    assert "1 todo waits in the queue." in words(answer)
    for sentence in said:
        assert sentence in words(answer)


@pytest.mark.req("REQ-10", "Lowering mid-window")
def test_lowering_below_use_warns_first_and_then_admits_no_claim_until_the_next_window(
    seat: Browser, make: Make, queue: QueueId, agent: Callable[[Any], Caller], ana: Human,
    clock: Clock,
) -> None:
    worker = make.endpoint(ana, name="worker", queues=("today",))
    today = make.queue_id(worker, "today")
    make.policy(today, max_claims_per_window=100, tz="America/Los_Angeles", human=ana)
    used(make, today, 59)
    for _ in range(3):
        make.todo(worker, "today")
    assert agent(worker).call("claim_next").get_json()["todo"]["state"] == "claimed"
    form = {**DAILY, "max_in_flight": "", "max_claims_per_window": "50"}

    warned = seat.post(f"/queues/{today}/budget", form)
    unchanged = stored(make, today)
    saved = seat.post(f"/queues/{today}/budget", {**form, "warned": values(warned)["warned"]})

    assert warned.status_code == 200
    assert ("60 are used in this window and the new limit is 50: no further claim is admitted"
            " until 00:00 PT.") in words(warned)
    assert values(warned)["max_claims_per_window"] == "50"
    assert unchanged == (None, 100, "day", "America/Los_Angeles", 1)
    assert saved.status_code == 303
    refused = agent(worker).call("claim_next").get_json()
    assert refused["deferred"][0]["reason"] == "window_exhausted"
    assert make.value("select count(*) from todos where state = 'claimed'") == 1
    assert make.value("select used from admission_windows w join admission_policies p"
                      " on p.id = w.policy_id where p.queue_id = %s", int(today)) == 60
    record = rows(seat.get(f"/queues/{today}/history"))[0]
    assert record[:3] == ["30 Sep 2026, 12:00 UTC", "Ana", "claims per window from 100 to 50"]
    clock.set("2026-10-01T07:00:00Z")
    assert agent(worker).call("claim_next").get_json()["todo"]["state"] == "claimed"


def test_a_warning_is_confirmed_for_the_policy_it_was_given_for(
    seat: Browser, make: Make, queue: QueueId
) -> None:
    used(make, queue, 60)
    lower = {**DAILY, "max_claims_per_window": "50"}
    warned = values(seat.post(f"/queues/{queue}/budget", lower))["warned"]

    other = seat.post(f"/queues/{queue}/budget",
                      {**lower, "max_claims_per_window": "40", "warned": warned})

    assert other.status_code == 200
    assert "the new limit is 40" in words(other)
    assert stored(make, queue)[-1] == 1


def test_a_limit_that_stays_as_it_is_warns_of_nothing(
    seat: Browser, make: Make, queue: QueueId
) -> None:
    used(make, queue, 100)

    saved = seat.post(f"/queues/{queue}/budget", {**DAILY, "max_in_flight": "6"})

    assert saved.status_code == 303


@pytest.mark.rule("board.md: a stale edit answers 409 with both versions and keeps what was typed")
def test_a_stale_edit_shows_both_versions_and_the_next_save_counts(
    seat: Browser, make: Make, queue: QueueId, db: Any, ana: Human
) -> None:
    address = policies.QueueAddress(f"endpoint:{make.value('select slug from endpoints')}",
                                    "investigations")
    policies.save(db, ana, address, {"max_in_flight": 9}, reason="first")
    typed = {**DAILY, "max_claims_per_window": "70", "reason": "mine"}

    stale = seat.post(f"/queues/{queue}/budget", typed)
    kept = values(stale)
    again = seat.post(f"/queues/{queue}/budget", {**typed, "revision": kept["revision"]})

    assert stale.status_code == 409
    assert "<title>Error: Edit budget" in stale.text
    assert "saved by Ana at 30 Sep 2026, 12:00 UTC" in words(stale)
    assert rows(stale)[:3] == [["In-flight cap", "9", "5"],
                               ["Claims per window", "no limit", "70"], ["Period", "none", "day"]]
    assert (kept["max_claims_per_window"], kept["reason"], kept["revision"]) == ("70", "mine", "2")
    assert again.status_code == 303
    assert stored(make, queue)[:2] == (5, 70)


def test_an_edit_of_a_policy_that_was_cleared_meanwhile_is_stale(
    seat: Browser, make: Make, queue: QueueId
) -> None:
    seat.post(f"/queues/{queue}/budget/clear", {"revision": "1"})

    stale = seat.post(f"/queues/{queue}/budget", DAILY)

    assert stale.status_code == 409
    assert rows(stale)[1] == ["Claims per window", "no limit", "100"]
    assert values(stale)["revision"] == "0"


@pytest.mark.parametrize("revision", ["", "x", "-1", "1.0", "9" * 30, "0"])
def test_a_revision_nobody_was_given_is_stale(
    seat: Browser, make: Make, queue: QueueId, revision: str
) -> None:
    assert seat.post(f"/queues/{queue}/budget",
                     {**DAILY, "revision": revision}).status_code == 409
    assert stored(make, queue)[-1] == 1


def test_a_clear_asks_first_takes_a_reason_and_keeps_the_usage(
    seat: Browser, make: Make, queue: QueueId
) -> None:
    used(make, queue, 60)
    path = f"/queues/{queue}/budget/clear?from=queue"

    asked = seat.get(path)
    wrong = seat.post(path, {"revision": "1", "reason": "r" * 501})
    stale = seat.post(path, {"revision": "9", "reason": "why"})
    cleared = seat.post(path, {"revision": values(stale)["revision"], "reason": "why"})
    nothing = seat.get(path)

    assert "Clear budget for investigations" in words(asked)
    assert 'action="/queues/' in asked.text
    assert (wrong.status_code, values(wrong)["reason"]) == (422, "r" * 501)
    assert (stale.status_code, values(stale)["reason"]) == (409, "why")
    assert cleared.status_code == 303
    assert cleared.headers["Location"] == f"/queues/{queue}#q-{queue}-edit"
    assert audit(make, queue)[-1] == ("delete", None, "why")
    assert make.value("select used from admission_windows") == 60
    assert "There is nothing to clear." in words(nothing)
    assert 'aria-label="Add budget for investigations"' in seat.get(f"/queues/{queue}").text


def test_a_form_sent_without_a_session_or_a_token_keeps_its_fields_and_values(
    seat: Browser, make: Make, queue: QueueId, ana: Human, browser: Callable[[Human], Browser],
    client: Any,
) -> None:
    typed = {**DAILY, "max_claims_per_window": "77", "reason": "mine"}
    path = f"/queues/{queue}/budget"
    other = browser(make.human())

    signed_out = client.post(path, data=typed)
    tokens = (None, "", "wrong", other.csrf)
    refused = [seat.client.post(path, data={**typed, **({} if t is None else {"csrf_token": t})})
               for t in tokens]

    assert signed_out.status_code == 401
    assert [answer.status_code for answer in refused] == [403] * 4
    for answer in (signed_out, *refused):
        assert {name: values(answer).get(name, "") for name in typed} == typed
        assert "In force now" not in answer.text
    assert values(refused[0])["csrf_token"] == seat.csrf
    assert stored(make, queue)[-1] == 1
    again = seat.post(path, {**typed, "csrf_token": values(refused[0])["csrf_token"]})
    assert again.status_code == 303


@pytest.mark.parametrize("body", [
    {"json": {"max_in_flight": 1, "revision": 1}},
    {"json": [1]},
    {"data": b"max_in_flight=1&revision=1", "content_type": "text/plain"},
    {"data": {"max_in_flight": (io.BytesIO(b"1"), "cap.txt"), "revision": "1"}},
    {"data": b"\xff\xfe=%00&max_in_flight=%ff", "content_type":
     "application/x-www-form-urlencoded"},
])
def test_a_body_that_is_no_form_of_ours_saves_nothing(
    seat: Browser, make: Make, queue: QueueId, body: dict[str, Any]
) -> None:
    answer = seat.client.post(f"/queues/{queue}/budget", headers={"X-CSRF-Token": seat.csrf},
                              **body)

    assert answer.status_code == 422
    assert stored(make, queue)[-1] == 1


def test_too_many_saves_are_told_when_to_retry_and_keep_their_values(
    seat: Browser, app: Any, queue: QueueId, ana: Human
) -> None:
    stop_refill(app)
    buckets = app.extensions["switchboard"].limits.board_posts
    while buckets.take(str(ana.id)):
        pass

    answer = seat.post(f"/queues/{queue}/budget", {**DAILY, "max_in_flight": "nine"})

    assert answer.status_code == 429
    assert answer.headers["Retry-After"] == "1"
    assert values(answer)["max_in_flight"] == "nine"
    assert "again" in words(answer)


def test_a_revoked_endpoints_budget_is_closed(seat: Browser, make: Make, queue: QueueId) -> None:
    make.run("update endpoints set state = 'revoked'")

    answers = [seat.get(f"/queues/{queue}/budget"), seat.post(f"/queues/{queue}/budget", DAILY),
               seat.get(f"/queues/{queue}/budget/clear"),
               seat.post(f"/queues/{queue}/budget/clear", {"revision": "1"})]

    assert [answer.status_code for answer in answers] == [409] * 4
    assert all("revoked" in words(answer) for answer in answers)
    page = seat.get(f"/queues/{queue}")
    assert page.status_code == 200
    assert "cannot be changed any more" in words(page)
    assert "/budget" not in page.text.split("<main")[1].replace(f"/queues/{queue}/history", "")


def test_a_broken_stored_policy_can_be_replaced(seat: Browser, make: Make, queue: QueueId) -> None:
    make.run("update admission_policies set window_tz = 'Mars/Olympus'")

    shown = seat.get(f"/queues/{queue}/budget")
    saved = seat.post(f"/queues/{queue}/budget", DAILY)

    assert "is not known here, so no claim is admitted." in words(shown)
    assert saved.status_code == 303
    assert stored(make, queue)[3] == "America/Los_Angeles"


@pytest.mark.parametrize(("act", "label"), [
    ("preview", "Preview budget"), ("save", "Save budget"), ("", "Save budget")])
def test_a_kept_form_names_the_button_that_it_sends_again(
    client: Any, seat: Browser, queue: QueueId, act: str, label: str
) -> None:
    sent = {**DAILY, "act": act}

    kept = [client.post(f"/queues/{queue}/budget", data=sent),
            seat.post(f"/queues/{queue}/budget", {**sent, "csrf_token": "stale"})]

    for answer in kept:
        assert answer.status_code in (401, 403)
        assert f'class="primary">{label}</button>' in answer.text
        assert f'name="act" value="{act}"' in answer.text
