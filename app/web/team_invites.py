"""The invites of a team: the list, a new one whose link is shown once, taking one back."""

from __future__ import annotations

from datetime import datetime

from flask import Blueprint, Response, render_template
from flask.typing import ResponseReturnValue

from app.domain.errors import Conflict, DomainError, InvalidArgument, NotFound, RoleCeiling
from app.domain.isolating import isolate
from app.edge.deps import database, human, state
from app.edge.identify import identify_session
from app.reads import instants
from app.reads import teams as team_list
from app.reads.teams import InviteRow, TeamRow
from app.transactions import team_invites
from app.web import guard, team_door, team_words
from app.web.answers import form_page, see, viewer
from app.web.forms import Form, posts
from app.web.present import instant
from app.web.team_door import HELP
from app.web.team_forms import InviteForm
from app.web.team_words import OPEN, InviteLine

bp = Blueprint("team_invites", __name__)
bp.before_request(identify_session)
bp.before_request(guard.check_form)


@bp.get("/teams/<slug>/invites")
def show_invites(slug: str) -> ResponseReturnValue:
    """Every invite of the team, newest first, and the form of a new one."""
    form = InviteForm(formdata=None)
    return _page(team_door.of(slug, "admin"), form)


@bp.post("/teams/<slug>/invites")
@posts(InviteForm, "teams/invite_fields.html", button="Make the invite link")
def create(slug: str) -> ResponseReturnValue:
    """Make an invite and show its link, once, in the answer itself: it is kept nowhere.

    The same form sent twice makes one invite, and both answers show its link.
    """
    team, form = team_door.of(slug, "admin"), InviteForm()
    email, role = form.email.data or "", form.role.data or "member"
    try:
        made = team_invites.create(
            database(), human(), slug, email, role, once=form.once.data or None
        )
    except (InvalidArgument, RoleCeiling, Conflict) as refused:
        return _page(team, form, refused)
    return render_template(
        "teams/invited.html",
        heading=f"Invite to {team_words.name_of(team)} for {made.email}",
        help_topic=HELP,
        team=team,
        path=team_words.path_of(team),
        name=team_words.name_of(team),
        role=team_words.named(made.role),
        expires=instant(made.expires_at, viewer().zone),
        link=f"{state().config.base_url}/invites/{made.token}",
    )


@bp.get("/teams/<slug>/invites/<invite_id>/revoke")
def show_revoke(slug: str, invite_id: str) -> ResponseReturnValue:
    """Say what revoking an invite will do; one that has ended says how instead."""
    team = team_door.of(slug, "admin")
    row = _row(slug, invite_id)
    ended = _ended(row)
    if ended:
        return see(f"{team_words.path_of(team)}/invites", flash=ended)
    email = isolate(row.email)
    return team_door.confirm_page(
        team,
        Form(formdata=None),
        heading=f"Revoke the invite for {email}",
        sentences=[
            "The link stops at once: whoever opens it is told that it is not valid.",
            f"To let {email} into {team_words.name_of(team)} after all, make a new invite.",
        ],
        act=f"invites/{row.id}/revoke",
        button=f"Revoke the invite for {email}",
        keep=f"Keep the invite for {email}",
        back="/invites",
    )


@bp.post("/teams/<slug>/invites/<invite_id>/revoke")
@posts(Form, button="Revoke the invite")
def revoke(slug: str, invite_id: str) -> ResponseReturnValue:
    """Take an invite back; sent twice, the second finds it revoked and says so."""
    team = team_door.of(slug, "admin")
    row = _row(slug, invite_id)
    said = f"The invite for {isolate(row.email)} is revoked. Its link opens nothing."
    try:
        team_invites.revoke(database(), human(), slug, invite_id)
    except Conflict as refused:
        said = refused.sentence
    return see(f"{team_words.path_of(team)}/invites", flash=said, fragment="invites")


def open_lines(team: TeamRow) -> list[InviteLine]:
    """The invites that somebody could still accept."""
    return [line for line in _lines(team) if line.state == OPEN]


def _lines(team: TeamRow) -> list[InviteLine]:
    rows, zone = team_list.list_invites(database(), human(), team.slug), viewer().zone
    now = instants.now(database())
    return [
        team_words.invite_line(team, row, OPEN if _is_open(row, now) else _ended_words(row), zone)
        for row in rows
    ]


def _is_open(row: InviteRow, now: datetime) -> bool:
    is_unused = row.accepted_at is None and row.revoked_at is None
    return is_unused and row.is_backed and row.expires_at > now


def _ended_words(row: InviteRow) -> str:
    if row.accepted_at is not None:
        return "accepted"
    if row.revoked_at is not None:
        return "revoked"
    return "expired" if row.is_backed else "void, its maker may no longer give that role"


def _ended(row: InviteRow) -> str:
    """The sentence of an invite that has ended; empty for an open one."""
    if _is_open(row, instants.now(database())):
        return ""
    return f"The invite for {isolate(row.email)} has ended: {_ended_words(row)}."


def _row(slug: str, invite_id: str) -> InviteRow:
    rows = team_list.list_invites(database(), human(), slug)
    found = next((row for row in rows if str(row.id) == invite_id), None)
    if found is None:
        raise NotFound
    return found


def _page(team: TeamRow, form: InviteForm, refused: DomainError | None = None) -> Response:
    form.offer(team.role)
    status = 200 if refused is None else team_door.blame(form, refused)
    return form_page(
        "teams/invites.html",
        form,
        status=status,
        heading=f"Invites to {team_words.name_of(team)}",
        help_topic=HELP,
        team=team,
        path=team_words.path_of(team),
        name=team_words.name_of(team),
        lines=_lines(team),
    )
