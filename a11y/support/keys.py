"""A person who uses the keyboard alone: Tab to a thing, Enter, and typing; never a mouse."""

from __future__ import annotations

import re
from dataclasses import dataclass

from playwright.sync_api import Locator, Page, expect

from a11y.support import audit

_MOST_STOPS = 300


@dataclass(frozen=True, slots=True)
class Keys:
    """The keyboard on one page."""

    page: Page

    def tab_to(self, target: Locator) -> None:
        """Presses Tab until the thing has the focus; it must be seen there, with its ring."""
        handle = target.element_handle()
        for _ in range(_MOST_STOPS):
            self.page.keyboard.press("Tab")
            if self.page.evaluate("thing => document.activeElement === thing", handle):
                stop = audit.focus(self.page)
                assert stop.faults == [], stop
                return
        raise AssertionError(f"Tab does not reach {target}")

    def go(self, name: str | re.Pattern[str]) -> None:
        """Tabs to the first link of this name and presses Enter."""
        self.tab_to(self.page.get_by_role("link", name=name, exact=True).first)
        self.press_enter()

    def press(self, name: str) -> None:
        """Tabs to the first button of this name and presses Enter."""
        self.tab_to(self.page.get_by_role("button", name=name, exact=True).first)
        self.press_enter()

    def press_enter(self) -> None:
        """Presses Enter and returns when the page that follows has loaded."""
        before = self.page.evaluate("() => performance.timeOrigin")
        address = self.page.url
        self.page.keyboard.press("Enter")
        self.page.wait_for_function(
            "([before, address]) => performance.timeOrigin !== before ||"
            " location.href !== address", arg=[before, address])
        self.page.wait_for_load_state()

    def type_in(self, label: str, text: str) -> None:
        """Tabs to the field of this label, unless it has the focus, and types over its text."""
        field = self.page.get_by_label(label, exact=True)
        if not field.evaluate("field => field === document.activeElement"):
            self.tab_to(field)
        self.page.keyboard.press("Control+A")
        self.page.keyboard.press("Delete")
        self.page.keyboard.type(text)

    def expect_focus(self, target: Locator | str) -> None:
        """Fails unless the thing (or the element of this id) has the focus."""
        found = self.page.locator(f"[id='{target}']") if isinstance(target, str) else target
        expect(found).to_be_focused()

    def expect_heading(self, text: str) -> None:
        """Fails unless the page's heading is this."""
        expect(self.page.get_by_role("heading", level=1)).to_have_text(text)
