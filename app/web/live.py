"""Live updates: the stream of events, and pausing it."""

from __future__ import annotations

from collections.abc import Iterable

from flask import Blueprint, Response, current_app, request
from flask.typing import ResponseReturnValue

from app.edge import client
from app.edge.csrf import csrf_token
from app.edge.deps import database, session, state
from app.edge.identify import identify_session, session_token
from app.edge.waiting import BOARD_STREAMS_PER_SESSION
from app.transactions import live_pause
from app.web import answers, guard
from app.web.forms import acts
from app.web.stream_frames import Paint, Render
from app.web.stream_wants import read_wants
from app.web.streams import Stream
from app.web.todo_back import back_to

_CONTROL = "pause"  # the id of the one button, in either state

bp = Blueprint("live", __name__)
bp.before_request(identify_session)
bp.before_request(guard.check_form)


@bp.get("/events")
def stream() -> ResponseReturnValue:
    """The events of the viewer's queues (board.md, "Live updates").

    Always 200: without a session one event `signed-out`, in a paused one `paused`, over 4 streams
    of this session or 192 waiting threads in this process `not-live`; then it ends.
    """
    paint = Paint(_renderer(), csrf_token=csrf_token(), page="/")
    viewer, token, parts = session(), session_token(), state()
    if viewer is None or token is None:
        return _events([paint.refusal("signed-out")])
    if viewer.live_paused_at is not None:
        return _events([paint.refusal("paused")])
    seat = parts.waiting.enter("board", viewer.token_hash, BOARD_STREAMS_PER_SESSION)
    if seat is None:
        return _events([paint.refusal("not-live")])
    client.bound_sends(request.environ)
    gone = client.watcher(request.environ)
    made = Stream(parts, read_wants(request.args), paint, token, viewer, gone)
    response = _events(made.frames())
    # Also when the client left before the first frame: a generator that never began has no end.
    response.call_on_close(seat.leave)
    return response


@bp.post("/live/pause")
@acts("Pause live updates")
def pause() -> ResponseReturnValue:
    """Stop live updates in every page of this session; the focus stays on the button."""
    live_pause.pause_live(database(), answers.viewer().token_hash)
    return answers.see(back_to("/").path, fragment=_CONTROL)


@bp.post("/live/resume")
@acts("Resume live updates")
def resume() -> ResponseReturnValue:
    """Start live updates again; the page is loaded afresh and shows what is true now."""
    live_pause.resume_live(database(), answers.viewer().token_hash)
    return answers.see(back_to("/").path, fragment=_CONTROL)


def _renderer() -> Render:
    env = current_app.jinja_env
    return lambda template, facts: env.get_template(template).render(facts)


def _events(frames: Iterable[str]) -> Response:
    response = Response(frames, mimetype="text/event-stream")
    response.headers["X-Accel-Buffering"] = "no"  # a proxy passes each event on at once
    return response
