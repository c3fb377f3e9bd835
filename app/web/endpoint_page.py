"""One endpoint's page with all its forms; a refused one is shown among the others as it came."""

from __future__ import annotations

from flask import Response
from wtforms import SelectField, StringField

from app.domain.verbs import NOTIFY
from app.edge.deps import database, human
from app.reads import hooks as hook_list
from app.reads import presence, team_choices, webhook_pages
from app.reads.endpoint_pages import EndpointPage, Granted
from app.reads.presence import SEEING, Standing
from app.web import endpoint_team_words, endpoint_words, hook_words, presence_words
from app.web.answers import form_page, viewer
from app.web.endpoint_team_words import TeamQueuesView
from app.web.forms import Form

HELP = "endpoints"


class LeaseForm(Form):
    """The one thing of its scope that may change (operator-api.md, PATCH)."""

    default_lease_ttl_seconds = StringField("Default lease in seconds")


class ClockForm(Form):
    """Clocking in or out; which of the two is the button that was pressed."""

    until = StringField("Until")


class ShiftForm(Form):
    """When the endpoint is in, if nobody says otherwise."""

    shift = StringField("Shift")


class GrantForm(Form):
    """A team queue the endpoint is to drain (operator-api.md, "Teams")."""

    team_queue = SelectField("Team queue", validate_choice=False)


def show(page: EndpointPage, *, refused: Form | None = None) -> Response:
    """The page; with a refused form 422, that form as it was posted."""
    row = page.granted
    hooks = webhook_pages.list_lines(database(), human(), row.id)
    calls = hook_list.list_of_endpoint(database(), human(), row.id)
    standing = presence.read_as(database(), human(), str(row.id), SEEING)
    found = team_choices.reachable(database(), human(), row.id)
    teams = endpoint_team_words.team_queues_view(row, found)
    lease, clock = _lease(row, refused), ClockForm(formdata=None)
    return form_page(
        "endpoints/endpoint.html",
        lease if refused is None else refused,
        status=200 if refused is None else 422,
        heading=f"Endpoint {row.slug}",
        help_topic=HELP,
        view=endpoint_words.endpoint_view(page, viewer().zone, webhooks=len(hooks)),
        hooks=[endpoint_words.hook_link(line) for line in hooks],
        has_hooks=bool(calls) or not set(NOTIFY).isdisjoint(row.verbs),
        notify_hooks=hook_words.cards(row.id, calls, viewer().zone),
        presence=presence_words.presence_view(row.slug, standing, viewer().zone),
        lease_form=lease,
        teams=teams,
        grant_form=_grant(teams, refused),
        clock_form=refused if isinstance(refused, ClockForm) else clock,
        shift_form=_shift(standing, refused),
    )


def _lease(row: Granted, refused: Form | None) -> LeaseForm:
    if isinstance(refused, LeaseForm):
        return refused
    form, own = LeaseForm(formdata=None), row.default_lease_ttl_seconds
    form.default_lease_ttl_seconds.data = None if own is None else str(own)
    return form


def _grant(teams: TeamQueuesView, refused: Form | None) -> GrantForm:
    form = refused if isinstance(refused, GrantForm) else GrantForm(formdata=None)
    form.team_queue.choices = teams.choices
    return form


def _shift(standing: Standing, refused: Form | None) -> ShiftForm:
    if isinstance(refused, ShiftForm):
        return refused
    form = ShiftForm(formdata=None)
    form.shift.data = standing.presence.shift
    return form
