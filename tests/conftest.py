"""The fixtures every test may ask for, one plugin per topic."""

from __future__ import annotations

pytest_plugins = [
    "tests.support.once",
    "tests.support.pg",
    "tests.support.clock",
    "tests.support.make",
    "tests.support.client",
    "tests.support.servers",
]
