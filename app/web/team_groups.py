"""The group links of a team: whoever the sign-in provider puts in a group is in the team."""

from __future__ import annotations

from contextlib import suppress

from flask import Blueprint, Response
from flask.typing import ResponseReturnValue

from app.domain.errors import Conflict, DomainError, GroupNotHeld, InvalidArgument, NotFound
from app.domain.isolating import isolate
from app.edge.deps import database, human
from app.edge.identify import identify_session
from app.reads import held_groups
from app.reads import teams as team_list
from app.reads.teams import GroupLinkRow, TeamRow
from app.transactions import team_groups
from app.web import guard, team_door, team_words
from app.web.answers import form_page, see
from app.web.forms import Form, posts
from app.web.team_door import HELP
from app.web.team_forms import GroupForm

bp = Blueprint("team_groups", __name__)
bp.before_request(identify_session)
bp.before_request(guard.check_form)


def offer_held(form: Form) -> None:
    """The groups of the viewer's own last sign-in, in a form that is shown once more."""
    if isinstance(form, GroupForm):
        form.offer(held_groups.held(database(), human()))


@bp.get("/teams/<slug>/groups")
def show_groups(slug: str) -> ResponseReturnValue:
    """The linked groups, and for an owner the form of one more."""
    return _page(team_door.of(slug, "admin"), GroupForm(formdata=None))


@bp.post("/teams/<slug>/groups")
@posts(GroupForm, button="Link the group", prepare=offer_held)
def add(slug: str) -> ResponseReturnValue:
    """Link a group the viewer holds; whose last sign-in carried it is in the team at once."""
    team, form = team_door.of(slug, "owner"), GroupForm()
    group, role = form.group.data or "", form.role.data or "member"
    try:
        made = team_groups.add(database(), human(), slug, group, role)
    except (InvalidArgument, Conflict, GroupNotHeld) as refused:
        if isinstance(refused, GroupNotHeld):
            refused.field = "group"
        return _page(team, form, refused)
    said = f"Group {isolate(made.group)} is linked as {made.role}."
    return see(f"{team_words.path_of(team)}/groups", flash=said, fragment="groups")


@bp.get("/teams/<slug>/groups/<link_id>/remove")
def show_remove(slug: str, link_id: str) -> ResponseReturnValue:
    """Say what unlinking will do."""
    team, row = team_door.of(slug, "owner"), _row(slug, link_id)
    if row is None:
        raise NotFound
    group, name = isolate(row.group), team_words.name_of(team)
    return team_door.confirm_page(
        team,
        Form(formdata=None),
        heading=f"Unlink group {group} from {name}",
        sentences=[
            f"Whoever is in {name} by this group alone is out at once; who was also added by hand"
            " stays.",
            "What they and their own endpoints hold of the team's todos is released and waits for"
            " the next claim; the attempts so far still count.",
        ],
        act=f"groups/{row.id}/remove",
        button=f"Unlink group {group} from {name}",
        keep=f"Keep group {group} linked",
        back="/groups",
    )


@bp.post("/teams/<slug>/groups/<link_id>/remove")
@posts(Form, button="Unlink the group")
def remove(slug: str, link_id: str) -> ResponseReturnValue:
    """Unlink a group; sent twice, the second finds it unlinked and says so."""
    team = team_door.of(slug, "owner")
    row, said = _row(slug, link_id), "That group is not linked."
    if row is not None:
        said = f"Group {isolate(row.group)} is not linked any more."
        with suppress(NotFound):
            team_groups.remove(database(), human(), slug, link_id)
    return see(f"{team_words.path_of(team)}/groups", flash=said, fragment="groups")


def _row(slug: str, link_id: str) -> GroupLinkRow | None:
    rows = team_list.list_group_links(database(), human(), slug)
    return next((row for row in rows if str(row.id) == link_id), None)


def _page(team: TeamRow, form: GroupForm, refused: DomainError | None = None) -> Response:
    held = held_groups.held(database(), human())
    form.offer(held)
    rows = team_list.list_group_links(database(), human(), team.slug)
    return form_page(
        "teams/groups.html",
        form,
        status=200 if refused is None else team_door.blame(form, refused),
        heading=f"Groups of {team_words.name_of(team)}",
        help_topic=HELP,
        team=team,
        path=team_words.path_of(team),
        name=team_words.name_of(team),
        lines=[team_words.group_line(team, row) for row in rows],
        is_owner=team.role == "owner",
        has_groups=bool(held),
    )
