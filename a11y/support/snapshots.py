"""What a page is to a screen reader, as reviewed text files: a11y/snapshots/<name>.yml.

`A11Y_REVIEW=1` writes them anew; the difference is then to be read before it is committed.
"""

from __future__ import annotations

import difflib
import os
import re
from pathlib import Path

from playwright.sync_api import Page

FOLDER = Path(__file__).parent.parent / "snapshots"
_PASSING = (
    (re.compile(r"td_[0-9a-f]{32}"), "td_ID"),
    (re.compile(r"\b(lane-m|night-shift|old-lane)-[0-9a-z]{4}\b"), r"\1-TAIL"),
    (re.compile(r"/(queues|endpoints)/[0-9a-f-]+"), r"/\1/ID"),
    (re.compile(r"queue=\d+"), "queue=ID"),
)


def seen_by_reader(page: Page) -> str:
    """The accessibility tree of a page as text, without what differs from run to run."""
    text = page.locator("body").aria_snapshot()
    for pattern, instead in _PASSING:
        text = pattern.sub(instead, text)
    return f"{text}\n"


def assert_matches(page: Page, name: str) -> None:
    """Fails with the difference when a page is not what was reviewed."""
    found, path = seen_by_reader(page), FOLDER / f"{name}.yml"
    if os.environ.get("A11Y_REVIEW"):
        path.write_text(found, encoding="utf-8")
    reviewed = path.read_text(encoding="utf-8")
    assert found == reviewed, "\n".join(difflib.unified_diff(
        reviewed.splitlines(), found.splitlines(), "reviewed", "found", lineterm="", n=1))
