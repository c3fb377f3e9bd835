"""One reader and one headed browser for the run; a scenario that fails is tried once more."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from _pytest.runner import runtestprotocol
from playwright.sync_api import Browser, sync_playwright

from a11y.screen_reader.reader import Reader, reading
from a11y.support.browser import launch


@pytest.fixture(scope="session")
def reader() -> Iterator[Reader]:
    """The screen reader."""
    with reading() as reader:
        yield reader


@pytest.fixture(scope="session")
def chromium(reader: Reader) -> Iterator[Browser]:
    """A browser with a window, whose accessibility tree the reader sees."""
    with sync_playwright() as playwright:
        browser = launch(playwright, ["--force-renderer-accessibility=complete"],
                         headless=False, env=reader.environment)
        yield browser
        browser.close()


def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool:
    """Tries a failed scenario once more: this reader misses about one in twenty by itself."""
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    reports = runtestprotocol(item, nextitem=nextitem, log=False)
    if any(report.failed for report in reports):
        failure = next(report for report in reports if report.failed)
        print(f"\ntried again: {item.name}: {failure.longreprtext.splitlines()[-1]}")  # noqa: T201
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True
