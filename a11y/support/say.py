"""What the live regions of a page announce, as say.js recorded it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import BrowserContext, Page

RECORDER = Path(__file__).with_name("say.js")


@dataclass(frozen=True, slots=True, kw_only=True)
class Utterance:
    """One announcement: of which region (its id), how politely, what, and what is risky in it."""

    region: str
    live: str
    said: str
    flags: tuple[str, ...]


def listen(where: BrowserContext | Page) -> None:
    """Starts the recorder in every page that loads from now on."""
    where.add_init_script(path=RECORDER)


def heard(page: Page, *, region: str | None = None) -> list[Utterance]:
    """Everything announced since the page loaded, of one region (by id) or of all."""
    return [
        Utterance(region=row["id"], live=row["live"], said=row["said"], flags=tuple(row["flags"]))
        for row in page.evaluate("() => window.announced")
        if region in (None, row["id"])
    ]


def forget(page: Page) -> None:
    """Empties the record, so that what follows stands alone."""
    page.evaluate("() => { window.announced.length = 0 }")


def wait_for(page: Page, *words: str) -> None:
    """Returns once one announcement contains all of these words (Playwright's time-out: 30 s)."""
    page.wait_for_function(
        "words => window.announced.some(one => words.every(word => one.said.includes(word)))",
        arg=list(words))


def assert_sound(page: Page) -> None:
    """Fails when an announcement is made in a way that some browser or reader gets wrong."""
    faulty = [utterance for utterance in heard(page) if utterance.flags]
    assert faulty == [], faulty
