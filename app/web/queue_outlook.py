"""A policy that is not saved yet, in words: what it would do now, and what the save would close."""

from __future__ import annotations

from dataclasses import dataclass

from app.domain import phrases, policy_words
from app.domain.admission import Admitted, Deferral, Reason
from app.domain.lowering import closing
from app.domain.windows import Span
from app.domain.zonelabels import clock_words
from app.reads.outlook import Outlook, Standing
from app.web.present import Instant
from app.web.queue_times import moment


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanLine:
    """One window to come; `name` is "now" or "next" and so on."""

    name: str
    starts: Instant
    ends: Instant
    length: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviewView:
    """What the preview says; nothing was saved. `lines` are empty without a window limit."""

    policy: str
    facts: tuple[str, ...]
    lines: tuple[SpanLine, ...]


def preview(standing: Standing, seen: Outlook, left_out: str) -> PreviewView:
    """The next five windows, what the policy would do now, and whether counting restarts;
    `left_out` is what of the form a save would not keep, empty for nothing.
    """
    window = seen.policy.window
    period = "day" if window is None else window.period
    tz = phrases.zone_of(seen.policy)
    return PreviewView(
        policy=_sentence(policy_words.in_words(seen.policy)),
        facts=(
            _would(seen),
            _waiting(seen.pending),
            *_counting(standing, seen),
            *([left_out] if left_out else []),
        ),
        lines=tuple(_line(n, span, period, tz) for n, span in enumerate(seen.spans)),
    )


def warnings(standing: Standing, seen: Outlook) -> tuple[str, ...]:
    """What the save would close, limit by limit, and until when (E9); empty when nothing."""
    old = None if standing.status is None else standing.status.policy
    return tuple(_warning(reason, seen) for reason in closing(old, seen.policy, seen.usage))


def in_force(standing: Standing) -> tuple[str, ...]:
    """The policy that is stored, with its usage, or that there is none."""
    status = standing.status
    if status is None:
        return ("No budget: claims are not limited.",)
    if status.policy is None or status.usage is None:
        said = f"{_sentence(phrases.unavailable_words(status.fault))}"
        stored = status.stored
        kept = () if stored is None else (f"Stored: {policy_words.body_in_words(stored)}.",)
        return (said, *kept)
    policy, usage = status.policy, status.usage
    used = phrases.used_words(usage.used or 0, policy.max_claims_per_window)
    figures = f"{used}, {phrases.in_flight_words(usage.in_flight, policy.max_in_flight)}"
    at = usage.window_resets_at
    resets = f", resets {clock_words(at, phrases.zone_of(policy), standing.now)}" if at else ""
    word = phrases.WORDS[phrases.state_of(status.decision)]
    return (_sentence(policy_words.in_words(policy)), f"{word}: {figures}{resets}.")


def _would(seen: Outlook) -> str:
    figures = _figures(seen)
    if isinstance(seen.decision, Admitted):
        return f"It would admit claims now: {figures}."
    also = "".join(f", {words}" for words in phrases.also_words(seen.decision))
    return f"{_refusal(seen.decision, seen)}: {figures}{also}."


def _refusal(decision: Deferral, seen: Outlook) -> str:
    at, tz = decision.next_eligible_at, phrases.zone_of(seen.policy)
    if decision.reason is Reason.PAUSED:
        return "It would pause the queue, so that no claim is admitted"
    if at is None:
        return "It would admit no claim now"
    if decision.exact:
        return f"It would admit no claim before {clock_words(at, tz, seen.now)}"
    return f"It would admit no claim until about {clock_words(at, tz, seen.now)} (estimate)"


def _figures(seen: Outlook) -> str:
    policy, usage = seen.policy, seen.usage
    limit = policy.max_claims_per_window
    said = [phrases.in_flight_words(usage.in_flight, policy.max_in_flight)]
    if limit is not None:
        left = max(0, limit - (usage.used or 0))
        said = [phrases.used_words(usage.used or 0, limit), f"{left} remaining", *said]
    return ", ".join(said)


def _waiting(pending: int) -> str:
    if pending == 0:
        return "No todo waits in the queue."
    return f"{pending} todos wait in the queue." if pending > 1 else "1 todo waits in the queue."


def _counting(standing: Standing, seen: Outlook) -> tuple[str, ...]:
    """Whether counting restarts (R15, R16); nothing when claims are not counted at all."""
    began = seen.usage.window_started_at
    if began is None:
        return ("Claims would not be counted: there is no limit on claims per window.",)
    since = moment(began, phrases.zone_of(seen.policy)).words
    so_far = f"in the window that began {since}: {seen.usage.used} used there so far."
    was = standing.status.usage if standing.status is not None else None
    if was is None or was.window_started_at is None:
        return (f"Counting starts with this budget, {so_far}",)
    if was.window_started_at == began:
        return ("Counting goes on: the window that is now began at the same time.",)
    return (f"Counting restarts, {so_far}",)


def _warning(reason: Reason, seen: Outlook) -> str:
    policy, usage = seen.policy, seen.usage
    if reason is Reason.PAUSED:
        return (
            "A limit of 0 pauses the queue: no further claim is admitted until somebody resumes it"
            " or changes the budget."
        )
    if reason is Reason.WINDOW_EXHAUSTED and usage.window_resets_at is not None:
        until = clock_words(usage.window_resets_at, phrases.zone_of(policy), seen.now)
        return (
            f"{usage.used} are used in this window and the new limit is"
            f" {policy.max_claims_per_window}: no further claim is admitted until {until}."
        )
    return (
        f"{usage.in_flight} are in flight and the new cap is {policy.max_in_flight}: no further"
        f" claim is admitted until fewer than {policy.max_in_flight} are in flight{_about(seen)}."
    )


def _about(seen: Outlook) -> str:
    at = seen.usage.slot_hint_at
    if at is None:
        return ""
    return f", about {clock_words(at, phrases.zone_of(seen.policy), seen.now)} (estimate)"


def _line(n: int, span: Span, period: str, tz: str | None) -> SpanLine:
    return SpanLine(
        name="Now" if n == 0 else f"Next {n}",
        starts=moment(span.starts_at, tz),
        ends=moment(span.ends_at, tz),
        length=policy_words.length_in_words(span, period),
    )


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}."
