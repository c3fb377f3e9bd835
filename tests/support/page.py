"""Rules of markup that every page must keep; the test client applies them to each HTML answer."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = frozenset({
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track",
    "wbr",
})
NAMELESS = frozenset({"hidden", "submit", "button", "reset", "image"})
# Forms a person uses before there is a session to take a CSRF token from (identity.md).
BEFORE_SIGN_IN = ("/auth/link/", "/auth/dev-login")
ASSETS = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}


@dataclass(slots=True)
class Element:
    """One element: its tag, attributes, ancestors and the text inside it."""

    tag: str
    attributes: dict[str, str]
    inside: tuple[Element, ...]
    text: str = ""

    def get(self, name: str) -> str | None:
        """An attribute's value, None when absent."""
        return self.attributes.get(name)


@dataclass(slots=True)
class Page:
    """A parsed answer."""

    elements: list[Element] = field(default_factory=list)
    is_whole: bool = False

    def all(self, *tags: str) -> list[Element]:
        """Every element with one of these tags, in order."""
        return [element for element in self.elements if element.tag in tags]


def parse(markup: str) -> Page:
    """Reads markup the forgiving way browsers do."""
    reader = _Reader()
    reader.feed(markup)
    reader.close()
    reader.page.is_whole = "<html" in markup.lower()
    return reader.page


def check(markup: str) -> None:
    """Raises AssertionError with every rule the markup breaks."""
    found = faults(markup)
    assert not found, "the page breaks rules of markup:\n- " + "\n- ".join(found)


def faults(markup: str) -> list[str]:
    """Names every rule the markup breaks; a fragment (no <html>) is judged as one."""
    page = parse(markup)
    found = _forms(page) + _nothing_inline(page) + _own_assets(page) + _ids(page) + _names(page)
    found += _controls(page)
    return (_whole(page, markup) if page.is_whole else []) + found


def _whole(page: Page, markup: str) -> list[str]:
    found = []
    if not markup.lstrip().lower().startswith("<!doctype html>"):
        found.append("no <!doctype html>")
    if not any(element.get("lang") for element in page.all("html")):
        found.append("<html> has no lang")
    headings = page.all("h1")
    if len(headings) != 1:
        return [*found, f"{len(headings)} h1 elements instead of one"]
    title = next((_squeeze(element.text) for element in page.all("title")), "")
    heading = _squeeze(headings[0].text)
    if not heading or not title.removeprefix("Error: ").startswith(heading):
        found.append(f"the title {title!r} does not start with the heading {heading!r}")
    if len(page.all("main")) != 1:
        found.append("not exactly one <main>")
    return found


def _forms(page: Page) -> list[str]:
    found = []
    for form in page.all("form"):
        action = form.get("action")
        if not action:
            found.append("a form without an action")
            continue
        if (form.get("method") or "get").lower() != "post":
            continue
        tokens = [field for field in page.all("input")
                  if form in field.inside and field.get("name") == "csrf_token"]
        if not tokens and not action.startswith(BEFORE_SIGN_IN):
            found.append(f"the form to {action} has no csrf_token")
        if any(not token.get("value") for token in tokens):
            found.append(f"the form to {action} has an empty csrf_token")
    return found


def _controls(page: Page) -> list[str]:
    found = [f"the button {_squeeze(button.text)!r} has no type" for button in page.all("button")
             if not button.get("type")]
    found += [f"<{element.tag}> has a title=" for element in page.elements
              if element.get("title") is not None]
    focused = [element for element in page.elements if element.get("autofocus") is not None]
    return found + [f"{len(focused)} elements ask for the focus"] * (len(focused) > 1)


def _nothing_inline(page: Page) -> list[str]:
    found = []
    for element in page.elements:
        if element.tag == "style" or (element.tag == "script" and element.text.strip()):
            found.append(f"inline <{element.tag}>")
        for name, value in element.attributes.items():
            if name == "style" or name.startswith(("on", "hx-on", "data-hx-on")):
                found.append(f"<{element.tag}> has {name}=")
            is_typed = element.tag == "input" and name == "value"
            if value.strip().lower().startswith(("javascript:", "js:")) and not is_typed:
                found.append(f"<{element.tag}> has script in {name}=")
    return found


def _own_assets(page: Page) -> list[str]:
    return [
        f"<{element.tag}> loads {element.get(ASSETS[element.tag])} from another host"
        for element in page.all(*ASSETS)
        if (element.get(ASSETS[element.tag]) or "").lower().startswith(("http:", "https:", "//"))
    ]


def _ids(page: Page) -> list[str]:
    ids = Counter(element.attributes["id"] for element in page.elements if element.get("id"))
    found = [f"the id {name} appears {times} times" for name, times in ids.items() if times > 1]
    if not page.is_whole:
        return found
    return found + [
        f"<{element.tag}> {name}= names {target}, which is not there"
        for element in page.elements
        for name in ("for", "aria-describedby", "aria-labelledby", "aria-controls")
        for target in (element.get(name) or "").split()
        if target not in ids
    ]


def _names(page: Page) -> list[str]:
    labelled = {element.get("for") for element in page.all("label")}
    found = []
    for element in page.all("input", "select", "textarea"):
        if element.tag == "input" and (element.get("type") or "text").lower() in NAMELESS:
            continue
        has_label = element.get("id") in labelled and element.get("id")
        wrapped = any(outer.tag == "label" for outer in element.inside)
        if not (has_label or wrapped or _is_named(element)):
            found.append(f"<{element.tag} name={element.get('name')}> has no label")
    found += [f"<{element.tag}> without text" for element in page.all("button", "a")
              if not (element.text.strip() or _is_named(element))]
    return found + ["<img> without alt" for img in page.all("img") if img.get("alt") is None]


def _is_named(element: Element) -> bool:
    return bool(element.get("aria-label") or element.get("aria-labelledby"))


def _squeeze(text: str) -> str:
    return " ".join(text.split())


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.page = Page()
        self._open: list[Element] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {name: value or "" for name, value in attrs}, tuple(self._open))
        self.page.elements.append(element)
        if tag not in VOID:
            self._open.append(element)

    def handle_endtag(self, tag: str) -> None:
        for depth in range(len(self._open) - 1, -1, -1):
            if self._open[depth].tag == tag:
                del self._open[depth:]
                return

    def handle_data(self, data: str) -> None:
        for element in self._open:
            element.text += data
