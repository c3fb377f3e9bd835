"""Clocking an endpoint in and out from its page, and its shift (contract push.md, "Presence")."""

from __future__ import annotations

from flask import Blueprint, Response, request
from flask.typing import ResponseReturnValue

from app.domain.errors import InvalidArgument
from app.edge.deps import database, human
from app.edge.identify import identify_session
from app.reads import endpoint_pages
from app.reads.presence import Standing
from app.transactions import presence
from app.web import endpoint_page, guard, presence_words
from app.web.answers import see, viewer
from app.web.endpoint_page import ClockForm, ShiftForm
from app.web.forms import Form, acts, posts

bp = Blueprint("endpoint_presence", __name__)
bp.before_request(identify_session)
bp.before_request(guard.check_form)


@bp.post("/endpoints/<endpoint_id>/presence")
@posts(
    ClockForm,
    "endpoints/until.html",
    button="Clock the endpoint",
    buttons={"presence=in": "Clock in the endpoint", "presence=out": "Clock out the endpoint"},
)
def clock(endpoint_id: str) -> ResponseReturnValue:
    """Clock an endpoint in or out, by the button, until a time on the viewer's clock."""
    found, form = endpoint_pages.granted(database(), human(), endpoint_id), ClockForm()
    try:
        until = presence_words.typed_until(form.until.data, viewer().zone)
    except InvalidArgument as wrong:
        return _refused(endpoint_id, form, wrong.field, wrong.sentence)
    word = request.form.get("presence", "")
    try:
        made = presence.set_override(database(), human(), endpoint_id, word, until)
    except InvalidArgument as wrong:
        why = presence_words.PAST if wrong.field == "until" else "Choose to clock it in or out."
        return _refused(endpoint_id, form, wrong.field, why)
    return _done(endpoint_id, found.slug, made)


@bp.post("/endpoints/<endpoint_id>/presence/end")
@acts("Let the shift decide")
def end_override(endpoint_id: str) -> ResponseReturnValue:
    """Take back what an owner or the agent said; the shift decides, or it is in without one."""
    found = endpoint_pages.granted(database(), human(), endpoint_id)
    made = presence.end_override(database(), human(), endpoint_id)
    return _done(endpoint_id, found.slug, made)


@bp.post("/endpoints/<endpoint_id>/shift")
@posts(ShiftForm, "endpoints/shift.html", button="Save the shift")
def save_shift(endpoint_id: str) -> ResponseReturnValue:
    """Another shift; a blank one is refused, for to take it away is another button."""
    found, form = endpoint_pages.granted(database(), human(), endpoint_id), ShiftForm()
    try:
        made = presence.set_shift(database(), human(), endpoint_id, form.shift.data or "")
    except InvalidArgument as wrong:
        why = presence_words.shift_fault(wrong.sentence)
        return _refused(endpoint_id, form, wrong.field, why)
    return _done(endpoint_id, found.slug, made, fragment="shift")


@bp.post("/endpoints/<endpoint_id>/shift/remove")
@acts("Remove the shift")
def remove_shift(endpoint_id: str) -> ResponseReturnValue:
    """No shift: the endpoint is in unless somebody says otherwise."""
    found = endpoint_pages.granted(database(), human(), endpoint_id)
    made = presence.set_shift(database(), human(), endpoint_id, None)
    return _done(endpoint_id, found.slug, made, fragment="shift")


def _done(
    endpoint_id: str, slug: str, made: Standing, *, fragment: str = "presence"
) -> Response:
    said = presence_words.said(slug, made.presence, viewer().zone)
    return see(f"/endpoints/{endpoint_id}", flash=said, fragment=fragment)


def _refused(endpoint_id: str, form: Form, field: str | None, why: str) -> Response:
    form.blame(field, why)
    page = endpoint_pages.endpoint_page(database(), human(), endpoint_id)
    return endpoint_page.show(page, refused=form)
