"""The first page: one's endpoints and what waits in their queues, or how to get in."""

from __future__ import annotations

from flask import Blueprint, render_template
from flask.typing import ResponseReturnValue

from app.edge.deps import database, session
from app.edge.identify import identify_session
from app.reads import board
from app.web import guard, present

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
    return render_template(
        "board.html", heading="Board", view=present.board(seen, viewer.zone)
    )
