"""How long things last: an endpoint (presets, or a number of m, h, d, w), a default lease."""

from __future__ import annotations

import re
from datetime import timedelta

from app.domain.errors import InvalidArgument
from app.domain.todos import LONGEST_LEASE_SECONDS, SHORTEST_DEFAULT_LEASE_SECONDS

PRESETS = ("1h", "24h", "7d", "30d")
LONGEST = timedelta(days=3650)

_SHAPE = re.compile(r"([1-9][0-9]{0,6})([mhdw])", re.ASCII)
_UNITS = {
    "m": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
    "w": timedelta(weeks=1),
}


def parse_lifetime(text: str, field: str = "lifetime") -> timedelta:
    """Read `90m`, `24h`, `30d` or `4w`; anything else raises InvalidArgument on `field`.

    At most ten years; "until revoked" is the absence of a lifetime, not a word of this grammar.
    (contract/identity.md, "Endpoint credential")
    """
    lifetime = read_span(text)
    if lifetime is None:
        raise InvalidArgument(
            "A lifetime is a number and m, h, d or w, such as 90m, 24h, 7d or 4w.", field=field
        )
    if lifetime > LONGEST:
        raise InvalidArgument("A lifetime is at most 3650 days.", field=field)
    return lifetime


def read_span(text: str) -> timedelta | None:
    """`90m`, `8h`, `7d` or `4w` as a span of time; None for anything else."""
    shape = _SHAPE.fullmatch(text)
    return None if shape is None else int(shape[1]) * _UNITS[shape[2]]


def check_default_lease(
    seconds: int | None, field: str = "default_lease_ttl_seconds"
) -> int | None:
    """An endpoint's default lease in seconds, 60..86400 or None for none of its own.

    Never clamped: outside the range raises InvalidArgument on `field` (agent-api.md).
    """
    if seconds is None or SHORTEST_DEFAULT_LEASE_SECONDS <= seconds <= LONGEST_LEASE_SECONDS:
        return seconds
    raise InvalidArgument("A default lease is 60 to 86400 seconds, or null.", field=field)
