"""The fixtures of the browser tests, beside the database fixtures of tests/support."""

from __future__ import annotations

import os

# Apart: it needs a display and a screen reader (python3 tests a11y --screen-reader).
collect_ignore = [] if os.environ.get("A11Y_SCREEN_READER") else ["screen_reader"]

pytest_plugins = [
    "tests.support.once",
    "tests.support.pg",
    "tests.support.clock",
    "tests.support.make",
    "a11y.support.browser",
    "a11y.support.site",
    "a11y.support.loopback",
]
