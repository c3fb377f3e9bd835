"""One webhook's page with its routes: other endpoints that get a copy, added and removed."""

from __future__ import annotations

from flask import Blueprint, Response
from flask.typing import ResponseReturnValue

from app.domain.errors import Forbidden, RouteOutOfScope
from app.domain.isolating import isolate
from app.edge.deps import database, human, state
from app.edge.identify import identify_session
from app.reads import webhook_pages
from app.reads import webhooks as lists
from app.reads.webhook_pages import WebhookLine
from app.transactions import routes
from app.web import guard, webhook_words
from app.web.answers import form_page, see, viewer
from app.web.forms import acts, posts
from app.web.webhook_forms import RouteForm

HELP = "webhooks"

# The views of webhooks as such hang themselves on it in app/web/webhooks.py.
bp = Blueprint("webhooks", __name__)
bp.before_request(identify_session)
bp.before_request(guard.check_form)


@bp.get("/webhooks/<webhook_id>")
def show_webhook(webhook_id: str) -> ResponseReturnValue:
    """One webhook with its URL and its routes."""
    found = webhook_pages.webhook_line(database(), human(), webhook_id)
    return _page(found, RouteForm(formdata=None))


@bp.post("/webhooks/<webhook_id>/routes")
@posts(RouteForm, button="Add the route")
def add_route(webhook_id: str) -> ResponseReturnValue:
    """Let an endpoint have a copy of every delivery; adding it again changes nothing."""
    found, form = webhook_pages.webhook_line(database(), human(), webhook_id), RouteForm()
    try:
        routes.add_route(database(), human(), webhook_id, form.endpoint.data or "")
    except (Forbidden, RouteOutOfScope) as refused:
        form.blame("endpoint", refused.sentence)
        return _page(found, form, status=422)
    return see(f"/webhooks/{webhook_id}", flash="The route is added.", fragment="routes")


@bp.post("/webhooks/<webhook_id>/routes/<endpoint_id>/remove")
@acts("Remove the route")
def remove_route(webhook_id: str, endpoint_id: str) -> ResponseReturnValue:
    """Stop an endpoint's copies; removing what is not there changes nothing."""
    routes.remove_route(database(), human(), webhook_id, endpoint_id)
    return see(f"/webhooks/{webhook_id}", flash="The route is removed.", fragment="routes")


def _page(line: WebhookLine, form: RouteForm, status: int = 200) -> Response:
    zone = viewer().zone
    form.offer(webhook_pages.list_route_choices(database(), human(), line.id))
    routes = lists.list_routes(database(), human(), str(line.id))
    return form_page(
        "webhooks/webhook.html",
        form,
        status=status,
        heading=f"Webhook: {line.source_type} to {isolate(line.target_queue)}",
        help_topic=HELP,
        view=webhook_words.webhook_view(line, zone),
        url=f"{state().config.base_url}/webhooks/w/{line.ingest_token}",
        routes=[webhook_words.route_view(str(line.id), row, zone) for row in routes],
    )
