"""One member of a team: the page that changes the role, and the one that takes them out."""

from __future__ import annotations

from flask import Blueprint, Response
from flask.typing import ResponseReturnValue

from app.domain.errors import (
    Conflict,
    DomainError,
    InvalidArgument,
    LastOwner,
    NotFound,
    RoleCeiling,
)
from app.domain.teams import require_grant
from app.edge.deps import database, human
from app.edge.identify import identify_session
from app.reads import teams as team_list
from app.reads.teams import MemberRow, TeamRow
from app.transactions import team_members
from app.web import guard, team_door, team_words
from app.web.answers import form_page, see
from app.web.forms import Form, posts
from app.web.team_door import HELP
from app.web.team_forms import RoleForm

bp = Blueprint("team_members", __name__)
bp.before_request(identify_session)
bp.before_request(guard.check_form)


@bp.get("/teams/<slug>/members/<human_id>")
def show_role(slug: str, human_id: str) -> ResponseReturnValue:
    """The form of a member's role; one above the viewer's own is not theirs to change."""
    team, row = _found(slug, human_id)
    require_grant(team.role, row.role)
    form = RoleForm(formdata=None)
    form.role.data = row.role
    return _role_page(team, row, form)


@bp.post("/teams/<slug>/members/<human_id>")
@posts(RoleForm, button="Change the role")
def set_role(slug: str, human_id: str) -> ResponseReturnValue:
    """Give a member another role; what is refused is said beside the choice."""
    (team, row), form = _found(slug, human_id), RoleForm()
    try:
        saved = team_members.set_role(database(), human(), slug, human_id, form.role.data or "")
    except (InvalidArgument, RoleCeiling, LastOwner, Conflict) as refused:
        return _role_page(team, row, form, refused)
    said = f"{team_words.name_of_member(saved)} is {team_words.named(saved.role)} now."
    return see(team_words.path_of(team), flash=said, fragment=f"member-{saved.human_id}")


@bp.get("/teams/<slug>/members/<human_id>/remove")
def show_remove(slug: str, human_id: str) -> ResponseReturnValue:
    """Say what removing a member will do."""
    team, row = _found(slug, human_id)
    require_grant(team.role, row.role)
    return _remove_page(team, row, Form(formdata=None))


@bp.post("/teams/<slug>/members/<human_id>/remove")
@posts(Form, button="Remove the member")
def remove(slug: str, human_id: str) -> ResponseReturnValue:
    """End a membership; sent twice, the second finds it ended and says so."""
    team = team_door.of(slug, "admin")
    path = team_words.path_of(team)
    row = _member(slug, human_id)
    if row is None:
        return see(path, flash="That person is not in the team.", fragment="members")
    form, name = Form(), team_words.name_of_member(row)
    said = f"{name} is removed from {team_words.name_of(team)}."
    try:
        team_members.remove(database(), human(), slug, human_id)
    except (LastOwner, RoleCeiling) as refused:
        return _remove_page(team, row, form, refused)
    except NotFound:
        said = f"{name} is not in {team_words.name_of(team)} any more."
    return see(path, flash=said, fragment="members")


def _found(slug: str, human_id: str) -> tuple[TeamRow, MemberRow]:
    """The team of an admin and one of its members; NotFound without either."""
    team, row = team_door.of(slug, "admin"), _member(slug, human_id)
    if row is None:
        raise NotFound
    return team, row


def _member(slug: str, human_id: str) -> MemberRow | None:
    rows = team_list.list_members(database(), human(), slug)
    return next((row for row in rows if str(row.human_id) == human_id), None)


def _role_page(
    team: TeamRow, row: MemberRow, form: RoleForm, refused: DomainError | None = None
) -> Response:
    form.offer(team.role)
    status = 200 if refused is None else team_door.blame(form, refused)
    if refused is not None and refused.field is None:
        form.role.errors, form.form_errors = [*form.form_errors], []
    name = team_words.name_of_member(row)
    return form_page(
        "teams/role.html",
        form,
        status=status,
        heading=f"Change role of {name} in {team_words.name_of(team)}",
        help_topic=HELP,
        team=team,
        path=team_words.path_of(team),
        name=name,
        row=row,
        source=team_words.source_words(row),
        has_focus=status == 200,
    )


def _remove_page(
    team: TeamRow, row: MemberRow, form: Form, refused: DomainError | None = None
) -> Response:
    name, of_team = team_words.name_of_member(row), team_words.name_of(team)
    sentences = [
        f"{name} loses the queues, todos and endpoints of {of_team} at once.",
        f"What {name} holds of the team's todos is released and waits for the next claim, and so"
        f" is what endpoints of {name} hold of them; the attempts so far still count.",
        f"Apps that {name} let work as endpoints of {of_team} stop.",
    ]
    if row.by_group:
        sentences.append(
            f"{name} is in {of_team} by a group, and comes back at the next sign-in as long as"
            " the group is linked and the provider names it."
        )
    is_last = team_list.is_only_owner(database(), human(), team.slug, row.human_id)
    if is_last:
        sentences = [
            f"{name} is the only owner of {of_team}, and a team is never without one.",
            f"Make somebody else owner first, then remove {name}.",
        ]
    return team_door.confirm_page(
        team,
        form,
        heading=f"Remove {name} from {of_team}",
        sentences=sentences,
        act=f"members/{row.human_id}/remove",
        button=f"Remove {name} from {of_team}",
        keep=f"Keep {name} in {of_team}",
        back=f"#member-{row.human_id}",
        status=200 if refused is None else team_door.blame(form, refused),
        may_go_on=not is_last,
    )
