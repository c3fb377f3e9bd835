"""Which team queues an endpoint drains: granted on its page, taken away after a question."""

from __future__ import annotations

from uuid import UUID

from flask import Blueprint
from flask.typing import ResponseReturnValue

from app.domain.errors import Conflict, NotFound
from app.domain.isolating import isolate
from app.edge.deps import database, human
from app.edge.identify import identify_session
from app.reads import endpoint_pages, team_choices
from app.reads.endpoint_pages import Granted
from app.reads.team_choices import Reachable
from app.transactions import team_grants
from app.web import endpoint_page, endpoint_team_words, guard
from app.web.answers import form_page, see
from app.web.endpoint_page import HELP, GrantForm
from app.web.endpoint_team_words import SECTION
from app.web.forms import Form, acts, posts

bp = Blueprint("endpoint_teams", __name__)
bp.before_request(identify_session)
bp.before_request(guard.check_form)

_REVOKED = "The endpoint is revoked, so what it drains can no longer be changed."


@bp.post("/endpoints/<endpoint_id>/team-queues")
@posts(GrantForm, button="Grant the team queue")
def grant(endpoint_id: str) -> ResponseReturnValue:
    """Let the endpoint drain a team's queue; sent twice, the second changes nothing."""
    found, form = _active(endpoint_id), GrantForm()
    chosen = _reachable(found.id, form.team_queue.data)
    if chosen is None:
        form.blame("team_queue", "Choose one of the team queues that you may grant.")
        page = endpoint_pages.endpoint_page(database(), human(), endpoint_id)
        return endpoint_page.show(page, refused=form)
    team_grants.grant(database(), human(), str(found.id), chosen.team, chosen.name)
    said = f"{found.slug} drains {isolate(chosen.queue)} now."
    return see(f"/endpoints/{found.id}", flash=said, fragment=SECTION)


@bp.get("/endpoints/<endpoint_id>/team-queues/<queue_id>/remove")
def show_remove(endpoint_id: str, queue_id: str) -> ResponseReturnValue:
    """Say what taking the queue away will do, counted now."""
    found = _active(endpoint_id)
    chosen = _required(found.id, queue_id)
    back = f"/endpoints/{found.id}"
    if not chosen.is_granted:
        return see(back, flash=f"{found.slug} does not drain {isolate(chosen.queue)}.")
    return form_page(
        "endpoints/confirm.html",
        Form(formdata=None),
        heading=f"Take {isolate(chosen.queue)} away from {found.slug}",
        help_topic=HELP,
        sentences=endpoint_team_words.removal_lines(found.slug, chosen),
        counted="Counted when this page was loaded.",
        action=f"{back}/team-queues/{chosen.queue_id}/remove",
        button_label=f"Take {isolate(chosen.queue)} away",
        back=back,
        back_label=f"Let {found.slug} keep it",
    )


@bp.post("/endpoints/<endpoint_id>/team-queues/<queue_id>/remove")
@acts("Take the team queue away")
def remove(endpoint_id: str, queue_id: str) -> ResponseReturnValue:
    """Take the queue away; what the endpoint holds of it goes back (identity.md, "Teams")."""
    found = _active(endpoint_id)
    chosen = _required(found.id, queue_id)
    team_grants.ungrant(database(), human(), str(found.id), chosen.team, chosen.name)
    said = f"{found.slug} does not drain {isolate(chosen.queue)} any more."
    return see(f"/endpoints/{found.id}", flash=said, fragment=SECTION)


def _active(endpoint_id: str) -> Granted:
    found = endpoint_pages.granted(database(), human(), endpoint_id)
    if found.state != "active":
        raise Conflict(_REVOKED, state=found.state)
    return found


def _required(endpoint_id: UUID, queue_id: str) -> Reachable:
    found = _reachable(endpoint_id, queue_id)
    if found is None:
        raise NotFound
    return found


def _reachable(endpoint_id: UUID, queue_id: str | None) -> Reachable | None:
    """One of the queues the endpoint drains or could; unknown, foreign and malformed are None."""
    found = team_choices.reachable(database(), human(), endpoint_id)
    return next((each for each in found if str(each.queue_id) == queue_id), None)
