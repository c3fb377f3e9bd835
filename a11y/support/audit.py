"""What a page is held to: axe-core, reflow, a visible ring on every stop of the keyboard."""

from __future__ import annotations

import json
from pathlib import Path

from playwright.sync_api import Page

AXE = Path(__file__).parent.parent / "vendor" / "axe.min.js"
# WCAG 2.2 A and AA, and axe's own best practices.
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]

_RUN = """async tags => {
  const found = await axe.run(document, {runOnly: {type: 'tag', values: tags},
                                         resultTypes: ['violations']})
  return found.violations.map(v => v.id + ': ' + v.help + ' ' +
                              v.nodes.map(n => n.target.join(' ')).join(', '))
}"""
_OUTLINE = """() => {
  const element = document.activeElement, style = getComputedStyle(element)
  const box = element.getBoundingClientRect()
  const x = box.x + box.width / 2, y = box.y + box.height / 2
  const top = document.elementFromPoint(x, y)
  return {tag: element.tagName, text: element.textContent.trim().slice(0, 40),
          width: parseFloat(style.outlineWidth), style: style.outlineStyle,
          onScreen: box.bottom > 0 && box.top < innerHeight && box.right > 0,
          covered: !(top && (element.contains(top) || top.contains(element)))}
}"""
# WCAG 1.4.12; a style element would be blocked by our own policy, an adopted sheet is not.
_SPACING = """() => {
  const sheet = new CSSStyleSheet()
  sheet.replaceSync('* {line-height: 1.5 !important; letter-spacing: .12em !important;' +
                    ' word-spacing: .16em !important} p {margin-bottom: 2em !important}')
  document.adoptedStyleSheets = [sheet]
}"""


def violations(page: Page) -> list[str]:
    """Every rule of axe-core the page breaks, with where; needs JavaScript in the context."""
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate(_RUN, TAGS)
    return [str(line) for line in json.loads(json.dumps(found))]


def overflow(page: Page) -> int:
    """By how many pixels the page itself scrolls sideways."""
    return int(page.evaluate(
        "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"))


def widen_text(page: Page) -> None:
    """Applies the text spacing of WCAG 1.4.12."""
    page.evaluate(_SPACING)


def tab_stops(page: Page, most: int = 40) -> list[dict[str, object]]:
    """Walks the page by Tab from its top: each stop's text, ring, and whether it can be seen."""
    stops: list[dict[str, object]] = []
    for _ in range(most):
        page.keyboard.press("Tab")
        stop = page.evaluate(_OUTLINE)
        if stop["tag"] == "BODY":
            break
        stops.append(stop)
    return stops


def assert_rings(stops: list[dict[str, object]]) -> None:
    """Fails unless every stop has a solid ring of 3 px, on screen and not covered."""
    for stop in stops:
        assert stop["style"] == "solid", stop
        assert float(str(stop["width"])) >= 3, stop
        assert stop["onScreen"], stop
        assert not stop["covered"], stop
