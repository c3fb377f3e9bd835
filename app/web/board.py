"""The first page: the queues of whoever signed in and why work waits, or how to get in."""

from __future__ import annotations

from flask import Blueprint, render_template
from flask.typing import ResponseReturnValue

from app.edge.deps import database, session
from app.edge.identify import identify_session
from app.reads import board
from app.web import guard, present_board, present_live

bp = Blueprint("board", __name__)
bp.before_request(identify_session)
bp.before_request(guard.check_form)


@bp.get("/")
def show_board() -> ResponseReturnValue:
    """The board of the signed-in human; a static page for anyone else."""
    viewer = session()
    if viewer is None:
        return render_template("home.html", heading="Switchboard")
    seen = board.board(database(), viewer.human.id)
    view = present_board.board(seen, viewer.human, viewer.zone)
    return render_template(
        "board.html",
        heading="Board",
        help_topic="queues",
        is_live=bool(seen.headers),
        live_path=present_live.board_path(seen.headers),
        view=view,
    )
