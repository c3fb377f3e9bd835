"""Templates carry no script and no style of their own, escape everything, and compare nothing."""

from __future__ import annotations

import re
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


def check(root: Path) -> list[str]:
    """Everything a content security policy would refuse, or that opens a hole in escaping."""
    return [
        f"{path.relative_to(root)}:{number}: {what}"
        for path in files(root, "templates/**/*")
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        for what, pattern in _BANNED.items()
        if pattern.search(line)
    ]


def test_templates_are_plain() -> None:
    holds(check)


@pytest.mark.parametrize("line", [
    '<p onclick="x()">',
    '<p hx-on:click="x()">',
    '<a href="javascript:x()">x</a>',
    """<p hx-vals='js:{x: 1}'>""",
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
