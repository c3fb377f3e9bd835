"""A moment as the pages of a queue show it: in a policy's zone or the viewer's, zone named."""

from __future__ import annotations

from datetime import UTC, datetime

from app.domain.values import rfc3339
from app.domain.zonelabels import zone_label
from app.domain.zones import UnknownZone, zone
from app.web.present import Instant


def moment(instant: datetime, tz: str | None) -> Instant:
    """`30 Nov 2026, 14:05 PT`; a zone of None, or one that is not known any more, reads UTC."""
    name = tz if tz is not None and _is_known(tz) else None
    local = instant.astimezone(UTC if name is None else zone(name))
    words = f"{local.day} {local:%b %Y, %H:%M} {zone_label(name, instant)}"
    return Instant(machine=rfc3339(instant), words=words)


def _is_known(tz: str) -> bool:
    try:
        zone(tz)
    except UnknownZone:
        return False
    return True
