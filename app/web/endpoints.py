"""Endpoints: the list, one endpoint's page, its default lease, revoking and deleting it."""

from __future__ import annotations

from flask import Blueprint, render_template
from flask.typing import ResponseReturnValue

from app.domain.errors import Conflict, InvalidArgument
from app.domain.isolating import isolate
from app.edge.deps import database, human
from app.edge.identify import identify_session
from app.reads import endpoint_pages
from app.reads.endpoint_pages import Granted
from app.transactions import endpoints
from app.web import endpoint_page, endpoint_words, guard
from app.web.answers import form_page, see, viewer
from app.web.endpoint_page import HELP, LeaseForm
from app.web.forms import Form, posts
from app.web.vend_forms import parse_lease

bp = Blueprint("endpoints", __name__)
bp.before_request(identify_session)
bp.before_request(guard.check_form)


class ConfirmForm(Form):
    """Nothing but the button that was pressed on a page that said what will happen."""


@bp.get("/endpoints")
def list_endpoints() -> ResponseReturnValue:
    """Own endpoints and those of one's teams, newest first."""
    rows, zone = endpoint_pages.list_seen(database(), human()), viewer().zone
    return render_template(
        "endpoints/list.html",
        heading="Endpoints",
        help_topic=HELP,
        lines=[endpoint_words.endpoint_line(row, zone) for row in rows],
    )


@bp.get("/endpoints/<endpoint_id>")
def show_endpoint(endpoint_id: str) -> ResponseReturnValue:
    """One endpoint: its grant, presence, queues, webhooks, and what it holds."""
    return endpoint_page.show(endpoint_pages.endpoint_page(database(), human(), endpoint_id))


@bp.post("/endpoints/<endpoint_id>")
@posts(LeaseForm, "endpoints/lease.html", button="Save the default lease")
def save_lease(endpoint_id: str) -> ResponseReturnValue:
    """Change the default lease; leases that are granted keep their time."""
    found, form = endpoint_pages.granted(database(), human(), endpoint_id), LeaseForm()
    name = "default_lease_ttl_seconds"
    try:
        seconds = parse_lease(form.default_lease_ttl_seconds.data, field=name)
        endpoints.set_default_lease_as(database(), human(), endpoint_id, seconds)
    except InvalidArgument as wrong:
        form.blame(wrong.field, wrong.sentence)
        page = endpoint_pages.endpoint_page(database(), human(), endpoint_id)
        return endpoint_page.show(page, refused=form)
    said = f"A claim of {found.slug} lasts {endpoint_words.lease_words(seconds)}."
    return see(f"/endpoints/{endpoint_id}", flash=said, fragment=name)


@bp.get("/endpoints/<endpoint_id>/revoke")
def show_revoke(endpoint_id: str) -> ResponseReturnValue:
    """Say what revoking will do, counted now."""
    found = endpoint_pages.granted(database(), human(), endpoint_id)
    if found.state != "active":
        return see(f"/endpoints/{endpoint_id}", flash=f"{found.slug} is revoked already.")
    ending = endpoint_pages.ending(database(), human(), endpoint_id)
    return form_page(
        "endpoints/confirm.html",
        ConfirmForm(formdata=None),
        heading=f"Revoke {found.slug}",
        help_topic=HELP,
        sentences=endpoint_words.ending_lines(found, ending),
        counted="Counted when this page was loaded.",
        action=f"/endpoints/{endpoint_id}/revoke",
        button_label=f"Revoke {found.slug} for good",
        back=f"/endpoints/{endpoint_id}",
        back_label=f"Keep {found.slug}",
    )


@bp.post("/endpoints/<endpoint_id>/revoke")
@posts(ConfirmForm, button="Revoke the endpoint for good")
def revoke(endpoint_id: str) -> ResponseReturnValue:
    """End an endpoint; sent twice, the second finds it ended and says so."""
    found = endpoint_pages.granted(database(), human(), endpoint_id)
    said = f"{found.slug} is revoked."
    try:
        endpoints.revoke(database(), human(), endpoint_id)
    except Conflict:
        said = f"{found.slug} is revoked already."
    return see(f"/endpoints/{endpoint_id}", flash=said)


@bp.get("/endpoints/<endpoint_id>/delete")
def show_delete(endpoint_id: str) -> ResponseReturnValue:
    """Say what deleting will do; an active endpoint is refused (409)."""
    found = _revoked(endpoint_id)
    return form_page(
        "endpoints/confirm.html",
        ConfirmForm(formdata=None),
        heading=f"Delete {found.slug}",
        help_topic=HELP,
        sentences=[
            f"{found.slug} and its agent {isolate(found.agent_name)} go, with its queues and"
            " their budgets and audit, every todo and attempt in them, its webhooks and the events"
            " they took.",
            "Nothing of it can be brought back.",
        ],
        action=f"/endpoints/{endpoint_id}/delete",
        button_label=f"Delete {found.slug} with all it holds",
        back=f"/endpoints/{endpoint_id}",
        back_label=f"Keep {found.slug}",
    )


@bp.post("/endpoints/<endpoint_id>/delete")
@posts(ConfirmForm, button="Delete the endpoint with all it holds")
def delete(endpoint_id: str) -> ResponseReturnValue:
    """Delete a revoked endpoint with all it holds."""
    found = _revoked(endpoint_id)
    endpoints.delete(database(), human(), endpoint_id)
    return see("/endpoints", flash=f"{found.slug} is deleted.")


def _revoked(endpoint_id: str) -> Granted:
    found = endpoint_pages.granted(database(), human(), endpoint_id)
    if found.state != "revoked":
        raise Conflict("Revoke the endpoint before you delete it.", state=found.state)
    return found
