"""The forms of webhooks: what to make, what to route, and which act a button is."""

from __future__ import annotations

from collections.abc import Sequence

from wtforms import HiddenField, RadioField, SelectChoice, SelectField, StringField

from app.domain.isolating import isolate
from app.domain.signatures import Source
from app.edge.deps import database, human
from app.reads import webhook_pages
from app.reads.webhook_pages import Host, RouteChoice
from app.web import vend_words
from app.web.forms import Form


class ActForm(Form):
    """A button that must act once: `act` names this very form, so that it is done once only."""

    act = HiddenField()


class NewForm(ActForm):
    """A webhook to make (operator-api.md, POST /endpoints/{ref}/webhooks)."""

    endpoint = SelectField("Endpoint")
    source_type = RadioField(
        "Source type",
        choices=vend_words.sources(),
        default=str(Source.GENERIC),
    )
    target_queue = StringField("Queue")

    def offer(self, hosts: Sequence[Host]) -> None:
        """The endpoints that may have a webhook, each with how many it has."""
        self.endpoint.choices = [
            SelectChoice(
                value=str(host.id),
                label=f"{host.slug} ({isolate(host.agent_name)}; has {host.used} of {host.max})",
            )
            for host in hosts
        ]


class RouteForm(Form):
    """An endpoint that gets a copy of every delivery."""

    endpoint = SelectField("Endpoint")

    def offer(self, choices: Sequence[RouteChoice]) -> None:
        """The endpoints a route could lead to."""
        self.endpoint.choices = [
            SelectChoice(value=str(one.id), label=f"{one.slug} ({isolate(one.agent_name)})")
            for one in choices
        ]


def prepare_new(form: Form) -> None:
    """Offer the viewer's endpoints in a form that is shown once more."""
    if isinstance(form, NewForm):
        form.offer(webhook_pages.list_hosts(database(), human()))
