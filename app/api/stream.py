"""GET /agent/v1/stream: doorbells for an agent that waits (agent-api.md, "The doorbell stream")."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from uuid import UUID

from flask import Blueprint, Response, abort, request
from flask.typing import ResponseReturnValue

from app.domain.bells import Bell
from app.domain.errors import RateLimited
from app.edge import client
from app.edge.deps import endpoint, grant_id, state
from app.edge.identify import identify_endpoint
from app.edge.ringer import Stream
from app.edge.waiting import AGENT_STREAMS_PER_ENDPOINT, Seat
from app.reads import instance
from app.transactions import bell_rounds, bell_rows, digests

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
KEEP_ALIVE_SECONDS = 15.0
BUSY_SECONDS = 60
_LOOK = 0.5  # seconds between two looks at the client
_COMMENT = ":\n\n"

bp = Blueprint("stream", __name__, url_prefix="/agent/v1")
bp.before_request(identify_endpoint)


@bp.route("/stream", methods=METHODS, provide_automatic_options=False)
def open_stream() -> ResponseReturnValue:
    """Ring for what waits, then stay open; 429 with Retry-After 60 when too many wait already.

    Holds a thread of the waiting budget, at most 8 of one endpoint, and no connection.
    """
    if request.method != "GET":
        abort(405, ["GET"])
    caller, shared = endpoint(), state()
    seat = shared.waiting.enter("agent stream", caller.id, AGENT_STREAMS_PER_ENDPOINT)
    if seat is None:
        raise RateLimited(
            "Too many streams wait here already; try again in a minute.", retry_after=BUSY_SECONDS
        )
    try:
        stream, retry_ms = _opened(caller.id)
    except BaseException:
        seat.leave()
        raise
    client.bound_sends(request.environ)
    gone = client.watcher(request.environ)
    response = Response(_frames(seat, stream, retry_ms, gone), mimetype="text/event-stream")
    response.headers["Cache-Control"] = "no-store"
    response.headers["X-Accel-Buffering"] = "no"
    # The server closes a response that was never begun, too: the seat is given back either way.
    response.call_on_close(lambda: _leave(seat, stream))
    return response


def _opened(endpoint_id: UUID) -> tuple[Stream, int]:
    """A stream with its attach ring in it, and how long its client waits after losing it."""
    shared = state()
    stream, is_first = shared.ringer.open(endpoint_id, grant_id())
    try:
        retry_ms = instance.sse_retry_ms(shared.database)
        _attach(stream, is_first=is_first)
    except BaseException:
        stream.leave()
        raise
    return stream, retry_ms


def _attach(stream: Stream, *, is_first: bool) -> None:
    """The attach ring on this stream, and the digest of a first one, when the endpoint is in."""
    shared = state()
    if not bell_rows.held(shared.database, [stream.endpoint_id]).get(stream.endpoint_id):
        return
    for ring in bell_rounds.attach(shared.database, stream.endpoint_id):
        stream.offer(ring.bell)
    if is_first:
        digests.owe_reconnect(shared.database, stream.endpoint_id)


def _leave(seat: Seat, stream: Stream) -> None:
    stream.leave()
    seat.leave()


def _frames(
    seat: Seat, stream: Stream, retry_ms: int, gone: Callable[[], bool]
) -> Iterator[str]:
    """The text of the stream; nothing is resent, and a client that left is noticed in a second."""
    try:
        yield f"retry: {retry_ms}\n\n"
        spoke_at = time.monotonic()
        while not (stream.is_closed or gone()):
            bell = stream.wait(_LOOK)
            if bell is not None:
                yield _frame(bell)
                spoke_at = time.monotonic()
            elif time.monotonic() - spoke_at >= KEEP_ALIVE_SECONDS:
                yield _COMMENT
                spoke_at = time.monotonic()
    finally:
        _leave(seat, stream)


def _frame(bell: Bell) -> str:
    data = json.dumps({"content": bell.content, "meta": bell.meta}, ensure_ascii=False)
    return f"event: doorbell\ndata: {data}\n\n"
