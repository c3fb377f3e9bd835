"""Presence by API: in or out by the owner's word, and the shift (operator-api.md)."""

from __future__ import annotations

from typing import Literal

from flask import jsonify
from flask.typing import ResponseReturnValue

from app.api import shapes
from app.api.arguments import Arguments, Text
from app.api.operator.door import asked, asked_or_empty, bp
from app.edge.deps import database, human
from app.reads import presence as standing
from app.transactions import presence


class Override(Arguments):
    """Body of PUT /endpoints/{ref}/presence."""

    presence: Literal["in", "out"]
    until: Text | None = None


class ShiftOf(Arguments):
    """Body of PUT /endpoints/{ref}/shift: exactly this key."""

    shift: Text | None


@bp.get("/endpoints/<ref>/presence")
def read_presence(ref: str) -> ResponseReturnValue:
    """Whether an endpoint is in; a revoked one can be read still."""
    return jsonify(shapes.presence(standing.read_as(database(), human(), ref)))


@bp.put("/endpoints/<ref>/presence")
def override_presence(ref: str) -> ResponseReturnValue:
    """Say in or out, until an instant to come or for as long as it holds."""
    body = asked(Override)
    made = presence.set_override(database(), human(), ref, body.presence, body.until)
    return jsonify(shapes.presence(made))


@bp.delete("/endpoints/<ref>/presence")
def end_override(ref: str) -> ResponseReturnValue:
    """Let the shift decide again."""
    asked_or_empty(Arguments)
    return jsonify(shapes.presence(presence.end_override(database(), human(), ref)))


@bp.put("/endpoints/<ref>/shift")
def set_shift(ref: str) -> ResponseReturnValue:
    """Another shift; null takes it away."""
    made = presence.set_shift(database(), human(), ref, asked(ShiftOf).shift)
    return jsonify(shapes.presence(made))
