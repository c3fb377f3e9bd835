"""The vend wizard: one page per step, over a draft kept in the database."""

from __future__ import annotations

from flask import Blueprint, Response, redirect, render_template, request
from flask.typing import ResponseReturnValue

from app.domain.errors import Conflict, InvalidArgument, NotFound
from app.domain.references import parse_uuid
from app.domain.vend_answers import STEPS, VendAnswers, fingerprint, is_reached
from app.edge.deps import database, human, state
from app.edge.identify import identify_session
from app.reads import endpoint_pages
from app.transactions import drafts, once
from app.transactions.drafts import VendDraft
from app.web import guard, refusals, vend_review
from app.web.answers import form_page, see
from app.web.forms import Form, acts, posts
from app.web.vend_agent import AgentForm, StepForm
from app.web.vend_forms import (
    FORMS,
    ConfirmForm,
    LifetimeForm,
    QueuesForm,
    VerbsForm,
    WebhookForm,
    is_review,
)

_FIRST = f"/endpoints/vend/{STEPS[0]}"

bp = Blueprint("vend", __name__)
bp.before_request(identify_session)
bp.before_request(guard.check_form)


def _offer(form: Form) -> None:
    """The owners to choose from, in a form that is shown once more."""
    if isinstance(form, AgentForm):
        form.offer()


@bp.get("/endpoints/vend")
def start() -> ResponseReturnValue:
    """The wizard begins with its first step."""
    human()
    return redirect(_FIRST, code=303)


@bp.get("/endpoints/vend/<any(agent, queues, verbs, webhook, lifetime):step>")
def show_step(step: str) -> ResponseReturnValue:
    """One question with what the draft answers to it; too early, the first question instead."""
    draft = drafts.vend_draft(database(), human())
    if not _is_open(draft, step):
        return redirect(_FIRST, code=303)
    form = FORMS[step](formdata=None)
    form.offer()
    form.fill(VendAnswers() if draft is None else draft.answers)
    return _step_page(step, form, has_draft=draft is not None)


@bp.post("/endpoints/vend/agent")
@posts(AgentForm, "vend/agent.html", button="Save the agent name", prepare=_offer)
def save_agent() -> ResponseReturnValue:
    """Whom the endpoint is for; the draft begins here."""
    return _save("agent", AgentForm())


@bp.post("/endpoints/vend/queues")
@posts(QueuesForm, "vend/queues.html", button="Save the queues")
def save_queues() -> ResponseReturnValue:
    """Which queues it may work."""
    return _save("queues", QueuesForm())


@bp.post("/endpoints/vend/verbs")
@posts(VerbsForm, "vend/verbs.html", button="Save the verbs")
def save_verbs() -> ResponseReturnValue:
    """What it may call."""
    return _save("verbs", VerbsForm())


@bp.post("/endpoints/vend/webhook")
@posts(WebhookForm, "vend/webhook.html", button="Save the webhook's source type")
def save_webhook() -> ResponseReturnValue:
    """From what kind of sender its webhook takes deliveries."""
    return _save("webhook", WebhookForm())


@bp.post("/endpoints/vend/lifetime")
@posts(LifetimeForm, "vend/lifetime.html", button="Save the lifetime")
def save_lifetime() -> ResponseReturnValue:
    """How long it lasts."""
    return _save("lifetime", LifetimeForm())


@bp.post("/endpoints/vend/restart")
@acts("Forget the answers and start over")
def restart() -> ResponseReturnValue:
    """Forget the answers so far."""
    drafts.forget_vend(database(), human())
    return see(_FIRST)


@bp.get("/endpoints/vend/confirm")
def show_confirm() -> ResponseReturnValue:
    """Every answer with its change link, and what vending will do."""
    draft = drafts.vend_draft(database(), human())
    if draft is None or not _is_open(draft, "confirm"):
        return redirect(_FIRST, code=303)
    return _confirm_page(draft, ConfirmForm(formdata=None))


@bp.post("/endpoints/vend/confirm")
@posts(ConfirmForm, button="Vend the endpoint")
def confirm() -> ResponseReturnValue:
    """Vend what was reviewed, once: a form sent twice leads to the endpoint it made."""
    form = ConfirmForm()
    draft_id = parse_uuid(form.draft.data or "")
    try:
        if draft_id is None:
            raise NotFound
        once.vend(database(), human(), draft_id, form.seen.data or "")
    except NotFound:
        return see(_FIRST, flash="Nothing was vended: the answers are no longer kept.")
    except (Conflict, InvalidArgument) as refused:
        return _refuse_confirm(form, refused)
    return see(f"/endpoints/shown/{draft_id}")


@bp.get("/endpoints/shown/<act_id>")
def show_vended(act_id: str) -> ResponseReturnValue:
    """What was vended with its secrets, at the first look; afterwards the endpoint's own page."""
    if request.method == "HEAD":
        return ""  # a look that shows nothing must not use up the one that does
    made = once.look(database(), human(), parse_uuid(act_id), once.VENDED)
    page = f"/endpoints/{made.subject}"
    if made.secrets is None:
        return see(page, flash="The credential was shown once and cannot be shown again.")
    granted = endpoint_pages.granted(database(), human(), str(made.subject))
    base_url, token = state().config.base_url, made.secrets["token"]
    return render_template(
        "vend/shown.html",
        heading=f"Endpoint {granted.slug} vended",
        help_topic="endpoints",
        token=token,
        shown=vend_review.secret_fields(made.secrets, base_url),
        snippets=vend_review.snippets(granted, token, base_url),
        page=page,
        slug=granted.slug,
    )


def _save(step: str, form: StepForm) -> ResponseReturnValue:
    draft = drafts.vend_draft(database(), human())
    if not _is_open(draft, step):
        return see(_FIRST, flash="Begin here: the answers before that step are no longer kept.")
    form.offer()
    changes = None
    if form.validate():
        try:
            changes = form.changes()
        except InvalidArgument as wrong:
            form.blame(wrong.field, refusals.sentence(form, wrong))
    if changes is None:
        return _step_page(step, form, has_draft=draft is not None, status=422)
    drafts.save_vend(database(), human(), changes)
    following = "confirm" if is_review() else STEPS[STEPS.index(step) + 1]
    return see(f"/endpoints/vend/{following}")


def _is_open(draft: VendDraft | None, step: str) -> bool:
    return is_reached(VendAnswers() if draft is None else draft.answers, step)


def _step_page(step: str, form: StepForm, *, has_draft: bool, status: int = 200) -> Response:
    view = vend_review.step_view(step, is_review=is_review())
    return form_page(
        "vend/step.html",
        form,
        status=status,
        heading=view.heading,
        help_topic="endpoints",
        view=view,
        fields=f"vend/{step}.html",
        may_restart=has_draft and step == STEPS[0],
        has_focus=status == 200,
    )


def _confirm_page(draft: VendDraft, form: ConfirmForm, status: int = 200) -> Response:
    form.draft.data, form.seen.data = str(draft.id), fingerprint(draft.answers)
    view = vend_review.step_view("confirm", is_review=False)
    return form_page(
        "vend/confirm.html",
        form,
        status=status,
        heading=view.heading,
        help_topic="endpoints",
        view=view,
        answers=vend_review.review(draft.answers),
        name=draft.answers.name,
    )


def _refuse_confirm(form: ConfirmForm, refused: Conflict | InvalidArgument) -> Response:
    """The review as it is now, with what was refused: 409 when it changed, 422 when it is wrong."""
    draft = drafts.vend_draft(database(), human())
    if draft is None or not _is_open(draft, "confirm"):
        return see(_FIRST, flash=refused.sentence)
    form.blame(None, refusals.sentence(form, refused))
    return _confirm_page(draft, form, 409 if isinstance(refused, Conflict) else 422)
