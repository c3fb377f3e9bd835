"""Clocking in and out: never granted and never withheld (agent-api.md, "Self and lease verbs")."""

from __future__ import annotations

from pydantic import Field

from app.api import shapes
from app.api.arguments import Arguments, Text
from app.api.verb import Body, Call, verb
from app.domain.clocking import parse_stay
from app.edge.deps import database
from app.reads import presence as standing
from app.transactions import presence


class ClockIn(Arguments):
    """Arguments of clock_in."""

    stay: Text | None = Field(
        default=None,
        alias="for",
        description="How long when out of shift: a number and m or h, 1h unless given, at most 8h.",
    )


def _clock_in(call: Call, asked: ClockIn) -> Body:
    made = presence.clock_in(database(), call.endpoint, parse_stay(asked.stay))
    return shapes.presence(made)


def _clock_out(call: Call, asked: Arguments) -> Body:
    return shapes.presence(presence.clock_out(database(), call.endpoint))


def _presence(call: Call, asked: Arguments) -> Body:
    return shapes.presence(standing.read(database(), call.endpoint))


VERBS = (
    verb("clock_in", ClockIn, _clock_in, family="self",
         description="Be in again: doorbells ring, and one digest tells what waits."),
    verb("clock_out", Arguments, _clock_out, family="self",
         description="Be out: no doorbell rings until the shift says otherwise or you clock in."),
    verb("presence", Arguments, _presence, family="self", read_only=True,
         description="Say whether you are in, by whose word, until when, and how much waits."),
)
