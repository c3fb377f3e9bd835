"""Webhooks: list, create, rotate, delete; their secrets are shown once."""

from __future__ import annotations

from uuid import UUID

from flask import Response, render_template, request
from flask.typing import ResponseReturnValue

from app.domain.errors import (
    CeilingExceeded,
    Conflict,
    DomainError,
    Forbidden,
    ForbiddenSourceType,
    InvalidArgument,
    NotFound,
    ReferenceOutOfScope,
    RoleRequired,
)
from app.domain.references import parse_uuid
from app.edge.deps import database, human, state
from app.reads import team_choices, webhook_pages
from app.reads.webhook_pages import WebhookLine
from app.transactions import once, webhooks
from app.web import refusals, vend_review, webhook_words
from app.web.answers import form_page, see, viewer
from app.web.forms import posts
from app.web.webhook_forms import ActForm, NewForm, prepare_new
from app.web.webhook_routes import HELP, bp

# Which field of the form a refusal of the verb is about; others are about its own field.
_BLAMED: dict[type[DomainError], str] = {
    ForbiddenSourceType: "source_type",
    Forbidden: "target_queue",
    ReferenceOutOfScope: "target_queue",
    RoleRequired: "target_queue",
    NotFound: "target_queue",
    CeilingExceeded: "endpoint",
    Conflict: "endpoint",
}
_ROTATE = "Replace the URL and secret now"
_DELETE = "Delete the webhook for good"
_ASK_ADMIN = "An admin of the team can make the webhook, or let members make them."
_NO_QUEUE = "There is no such queue that you may deliver to."


@bp.get("/webhooks")
def list_webhooks() -> ResponseReturnValue:
    """Every webhook of every endpoint the human may configure, newest first."""
    lines, zone = webhook_pages.list_lines(database(), human()), viewer().zone
    return render_template(
        "webhooks/list.html",
        heading="Webhooks",
        help_topic=HELP,
        lines=[webhook_words.webhook_view(line, zone) for line in lines],
    )


@bp.get("/webhooks/new")
def show_new() -> ResponseReturnValue:
    """The form of a webhook to make; `?endpoint=` chooses the endpoint by id."""
    human()
    form = NewForm(formdata=None)
    form.endpoint.data = request.args.get("endpoint")
    return _new_page(form)


@bp.post("/webhooks/new")
@posts(NewForm, "webhooks/fields.html", button="Create the webhook", prepare=prepare_new)
def create() -> ResponseReturnValue:
    """Make a webhook, once per form; its URL and secret are on the next page."""
    form = NewForm()
    prepare_new(form)
    act_id = _act(form)
    if form.validate() and _made(form, act_id):
        return see(f"/webhooks/shown/{act_id}")
    return _new_page(form, status=422)


@bp.get("/webhooks/shown/<act_id>")
def show_secrets(act_id: str) -> ResponseReturnValue:
    """The URL and the secret of a webhook just made or rotated, at the first look."""
    if request.method == "HEAD":
        return ""  # a look that shows nothing must not use up the one that does
    made = once.look(database(), human(), parse_uuid(act_id), once.WEBHOOK)
    page = f"/webhooks/{made.subject}"
    line = webhook_pages.webhook_line(database(), human(), str(made.subject))
    if made.secrets is None:
        return see(page, flash=webhook_words.shown_words(line))
    return render_template(
        "webhooks/shown.html",
        heading=f"The {webhook_words.name_of(line)} is ready",
        help_topic=HELP,
        shown=vend_review.secret_fields(made.secrets, state().config.base_url),
        page=page,
    )


@bp.get("/webhooks/<webhook_id>/rotate")
def show_rotate(webhook_id: str) -> ResponseReturnValue:
    """Say what rotating will do."""
    line = _active(webhook_id)
    return _confirm_page(
        webhook_id,
        "rotate",
        f"Rotate the {webhook_words.name_of(line)}",
        webhook_words.rotate_lines(line),
        _ROTATE,
    )


@bp.post("/webhooks/<webhook_id>/rotate")
@posts(ActForm, button=_ROTATE)
def rotate(webhook_id: str) -> ResponseReturnValue:
    """Give a webhook a new URL and secret, once per form."""
    _active(webhook_id)
    act_id = _act(ActForm())
    once.rotate_webhook(database(), human(), act_id, webhook_id)
    return see(f"/webhooks/shown/{act_id}")


@bp.get("/webhooks/<webhook_id>/delete")
def show_delete(webhook_id: str) -> ResponseReturnValue:
    """Say what deleting will do."""
    line = _active(webhook_id)
    return _confirm_page(
        webhook_id,
        "delete",
        f"Delete the {webhook_words.name_of(line)}",
        webhook_words.delete_lines(line),
        _DELETE,
    )


@bp.post("/webhooks/<webhook_id>/delete")
@posts(ActForm, button=_DELETE)
def delete(webhook_id: str) -> ResponseReturnValue:
    """Delete a webhook; its events stay."""
    line = _active(webhook_id)
    webhooks.delete_as(database(), human(), webhook_id)
    return see("/webhooks", flash=f"The {webhook_words.name_of(line)} is deleted.")


def _active(webhook_id: str) -> WebhookLine:
    line = webhook_pages.webhook_line(database(), human(), webhook_id)
    if line.state != "active":
        raise Conflict("The endpoint is revoked, and its webhooks can no longer be changed.")
    return line


def _act(form: ActForm) -> UUID:
    return parse_uuid(form.act.data or "") or once.new_act()


def _made(form: NewForm, act_id: UUID) -> bool:
    """Try to make the webhook; what is refused is said at the field it is about."""
    queue = (form.target_queue.data or "").strip()
    try:
        once.create_webhook(
            database(), human(), act_id, form.endpoint.data, form.source_type.data, queue
        )
    except InvalidArgument as wrong:
        blank = "Enter the name of a queue of the endpoint, such as inbox."
        form.blame(wrong.field, refusals.sentence(form, wrong) if queue else blank)
    except DomainError as refused:
        if type(refused) not in _BLAMED:
            raise
        form.blame(_BLAMED[type(refused)], _sentence(refused))
    else:
        return True
    return False


def _sentence(refused: DomainError) -> str:
    if isinstance(refused, NotFound):
        return _NO_QUEUE
    if isinstance(refused, RoleRequired):
        return f"{refused.sentence} {_ASK_ADMIN}"
    return refused.sentence


def _new_page(form: NewForm, status: int = 200) -> Response:
    hosts = webhook_pages.list_hosts(database(), human())
    shared = team_choices.targets(database(), human())
    form.offer(hosts)
    form.act.data = str(once.new_act())
    return form_page(
        "webhooks/new.html",
        form,
        status=status,
        heading="Create a webhook",
        help_topic=HELP,
        hosts=[webhook_words.host_line(host) for host in hosts],
        queues=[*sorted({queue for host in hosts for queue in host.queues}), *shared],
        has_focus=status == 200,
    )


def _confirm_page(
    webhook_id: str, act: str, heading: str, sentences: list[str], button_label: str
) -> Response:
    form = ActForm(formdata=None)
    form.act.data = str(once.new_act())
    return form_page(
        "endpoints/confirm.html",
        form,
        heading=heading,
        help_topic=HELP,
        sentences=sentences,
        action=f"/webhooks/{webhook_id}/{act}",
        button_label=button_label,
        back=f"/webhooks/{webhook_id}",
        back_label="Keep the webhook as it is",
    )
