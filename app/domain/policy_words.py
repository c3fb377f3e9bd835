"""A policy and its changes as people read them; a missing limit is "no limit" (board.md)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from app.domain.errors import InvalidArgument
from app.domain.policy import Policy, parse_policy, policy_body
from app.domain.values import Json
from app.domain.windows import PERIODS, Span, Window

NO_LIMIT = "no limit"
NONE = "none"
_ARTICLES = {"hour": "an hour", "day": "a day", "week": "a week"}
_LIMITS = (("claims per window", "max_claims_per_window"), ("in-flight cap", "max_in_flight"))
_PARTS = (("period", "period"), ("zone", "tz"), ("start", "start"), ("weekday", "weekday"))
_HOUR = timedelta(hours=1)
_PAUSES = ", which pauses the queue"


def in_words(policy: Policy) -> str:
    """The policy in a sentence without its full stop: "at most 100 claims a day, from 00:00
    America/Los_Angeles; at most 5 at once". A window that limits nothing is left out (R18).
    """
    said = []
    limit = policy.max_claims_per_window
    if limit is not None and policy.window is not None:
        said.append(f"at most {_counted(limit, 'claim')} {_every(policy.window)}{_stop(limit)}")
    if policy.max_in_flight is not None:
        said.append(f"at most {policy.max_in_flight} at once{_stop(policy.max_in_flight)}")
    return "; ".join(said)


def body_in_words(body: Json) -> str:
    """An audited body in words; one that breaks the rules of today is said part by part."""
    if not isinstance(body, dict):
        return "no budget"
    try:
        return in_words(parse_policy(body))
    except InvalidArgument:
        said = [f"{label} {_limit(body.get(key))}" for label, key in _LIMITS]
        window = body.get("window")
        return "; ".join([*said, *([_window_body(window)] if isinstance(window, dict) else [])])


def changed(before: Json, after: Json) -> tuple[str, ...]:
    """What one audit record changed: "claims per window from 100 to 50". A create and a clear are
    one sentence each; an identical pair, which no writer leaves, is none.
    """
    if not isinstance(before, dict):
        return (f"budget set: {body_in_words(after)}",)
    if not isinstance(after, dict):
        return (f"budget cleared; it was: {body_in_words(before)}",)
    return (*_changed_limits(before, after), *_changed_window(before, after))


def parts(policy: Policy | None) -> tuple[tuple[str, str], ...]:
    """Every setting with its label, for two versions side by side; all absent without a policy."""
    body = {} if policy is None else policy_body(policy)
    window = body.get("window")
    held = window if isinstance(window, dict) else {}
    limits = [(label, _limit(body.get(key))) for label, key in reversed(_LIMITS)]
    rest = [(label, _word(held.get(key))) for label, key in _PARTS]
    return tuple((label[0].upper() + label[1:], word) for label, word in (*limits, *rest))


def length_in_words(span: Span, period: str) -> str:
    """How long a window is, and what the clocks do when it is not the length of its period."""
    length = span.ends_at - span.starts_at
    usual = PERIODS[period]
    if length == usual:
        return _duration(length)
    return f"{_duration(length)}, as the clocks go {'back' if length > usual else 'forward'}"


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _stop(limit: int) -> str:
    return _PAUSES if limit == 0 else ""


def _every(window: Window) -> str:
    if window.period == "hour":
        return f"an hour, from minute {window.start[3:]}, {window.tz}"
    day = f"{window.weekday} " if window.weekday is not None else ""
    return f"{_ARTICLES[window.period]}, from {day}{window.start} {window.tz}"


def _window_body(window: dict[str, Json]) -> str:
    day = f"{_word(window.get('weekday'))} " if window.get("weekday") is not None else ""
    start = f"{day}{_word(window.get('start'))} {_word(window.get('tz'))}"
    return f"{_ARTICLES.get(_word(window.get('period')), _word(window.get('period')))} from {start}"


def _changed_limits(before: dict[str, Json], after: dict[str, Json]) -> Iterator[str]:
    for label, key in _LIMITS:
        old, new = before.get(key), after.get(key)
        if old != new:
            yield f"{label} from {_limit(old)} to {_limit(new)}{_PAUSES if new == 0 else ''}"


def _changed_window(before: dict[str, Json], after: dict[str, Json]) -> Iterator[str]:
    old, new = before.get("window"), after.get("window")
    if old == new:
        return
    if not (isinstance(old, dict) and isinstance(new, dict)):
        yield f"window from {_window_or_none(old)} to {_window_or_none(new)}"
        return
    for label, key in _PARTS:
        if old.get(key) != new.get(key):
            yield f"{label} from {_word(old.get(key))} to {_word(new.get(key))}"


def _window_or_none(window: Json) -> str:
    return _window_body(window) if isinstance(window, dict) else NONE


def _limit(value: Json) -> str:
    return NO_LIMIT if value is None else _word(value)


def _word(value: Json) -> str:
    return NONE if value is None else str(value)


def _duration(length: timedelta) -> str:
    days, rest = divmod(length, timedelta(days=1))
    if days > 1:
        return _counted(days, "day") + (f" {_duration(rest)}" if rest else "")
    hours, rest = divmod(length, _HOUR)
    minutes = int(rest.total_seconds()) // 60
    said = [_counted(hours, "hour")] if hours else []
    return " ".join([*said, *([_counted(minutes, "minute")] if minutes else [])])
