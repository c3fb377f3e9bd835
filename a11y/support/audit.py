"""What every page is held to, as one list of faults in words; no test stops at the first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Page, ViewportSize

from a11y.support import markup

AXE = (Path(__file__).parent.parent / "vendor" / "axe.min.js").read_text(encoding="utf-8")
_LOOK = Path(__file__).with_name("look.js").read_text(encoding="utf-8")
# WCAG 2.2 A and AA, and axe's own best practices.
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
SMALL: ViewportSize = {"width": 320, "height": 256}  # 1280 x 1024 at 400 %
LOW: ViewportSize = {"width": 800, "height": 400}
_MOST_STOPS = 400

_TOP = """() => {
  document.body.tabIndex = -1
  document.body.focus()
  document.body.removeAttribute('tabindex')
}"""
_RUN = """async tags => {
  const found = await axe.run(document, {runOnly: {type: 'tag', values: tags},
                                         resultTypes: ['violations']})
  return found.violations.map(v => v.id + ': ' + v.help + ' ' +
                              v.nodes.map(n => n.target.join(' ')).join(', '))
}"""


def faults(page: Page, source: str) -> list[str]:
    """Everything wrong with a page that has loaded; `source` is its HTML as it was served.

    One load serves all of it: both themes, forced colours, the narrow screen, wide text.
    """
    page.set_viewport_size(LOW)
    found = [f"HTML: {fault}" for fault in markup.faults(source)]
    found += outline_faults(headings(page))
    page.emulate_media(color_scheme="light")
    page.keyboard.press("Shift")  # from here on a focus is a keyboard's, and shows its ring
    found += [f"axe, light: {fault}" for fault in violations(page)]
    page.emulate_media(color_scheme="dark")
    found += [f"axe, dark: {fault}" for fault in violations(page)]
    found += [f"ring: {fault}" for fault in look(page, "rings")]
    page.emulate_media(forced_colors="active", reduced_motion="reduce")
    found += [f"ring, forced colours: {fault}" for fault in look(page, "rings")]
    found += [f"moves all the same: {count}" for count in [motion(page)] if count]
    found += [f"small target: {fault}" for fault in look(page, "small")]
    found += [f"status without words: {fault}" for fault in look(page, "wordless")]
    found += narrow_faults(page)
    page.emulate_media(color_scheme="light", forced_colors="none", reduced_motion="no-preference")
    return found


def violations(page: Page) -> list[str]:
    """Every rule of axe-core the page breaks, with where; needs JavaScript in the context."""
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(AXE)
    return [str(line) for line in page.evaluate(_RUN, TAGS)]


def look(page: Page, measure: str) -> list[str]:
    """What one of the measurements of look.js lists."""
    return [str(line) for line in page.evaluate(f"() => {_LOOK}.{measure}()")]


def headings(page: Page) -> list[tuple[int, str]]:
    """Level and name of each heading that is shown, in order."""
    found = page.evaluate(f"() => {_LOOK}.headings()")
    return [(int(heading["level"]), str(heading["name"])) for heading in found]


def outline_faults(levels: Iterable[tuple[int, str]]) -> list[str]:
    """One h1, first; no level is left out on the way down."""
    found, before, ones = [], 0, 0
    for level, name in levels:
        ones += level == 1
        if level > before + 1:
            found.append(f"outline: {name} is an h{level} after an h{before}")
        before = level
    return found if ones == 1 else [*found, f"outline: {ones} h1 instead of one"]


def narrow_faults(page: Page) -> list[str]:
    """Nothing scrolls sideways or is cut off at 320 pixels, with wide text spacing too."""
    page.set_viewport_size(SMALL)
    found = []
    for spacing in ("", ", wide text"):
        if spacing:
            page.evaluate(f"() => {_LOOK}.widen()")
        wide = overflow(page)
        found += [f"scrolls sideways at 320 px{spacing}: {wide} px"] if wide > 0 else []
        found += [f"cut off at 320 px{spacing}: {fault}" for fault in look(page, "clipped")]
    page.evaluate(f"() => {_LOOK}.narrow()")
    page.set_viewport_size(LOW)
    return found


def overflow(page: Page) -> int:
    """By how many pixels the page itself scrolls sideways."""
    return int(page.evaluate(f"() => {_LOOK}.overflow()"))


def motion(page: Page) -> int:
    """How many animations and transitions run or wait."""
    return int(page.evaluate(f"() => {_LOOK}.motion()"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """Where the keyboard is: tag, id and name of the element, and what is wrong with its ring."""

    tag: str
    id: str
    name: str
    faults: list[str]


def focus(page: Page) -> Stop:
    """The element that has the focus."""
    return Stop(**page.evaluate(f"() => {_LOOK}.focus()"))


def walk(page: Page) -> tuple[list[str], list[str]]:
    """Tabs through the page from its top: the names in order, and the faults of the stops."""
    names: list[str] = []
    found: list[str] = []
    page.evaluate(_TOP)  # a field that takes the focus on load is not where the page begins
    for _ in range(_MOST_STOPS):
        page.keyboard.press("Tab")
        stop = focus(page)
        if stop.tag in ("body", "html"):
            return names, found
        names.append(stop.name)
        found += [f"{stop.name}: {fault}" for fault in stop.faults]
    raise AssertionError(f"more than {_MOST_STOPS} stops, or a trap: {names[-3:]}")
