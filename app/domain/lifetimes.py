"""How long an endpoint lives: the presets, or a number of minutes, hours, days or weeks."""

from __future__ import annotations

import re
from datetime import timedelta

from app.domain.errors import InvalidArgument

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
    shape = _SHAPE.fullmatch(text)
    if shape is None:
        raise InvalidArgument(
            "A lifetime is a number and m, h, d or w, such as 90m, 24h, 7d or 4w.", field=field
        )
    lifetime = int(shape[1]) * _UNITS[shape[2]]
    if lifetime > LONGEST:
        raise InvalidArgument("A lifetime is at most 3650 days.", field=field)
    return lifetime
