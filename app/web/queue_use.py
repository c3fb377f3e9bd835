"""A queue's page in words: its policy, forecasts, windows, and the numbers that must agree."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from urllib.parse import urlencode

from app.domain import forecast, phrases, policy_words
from app.domain.forecast import Backlog
from app.domain.policy import Policy
from app.domain.zonelabels import clock_words
from app.domain.zones import zone
from app.reads.budgets import WindowUsed
from app.reads.headers import Counts
from app.reads.queue_page import Charges, QueueUse
from app.web.present import Instant
from app.web.queue_times import moment

_BAR_STEP, _BAR_WIDTH, _HEIGHT = 12, 9, 60
_FEW_DAYS = timedelta(days=6)


@dataclass(frozen=True, slots=True, kw_only=True)
class CountLink:
    """How many todos are in one state, and where they are listed."""

    href: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowLine:
    """One row of the windows table."""

    starts: Instant
    used: int
    limit: int
    retries: int
    takeovers: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartBar:
    """One bar in a box 60 high: units used, and the line of the limit at the last charge."""

    x: int
    y: int
    width: int
    height: int
    limit_y: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartView:
    """The windows as bars, oldest first; `label` says in words what the bars show."""

    width: int
    height: int
    label: str
    bars: list[ChartBar]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChargesView:
    """Units charged and attempts marked, which must agree (R62), and whether they do."""

    used: int
    marked: int
    verdict: str
    is_wrong: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class UseView:
    """Everything of the page but its header, controls and record; `shared` says who shares the
    budget and who may change it, where that is not the viewer alone.
    """

    policy: str
    shared: list[str]
    counts: list[CountLink]
    forecasts: list[str]
    windows: list[WindowLine]
    chart: ChartView | None
    charges: ChargesView | None


def view(seen: QueueUse, counts: Counts) -> UseView:
    """The page in words. Windows begin on the wall clock of the policy's zone."""
    policy = None if seen.status is None else seen.status.policy
    tz = phrases.zone_of(policy)
    return UseView(
        policy=_policy(seen, policy),
        shared=list(_shared(seen)),
        counts=list(_counts(seen.queue.queue_id, counts)),
        forecasts=list(_forecasts(seen, counts.pending)),
        windows=[_window(each, tz) for each in seen.windows],
        chart=chart(seen.windows),
        charges=None if seen.charges is None else _charges(seen.charges),
    )


def chart(windows: Sequence[WindowUsed]) -> ChartView | None:
    """Bars for windows that come newest first; None without any."""
    if not windows:
        return None
    oldest_first = windows[::-1]
    most = max(1, *(max(each.used, each.limit_at_last_charge) for each in windows))
    used = max(each.used for each in windows)
    return ChartView(
        width=_BAR_STEP * len(windows),
        height=_HEIGHT,
        label=f"Units used in {len(windows)} windows, oldest first, with their limits; "
        f"at most {used} in one window. The table has the figures.",
        bars=[_bar(n, each, most) for n, each in enumerate(oldest_first)],
    )


def _bar(n: int, one: WindowUsed, most: int) -> ChartBar:
    height = -(-one.used * _HEIGHT // most)
    limit_y = _HEIGHT - one.limit_at_last_charge * _HEIGHT // most
    return ChartBar(
        x=n * _BAR_STEP,
        y=_HEIGHT - height,
        width=_BAR_WIDTH,
        height=height,
        limit_y=min(limit_y, _HEIGHT - 1),
    )


def _policy(seen: QueueUse, policy: Policy | None) -> str:
    if seen.status is None:
        return "This queue has no budget: claims are not limited."
    if policy is None:
        return f"The stored budget cannot be judged, so no claim is admitted. {_next_step(seen)}"
    words = policy_words.in_words(policy)
    return f"{words[:1].upper()}{words[1:]}."


def _shared(seen: QueueUse) -> Iterator[str]:
    if seen.queue.is_team and seen.status is not None:
        yield "All endpoints that drain this queue, and people who claim from it, share the budget."
    if not seen.queue.may_configure:
        yield "An admin or owner of the team can change the budget."


def _next_step(seen: QueueUse) -> str:
    if seen.queue.is_revoked:
        return "The endpoint is over, so there is nothing to mend."
    if seen.queue.may_configure and seen.status is not None and seen.status.fault is None:
        return "Load the page again in a moment."
    if seen.queue.may_configure:
        return "Edit the budget to mend it: the form marks what is wrong."
    return "An owner or admin of the team can mend it."


def _counts(queue_id: int, counts: Counts) -> Iterator[CountLink]:
    dead = "dead letter" if counts.dead == 1 else "dead letters"
    states = (
        (counts.pending, "pending", "pending"),
        (counts.claimed, "claimed", "claimed"),
        (counts.retrying, "waiting for a retry", "failed"),
        (counts.dead, dead, "failed"),
    )
    for n, words, state in states:
        query = urlencode({"queue": queue_id, "state": state})
        yield CountLink(href=f"/todos?{query}", text=f"{n} {words}")


def _forecasts(seen: QueueUse, pending: int) -> Iterator[str]:
    status = seen.status
    if status is None or status.policy is None or status.usage is None:
        return
    policy, usage, tz = status.policy, status.usage, phrases.zone_of(status.policy)
    last_hour = 0 if seen.charges is None else seen.charges.last_hour
    pace = forecast.pace(policy, usage, last_hour, seen.now)
    if pace is not None and pace.used_up_at is not None:
        at = clock_words(pace.used_up_at, tz, seen.now)
        yield f"At the rate of the last hour, used up at about {at} (estimate)."
    elif pace is not None:
        yield "At the rate of the last hour, the budget lasts until the window ends (estimate)."
    backlog = forecast.backlog(policy, usage, pending, seen.now)
    if backlog is not None:
        yield _backlog(backlog, policy, pending, seen.now)


def _backlog(backlog: Backlog, policy: Policy, pending: int, now: datetime) -> str:
    who = "The 1 waiting" if pending == 1 else f"The {pending} waiting"
    if backlog.windows == 0:
        return f"{who} fit{'s' if pending == 1 else ''} into this window (estimate)."
    need = "needs" if pending == 1 else "need"
    if backlog.until is None:
        return f"{who} {need} {backlog.windows} more windows at this budget (estimate)."
    return f"{who} {need} until {_day(backlog.until, policy, now)} at this budget (estimate)."


def _day(until: datetime, policy: Policy, now: datetime) -> str:
    """`Thursday`, a date when that is far, a clock for windows of an hour."""
    if policy.window is None or policy.window.period == "hour":
        return clock_words(until, phrases.zone_of(policy), now)
    local, today = (at.astimezone(zone(policy.window.tz)) for at in (until, now))
    if local.date() - today.date() <= _FEW_DAYS:
        return f"{local:%A}"
    return f"{local.day} {local:%b %Y}"


def _window(one: WindowUsed, tz: str | None) -> WindowLine:
    return WindowLine(
        starts=moment(one.window_start, tz),
        used=one.used,
        limit=one.limit_at_last_charge,
        retries=one.retries,
        takeovers=one.takeovers,
    )


def _charges(found: Charges) -> ChargesView:
    is_wrong = found.is_whole and found.used != found.marked
    verdict = "They agree, as they must."
    if not found.is_whole:
        verdict = "Attempts of this window may have been pruned, so the two need not agree."
    elif is_wrong:
        verdict = (
            f"They differ by {abs(found.used - found.marked)}, which must not be. On the server,"
            " switchboard verify says more."
        )
    return ChargesView(used=found.used, marked=found.marked, verdict=verdict, is_wrong=is_wrong)
