"""How long a test goes on: short in `python3 tests`, long in `python3 tests soak`."""

from __future__ import annotations

import os

LONG = os.environ.get("TESTS_LONG") == "1"


def rounds(short: int, long: int) -> int:
    """How many rounds this run makes."""
    return long if LONG else short
