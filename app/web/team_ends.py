"""Leaving a team, handing it over and deleting it: each says first what it will do."""

from __future__ import annotations

from flask import Blueprint, Response
from flask.typing import ResponseReturnValue

from app.domain.errors import Conflict, InvalidArgument, LastOwner, NotFound, RoleRequired
from app.edge.deps import database, human
from app.edge.identify import identify_session
from app.reads import teams as team_list
from app.reads.teams import MemberRow, TeamRow
from app.transactions import teams
from app.web import guard, team_door, team_words
from app.web.answers import form_page, see
from app.web.forms import Form, posts
from app.web.team_door import HELP
from app.web.team_forms import TeamForm, TransferForm

bp = Blueprint("team_ends", __name__)
bp.before_request(identify_session)
bp.before_request(guard.check_form)

_NOBODY = "Choose one of the team's members."


@bp.get("/teams/<slug>/leave")
def show_leave(slug: str) -> ResponseReturnValue:
    """Say what leaving will do; the only owner is told why not."""
    team = team_door.of(slug)
    is_last = team_list.is_only_owner(database(), human(), slug, human().id)
    return _leave_page(team, Form(formdata=None), is_last=is_last)


@bp.post("/teams/<slug>/leave")
@posts(TeamForm, button="Leave the team")
def leave(slug: str) -> ResponseReturnValue:
    """End the viewer's own membership; what they hold of the team's is released.

    Sent twice, the second is told that they are out, as long as they left themselves.
    """
    form = TeamForm()
    try:
        return _leave(team_door.of(form.ref(slug)), form)
    except NotFound:
        if not _did(form, "member_left"):
            raise
    return see("/teams", flash="You are not in that team.", fragment="teams")


@bp.get("/teams/<slug>/transfer")
def show_transfer(slug: str) -> ResponseReturnValue:
    """Say what handing over will do, and to whom it could be."""
    return _transfer_page(team_door.of(slug, "owner"), TransferForm(formdata=None))


@bp.post("/teams/<slug>/transfer")
@posts(TransferForm, "teams/transfer_fields.html", button="Transfer the team")
def transfer(slug: str) -> ResponseReturnValue:
    """Make a member owner and the viewer admin; sent twice, the second finds it done."""
    form = TransferForm()
    try:
        return _hand_over(team_door.of(form.ref(slug), "owner"), form)
    except RoleRequired:
        if not _did(form, "team_transferred"):
            raise
    team = team_door.of(form.ref(slug))
    said = f"You have transferred {team_words.name_of(team)}."
    return see(team_words.path_of(team), flash=said, fragment="members")


def _hand_over(team: TeamRow, form: TransferForm) -> Response:
    chosen = next((row for row in _others(team) if str(row.human_id) == form.human_id.data), None)
    try:
        if chosen is None:
            raise InvalidArgument(_NOBODY, field="human_id")
        teams.transfer(database(), human(), str(team.id), str(chosen.human_id))
    except (InvalidArgument, LastOwner) as refused:
        return _transfer_page(team, form, status=team_door.blame(form, refused))
    said = f"{team_words.name_of_member(chosen)} is an owner of {team_words.name_of(team)}. "
    said += "You are an admin of it."
    return see(team_words.path_of(team), flash=said, fragment="members")


@bp.get("/teams/<slug>/delete")
def show_delete(slug: str) -> ResponseReturnValue:
    """Say what deleting will do and what it needs."""
    return _delete_page(team_door.of(slug, "owner"), Form(formdata=None))


@bp.post("/teams/<slug>/delete")
@posts(TeamForm, button="Delete the team for good")
def delete(slug: str) -> ResponseReturnValue:
    """Delete a team without active endpoints and live todos; sent twice, it is gone both times."""
    form = TeamForm()
    try:
        return _delete(team_door.of(form.ref(slug), "owner"), form)
    except NotFound:
        if not _did(form, "team_deleted"):
            raise
    return see("/teams", flash="That team is deleted.", fragment="teams")


def _did(form: TeamForm, action: str) -> bool:
    """Whether the viewer did a moment ago what the form asks for."""
    return team_list.did(database(), human(), form.team.data or "", action)


def _leave(team: TeamRow, form: Form) -> Response:
    try:
        teams.leave(database(), human(), str(team.id))
    except LastOwner as refused:
        return _leave_page(team, form, is_last=True, status=team_door.blame(form, refused))
    said = f"You have left {team_words.name_of(team)}."
    return see("/teams", flash=said, fragment="teams")


def _delete(team: TeamRow, form: Form) -> Response:
    try:
        teams.delete(database(), human(), str(team.id))
    except Conflict as refused:
        return _delete_page(team, form, status=team_door.blame(form, refused))
    said = f"Team {team_words.name_of(team)} is deleted."
    return see("/teams", flash=said, fragment="teams")


def _leave_page(team: TeamRow, form: Form, *, is_last: bool, status: int = 200) -> Response:
    name = team_words.name_of(team)
    sentences = [
        f"You lose the queues, todos and endpoints of {name} at once.",
        "What you hold of the team's todos is released and waits for the next claim, and so is"
        " what your own endpoints hold of them; the attempts so far still count.",
        f"Apps that you let work as endpoints of {name} stop.",
        _way_back(team),
    ]
    if is_last:
        sentences = [
            f"You are the only owner of {name}, and a team is never without one.",
            "Make somebody else owner first, or transfer the team, then leave it.",
        ]
    return team_door.confirm_page(
        team,
        form,
        heading=f"Leave {name}",
        sentences=sentences,
        act="leave",
        button=f"Leave {name}",
        keep=f"Back to {name}" if is_last else f"Stay in {name}",
        back="#leave-team",
        status=status,
        may_go_on=not is_last,
    )


def _way_back(team: TeamRow) -> str:
    rows = team_list.list_members(database(), human(), team.slug)
    if not any(row.by_group for row in rows if row.human_id == human().id):
        return "To come back you need a new invite."
    return (
        "A group of the sign-in provider puts you in it: at your next sign-in you are back, as long"
        " as the group is linked and the provider names you in it."
    )


def _transfer_page(team: TeamRow, form: TransferForm, status: int = 200) -> Response:
    form.offer(_others(team))
    form.team.data = str(team.id)
    name = team_words.name_of(team)
    return form_page(
        "teams/transfer.html",
        form,
        status=status,
        heading=f"Transfer {name}",
        help_topic=HELP,
        team=team,
        path=team_words.path_of(team),
        name=name,
        has_focus=status == 200,
    )


def _others(team: TeamRow) -> list[MemberRow]:
    rows = team_list.list_members(database(), human(), team.slug)
    return [row for row in rows if row.human_id != human().id]


def _delete_page(team: TeamRow, form: Form, status: int = 200) -> Response:
    name = team_words.name_of(team)
    return team_door.confirm_page(
        team,
        form,
        heading=f"Delete {name}",
        sentences=[
            "A team can be deleted when it has no active endpoint and no todo that is pending,"
            " claimed or waiting for a retry. Revoke its endpoints and finish or discard its todos"
            " first.",
            f"{name} goes with its queues, their budgets and the todos that have ended in them,"
            " its invites and its group links. Nobody is a member of it any longer.",
            f"Its slug {team.slug} is kept from reuse for 30 days.",
            "Nothing of it can be brought back.",
        ],
        act="delete",
        button=f"Delete {name} for good",
        keep=f"Keep {name}",
        back="#delete-team",
        status=status,
    )
