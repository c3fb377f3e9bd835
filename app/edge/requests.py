"""What the log says of each request: its id, who asks, and one line when it changed something."""

from __future__ import annotations

import logging
import re
import time
from uuid import uuid4

from flask import Flask, Response, g, request
from structlog import contextvars

from app.db import journal
from app.edge.address import is_from_trusted_proxy

HEADER = "X-Request-Id"
BEGAN = "began"
"""The context's own fact: when the request came, on the monotonic clock."""

_ID = re.compile(r"[\w.-]{1,64}", re.ASCII)
_READS = ("GET", "HEAD", "OPTIONS")
# Named in a route's own values, and shown because the request has been allowed. No other value of
# an address is: some are secrets.
_SHOWN = ("queue", "scope", "ref")
# A claim that finds nothing changes nothing, and a heartbeat of every worker would drown the rest.
_QUIET = ("agent.claim", "agent.claim_next", "agent.heartbeat")

_log = logging.getLogger(journal.LOGGER)


def install(app: Flask) -> None:
    """Give every request of an application an id, before anything else looks at it."""
    app.before_request(begin)
    app.after_request(end)
    app.teardown_request(forget)


def begin() -> None:
    """Name the request: as a trusted proxy named it, or by a fresh id."""
    contextvars.clear_contextvars()
    g.request_id = _request_id()
    g.journal = journal.begin()
    contextvars.bind_contextvars(request_id=g.request_id, **{BEGAN: time.monotonic()})


def identified(**who: str) -> None:
    """Say who asks in every line of this request: an endpoint's slug, or a human's id."""
    contextvars.bind_contextvars(**who)


def end(response: Response) -> Response:
    """Answer the id, and write the line of a change whose verb has written none."""
    response.headers[HEADER] = g.request_id
    if _has_changed(response) and not g.journal:
        facts = {key: str(value) for key, value in (request.view_args or {}).items()
                 if key in _SHOWN}  # fmt: skip
        facts["outcome"] = str(response.status_code)
        _log.info(_event(), extra={"facts": facts})
    return response


def forget(_error: BaseException | None) -> None:
    """Leave nothing of this request to the thread's next one."""
    contextvars.clear_contextvars()


def _has_changed(response: Response) -> bool:
    return (
        request.method not in _READS
        and response.status_code < 400
        and request.endpoint is not None
        and _event() not in _QUIET
    )


def _event() -> str:
    """The view's name; of the agent's verbs, which share one view, the verb's."""
    view = str(request.endpoint)
    verb = (request.view_args or {}).get("name")
    return f"agent.{verb}" if view == "agent.call_verb" else view


def _request_id() -> str:
    given = request.headers.get(HEADER, "")
    if _ID.fullmatch(given) and is_from_trusted_proxy():
        return given
    return uuid4().hex
