"""A refusal becomes an HTTP status and a body: the only such table."""

from __future__ import annotations

import json
import logging

from flask import Response, request
from werkzeug.exceptions import HTTPException

from app.domain import errors
from app.domain.errors import DomainError
from app.domain.values import Json
from app.edge import oauth

STATUS: dict[type[DomainError], int] = {
    errors.InvalidArgument: 400,
    errors.TooLarge: 413,
    errors.UnsupportedMediaType: 415,
    errors.InvalidAttemptInput: 400,
    errors.Unauthenticated: 401,
    errors.Forbidden: 403,
    errors.ForbiddenSourceType: 403,
    errors.EndpointSuspended: 403,
    errors.RouteOutOfScope: 403,
    errors.ReferenceOutOfScope: 403,
    errors.RoleRequired: 403,
    errors.RoleCeiling: 403,
    errors.GrantOutOfScope: 403,
    errors.GroupNotHeld: 403,
    errors.NotFound: 404,
    errors.Conflict: 409,
    errors.LastOwner: 409,
    errors.TeamCeilingReached: 409,
    errors.CeilingExceeded: 409,
    errors.Deferred: 409,
    errors.RateLimited: 429,
    errors.Unavailable: 503,
    errors.OutcomeUnknown: 500,
}

# Prefixes whose every answer is JSON, also where no route is; the paths below have none
# below them. The other paths below /webhooks are pages.
INGEST_PREFIX = "/webhooks/w/"
_JSON_PREFIXES = ("/agent/", "/api/", INGEST_PREFIX, "/.well-known/")
_JSON_PATHS = (
    "/healthz", "/readyz", "/metrics", oauth.REGISTER, oauth.TOKEN, oauth.REVOKE,
)  # fmt: skip
_REALMS = {
    "/agent/": "switchboard",
    "/api/": "switchboard-api",
    "/metrics": "switchboard-metrics",
}

_SENTENCES = {
    400: "The request could not be understood.",
    404: errors.NotFound().sentence,
    405: "This address does not answer to that method.",
    413: errors.TooLarge().sentence,
    415: errors.UnsupportedMediaType().sentence,
    429: errors.RateLimited().sentence,
    503: errors.Unavailable().sentence,
}
_CODES = {404: "not_found", 429: "rate_limited", 500: "internal", 503: "unavailable"}

log = logging.getLogger(__name__)


def status_for(error: DomainError) -> int:
    """The HTTP status of a refusal; 400 for a kind of InvalidArgument the table does not name."""
    return next((STATUS[kind] for kind in type(error).__mro__ if kind in STATUS), 400)


def is_json_path(path: str) -> bool:
    """Say whether answers under this path are JSON: every surface but the pages."""
    return path.startswith(_JSON_PREFIXES) or path in _JSON_PATHS


def problem_response(error: DomainError) -> Response:
    """The refusal as JSON: flat, with the field at fault and the extras its code defines."""
    body: dict[str, Json] = {"error": error.sentence, "code": error.code}
    if error.field is not None:
        body["field"] = error.field
    response = _json(body | error.extras, status_for(error))
    _add_headers(response, error)
    return response


def http_problem_response(error: HTTPException) -> Response:
    """What the framework refuses by itself (unknown route, wrong method, oversize) as JSON.

    Its own headers are kept: a 405 says `Allow`.
    """
    status = error.code or 500
    response = _json({"error": sentence_for(status), "code": _code(status)}, status)
    for name, text in error.get_headers(request.environ):
        if name.lower() not in ("content-type", "content-length"):
            response.headers[name] = text
    return response


def accident_response() -> Response:
    """Nothing of an unforeseen failure but that it happened; the log has the rest."""
    return _json({"error": sentence_for(500), "code": "internal"}, 500)


def sentence_for(status: int) -> str:
    """A sentence for a status that carries none of its own."""
    if status in _SENTENCES:
        return _SENTENCES[status]
    return "The request was refused." if status < 500 else "Something went wrong on our side."


def log_accident(error: Exception) -> None:
    """Log an unforeseen failure with its traceback, and the route's rule, never its values:
    a path may hold a token.
    """
    rule = "unknown" if request.url_rule is None else request.url_rule.rule
    log.error("request_failed method=%s route=%s", request.method, rule, exc_info=error)


def _code(status: int) -> str:
    return _CODES.get(status, "invalid_argument" if status < 500 else "internal")


def _json(body: dict[str, Json], status: int) -> Response:
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    # Surrogates cannot reach a body through strict parsing; a header or path may still hold them.
    return Response(text.encode("utf-8", "replace"), status, content_type="application/json")


def _add_headers(response: Response, error: DomainError) -> None:
    if isinstance(error, errors.RateLimited | errors.Deferred) and error.retry_after is not None:
        response.headers["Retry-After"] = str(error.retry_after)
    if isinstance(error, errors.Unauthenticated):
        for prefix, realm in _REALMS.items():
            if request.path.startswith(prefix):
                response.headers["WWW-Authenticate"] = f'Bearer realm="{realm}"{_metadata()}'


def _metadata() -> str:
    """Where a client learns how to ask for a token, on the surfaces that OAuth opens."""
    url = oauth.resource_metadata_of(request.path)
    return "" if url is None else f', resource_metadata="{url}"'
