"""The zone database we carry: the host's is never read, so no host can change an answer (R22)."""

from __future__ import annotations

import difflib
import zoneinfo
from functools import lru_cache
from zoneinfo import ZoneInfo

# The pin: with an empty search path only the tzdata package is left (SPEC-0030 REQ-5).
zoneinfo.reset_tzpath(to=())
_NOT_PLACES = frozenset({"Factory", "localtime"})
# What people call the zones whose labels we shorten (board.md, "Queue header").
_SPOKEN = {
    **dict.fromkeys(("pt", "pst", "pdt"), "America/Los_Angeles"),
    **dict.fromkeys(("mt", "mdt"), "America/Denver"),
    **dict.fromkeys(("ct", "cst", "cdt"), "America/Chicago"),
    **dict.fromkeys(("et", "edt"), "America/New_York"),
}
_MOST_READ = 64
_NEAR = 0.75


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


def suggest(text: str) -> str | None:
    """The embedded zone that was probably meant: by case, by city, by what people call it, or by
    a slip of the hand.

    None when nothing is near. Never raises; reads 64 characters at most.
    """
    wanted = _plain(text[:_MOST_READ])
    known = _spellings()
    if wanted in known:
        return known[wanted]
    near = difflib.get_close_matches(wanted, known, n=1, cutoff=_NEAR)
    return known[near[0]] if near else None


@lru_cache(maxsize=1)
def _spellings() -> dict[str, str]:
    """Plain spellings to names: each name's own, and its city's where that is no name itself."""
    names = sorted(zone_names())
    cities = {_plain(name.rpartition("/")[2]): name for name in reversed(names) if "/" in name}
    return cities | _SPOKEN | {_plain(name): name for name in names}


def _plain(text: str) -> str:
    return text.strip().lower().replace(" ", "_")
