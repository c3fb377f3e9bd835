"""Webhooks on the web: made, rotated and deleted once, their secrets shown once, their routes."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable

import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from app.domain.callers import Human
from tests.support import page
from tests.support.client import Browser
from tests.support.make import Make, Webhook

Seat = Callable[..., Browser]
UNKNOWN = "00000000-0000-4000-8000-000000000000"


@pytest.fixture
def ana(make: Make) -> Human:
    """Who owns the webhooks."""
    return make.human("Ana")


@pytest.fixture
def seat(browser: Seat, ana: Human) -> Browser:
    """Ana's browser."""
    return browser(ana)


def at(webhook: Webhook, act: str = "") -> str:
    """The address of a webhook's page, or of an act on it."""
    return f"/webhooks/{webhook.id}{act}"


def act_of(answer: TestResponse) -> dict[str, object]:
    """The hidden name of the act that a page's form is."""
    return {"act": next(field.get("value") for field in page.parse(answer.text).all("input")
                        if field.get("name") == "act")}


def value_of(answer: TestResponse, id_: str) -> str:
    """What a read-only field holds."""
    field = next(e for e in page.parse(answer.text).all("input") if e.get("id") == id_)
    assert "readonly" in field.attributes
    return str(field.get("value"))


def one_404(answers: list[TestResponse]) -> bool:
    """Whether all are not found, byte for byte alike."""
    return {answer.status_code for answer in answers} == {404} and len(
        {answer.data for answer in answers}) == 1


def deliver(client: FlaskClient, url: str, secret: str) -> int:
    """The status of a delivery signed as GitHub does."""
    body = b'{"action": "opened"}'
    signature = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    path = url.removeprefix("http://localhost")
    return client.post(path, data=body, headers={
        "X-GitHub-Event": "issues", "X-Hub-Signature-256": f"sha256={signature}"}).status_code


# --- list and page -------------------------------------------------------------------------------


def test_without_webhooks_the_list_says_what_one_is_and_the_next_step(seat: Browser) -> None:
    shown = seat.get("/webhooks").text

    assert "You have no webhook." in shown
    assert "You have no active endpoint" in seat.get("/webhooks/new").text


def test_the_list_shows_each_webhook_with_its_queue_routes_and_last_delivery(
    seat: Browser, client: FlaskClient, make: Make, ana: Human
) -> None:
    lane = make.endpoint(ana)
    quiet, busy = make.webhook(lane, "slack"), make.webhook(lane)
    make.route(busy, make.endpoint(ana))
    gone = make.webhook(lane, "stripe", target_queue="gone")
    foreign = make.webhook(make.endpoint())
    assert deliver(client, busy.path, "the shared secret") == 202

    shown = seat.get("/webhooks").text

    rows = [" ".join(row.text.split()) for row in page.parse(shown).all("tr")][1:]
    assert [row.split()[0] for row in rows] == ["stripe", "github", "slack"]
    assert "1 route " in rows[1]
    assert "none kept" not in rows[1]
    assert "0 routes none kept" in rows[2]
    assert "gone (made by the next delivery)" in rows[0]
    assert f'href="/queues/{make.queue_id(lane)}"' in shown
    assert f'href="{at(quiet)}"' in shown
    assert str(gone.id) in shown
    assert str(foreign.id) not in shown


def test_the_page_shows_the_url_and_never_the_secret(
    seat: Browser, make: Make, ana: Human
) -> None:
    hook = make.webhook(make.endpoint(ana))

    shown = seat.get(at(hook))

    assert value_of(shown, "ingest-url") == f"http://localhost{hook.path}"
    assert "the shared secret" not in shown.text
    assert "each delivery is signed with a secret" in shown.text
    assert f'href="{at(hook, "/rotate")}"' in shown.text


def test_a_webhook_of_a_revoked_endpoint_is_shown_and_cannot_be_changed(
    seat: Browser, make: Make, ana: Human
) -> None:
    hook = make.webhook(make.endpoint(ana))
    make.route(hook, make.endpoint(ana))
    make.run("update endpoints set state = 'revoked' where id = %s", hook.endpoint_id)

    shown = seat.get(at(hook)).text
    answers = [seat.get(at(hook, "/rotate")), seat.post(at(hook, "/rotate")),
               seat.get(at(hook, "/delete")), seat.post(at(hook, "/delete")),
               seat.post(at(hook, "/routes"), {"endpoint": UNKNOWN})]

    assert "can no longer be changed" in shown
    assert "/rotate" not in shown
    assert [answer.status_code for answer in answers] == [409] * 5


# --- create --------------------------------------------------------------------------------------


def test_a_webhook_is_created_and_its_secret_is_shown_once_and_works(
    seat: Browser, client: FlaskClient, make: Make, ana: Human
) -> None:
    lane = make.endpoint(ana, queues=("lane-m",))
    form = seat.get(f"/webhooks/new?endpoint={lane.id}")

    made = seat.post("/webhooks/new", {
        **act_of(form), "endpoint": str(lane.id), "source_type": "github",
        "target_queue": " lane-m "})
    shown = seat.get(made.headers["Location"])
    again = seat.get(made.headers["Location"])

    assert f'<option selected value="{lane.id}">' in form.text
    assert made.status_code == 303
    assert shown.headers["Cache-Control"] == "no-store"
    assert "It is shown once" in shown.text
    url, secret = value_of(shown, "ingest-url"), value_of(shown, "signing-secret")
    assert deliver(client, url, secret) == 202
    assert make.rows("select source_type, target_queue from endpoint_webhooks") == [
        ("github", "lane-m")]
    hook = make.value("select id from endpoint_webhooks")
    assert (again.status_code, again.headers["Location"]) == (303, f"/webhooks/{hook}")
    assert secret not in seat.get(f"/webhooks/{hook}").text


def test_a_generic_webhook_has_no_secret_to_show(seat: Browser, make: Make, ana: Human) -> None:
    lane = make.endpoint(ana)

    made = seat.post("/webhooks/new", {"endpoint": str(lane.id), "source_type": "generic",
                                       "target_queue": "inbox"})
    shown = seat.get(made.headers["Location"])

    assert "signing-secret" not in shown.text
    assert "knowing the URL is the only proof" in shown.text
    page = seat.get(seat.get(made.headers["Location"]).headers["Location"])
    assert "The URL was shown once and cannot be shown again." in page.text


def test_a_form_sent_twice_creates_one_webhook_and_its_secret_is_still_shown(
    seat: Browser, make: Make, ana: Human
) -> None:
    lane = make.endpoint(ana)
    data: dict[str, object] = {
        **act_of(seat.get("/webhooks/new")), "endpoint": str(lane.id), "source_type": "slack",
        "target_queue": "inbox",
    }

    dropped, kept = (seat.post("/webhooks/new", data) for _ in range(2))

    assert dropped.headers["Location"] == kept.headers["Location"]
    assert value_of(seat.get(kept.headers["Location"]), "signing-secret")
    assert make.value("select count(*) from endpoint_webhooks") == 1


@pytest.mark.parametrize(("change", "said", "field"), [
    ({"target_queue": " "}, "Enter the name of a queue", "target_queue"),
    ({"target_queue": "a//b"}, "Queue: a queue name must not start or end with /", "target_queue"),
    ({"target_queue": "other"}, "may not create webhooks for this queue", "target_queue"),
    ({"target_queue": "team:night/triage"}, "no such queue that you may deliver to",
     "target_queue"),
    ({"source_type": "stripe"}, "may not create webhooks of this source type", "source_type-0"),
    ({"source_type": "pigeon"}, "Not a valid choice", "source_type-0"),
    ({"endpoint": UNKNOWN}, "Not a valid choice", "endpoint"),
    ({"endpoint": "full"}, "has as many webhooks as it may", "endpoint"),
])
def test_a_webhook_the_api_would_refuse_is_refused_at_its_field(
    seat: Browser, make: Make, ana: Human, change: dict[str, object], said: str, field: str
) -> None:
    lane = make.endpoint(ana, webhook_source_types=("github",))
    full = make.endpoint(ana, webhook_max=1, webhook_source_types=("github",))
    make.webhook(full)
    data = {"endpoint": str(lane.id), "source_type": "github", "target_queue": "inbox", **change}
    data["endpoint"] = str(full.id) if data["endpoint"] == "full" else data["endpoint"]

    answer = seat.post("/webhooks/new", data)

    shown = page.parse(answer.text)
    assert answer.status_code == 422
    assert "<title>Error: Create a webhook" in answer.text
    link = next(a for a in shown.all("a") if said in a.text)
    assert link.get("href") == f"#{field}"
    if "queue" in field:
        typed = next(e for e in shown.all("input") if e.get("id") == "target_queue")
        assert typed.get("value") == data["target_queue"]
    assert make.value("select count(*) from endpoint_webhooks") == 1


def test_a_team_queue_is_a_target_for_whom_the_api_allows_it(
    seat: Browser, make: Make, ana: Human
) -> None:
    team = make.team("night")
    make.member(team, ana)
    make.team_queue(team, "triage")
    data: dict[str, object] = {"endpoint": str(make.endpoint(ana).id), "source_type": "generic",
                               "target_queue": "team:night/triage"}

    refused = seat.post("/webhooks/new", data)
    make.run("update teams set members_create_webhooks = true")
    made = seat.post("/webhooks/new", data)

    assert (refused.status_code, made.status_code) == (422, 303)
    assert "Your role in the team does not allow this." in refused.text


def test_a_webhook_whose_team_queue_is_gone_says_that_it_makes_no_todo(
    seat: Browser, make: Make, ana: Human
) -> None:
    team = make.team("night")
    hook = make.webhook(make.endpoint(ana), team_queue=make.team_queue(team, "triage"))
    make.run("delete from queues where team_id = %s", team.id)

    said = "night/triage: the queue is gone or out of your reach, and deliveries make no todo"
    assert said in seat.get(at(hook)).text


def test_a_webhook_form_without_a_session_or_token_is_kept(
    seat: Browser, client: FlaskClient, make: Make, ana: Human
) -> None:
    data = {"endpoint": str(make.endpoint(ana).id), "source_type": "slack",
            "target_queue": "typed", "csrf_token": "old"}

    answers = [each.post("/webhooks/new", data=data) for each in (client, seat.client)]

    assert [answer.status_code for answer in answers] == [401, 403]
    for answer in answers:
        assert 'value="typed"' in answer.text
        assert "checked" in answer.text
    assert make.value("select count(*) from endpoint_webhooks") == 0


# --- rotate and delete ---------------------------------------------------------------------------


def test_rotating_says_what_it_will_do_then_replaces_url_and_secret_once(
    seat: Browser, client: FlaskClient, make: Make, ana: Human
) -> None:
    hook = make.webhook(make.endpoint(ana))
    asked = seat.get(at(hook, "/rotate"))

    dropped, kept = (seat.post(at(hook, "/rotate"), act_of(asked)) for _ in range(2))
    shown = seat.get(kept.headers["Location"])

    assert "The old URL stops at once" in asked.text
    assert dropped.headers["Location"] == kept.headers["Location"]
    url, secret = value_of(shown, "ingest-url"), value_of(shown, "signing-secret")
    assert deliver(client, hook.path, "the shared secret") == 404
    assert deliver(client, url, secret) == 202
    assert make.value("select ingest_token from endpoint_webhooks") == url.rpartition("/")[2]
    assert make.value("select rotated_at is not null from endpoint_webhooks") is True


def test_deleting_says_what_it_will_do_then_does_it(
    seat: Browser, client: FlaskClient, make: Make, ana: Human
) -> None:
    hook = make.webhook(make.endpoint(ana))
    make.route(hook, make.endpoint(ana))

    asked = seat.get(at(hook, "/delete"))
    still = deliver(client, hook.path, "the shared secret")
    gone = seat.post(at(hook, "/delete"))

    assert "Its 1 route goes with it." in asked.text
    assert still == 202
    assert gone.headers["Location"] == "/webhooks"
    assert "is deleted." in seat.get("/webhooks").text
    assert deliver(client, hook.path, "the shared secret") == 404
    assert make.value("select count(*) from events") == 1


def test_no_secret_is_logged_or_stored_in_clear(
    seat: Browser, make: Make, ana: Human, caplog: pytest.LogCaptureFixture
) -> None:
    hook = make.webhook(make.endpoint(ana))
    with caplog.at_level("DEBUG"):
        rotated = seat.post(at(hook, "/rotate"))
        stored = str(make.rows("select data::text, kind from drafts")
                     + make.rows("select flash::text from sessions"))
        shown = seat.get(rotated.headers["Location"])
        seat.get(rotated.headers["Location"])

    secret = value_of(shown, "signing-secret")
    token = value_of(shown, "ingest-url").rpartition("/")[2]
    after = str(make.rows("select data::text, secret from drafts, endpoint_webhooks"))
    for text in (caplog.text, stored, after, str(rotated.headers)):
        assert secret not in text
        assert token not in text


# --- routes --------------------------------------------------------------------------------------


def test_routes_are_added_and_removed_and_get_a_copy(
    seat: Browser, client: FlaskClient, make: Make, ana: Human
) -> None:
    hook, other = make.webhook(make.endpoint(ana)), make.endpoint(ana)

    added = [seat.post(at(hook, "/routes"), {"endpoint": str(other.id)}) for _ in range(2)]
    shown = seat.get(at(hook)).text
    assert deliver(client, hook.path, "the shared secret") == 202
    copies = make.value("select count(*) from todos where endpoint_id = %s", other.id)
    remove = at(hook, f"/routes/{other.id}/remove")
    removed = [seat.post(remove) for _ in range(2)]

    assert [answer.headers["Location"] for answer in added + removed] == [at(hook, "#routes")] * 4
    assert f"Remove the route to {other.slug}" in shown
    assert f'action="{remove}"' in shown
    assert copies == 1
    assert make.value("select count(*) from webhook_routes") == 0
    assert "The route is removed." in seat.get(at(hook)).text


def test_only_other_active_endpoints_of_ones_own_are_offered_and_taken(
    seat: Browser, make: Make, ana: Human
) -> None:
    lane, other = make.endpoint(ana), make.endpoint(ana)
    ended, foreign = make.endpoint(ana, expires_at=make.now()), make.endpoint(make.human())
    hook = make.webhook(lane)

    shown = seat.get(at(hook)).text
    answers = [seat.post(at(hook, "/routes"), {"endpoint": str(one)})
               for one in (ended.id, foreign.id, UNKNOWN, "")]

    offered = [option.get("value") for option in page.parse(shown).all("option")]
    assert offered == [str(other.id)]
    assert [answer.status_code for answer in answers] == [422] * 4
    assert all("not an active endpoint you may configure" in answer.text for answer in answers)
    assert make.value("select count(*) from webhook_routes") == 0


def test_the_owning_endpoint_is_no_route_to_remove(
    seat: Browser, make: Make, ana: Human
) -> None:
    hook = make.webhook(make.endpoint(ana))

    assert seat.post(at(hook, f"/routes/{hook.endpoint_id}/remove")).status_code == 409


# --- who may -------------------------------------------------------------------------------------


def test_foreign_unknown_and_malformed_are_one_page_for_looks_and_acts(
    seat: Browser, make: Make, ana: Human
) -> None:
    team, lane = make.team(), make.endpoint(ana)
    make.member(team, ana)
    foreign, shared = make.webhook(make.endpoint()), make.webhook(make.endpoint(team=team))
    names = (foreign.id, shared.id, UNKNOWN, "x", "7")

    assert "You have no webhook." in seat.get("/webhooks").text
    for act in ("", "/rotate", "/delete"):
        looks = [seat.get(f"/webhooks/{name}{act}") for name in names]
        assert one_404(looks), act
    for act in ("/rotate", "/delete", "/routes", f"/routes/{lane.id}/remove"):
        posts = [seat.post(f"/webhooks/{name}{act}", {"endpoint": str(lane.id)}) for name in names]
        assert one_404(posts), act
    assert one_404([seat.get(f"/webhooks/shown/{name}") for name in names])
    assert make.value("select count(*) from endpoint_webhooks where rotated_at is null") == 2
    assert make.value("select count(*) from webhook_routes") == 0


def test_an_admin_of_the_team_may(browser: Seat, make: Make, ana: Human) -> None:
    team = make.team()
    make.member(team, ana, "admin")
    hook, seat = make.webhook(make.endpoint(team=team)), browser(ana)

    assert "github to inbox of" in seat.get("/webhooks").text
    assert seat.post(at(hook, "/rotate")).status_code == 303
    assert seat.post(at(hook, "/delete")).status_code == 303


def test_a_stranger_is_sent_to_sign_in_and_changes_nothing(
    client: FlaskClient, make: Make
) -> None:
    hook = make.webhook(make.endpoint())

    for path in ("/webhooks", "/webhooks/new", at(hook), at(hook, "/rotate"), at(hook, "/delete"),
                 "/webhooks/shown/x"):
        assert client.get(path).headers["Location"] == "/login"
    for act in ("/rotate", "/delete", "/routes"):
        assert client.post(at(hook, act)).status_code == 401
    assert make.value("select rotated_at from endpoint_webhooks") is None
