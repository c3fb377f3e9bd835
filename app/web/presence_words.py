"""Presence in words: who says that an endpoint is in or out, until when, and what waits."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime

from app.domain.errors import InvalidArgument
from app.domain.presence import Presence, Source
from app.domain.wallclock import first_instant
from app.domain.zones import zone
from app.reads.presence import Standing
from app.web.present import Instant, instant

PAST = "Until is over already: enter a time to come, or leave it empty."
_NO_TIME = (
    "Enter until as a date and a time to come, such as 2026-12-24 18:00, or leave it empty."
)
_TYPED = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(:[0-9]{2})?", re.ASCII)
_BY = {
    Source.SHIFT: "by its shift",
    Source.AGENT: "by its own word",
    Source.OPERATOR: "by an owner's word",
    Source.DEFAULT: "as long as nobody says otherwise",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PresenceView:
    """What the page says of presence; `is_overridden`: somebody's word stands over the shift,
    which `end` takes back.
    """

    words: str
    until: Instant | None
    shift: str
    waiting: str
    clock: str
    is_overridden: bool
    end: str
    has_shift: bool


def presence_view(slug: str, standing: Standing, tz: str | None) -> PresenceView:
    """The presence of an endpoint, times in the viewer's zone or UTC."""
    now = standing.presence
    return PresenceView(
        words=words(now),
        until=instant(now.until, tz),
        shift=now.shift or "none",
        waiting=_waiting(standing.pending),
        clock=_hint(now, tz),
        is_overridden=now.source in (Source.AGENT, Source.OPERATOR),
        end=_end(slug, now),
        has_shift=now.shift is not None,
    )


def words(now: Presence) -> str:
    """In or out, and by what."""
    return f"{now.word.capitalize()}, {_BY[now.source]}"


def said(slug: str, now: Presence, tz: str | None) -> str:
    """The sentence after a change."""
    until = instant(now.until, tz)
    ends = "" if until is None else f", until {until.words}"
    return f"{slug} is {now.word}, {_BY[now.source]}{ends}."


def typed_until(text: str | None, tz: str | None) -> datetime | None:
    """A date and a time on the viewer's clock (or UTC) as an instant; None for a blank.

    InvalidArgument on `until` for anything else.
    """
    given = (text or "").strip()
    if not given:
        return None
    try:
        if not _TYPED.fullmatch(given):
            raise ValueError(given)
        return first_instant(datetime.fromisoformat(given), zone(tz or "UTC")).astimezone(UTC)
    except (ValueError, OverflowError):
        raise InvalidArgument(_NO_TIME, field="until") from None


def shift_fault(sentence: str) -> str:
    """What is wrong with a shift, as a sentence of a page."""
    why = sentence.removeprefix("shift: ")
    return f"The shift {why}" if why.startswith("is ") else f"The shift cannot be used: {why}"


def _waiting(pending: int) -> str:
    if pending == 1:
        return "1 todo is pending in its queues"
    return f"{pending} todos are pending in its queues"


def _hint(now: Presence, tz: str | None) -> str:
    ends = "until its shift next begins or ends" if now.shift else "until somebody says otherwise"
    return f"A date and a time by the clock of {tz or 'UTC'}. Left empty, it holds {ends}."


def _end(slug: str, now: Presence) -> str:
    return f"Let the shift of {slug} decide" if now.shift else f"Take back what was said of {slug}"
