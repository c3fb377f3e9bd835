"""The zone database we carry: the host's is never read, so no host can change an answer (R22)."""

from __future__ import annotations

import zoneinfo
from functools import lru_cache
from zoneinfo import ZoneInfo

# The pin: with an empty search path only the tzdata package is left (SPEC-0030 REQ-5).
zoneinfo.reset_tzpath(to=())
_NOT_PLACES = frozenset({"Factory", "localtime"})


class UnknownZone(ValueError):
    """The embedded zone database does not know this zone."""


@lru_cache(maxsize=1)
def zone_names() -> frozenset[str]:
    """The IANA names a policy may use, case and all: the embedded list without placeholders."""
    return frozenset(zoneinfo.available_timezones()) - _NOT_PLACES


@lru_cache(maxsize=1024)
def zone(name: str) -> ZoneInfo:
    """The zone of that name; raises UnknownZone for anything that is not in the embedded list.

    Membership comes first, because opening is no test: a directory raises IsADirectoryError and a
    path may lead out of the package (R22).
    """
    if name not in zone_names():
        raise UnknownZone(name)
    try:
        return ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise UnknownZone(name) from error
