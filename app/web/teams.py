"""The pages of a team: the list, making one, one team's page, its name and its settings."""

from __future__ import annotations

from flask import Blueprint, Response, render_template
from flask.typing import ResponseReturnValue

from app.domain.errors import Conflict, DomainError, InvalidArgument, TeamCeilingReached
from app.domain.teams import SLUG_MIN, rank
from app.domain.tokens import slugify
from app.edge.deps import database, human
from app.edge.identify import identify_session
from app.reads import endpoint_pages, team_queues
from app.reads import teams as team_list
from app.reads.teams import TeamRow
from app.transactions import teams
from app.transactions.teams import TeamChange
from app.web import guard, team_door, team_forms, team_invites, team_record, team_words
from app.web.answers import form_page, see, viewer
from app.web.forms import Form, posts
from app.web.team_door import HELP

bp = Blueprint("teams", __name__)
bp.before_request(identify_session)
bp.before_request(guard.check_form)


@bp.get("/teams")
def list_teams() -> ResponseReturnValue:
    """The viewer's teams by slug, with the role in each."""
    rows = team_list.list_teams(database(), human())
    return render_template(
        "teams/list.html",
        heading="Teams",
        help_topic=HELP,
        lines=[team_words.team_line(row) for row in rows],
    )


@bp.get("/teams/new")
def show_new() -> ResponseReturnValue:
    """The form of a team to make."""
    human()
    return _new_page(team_forms.NewForm(formdata=None))


@bp.post("/teams/new")
@posts(team_forms.NewForm, "teams/new_fields.html", button="Create the team")
def create() -> ResponseReturnValue:
    """Make a team; the same form sent twice leads to the one that was made."""
    form = team_forms.NewForm()
    slug = (form.slug.data or "").strip()
    name = (form.display_name.data or "").strip()
    try:
        made = teams.create(database(), human(), slug, name or None)
    except (InvalidArgument, Conflict, TeamCeilingReached) as refused:
        mine = _made_before(slug, name or slug)
        if mine is None:
            return _new_page(form, status=_blame(form, refused))
        said = f"You are the owner of {_said(mine)}."
        return see(team_words.path_of(mine), flash=said, fragment="role")
    said = f"{_said(made)} is created. You are its owner."
    return see(team_words.path_of(made), flash=said, fragment="role")


@bp.get("/teams/<slug>")
def show_team(slug: str) -> ResponseReturnValue:
    """One team: who is in it, its queues, and what the viewer's role lets them do."""
    return team_page(slug, team_forms.QueueForm(formdata=None))


@bp.get("/teams/<slug>/edit")
def show_edit(slug: str) -> ResponseReturnValue:
    """The form of name, slug and what members may do."""
    team, form = team_door.of(slug, "admin"), team_forms.EditForm(formdata=None)
    form.process(
        display_name=team.display_name,
        slug=team.slug,
        members_create_webhooks=team.members_create_webhooks,
    )
    return _edit_page(team, form)


@bp.post("/teams/<slug>/edit")
@posts(team_forms.EditForm, "teams/edit_fields.html", button="Save the team")
def edit(slug: str) -> ResponseReturnValue:
    """Save what changed; the words and the address of the team are an owner's to change.

    The form names the team by id: its second arrival finds the team under the new slug, too.
    """
    form = team_forms.EditForm()
    ref = form.ref(slug)
    team = team_door.of(ref, "admin")
    try:
        saved = teams.edit(database(), human(), ref, _change(team, form))
    except (InvalidArgument, Conflict) as refused:
        return _edit_page(team, form, status=_blame(form, refused))
    said = f"{_said(saved)} is saved."
    return see(team_words.path_of(saved), flash=said, fragment="edit-team")


def team_page(
    slug: str, form: team_forms.QueueForm, refused: DomainError | None = None
) -> Response:
    """The team's page; with `refused`, what was wrong with a queue somebody wanted to add."""
    db, viewing, zone = database(), human(), viewer().zone
    found = team_list.get_team(db, viewing, slug)
    team = found.team
    is_admin = rank(team.role) >= rank("admin")
    members = team_list.list_members(db, viewing, slug)
    seen = {row.id for row in endpoint_pages.list_seen(db, viewing)}
    status = 200 if refused is None else team_door.blame(form, refused)
    return form_page(
        "teams/team.html",
        form,
        status=status,
        heading=team.display_name,
        help_topic=HELP,
        team=team,
        path=team_words.path_of(team),
        name=team_words.name_of(team),
        role=team_words.named(team.role),
        may=team_words.may(team.role),
        members=[team_words.member_line(team, row, viewing.id) for row in members],
        queues=[
            team_words.queue_line(team, row, seen)
            for row in team_queues.list_queues(db, viewing, slug)
        ],
        endpoints=team_words.counted(found.endpoints, "active endpoint", "active endpoints"),
        is_admin=is_admin,
        is_owner=team.role == "owner",
        invites=team_invites.open_lines(team) if is_admin else [],
        groups=[
            team_words.group_line(team, row)
            for row in (team_list.list_group_links(db, viewing, slug) if is_admin else [])
        ],
        changes=team_record.lines(
            team_list.recent_audit(db, viewing, slug) if is_admin else [], zone
        ),
    )


def _blame(form: Form, refused: DomainError) -> int:
    """As any refusal of a form, with a slug that could be had for one that could not."""
    if isinstance(refused, InvalidArgument) and refused.field == "slug":
        typed = (form["slug"].data or "").strip()
        near = slugify(typed) if typed else ""
        example = near if len(near) >= SLUG_MIN else "blue-team"
        refused.sentence = f"{refused.sentence[:-1]}, for example {example}."
    return team_door.blame(form, refused)


def _change(team: TeamRow, form: team_forms.EditForm) -> TeamChange:
    """What differs from what is there; a field that was not sent is left alone."""
    slug = (form.slug.data or "").strip() if form.slug.raw_data else team.slug
    name = (form.display_name.data or "").strip()
    name = name if form.display_name.raw_data else team.display_name
    may_make = form.members_create_webhooks.data
    return TeamChange(
        slug=None if slug == team.slug else slug,
        display_name=None if name == team.display_name else name,
        members_create_webhooks=None if may_make == team.members_create_webhooks else may_make,
    )


def _made_before(slug: str, name: str) -> TeamRow | None:
    """The team that this very form made when it was sent before."""
    for team in team_list.list_teams(database(), human()):
        if (team.slug, team.display_name, team.role) == (slug, name, "owner"):
            return team
    return None


def _said(team: TeamRow) -> str:
    return f"Team {team_words.name_of(team)}"


def _new_page(form: team_forms.NewForm, status: int = 200) -> Response:
    return form_page(
        "teams/new.html",
        form,
        status=status,
        heading="Create a team",
        help_topic=HELP,
        has_focus=status == 200,
    )


def _edit_page(team: TeamRow, form: team_forms.EditForm, status: int = 200) -> Response:
    form.team.data, form.names_it = str(team.id), team.role == "owner"
    return form_page(
        "teams/edit.html",
        form,
        status=status,
        heading=f"Edit {team_words.name_of(team)}",
        help_topic=HELP,
        team=team,
        path=team_words.path_of(team),
        has_focus=status == 200,
    )
