"""An invite's own page: it says into what, and one button accepts (operator-api.md, "Teams")."""

from __future__ import annotations

from flask import Blueprint, Response, make_response, render_template, request
from flask.typing import ResponseReturnValue
from wtforms import HiddenField

from app.domain.errors import NotFound, TeamCeilingReached
from app.domain.isolating import isolate
from app.edge.deps import database, human, session
from app.edge.identify import identify_session
from app.transactions import team_invites
from app.transactions.team_invites import InviteSeen
from app.web import come_back, guard, team_door, team_words
from app.web.answers import form_page, see
from app.web.forms import Form, posts
from app.web.team_door import HELP

_ACCEPT = "accept"

bp = Blueprint("invites", __name__)
bp.before_request(identify_session)
bp.before_request(guard.check_form)


class InviteForm(Form):
    """The button that was pressed; no page sends it but by the button itself."""

    decision = HiddenField()


@bp.get("/invites/<token>")
def show_invite(token: str) -> ResponseReturnValue:
    """The team, the role and one button. Changes nothing: a previewer must not burn the link.

    Who is not signed in is led to do so, and comes back here afterwards.
    """
    seen = team_invites.look(database(), token)
    if seen is None:
        return _gone()
    page = _page(seen, InviteForm(formdata=None))
    return page if session() is not None else come_back.remember(page)


@bp.post("/invites/<token>")
@posts(InviteForm, "teams/accept_fields.html", button="Look at the invite")
def accept(token: str) -> ResponseReturnValue:
    """Use the invite up and be in the team; the second post of one link finds it gone (404), but
    leads the very person who used it to the team.

    A refused form that is shown again leads to the invite's page first, which names the team.
    """
    form = InviteForm()
    if form.decision.data != _ACCEPT:
        seen = team_invites.look(database(), token)
        return _gone() if seen is None else _page(seen, form)
    try:
        slug = team_invites.accept(database(), human(), token).slug
    except NotFound:
        joined = team_invites.joined_by(database(), human(), token)
        if joined is None:
            return _gone()
        slug = joined
    except TeamCeilingReached as refused:
        seen = team_invites.look(database(), token)
        return _gone() if seen is None else _page(seen, form, team_door.blame(form, refused))
    team = team_door.of(slug)
    said = f"You are {team_words.named(team.role)} of {team_words.name_of(team)} now."
    return see(team_words.path_of(team), flash=said, fragment="role")


def _page(seen: InviteSeen, form: Form, status: int = 200) -> Response:
    name = isolate(seen.display_name)
    return form_page(
        "teams/invite.html",
        form,
        status=status,
        heading=f"Invite to {name}",
        help_topic=HELP,
        name=name,
        role=team_words.named(seen.role),
        may=team_words.may(seen.role),
        path=request.path,
    )


def _gone() -> Response:
    """Used, revoked, expired and unknown read alike."""
    body = render_template("teams/gone.html", heading="Invite not valid", help_topic=HELP)
    return make_response(body, 404)
