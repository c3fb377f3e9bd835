"""Switching an endpoint's notify hooks off and on, and deleting one, from the endpoint's page."""

from __future__ import annotations

from flask import Blueprint, Response
from flask.typing import ResponseReturnValue

from app.domain.errors import NotFound
from app.edge.deps import database, human
from app.edge.identify import identify_session
from app.reads import endpoint_pages
from app.reads import hooks as hook_list
from app.reads.endpoint_pages import Granted
from app.transactions import hooks
from app.web import guard, hook_words
from app.web.answers import form_page, see, viewer
from app.web.endpoint_page import HELP
from app.web.forms import Form, acts
from app.web.hook_words import HookCard

_SECTION = "notify-hooks"

bp = Blueprint("endpoint_hooks", __name__)
bp.before_request(identify_session)
bp.before_request(guard.check_form)


@bp.post("/endpoints/<endpoint_id>/hooks/<hook_id>/disable")
@acts("Disable the hook")
def disable(endpoint_id: str, hook_id: str) -> ResponseReturnValue:
    """Switch a hook off; pressed twice, the second finds it so."""
    _, card = _found(endpoint_id, hook_id)
    hooks.disable_as(database(), human(), endpoint_id, hook_id)
    return _done(endpoint_id, card, "disabled")


@bp.post("/endpoints/<endpoint_id>/hooks/<hook_id>/enable")
@acts("Enable the hook")
def enable(endpoint_id: str, hook_id: str) -> ResponseReturnValue:
    """Switch a hook on again, its failures forgotten."""
    _, card = _found(endpoint_id, hook_id)
    hooks.enable_as(database(), human(), endpoint_id, hook_id)
    return _done(endpoint_id, card, "enabled")


@bp.get("/endpoints/<endpoint_id>/hooks/<hook_id>/delete")
def show_delete(endpoint_id: str, hook_id: str) -> ResponseReturnValue:
    """Say what deleting will do."""
    found, card = _found(endpoint_id, hook_id)
    return form_page(
        "endpoints/confirm.html",
        Form(formdata=None),
        heading=f"{card.delete_label} of {found.slug}",
        help_topic=HELP,
        sentences=hook_words.delete_lines(card, found.slug),
        action=card.delete,
        button_label=f"{card.delete_label} of {found.slug}",
        back=f"/endpoints/{endpoint_id}",
        back_label="Keep the hook as it is",
    )


@bp.post("/endpoints/<endpoint_id>/hooks/<hook_id>/delete")
@acts("Delete the hook")
def delete(endpoint_id: str, hook_id: str) -> ResponseReturnValue:
    """Delete a hook."""
    _, card = _found(endpoint_id, hook_id)
    hooks.delete_as(database(), human(), endpoint_id, hook_id)
    said = f"{card.name} to {card.url} is deleted."
    return see(f"/endpoints/{endpoint_id}", flash=said, fragment=_SECTION)


def _found(endpoint_id: str, hook_id: str) -> tuple[Granted, HookCard]:
    """The endpoint and the hook's card; NotFound unless the human may configure them."""
    found = endpoint_pages.granted(database(), human(), endpoint_id)
    rows = hook_list.list_of_endpoint(database(), human(), found.id)
    for row, card in zip(rows, hook_words.cards(found.id, rows, viewer().zone), strict=True):
        if str(row.id) == hook_id:
            return found, card
    raise NotFound


def _done(endpoint_id: str, card: HookCard, word: str) -> Response:
    said = f"{card.name} to {card.url} is {word}."
    return see(f"/endpoints/{endpoint_id}", flash=said, fragment=f"{card.id}-switch")
