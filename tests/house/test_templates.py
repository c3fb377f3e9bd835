"""Templates carry no script and no style of their own, escape everything, and compare nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.house.tree import Copy, files, holds

_BANNED = {
    "an inline handler": re.compile(r"""\s(data-)?on[a-z]+\s*=\s*["'{]""", re.IGNORECASE),
    "hx-on": re.compile(r"\bhx-on\b", re.IGNORECASE),
    "script in an address": re.compile(r"\b(javascript|js):", re.IGNORECASE),
    "an inline style": re.compile(r"\sstyle\s*=|<style\b", re.IGNORECASE),
    "an inline script": re.compile(r"<script\b(?![^>]*\ssrc=)", re.IGNORECASE),
    "unescaped text": re.compile(r"\|\s*safe\b|autoescape\s+false|\bMarkup\("),
    "an asset of another host": re.compile(
        r"""<(script|img|link|iframe|source)\b[^>]*\s(src|href)\s*=\s*["'](https?:)?//""",
        re.IGNORECASE),
}

_JINJA = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}", re.DOTALL)


def check(root: Path) -> list[str]:
    """Everything a content security policy would refuse, or that opens a hole in escaping."""
    return [
        f"{path.relative_to(root)}:{number}: {what}"
        for path in files(root, "templates/**/*")
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        for what, pattern in _BANNED.items()
        if pattern.search(line)
    ]


def check_attributes(root: Path) -> list[str]:
    """Attributes that fail open, that only a mouse finds, or that a validator would refuse."""
    return [
        f"{path.relative_to(root)}:{number}: {fault}"
        for path in files(root, "templates/**/*.html")
        for number, tag, attributes in _tags(path.read_text(encoding="utf-8"))
        for fault in _faults(tag, attributes)
    ]


def _faults(tag: str, attributes: dict[str, str]) -> Iterator[str]:
    if tag == "button" and "type" not in attributes:
        yield "a button without a type"
    for name, value in attributes.items():
        if name == "title":
            yield "title=, which neither keyboard nor touch can reach"
        if name.startswith(("hx-", "sse-")):
            yield f"{name}= instead of data-{name}="
        if name.startswith("data-hx-on"):
            yield "a handler of htmx"
        # With allowEval off a filter is not refused: it is left out, and the trigger always fires.
        if name == "data-hx-trigger" and "[" in value:
            yield "a trigger filter, which lets everything through"


def _tags(text: str) -> list[tuple[int, str, dict[str, str]]]:
    """Every start tag with its line; what Jinja says is taken out, what it surrounds is kept."""
    reader = _Tags()
    reader.feed(_JINJA.sub(lambda said: "\n" * said[0].count("\n"), text))
    return reader.found


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[int, str, dict[str, str]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((self.getpos()[0], tag, {name: value or "" for name, value in attrs}))


def test_templates_are_plain() -> None:
    holds(check)


def test_attributes_work_for_everyone() -> None:
    holds(check_attributes)


@pytest.mark.parametrize("line", [
    "<button>Save</button>",
    '<p title="x">',
    '<p{% if x %} title="x"{% endif %}>',
    '<p hx-get="/x">',
    '<p sse-swap="x">',
    '<p data-hx-on:click="x()">',
    """<p data-hx-trigger="click[ctrlKey]">""",
    '<p\n   data-hx-trigger="{{ event }}[x]">',
])
def test_a_bad_attribute_is_found(copy: Copy, line: str) -> None:
    copy.write("templates/planted.html", f"<div>\n{line}\n</div>\n")
    copy.turns_red(check_attributes, "planted.html:2")


def test_the_same_words_outside_a_tag_are_no_fault(copy: Copy) -> None:
    copy.write("templates/planted.html",
               '{{ card(title="x") }}\n<p data-hx-trigger="click" data-hx-get="/x">title="x"</p>\n')
    assert not any("planted" in fault for fault in check_attributes(copy.root))


@pytest.mark.parametrize("line", [
    '<p onclick="x()">',
    '<p hx-on:click="x()">',
    '<a href="javascript:x()">x</a>',
    """<p data-hx-vals='js:{x: 1}'>""",
    '<p style="color: red">',
    "<style>p {}</style>",
    "<script>x()</script>",
    "{{ title | safe }}",
    "{% autoescape false %}",
    '<script src="https://cdn.example/x.js"></script>',
    '<link rel="stylesheet" href="//cdn.example/x.css">',
])
def test_a_breach_is_found(copy: Copy, line: str) -> None:
    copy.write("templates/planted.html", f"<div>\n{line}\n</div>\n")
    copy.turns_red(check, "planted.html:2")
