"""An admission policy: its limits, its window, and the rules that refuse one (REQ-1, R17-R19)."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Literal

from app.domain.errors import InvalidArgument
from app.domain.values import Json
from app.domain.windows import PERIODS, WEEKDAYS, Window
from app.domain.zones import zone_names

MOST_IN_FLIGHT = 10_000
MOST_CLAIMS_PER_WINDOW = 1_000_000
LONGEST_REASON = 500
_KEYS = ("max_in_flight", "max_claims_per_window", "window")
_WINDOW_KEYS = ("period", "tz", "start", "weekday")
_CLOCK = re.compile(r"(?:[01][0-9]|2[0-3]):[0-5][0-9]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Ceilings on one queue; None is no such ceiling, and at least one of the limits is set.

    `max_in_flight` 0..10000 todos claimed at once; `max_claims_per_window` 0..1000000 claims in a
    window; `window` may be kept without a window limit and is then ignored (R18).
    """

    max_in_flight: int | None = None
    max_claims_per_window: int | None = None
    window: Window | None = None

    @property
    def pauses(self) -> bool:
        """Whether a limit is 0, which admits nothing however roomy the other one is (R17)."""
        return 0 in (self.max_in_flight, self.max_claims_per_window)

    @property
    def window_limit_in_force(self) -> bool:
        """Whether claims are counted against a window, and so charged (R16, R18)."""
        return self.max_claims_per_window is not None and self.window is not None


class PolicyBroken(ValueError):
    """A stored policy breaks the rules; `kind` is the fault that is noted (data.md, R64)."""

    def __init__(self, kind: Literal["invalid_policy", "unknown_zone"]):
        super().__init__(kind)
        self.kind = kind


def parse_policy(raw: Mapping[str, Json]) -> Policy:
    """Read a policy as callers write it, without `reason`; a missing key is null.

    Raises InvalidArgument naming the first field that fails, in the order of R19: unknown keys,
    the limits, neither limit, then the window's period, tz, start and weekday.
    """
    window = raw.get("window")
    _refuse_unknown(raw, _KEYS)
    if isinstance(window, dict):
        _refuse_unknown(window, _WINDOW_KEYS, prefix="window.")
    max_in_flight = _limit(raw, "max_in_flight", MOST_IN_FLIGHT)
    max_claims = _limit(raw, "max_claims_per_window", MOST_CLAIMS_PER_WINDOW)
    if max_in_flight is None and max_claims is None:
        raise _wrong("max_in_flight", "set max_in_flight, max_claims_per_window or both.")
    if max_claims is not None and window is None:
        raise _wrong("window", "max_claims_per_window needs a window.")
    return Policy(
        max_in_flight=max_in_flight,
        max_claims_per_window=max_claims,
        window=None if window is None else _window(window),
    )


def stored_policy(
    max_in_flight: int | None,
    max_claims_per_window: int | None,
    window_period: str | None,
    window_tz: str | None,
    window_start: str | None,
    window_weekday: str | None,
) -> Policy:
    """Judge a stored row by the same rules, so that a hand-made fault is never an admission.

    Raises PolicyBroken: `unknown_zone` when only the zone is not known any more, else
    `invalid_policy` (REQ-9, R22).
    """
    window: dict[str, Json] = {
        "period": window_period,
        "tz": window_tz,
        "start": window_start,
        "weekday": window_weekday,
    }
    has_window = any(value is not None for value in window.values())
    raw: dict[str, Json] = {
        "max_in_flight": max_in_flight,
        "max_claims_per_window": max_claims_per_window,
        "window": window if has_window else None,
    }
    try:
        return parse_policy(raw)
    except InvalidArgument as fault:
        gone = fault.field == "window.tz" and isinstance(window_tz, str)
        raise PolicyBroken("unknown_zone" if gone else "invalid_policy") from fault


def policy_body(policy: Policy) -> dict[str, Json]:
    """The policy as JSON, with exactly the keys a caller may send back (operator-api.md)."""
    return {
        "max_in_flight": policy.max_in_flight,
        "max_claims_per_window": policy.max_claims_per_window,
        "window": None if policy.window is None else window_body(policy.window),
    }


def window_body(window: Window) -> dict[str, Json]:
    """The window as JSON; `weekday` only when the period is a week."""
    body: dict[str, Json] = {"period": window.period, "tz": window.tz, "start": window.start}
    if window.weekday is not None:
        body["weekday"] = window.weekday
    return body


def parse_reason(raw: Json) -> str | None:
    """Why somebody changed a policy: text of at most 500 characters; blank is None (R55).

    Raises InvalidArgument on `reason`, also for what Postgres cannot hold.
    """
    if raw is None:
        return None
    if not isinstance(raw, str):
        raise _wrong("reason", "must be text.")
    if len(raw) > LONGEST_REASON:
        raise _wrong("reason", f"is at most {LONGEST_REASON} characters.")
    if any(character == "\0" or "\ud800" <= character <= "\udfff" for character in raw):
        raise _wrong("reason", "must not contain NUL or broken characters.")
    return raw if raw.strip() else None


def _refuse_unknown(raw: Mapping[str, Json], known: Collection[str], prefix: str = "") -> None:
    for key in raw:
        if key not in known:
            name = prefix + key[:100]
            raise InvalidArgument(f"Unknown key: {name}.", field=name)


def _limit(raw: Mapping[str, Json], field: str, most: int) -> int | None:
    value = raw.get(field)
    if value is None:
        return None
    # A bool is an int to Python, and to nobody else.
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
        raise _wrong(field, f"must be a whole number from 0 to {most}, or null.")
    return value


def _window(raw: Json) -> Window:
    if not isinstance(raw, dict):
        raise _wrong("window", "must be an object or null.")
    period, tz, start = raw.get("period"), raw.get("tz"), raw.get("start")
    if not isinstance(period, str) or period not in PERIODS:
        raise _wrong("window.period", "must be hour, day or week.")
    if not isinstance(tz, str) or tz not in zone_names():
        raise _wrong("window.tz", "must be an IANA zone name, such as America/Los_Angeles.")
    if not isinstance(start, str) or not _CLOCK.fullmatch(start):
        raise _wrong("window.start", "must be HH:MM, from 00:00 to 23:59.")
    return Window(period, tz, start, _weekday(raw.get("weekday"), period))


def _weekday(raw: Json, period: str) -> str | None:
    if period != "week":
        if raw is not None:
            raise _wrong("window.weekday", "belongs to a week only.")
        return None
    if not isinstance(raw, str) or raw not in WEEKDAYS:
        raise _wrong("window.weekday", f"must be one of {', '.join(WEEKDAYS)}.")
    return raw


def _wrong(field: str, fault: str) -> InvalidArgument:
    return InvalidArgument(f"{field}: {fault}", field=field)
