"""What the pages of teams share: who may open one, and the page that asks before an act."""

from __future__ import annotations

from flask import Response

from app.domain.errors import DomainError, InvalidArgument
from app.edge.deps import database, human
from app.edge.problems import status_for
from app.reads import teams
from app.reads.teams import TeamRow
from app.web import refusals, team_words
from app.web.answers import form_page
from app.web.forms import Form

HELP = "teams"


def of(slug: str, role: str = "member") -> TeamRow:
    """The viewer's team by slug or id; NotFound outside of it, RoleRequired below `role`."""
    return teams.get_row(database(), human(), slug, role)


def blame(form: Form, refused: DomainError) -> int:
    """Say in the form what was refused, at the field it is about; the status of its page."""
    form.blame(refused.field, refusals.sentence(form, refused))
    return 422 if isinstance(refused, InvalidArgument) else status_for(refused)


def confirm_page(
    team: TeamRow,
    form: Form,
    *,
    heading: str,
    sentences: list[str],
    act: str,
    button: str,
    keep: str,
    back: str = "",
    status: int = 200,
    may_go_on: bool = True,
) -> Response:
    """A page that says what an act will do; `act` and `back` are paths below the team's.

    Without `may_go_on` the sentences say why not, and there is no button.
    """
    path = team_words.path_of(team)
    return form_page(
        "teams/confirm.html",
        form,
        status=status,
        heading=heading,
        help_topic=HELP,
        sentences=sentences,
        team_id=team.id,
        action=f"{path}/{act}",
        button_label=button,
        back=f"{path}{back}",
        back_label=keep,
        may_go_on=may_go_on,
    )
