"""The settings of an instance that live in the database: their names, ranges and defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from app.domain.errors import InvalidArgument

PRUNED_THROUGH = "attempts_pruned_through"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What one setting may be: a whole number from `least` to `most`; `default` when no row is."""

    default: int
    least: int
    most: int
    meaning: str


RULES: Mapping[str, Rule] = {
    "attempt_history_max_per_todo": Rule(
        default=50, least=5, most=999_999, meaning="closed attempts kept of one todo"),
    "retention_max_age_days": Rule(
        default=30, least=1, most=36_500, meaning="days that finished todos and events are kept"),
    "retention_max_rows": Rule(
        default=500_000, least=1, most=10**18 - 1,
        meaning="finished todos kept at most, and events as many"),
    "sse_retry_ms": Rule(
        default=3_000, least=100, most=600_000,
        meaning="milliseconds before a lost agent stream opens again"),
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One setting as it is now; `value` is None for what was never written and has no default."""

    key: str
    value: str | None
    meaning: str
    is_default: bool


def settings_of(rows: Mapping[str, str]) -> list[Setting]:
    """Every setting there is, by name, from the rows that are stored. (data.md, "settings")"""
    known = [
        Setting(key=key, value=rows.get(key, str(rule.default)), meaning=rule.meaning,
                is_default=rows.get(key, str(rule.default)) == str(rule.default))
        for key, rule in RULES.items()
    ]  # fmt: skip
    pruned = Setting(
        key=PRUNED_THROUGH, value=rows.get(PRUNED_THROUGH), is_default=PRUNED_THROUGH not in rows,
        meaning="windows up to here lost attempts to retention; written by it alone",
    )  # fmt: skip
    return sorted([*known, pruned], key=lambda setting: setting.key)


def require_known(key: str) -> None:
    """Raise InvalidArgument, with the names there are, for a name that is no setting."""
    if key not in RULES and key != PRUNED_THROUGH:
        names = ", ".join(sorted([*RULES, PRUNED_THROUGH]))
        raise InvalidArgument(f"{key!r} is no setting. There are: {names}.")


def checked(key: str, text: str) -> str:
    """`text` as the stored value of `key`: plain digits without leading zeros.

    Raises InvalidArgument with a sentence for an unknown name, a value out of range, and for what
    only retention writes.
    """
    require_known(key)
    if key == PRUNED_THROUGH:
        raise InvalidArgument(f"{key} is written by retention alone and cannot be set.")
    rule = RULES[key]
    is_number = text.isascii() and text.isdigit() and len(text) < 20
    if not is_number or not rule.least <= int(text) <= rule.most:
        raise InvalidArgument(
            f"{key} must be a whole number from {rule.least} to {rule.most}, not {text!r}."
        )
    return str(int(text))
