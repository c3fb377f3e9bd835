"""The markup rules themselves: a sound page passes, and each fault is named."""

from __future__ import annotations

import pytest

from tests.support.page import faults

SOUND = """<!doctype html><html lang="en"><head><title>Todos - Switchboard</title>
<link rel="stylesheet" href="/static/app.css"><script src="/static/app.js"></script></head>
<body><main><h1>Todos</h1><form method="post" action="/logout">
<input type="hidden" name="csrf_token" value="x"><label for="q">Queue</label><input id="q" name="q">
<button type="submit">Sign out</button></form></main></body></html>"""


def test_a_sound_page_has_no_faults() -> None:
    assert faults(SOUND) == []
    assert faults(SOUND.replace("<title>", "<title>Error: ").replace("name=", "autofocus name=", 1)
                  ) == []


@pytest.mark.parametrize(("old", "new", "named"), [
    ("<h1>Todos</h1>", "<h1>Todos</h1><h1>More</h1>", "h1"),
    ("<h1>Todos</h1>", "<h1>Queues</h1>", "title"),
    ('lang="en"', "", "lang"),
    ("<!doctype html>", "", "doctype"),
    ("<label", '<p id="q">x</p><label', "the id q"),
    ('action="/logout"', "", "action"),
    ('value="x"', "", "empty csrf_token"),
    ('<input type="hidden" name="csrf_token" value="x">', "", "no csrf_token"),
    ("</main>", "<script>go()</script></main>", "inline <script>"),
    ("</main>", "<style>p{}</style></main>", "inline <style>"),
    ("<h1>", '<h1 style="x">', "style="),
    ("<h1>", '<h1 onclick="x()">', "onclick="),
    ("<h1>", '<h1 hx-on:click="x()">', "hx-on:click="),
    ("</main>", '<a href="javascript:x()">x</a></main>', "script in href"),
    ("/static/app.js", "https://cdn.example/app.js", "another host"),
    ("/static/app.css", "//cdn.example/app.css", "another host"),
    ('<label for="q">Queue</label>', "", "no label"),
    ('for="q"', 'for="z"', "names z"),
    ("Sign out", "", "<button> without text"),
    ("<main>", "<div>", "<main>"),
    (' type="submit"', "", "has no type"),
    ("<h1>", '<h1 title="x">', "title="),
    ("</main>", '<p autofocus></p><p autofocus></p></main>', "ask for the focus"),
])
def test_each_fault_is_named(old: str, new: str, named: str) -> None:
    found = faults(SOUND.replace(old, new))
    assert any(named in fault for fault in found), found
