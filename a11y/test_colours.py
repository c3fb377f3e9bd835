"""Every pair of colours that meets on a page is legible, in both themes."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

import pytest

SHEET = Path(__file__).parent.parent / "static" / "app.css"
# WCAG 1.4.3 for text, 1.4.11 for edges of controls and the focus ring.
STATES = ["ok", "warn", "hold", "stop"]
TEXT = [
    *product(["text", "muted", "accent", *STATES], ["bg", "surface"]),
    *((state, f"{state}-fill") for state in STATES),
    ("on-accent", "accent"),
]
EDGES = [*product(["edge", "focus", *STATES], ["bg", "surface"]), ("bar", "track")]


def themes() -> dict[str, dict[str, str]]:
    """The tokens of each theme block, in the order light, dark, dark by the system."""
    blocks = re.findall(r":root[^{]*\{([^}]*)\}", SHEET.read_text(encoding="utf-8"))
    tokens = [dict(re.findall(r"--([\w-]+): (#[0-9a-f]{3,6});", block)) for block in blocks]
    return dict(zip(("light", "dark", "system dark"), tokens, strict=True))


def luminance(colour: str) -> float:
    """The relative luminance of #rgb or #rrggbb."""
    digits = colour[1:] if len(colour) == 7 else "".join(digit * 2 for digit in colour[1:])
    channels = [int(digits[at:at + 2], 16) / 255 for at in (0, 2, 4)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """The contrast ratio of two colours."""
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_pair_is_legible(theme: str) -> None:
    tokens = themes()[theme]

    for least, pairs in ((4.5, TEXT), (3.0, EDGES)):
        for front, back in pairs:
            assert contrast(tokens[front], tokens[back]) >= least, (front, back)


def test_dark_by_choice_and_dark_by_the_system_are_one_theme() -> None:
    assert themes()["dark"] == themes()["system dark"]


def test_the_ratio_is_the_standards_own() -> None:
    assert contrast("#000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#fff") == pytest.approx(4.48, abs=0.01)
