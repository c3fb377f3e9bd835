"""The fixtures of the browser tests, beside the database fixtures of tests/support."""

from __future__ import annotations

pytest_plugins = [
    "tests.support.pg",
    "tests.support.clock",
    "tests.support.make",
    "a11y.support.browser",
    "a11y.support.site",
]
