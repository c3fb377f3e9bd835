"""Puts the doors on one application; the roof, so nobody below imports it."""

from __future__ import annotations

from uuid import uuid4

from flask import Flask, Response, request
from flask.json.provider import DefaultJSONProvider
from werkzeug.exceptions import HTTPException

from app.api import agent, health, ingest, metrics, oauth, oauth_metadata, operator, stream
from app.data import data
from app.db.database import Database
from app.db.listener import Listener
from app.domain.errors import DomainError
from app.edge import address, deps, headers, problems, requests
from app.edge.deps import EdgeConfig, EdgeState
from app.edge.exposition import Exposition
from app.edge.metrics import Metrics
from app.edge.ringer import Ringer
from app.edge.waiting import WaitingBudget
from app.web import (
    account,
    add_todo,
    apps,
    board,
    budgets,
    consent,
    endpoint_hooks,
    endpoint_presence,
    endpoint_teams,
    endpoints,
    help,
    invites,
    live,
    oidc,
    queues,
    shell,
    team_ends,
    team_groups,
    team_invites,
    team_members,
    team_queues,
    teams,
    todo_actions,
    todos,
    vend,
    webhooks,
)
from app.web import problems as pages
from app.web import settings as preferences  # `app.settings` is the server's own

_PAGES = (
    account, oidc, board, todos, todo_actions, add_todo, queues, budgets, endpoints,
    endpoint_presence, endpoint_hooks, endpoint_teams, vend, webhooks, preferences, live, help,
    consent, apps, teams, team_ends, team_members, team_invites, team_groups, team_queues, invites,
)  # fmt: skip
_SURFACES = (health, metrics, stream, agent, operator, ingest, oauth, oauth_metadata)
_DOORS = tuple(door.bp for door in (*_PAGES, *_SURFACES))


def create_app(
    config: EdgeConfig,
    database: Database,
    listener: Listener,
    counting: Metrics | None = None,
) -> Flask:
    """The application of one web process: pages, JSON doors, headers, refusals.

    Its requests are counted in `counting`, the metrics of the process, or else for itself alone.

    Path rules never redirect: a PUT must not land on another queue (contract README).
    """
    app = Flask(
        __name__,
        static_folder=str(data("static")),
        static_url_path="/static",
        template_folder=str(data("templates")),
    )
    counting = counting or Metrics()
    app.url_map.merge_slashes = False
    # OPTIONS is a wrong method like any other: 405 with Allow, not an answer before the credential.
    app.config["PROVIDE_AUTOMATIC_OPTIONS"] = False
    # A person reads these bodies too: what a thing is comes first, as the contract shows it.
    app.json = DefaultJSONProvider(app)
    app.json.sort_keys = False
    deps.install(
        app.extensions,
        EdgeState(
            config=config,
            database=database,
            listener=listener,
            waiting=WaitingBudget(),
            ringer=Ringer(database, listener, name=str(uuid4())),
            limits=deps.make_limits(config),
            exposition=Exposition(counting, database),
        ),
    )
    requests.install(app)
    counting.watch(app)
    app.before_request(address.refuse_foreign_host)
    app.after_request(headers.add_headers)
    app.after_request(pages.show_whole)
    shell.install(app)
    _register_refusals(app)
    for door in _DOORS:
        app.register_blueprint(door)
    return app


def _register_refusals(app: Flask) -> None:
    app.register_error_handler(DomainError, _refuse)
    app.register_error_handler(HTTPException, _refuse_http)
    app.register_error_handler(Exception, _confess)


def _refuse(error: DomainError) -> Response:
    if problems.is_json_path(request.path):
        return problems.problem_response(error)
    return pages.refusal_page(error)


def _refuse_http(error: HTTPException) -> Response | HTTPException:
    if error.code is None or error.code < 400:
        return error
    if problems.is_json_path(request.path):
        return problems.http_problem_response(error)
    return pages.http_page(error)


def _confess(error: Exception) -> Response:
    problems.log_accident(error)
    if problems.is_json_path(request.path):
        return problems.accident_response()
    return pages.accident_page()
