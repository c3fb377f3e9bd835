"""`python3 tests a11y URL SIGN_IN_LINK`: audits a running Switchboard; 0 when no page has faults.

1 when one has, 2 when the audit cannot begin.
"""

from __future__ import annotations

import sys

from playwright.sync_api import sync_playwright

from a11y.crawl import Refused, inspect
from a11y.support.browser import launch


def main(arguments: list[str]) -> int:
    """Sign in, open every page that links reach, print what is wrong with each."""
    if len(arguments) != 2:
        sys.stderr.write("usage: python3 tests a11y URL SIGN_IN_LINK\n")
        return 2
    site, link = arguments
    with sync_playwright() as playwright:
        browser = launch(playwright, [])
        try:
            return 1 if inspect(browser, site, link, _say) else 0
        except Refused as refused:
            sys.stderr.write(f"{refused}\n")
            return 2
        finally:
            browser.close()


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
