"""The wizard's draft, and acts of a form that are done once and shown once."""

from __future__ import annotations

import json
from uuid import UUID, uuid4

import pytest

from app.db.database import Database
from app.domain.callers import Human
from app.domain.errors import Conflict, InvalidArgument, NotFound
from app.domain.values import Json
from app.domain.vend_answers import (
    UNTIL_REVOKED,
    VendAnswers,
    fingerprint,
    first_open_step,
    is_reached,
    read_answers,
    request_of,
)
from app.reads import identity
from app.transactions import drafts, once, pruning
from app.transactions.pruning import Retention
from tests.support.clock import Clock
from tests.support.make import Make
from tests.support.race import all_returned, together

DAY = 24 * 3600
ANSWERS: dict[str, Json] = {
    "name": "lane m", "queues": ["lane-m", "inbox"], "verbs": ["claim_next", "complete"],
    "source": "github", "lifetime": "7d", "lease": 900,
}


def draft_of(db: Database, human: Human, answers: dict[str, Json] = ANSWERS) -> drafts.VendDraft:
    """A draft with these answers, as the wizard leaves it before the confirmation."""
    drafts.save_vend(db, human, answers)
    draft = drafts.vend_draft(db, human)
    assert draft is not None
    return draft


def confirm(db: Database, human: Human, draft: drafts.VendDraft) -> None:
    """The confirmation of what the draft said when it was read."""
    once.vend(db, human, draft.id, fingerprint(draft.answers))


# --- the draft -----------------------------------------------------------------------------------


def test_a_draft_keeps_the_answers_of_every_step(db: Database, make: Make) -> None:
    ana = make.human()

    for key, answer in ANSWERS.items():
        drafts.save_vend(db, ana, {key: answer})

    assert make.value("select count(*) from drafts") == 1
    assert draft_of(db, ana, {}).answers == VendAnswers(
        name="lane m", queues=("lane-m", "inbox"), verbs=("claim_next", "complete"),
        source="github", lifetime="7d", lease=900)


def test_a_draft_is_its_humans_alone(db: Database, make: Make) -> None:
    ana, ben = make.human(), make.human()
    theirs = draft_of(db, ana)

    assert drafts.vend_draft(db, ben) is None
    with pytest.raises(NotFound):
        confirm(db, ben, theirs)
    drafts.forget_vend(db, ben)
    assert drafts.vend_draft(db, ana) == theirs
    drafts.forget_vend(db, ana)
    assert drafts.vend_draft(db, ana) is None


def test_a_draft_ends_after_a_day_and_the_next_one_begins_without_its_answers(
    db: Database, make: Make, clock: Clock
) -> None:
    ana = make.human()
    old = draft_of(db, ana)
    clock.advance(DAY + 1)

    assert drafts.vend_draft(db, ana) is None
    with pytest.raises(NotFound):
        confirm(db, ana, old)
    fresh = draft_of(db, ana, {"name": "lane n"})

    assert fresh.id != old.id
    assert fresh.answers == VendAnswers(name="lane n")


def test_an_answer_gives_a_draft_another_day(db: Database, make: Make, clock: Clock) -> None:
    ana = make.human()
    begun = draft_of(db, ana, {"name": "lane m"})
    clock.advance(DAY - 60)
    drafts.save_vend(db, ana, {"queues": ["inbox"]})
    clock.advance(DAY - 60)

    kept = drafts.vend_draft(db, ana)

    assert kept is not None
    assert (kept.id, kept.answers.name, kept.answers.queues) == (begun.id, "lane m", ("inbox",))


def test_retention_deletes_drafts_that_are_over_and_no_other(
    db: Database, make: Make, clock: Clock
) -> None:
    ana, ben = make.human(), make.human()
    confirm(db, ana, draft_of(db, ana))
    draft_of(db, ben)
    clock.advance(601)

    assert pruning.prune(db, Retention(), batch=1).credentials == 1
    assert make.rows("select kind from drafts") == [("vend",)]


def test_the_steps_are_reached_one_after_the_other() -> None:
    answers = VendAnswers(name="m", queues=("inbox",))

    assert first_open_step(VendAnswers()) == "agent"
    assert first_open_step(answers) == "verbs"
    assert is_reached(answers, "agent")
    assert is_reached(answers, "verbs")
    assert not is_reached(answers, "webhook")
    with pytest.raises(Conflict):
        request_of(answers)


@pytest.mark.parametrize("data", [
    None, 5, [], {"name": 5, "queues": "inbox", "verbs": [1, None], "lease": True,
                  "lifetime": ["7d"], "source": {}},
])
def test_a_draft_of_another_shape_answers_nothing(data: Json) -> None:
    assert read_answers(data) == VendAnswers()


def test_until_revoked_is_an_answer_and_no_lifetime() -> None:
    answers = read_answers({**ANSWERS, "lifetime": UNTIL_REVOKED})

    assert first_open_step(answers) == "confirm"
    assert request_of(answers).lifetime is None


# --- vending a draft -----------------------------------------------------------------------------


def test_a_confirmed_draft_is_vended_and_its_credential_opens_the_endpoint(
    db: Database, make: Make
) -> None:
    ana = make.human()
    draft = draft_of(db, ana)

    confirm(db, ana, draft)
    made = once.look(db, ana, draft.id, once.VENDED)

    assert made.secrets is not None
    assert sorted(made.secrets) == ["ingest_token", "signing_secret", "token"]
    facts = identity.endpoint_by_token(db, made.secrets["token"])
    assert facts is not None
    assert facts.endpoint.id == made.subject
    assert facts.endpoint.queues == ("lane-m", "inbox")
    assert facts.endpoint.verbs == {"claim_next", "complete"}
    assert facts.endpoint.default_lease_ttl_seconds == 900
    assert drafts.vend_draft(db, ana) is None


def test_twelve_confirmations_at_once_vend_one_endpoint(db: Database, make: Make) -> None:
    ana = make.human()
    draft = draft_of(db, ana)

    all_returned(together(12, lambda _: confirm(db, ana, draft)))

    assert make.value("select count(*) from endpoints") == 1
    assert once.look(db, ana, draft.id, once.VENDED).secrets is not None


def test_answers_that_changed_after_the_review_are_not_vended(db: Database, make: Make) -> None:
    ana = make.human()
    reviewed = draft_of(db, ana)
    drafts.save_vend(db, ana, {"verbs": ["set_admission_policy"]})

    with pytest.raises(Conflict):
        confirm(db, ana, reviewed)

    assert make.value("select count(*) from endpoints") == 0
    assert drafts.vend_draft(db, ana) is not None


def test_an_answer_the_server_refuses_leaves_the_draft_for_mending(
    db: Database, make: Make
) -> None:
    ana = make.human()
    draft = draft_of(db, ana, {**ANSWERS, "lifetime": "soon"})

    with pytest.raises(InvalidArgument):
        confirm(db, ana, draft)

    assert make.value("select count(*) from agents") == 0
    assert drafts.vend_draft(db, ana) == draft


# --- shown once ----------------------------------------------------------------------------------


def test_secrets_are_sealed_until_the_first_look_and_gone_after_it(
    db: Database, make: Make
) -> None:
    ana = make.human()
    draft = draft_of(db, ana)
    confirm(db, ana, draft)
    kept = json.dumps(make.value("select data from drafts"))

    first = once.look(db, ana, draft.id, once.VENDED)
    second = once.look(db, ana, draft.id, once.VENDED)

    assert first.secrets is not None
    assert not any(secret in kept for secret in first.secrets.values())
    assert "enc:v1:" in kept
    assert (second.subject, second.secrets) == (first.subject, None)
    assert "enc:v1:" not in json.dumps(make.value("select data from drafts"))


def test_eight_looks_at_once_find_the_secrets_once(db: Database, make: Make) -> None:
    ana = make.human()
    draft = draft_of(db, ana)
    confirm(db, ana, draft)

    looks = together(8, lambda _: once.look(db, ana, draft.id, once.VENDED))

    assert sum(look.secrets is not None for look in looks
               if isinstance(look, once.Made)) == 1


def test_secrets_nobody_looked_at_are_over_after_ten_minutes(
    db: Database, make: Make, clock: Clock
) -> None:
    ana = make.human()
    draft = draft_of(db, ana)
    confirm(db, ana, draft)
    clock.advance(601)

    assert once.look(db, ana, draft.id, once.VENDED).secrets is None


def test_what_was_made_is_shown_to_its_human_alone_and_as_what_it_is(
    db: Database, make: Make
) -> None:
    ana, ben = make.human(), make.human()
    draft = draft_of(db, ana)
    confirm(db, ana, draft)

    for human, act_id, kind in ((ben, draft.id, once.VENDED), (ana, draft.id, once.WEBHOOK),
                                (ana, uuid4(), once.VENDED), (ana, None, once.VENDED)):
        with pytest.raises(NotFound):
            once.look(db, human, act_id, kind)
    assert once.look(db, ana, draft.id, once.VENDED).secrets is not None


def test_secrets_sealed_with_another_key_are_over(db: Database, make: Make) -> None:
    ana = make.human()
    draft = draft_of(db, ana)
    confirm(db, ana, draft)
    other = uuid4()
    make.run("update drafts set id = %s", other)

    assert once.look(db, ana, other, once.VENDED).secrets is None


def test_a_webhook_is_created_and_rotated_once_per_form(db: Database, make: Make) -> None:
    ana = make.human()
    lane = make.endpoint(ana)
    created, rotated = uuid4(), uuid4()

    made_by = together(
        6, lambda _: once.create_webhook(db, ana, created, lane.slug, "github", "inbox"))
    all_returned(made_by)
    made = once.look(db, ana, created, once.WEBHOOK)
    all_returned(together(
        6, lambda _: once.rotate_webhook(db, ana, rotated, str(made.subject))))
    again = once.look(db, ana, rotated, once.WEBHOOK)

    assert make.value("select count(*) from endpoint_webhooks") == 1
    assert made.secrets is not None
    assert again.secrets is not None
    assert made.secrets.keys() == again.secrets.keys() == {"ingest_token", "signing_secret"}
    assert make.value("select ingest_token from endpoint_webhooks") == again.secrets["ingest_token"]
    assert again.secrets["signing_secret"] != made.secrets["signing_secret"]


def test_a_refused_form_may_be_sent_again_mended(db: Database, make: Make) -> None:
    ana = make.human()
    lane = make.endpoint(ana)
    act = uuid4()

    with pytest.raises(InvalidArgument):
        once.create_webhook(db, ana, act, lane.slug, "github", "")
    once.create_webhook(db, ana, act, lane.slug, "github", "inbox")

    assert once.look(db, ana, act, once.WEBHOOK).secrets is not None


def test_an_act_of_another_human_does_nothing_and_is_not_shown(db: Database, make: Make) -> None:
    ana, ben = make.human(), make.human()
    act = uuid4()
    once.create_webhook(db, ana, act, make.endpoint(ana).slug, "generic", "inbox")

    once.create_webhook(db, ben, act, make.endpoint(ben).slug, "generic", "inbox")

    with pytest.raises(NotFound):
        once.look(db, ben, act, once.WEBHOOK)
    assert make.value("select count(*) from endpoint_webhooks") == 1


def test_what_is_kept_per_human_is_bounded(db: Database, make: Make) -> None:
    ana = make.human()
    hook = make.webhook(make.endpoint(ana))
    acts = [uuid4() for _ in range(25)]

    for act in acts:
        once.rotate_webhook(db, ana, act, str(hook.id))

    kept = {UUID(str(row[0])) for row in make.rows("select id from drafts")}
    assert kept == set(acts[-20:])
