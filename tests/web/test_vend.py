"""The vend wizard: a page per step, answers kept between them, one endpoint, one look at it."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from app.domain.verbs import ADMISSION, BASICS
from tests.support import page
from tests.support.client import Browser
from tests.support.clock import Clock
from tests.support.make import Make

STEPS = ("agent", "queues", "verbs", "webhook", "lifetime", "confirm")
# What a person fills in, step by step; the rest stays as the page offers it.
TYPED: dict[str, dict[str, object]] = {
    "agent": {"name": "lane m"},
    "queues": {"queues": "lane-m\r\ninbox"},
    "verbs": {"drain": ["claim_next", "complete"]},
    "webhook": {"source": "github"},
    "lifetime": {"lifetime": "custom", "custom": "90m", "lease": "900"},
}


@pytest.fixture
def seat(browser: Callable[..., Browser], make: Make) -> Browser:
    """Ana's browser."""
    return browser(make.human("Ana"))


def path(step: str) -> str:
    """The address of a step."""
    return f"/endpoints/vend/{step}"


def walk(seat: Browser, until: str) -> str:
    """Answers every step before `until`, following each redirect; where the wizard is then."""
    at = path(STEPS[0])
    while not at.endswith(until):
        answer = seat.post(at, TYPED[at.rpartition("/")[2]])
        assert answer.status_code == 303, answer.text
        at = answer.headers["Location"]
    return at


def hidden(answer: TestResponse) -> dict[str, object]:
    """The hidden fields of the page's own form."""
    return {str(field.get("name")): field.get("value") or ""
            for field in page.parse(answer.text).all("input")
            if field.get("type") == "hidden" and field.get("name") != "csrf_token"}


def checked(answer: TestResponse) -> list[str]:
    """The values of every checked box and radio button."""
    return [str(field.get("value")) for field in page.parse(answer.text).all("input")
            if field.get("checked") is not None]


def value_of(answer: TestResponse, id_: str) -> str:
    """What a field of the page holds."""
    for field in page.parse(answer.text).all("input", "textarea"):
        if field.get("id") == id_:
            return field.get("value") or field.text.lstrip("\r\n")
    raise AssertionError(f"no field {id_}")


def vend(seat: Browser) -> TestResponse:
    """The whole wizard; the page that shows the credential."""
    review = seat.get(walk(seat, "confirm"))
    answer = seat.post(path("confirm"), hidden(review))
    assert answer.status_code == 303
    return seat.get(answer.headers["Location"])


# --- the steps -----------------------------------------------------------------------------------


def test_each_step_says_where_it_stands_and_keeps_its_answer_for_back(seat: Browser) -> None:
    walk(seat, "confirm")
    shown = [seat.get(path(step)) for step in STEPS]

    titles = [re.findall(r"<title>(.*?)</title>", answer.text)[0] for answer in shown]
    assert titles == [f"Vend an endpoint: {step} (step {place} of 6) - Switchboard"
                      for place, step in enumerate(STEPS, 1)]
    assert value_of(shown[0], "name") == "lane m"
    assert value_of(shown[1], "queues") == "lane-m\ninbox"
    assert checked(shown[2]) == ["claim_next", "complete"]
    assert checked(shown[3]) == ["github"]
    assert checked(shown[4]) == ["custom"]
    assert (value_of(shown[4], "custom"), value_of(shown[4], "lease")) == ("90m", "900")
    for place, answer in enumerate(shown[1:]):
        assert f'href="{path(STEPS[place])}">Back to {STEPS[place]}</a>' in answer.text


def test_a_first_visit_offers_the_defaults_of_the_api(seat: Browser) -> None:
    seat.post(path("agent"), {"name": "m"})
    queues = seat.get(path("queues"))
    seat.post(path("queues"), {"queues": "inbox"})
    verbs = seat.get(path("verbs"))
    seat.post(path("verbs"), {"drain": "claim"})
    webhook = seat.get(path("webhook"))
    seat.post(path("webhook"), {"source": "generic"})

    assert value_of(queues, "queues") == "inbox"
    assert checked(verbs) == list(BASICS)
    assert checked(webhook) == ["generic"]
    assert checked(seat.get(path("lifetime"))) == ["until revoked"]


def test_focus_lands_in_the_first_field_and_in_the_summary_after_a_refusal(seat: Browser) -> None:
    for step in STEPS[:-1]:
        first = page.parse(seat.get(path(step)).text)
        focused = [element for element in first.elements if "autofocus" in element.attributes]
        assert [element.tag in ("input", "textarea") for element in focused] == [True], step
        assert any(form.get("aria-labelledby") == "heading" for form in first.all("form"))
        seat.post(path(step), TYPED[step])


@pytest.mark.parametrize(("step", "typed", "said", "kept"), [
    ("agent", {"name": "  "}, "Enter a name for the agent", None),
    ("agent", {"name": "x" * 101}, "Agent name: at most 100 characters.", ("name", "x" * 101)),
    ("queues", {"queues": " \n "}, "Enter at least one queue name", None),
    ("queues", {"queues": "a\nb\na"}, "Name the queue a once only.", ("queues", "a\nb\na")),
    ("queues", {"queues": "quarantine"}, "Queues: the queue name quarantine is reserved.",
     ("queues", "quarantine")),
    ("queues", {"queues": "x\n" * 20000}, "the list is too long", None),
    ("verbs", {}, "Choose at least one verb.", None),
    ("webhook", {"source": "carrier-pigeon"}, "Not a valid choice", None),
    ("lifetime", {"lifetime": "custom", "custom": "soon"},
     "A lifetime is a number and m, h, d or w", ("custom", "soon")),
    ("lifetime", {"lifetime": "7d", "lease": "59"}, "from 60 to 86400", ("lease", "59")),
    ("lifetime", {"lifetime": "7d", "lease": "\u0663\u0663\u0663"}, "from 60 to 86400", None),
])
def test_a_wrong_answer_comes_back_as_the_same_step_with_what_was_typed(
    seat: Browser, step: str, typed: dict[str, object], said: str, kept: tuple[str, str] | None
) -> None:
    walk(seat, step)

    answer = seat.post(path(step), typed)

    shown = page.parse(answer.text)
    assert answer.status_code == 422
    assert "<title>Error: Vend an endpoint" in answer.text
    assert said in answer.text
    summary = [element for element in shown.elements if "autofocus" in element.attributes]
    assert [element.get("id") for element in summary] == ["error-summary"]
    link = next(a for a in shown.all("a") if said in a.text)
    target = next(e for e in shown.elements if e.get("id") == str(link.get("href"))[1:])
    assert target.get("aria-invalid") == "true"
    if kept is not None:
        assert value_of(answer, kept[0]) == kept[1]
    assert seat.get(path("confirm")).status_code == 303


@pytest.mark.parametrize("step", STEPS[1:])
def test_a_cold_deep_link_restarts_the_flow(seat: Browser, make: Make, step: str) -> None:
    for answer in (seat.get(path(step)), seat.post(path(step), TYPED.get(step))):
        assert (answer.status_code, answer.headers["Location"]) == (303, path("agent"))
    assert make.value("select count(*) from drafts") == 0


def test_a_step_further_than_the_answers_go_restarts_the_flow(seat: Browser) -> None:
    walk(seat, "verbs")

    for step in ("webhook", "lifetime", "confirm"):
        assert seat.get(path(step)).headers["Location"] == path("agent")


def test_answers_older_than_a_day_are_gone(seat: Browser, clock: Clock) -> None:
    walk(seat, "lifetime")
    clock.advance(11 * 3600)
    assert seat.get(path("lifetime")).status_code == 200
    clock.advance(11 * 3600)
    assert seat.get(path("lifetime")).status_code == 200
    clock.advance(2 * 3600 + 1)

    assert seat.get(path("lifetime")).headers["Location"] == path("agent")


def test_starting_over_forgets_the_answers(seat: Browser) -> None:
    assert "start over" not in seat.get(path("agent")).text
    walk(seat, "webhook")
    assert "Forget the answers and start over" in seat.get(path("agent")).text

    answer = seat.post(path("restart"))

    assert answer.headers["Location"] == path("agent")
    assert value_of(seat.get(path("agent")), "name") == ""


def test_another_human_walks_a_wizard_of_their_own(
    seat: Browser, browser: Callable[..., Browser], make: Make
) -> None:
    walk(seat, "confirm")
    other = browser(make.human("Ben"))

    assert other.get(path("confirm")).headers["Location"] == path("agent")
    reviewed = hidden(seat.get(path("confirm")))
    stolen = other.post(path("confirm"), reviewed)

    assert stolen.headers["Location"] == path("agent")
    assert make.value("select count(*) from endpoints") == 0


def test_a_stranger_is_sent_to_sign_in_and_a_posted_step_keeps_its_values(
    client: FlaskClient, make: Make
) -> None:
    for step in ("", *STEPS):
        assert client.get(f"/endpoints/vend/{step}".rstrip("/")).headers["Location"] == "/login"

    kept = client.post(path("queues"), data={"queues": "lane-m", "csrf_token": "old"})
    limits = client.post(path("verbs"), data={"drain": "claim", "limits": ADMISSION[0],
                                              "csrf_token": "old"})

    assert (kept.status_code, value_of(kept, "queues")) == (401, "lane-m")
    assert limits.status_code == 401
    assert checked(limits) == ["claim"]


# --- the verbs that change a budget --------------------------------------------------------------


def test_the_two_verbs_that_change_limits_are_unchecked_on_every_load(seat: Browser) -> None:
    walk(seat, "verbs")
    first = seat.get(path("verbs"))
    seat.post(path("verbs"), {"drain": "claim", "limits": list(ADMISSION)})
    loads = [first, seat.get(path("verbs")), seat.get(f"{path('verbs')}?review=1"),
             seat.post(path("verbs"), {"limits": "whoami"}),
             seat.client.post(path("verbs"), data={"limits": list(ADMISSION), "drain": "claim"})]

    assert [load.status_code for load in loads] == [200, 200, 200, 422, 403]
    for load in loads:
        assert not set(checked(load)) & set(ADMISSION)
        shown = page.parse(load.text)
        fieldset = next(element for element in shown.all("fieldset")
                        if element.text.strip().startswith("Grants that change limits"))
        boxes = [box for box in shown.all("input") if fieldset in box.inside]
        assert [box.get("value") for box in boxes] == list(ADMISSION)
        described = str(fieldset.get("aria-describedby"))
        assert [box.get("aria-describedby") for box in boxes] == [described, described]
        warning = described.split()[0]  # what was refused is read after it
        said = next(element for element in shown.elements if element.get("id") == warning)
        assert "let the agent change its own budget" in said.text
        assert "this covers the team's queues that it drains too" in said.text


def test_the_review_warns_of_a_verb_that_changes_limits_and_it_is_granted(
    seat: Browser, make: Make
) -> None:
    walk(seat, "verbs")
    seat.post(path("verbs"), {"drain": ["claim"], "limits": [ADMISSION[0]]})
    for step in ("webhook", "lifetime"):
        seat.post(path(step), TYPED[step])
    review = seat.get(path("confirm"))

    seat.post(path("confirm"), hidden(review))

    assert "set_admission_policy let the agent change its own budget." in review.text
    assert make.value("select scope_verbs from endpoints") == ["claim", "set_admission_policy"]


# --- the review ----------------------------------------------------------------------------------


def test_the_review_lists_every_answer_and_its_change_links_lead_back(seat: Browser) -> None:
    review = seat.get(walk(seat, "confirm"))

    for said in ("lane m", "lane-m", "inbox", "claim_next: claim the oldest pending todo",
                 "GitHub", "A delivery becomes a todo in lane-m.", "90m", "900 seconds"):
        assert said in review.text
    for step in STEPS[:-1]:
        assert f'href="{path(step)}?review=1"' in review.text
        back = seat.post(f"{path(step)}?review=1", TYPED[step])
        assert back.headers["Location"] == path("confirm")
    assert "Back to the review" in seat.get(f"{path('queues')}?review=1").text


def test_a_review_that_is_out_of_date_is_shown_again_and_not_vended(
    seat: Browser, make: Make
) -> None:
    reviewed = hidden(seat.get(walk(seat, "confirm")))
    seat.post(path("queues"), {"queues": "other"})

    answer = seat.post(path("confirm"), reviewed)
    again = seat.post(path("confirm"), hidden(answer))

    assert answer.status_code == 409
    assert "changed after this page was loaded" in answer.text
    assert "A delivery becomes a todo in other." in answer.text
    assert again.status_code == 303
    assert make.value("select scope_queues from endpoints") == ["other"]


@pytest.mark.parametrize("posted", [{}, {"draft": "x"}, {"draft": "0" * 36, "seen": "y"}])
def test_a_confirmation_of_nothing_vends_nothing(
    seat: Browser, make: Make, posted: dict[str, object]
) -> None:
    walk(seat, "confirm")

    answer = seat.post(path("confirm"), posted)

    assert answer.headers["Location"] == path("agent")
    assert "Nothing was vended" in seat.get(path("agent")).text
    assert make.value("select count(*) from endpoints") == 0


def test_an_answer_that_is_refused_at_last_is_said_on_the_review(seat: Browser, make: Make) -> None:
    walk(seat, "confirm")
    make.run("""update drafts set data = data || '{"lifetime": "soon"}'""")

    answer = seat.post(path("confirm"), hidden(seat.get(path("confirm"))))

    assert answer.status_code == 422
    assert "A lifetime is a number and m, h, d or w" in answer.text
    assert make.value("select count(*) from agents") == 0


# --- vended --------------------------------------------------------------------------------------


def test_the_vended_endpoint_has_the_answers_and_its_secrets_work(
    seat: Browser, client: FlaskClient, make: Make
) -> None:
    shown = vend(seat)

    row = make.rows("select scope_queues, scope_verbs, default_lease_ttl_seconds,"
                    " expires_at - created_at < interval '91 minutes', webhook_source_types"
                    " from endpoints")
    assert row == [(["lane-m", "inbox"], ["claim_next", "complete"], 900, True, ["github"])]
    token = value_of(shown, "credential")
    proof = {"Authorization": f"Bearer {token}"}
    claim = client.post("/agent/v1/claim_next", json={}, headers=proof)
    assert claim.get_json() == {"empty": True}
    ingest = make.value("select ingest_token from endpoint_webhooks")
    assert value_of(shown, "ingest-url") == f"http://localhost/webhooks/w/{ingest}"
    assert re.fullmatch(r"[0-9a-f]{64}", value_of(shown, "signing-secret"))


def test_the_credential_is_shown_once_with_snippets_and_says_so_before_one_leaves(
    seat: Browser, make: Make
) -> None:
    shown = vend(seat)

    token = value_of(shown, "credential")
    names = ["credential", "ingest-url", "signing-secret", "curl", "worker"]
    fields = [field for field in page.parse(shown.text).all("input", "textarea")
              if field.get("id") in names]
    assert len(fields) == 5
    assert all("readonly" in field.attributes for field in fields)
    assert "/agent/v1/claim_next" in value_of(shown, "curl")
    assert f"Authorization: Bearer {token}" in value_of(shown, "curl")
    assert f"SWITCHBOARD_ENDPOINT_TOKEN='{token}'" in value_of(shown, "worker")
    assert "switchboard work -- COMMAND" in value_of(shown, "worker")
    assert "after you leave or reload" in " ".join(shown.text.split())
    assert shown.headers["Cache-Control"] == "no-store"
    buttons = page.parse(shown.text).all("button")
    assert [b.get("data-copy") for b in buttons if "hidden" in b.attributes] == names
    assert any(e.get("role") == "status" for e in page.parse(shown.text).elements)


def test_sent_twice_the_confirmation_vends_once_and_leads_to_the_one_look(
    seat: Browser, make: Make
) -> None:
    reviewed = hidden(seat.get(walk(seat, "confirm")))

    dropped, kept = (seat.post(path("confirm"), reviewed) for _ in range(2))
    shown = seat.get(kept.headers["Location"])
    late = seat.post(path("confirm"), reviewed)
    reloaded = seat.get(late.headers["Location"])

    assert dropped.headers["Location"] == kept.headers["Location"] == late.headers["Location"]
    assert "Credential" in shown.text
    at = f"/endpoints/{make.value('select id from endpoints')}"
    assert (reloaded.status_code, reloaded.headers["Location"]) == (303, at)
    assert make.value("select count(*) from endpoints") == 1


def test_a_look_without_a_page_leaves_the_secrets_for_the_page(seat: Browser) -> None:
    review = seat.get(walk(seat, "confirm"))
    shown = seat.post(path("confirm"), hidden(review)).headers["Location"]

    assert seat.client.head(shown).status_code == 200
    assert value_of(seat.get(shown), "credential").startswith("sbk_")


def test_nobody_else_sees_what_was_vended(
    seat: Browser, browser: Callable[..., Browser], client: FlaskClient, make: Make
) -> None:
    review = seat.get(walk(seat, "confirm"))
    shown = seat.post(path("confirm"), hidden(review)).headers["Location"]
    other = browser(make.human("Ben"))

    foreign, unknown, malformed = (
        other.get(at) for at in (shown, f"/endpoints/shown/{'0' * 36}", "/endpoints/shown/x"))

    assert foreign.status_code == 404
    assert foreign.data == unknown.data == malformed.data
    assert client.get(shown).headers["Location"] == "/login"
    assert "Credential" in seat.get(shown).text


def test_no_secret_is_logged_or_stored_in_clear(
    seat: Browser, make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("DEBUG"):
        review = seat.get(walk(seat, "confirm"))
        answer = seat.post(path("confirm"), hidden(review))
        stored = str(make.rows("select data::text from drafts")
                     + make.rows("select flash::text from sessions"))
        shown = seat.get(answer.headers["Location"])
        seat.get(answer.headers["Location"])

    secrets = [value_of(shown, id_) for id_ in ("credential", "signing-secret")]
    secrets.append(value_of(shown, "ingest-url").rpartition("/")[2])
    after = str(make.rows("select data::text from drafts")
                + make.rows("select flash::text from sessions"))
    for secret in secrets:
        assert secret not in caplog.text
        assert secret not in stored
        assert secret not in after
        assert secret not in answer.text + str(answer.headers)


def test_a_name_with_markup_is_shown_as_text(seat: Browser) -> None:
    seat.post(path("agent"), {"name": "<b>&lane"})
    seat.post(path("queues"), {"queues": "<i>"})
    for step in ("verbs", "webhook", "lifetime"):
        seat.post(path(step), TYPED[step])

    review = seat.get(path("confirm")).text

    assert "&lt;b&gt;&amp;lane" in review
    assert "&lt;i&gt;" in review
    assert "<b>" not in review.replace("<body", "")
