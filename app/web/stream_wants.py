"""What a page asks of its stream, and what it has told its reader so far."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from werkzeug.datastructures import MultiDict

from app.domain.admission import Reason
from app.domain.phrases import ADMITTED
from app.web.present_headers import NO_STATE

_TOLD = re.compile(r"([0-9]{1,18})([afnpuw])")
_STATES = {
    "a": ADMITTED,
    "f": Reason.IN_FLIGHT_FULL.value,
    "n": NO_STATE,
    "p": Reason.PAUSED.value,
    "u": Reason.ADMISSION_UNAVAILABLE.value,
    "w": Reason.WINDOW_EXHAUSTED.value,
}
_NUMBER = re.compile(r"[0-9]{1,18}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wants:
    """`queue_ids` narrows the stream to a page's queues, None for all in reach. A page with cards
    names when it was read (`cards_since`); `told` is the state its sentences name, by queue;
    `is_again` says that it was open before and loads itself afresh.
    """

    queue_ids: frozenset[int] | None = None
    has_cards: bool = False
    cards_since: datetime | None = None
    told: Mapping[int, str] = field(default_factory=dict)
    is_again: bool = False


def read_wants(args: MultiDict[str, str]) -> Wants:
    """The query of `/events`; what cannot be read counts as not said, never as an error."""
    queues = [text for text in args.getlist("queue") if _NUMBER.fullmatch(text)]
    told = _TOLD.findall(args.get("told", ""))
    return Wants(
        queue_ids=frozenset(map(int, queues)) if queues else None,
        has_cards="cards" in args,
        cards_since=_instant(args.get("cards", "")),
        told={int(number): _STATES[letter] for number, letter in told},
        is_again="again" in args,
    )


def _instant(text: str) -> datetime | None:
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return None
    return at if at.tzinfo is not None else None
