"""Names and words of people and agents that would turn our own words around."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from flask import Flask

from tests.support import page
from tests.support.make import Make
from tests.web import scene
from tests.web.scene import TABLE
from tests.web.test_strangers import Browse, ask

RLO, FSI, PDI = "\u202e", "\u2068", "\u2069"
# Everything a person or an agent names, says or types, and a page shows.
_TEXTS = (
    ("humans", "display_name"), ("agents", "name"), ("queues", "display_name"),
    ("todos", "title"), ("todos", "source"), ("todos", "kind"), ("todos", "owner"),
    ("todo_attempts", "claimant"), ("todo_attempts", "summary"),
    ("admission_policy_audit", "reason"), ("admission_policy_audit", "human_name"),
    ("oauth_tokens", "name"),
)
_CLOSED = re.compile(f"{FSI}[^{FSI}{PDI}]*{PDI}")
# A browser sends, copies or wraps these as they are.
_AS_THEY_ARE = ("textarea", "pre", "code", "script")


@pytest.fixture(autouse=True)
def _unlimited(app: Flask) -> None:
    scene.without_limits(app)


def turn_all(make: Make) -> int:
    """Puts an override at the end of every such text; how many columns there were."""
    found = make.rows("select table_name, column_name from information_schema.columns"
                      " where table_schema = current_schema() and data_type = 'text'")
    known = {(str(table), str(column)) for table, column in found} & set(_TEXTS)
    for table, column in known:
        make.run(f"update {table} set {column} = {column} || chr(8238)")
    return len(known)


def open_texts(markup: str) -> Iterator[str]:
    """Every text, and every attribute that is read out, in which an override is not closed in."""
    parsed = page.parse(markup)
    for element in parsed.elements:
        if {element.tag, *(one.tag for one in element.inside)} & set(_AS_THEY_ARE):
            continue
        holds = {one.tag for one in parsed.elements if any(element is each for each in one.inside)}
        shown = [] if holds & set(_AS_THEY_ARE) else [element.text]
        shown += [text for name, text in element.attributes.items() if name == "aria-label"]
        for text in shown:
            if RLO in closed(text):
                yield f"<{element.tag}> {text!r}"


def closed(text: str) -> str:
    """The text without what is closed in."""
    shorter = _CLOSED.sub("", text)
    return text if shorter == text else closed(shorter)


def test_no_name_turns_the_words_of_a_page_around(browser: Browse, make: Make) -> None:
    own = scene.of_human(make, "ana")
    paths = {name: own.path(row) for name, row in TABLE.items()
             if name.startswith("GET ") and not row.is_stream}
    assert turn_all(make) >= 8
    seat, faults, seen = browser(own.human), [], 0

    for name, path in paths.items():
        answer = ask(seat, TABLE[name], path, {})
        seen += answer.text.count(RLO)
        faults += [f"{name}: {text}" for text in open_texts(answer.text)]

    assert seen > 50
    assert not faults, "\n".join(faults)


def test_a_sentence_about_a_todo_keeps_its_title_apart(browser: Browse, make: Make) -> None:
    ana = make.human("Ana")
    lane = make.endpoint(ana)
    todo = make.todo(lane, title=f"pay {RLO}me")
    seat = browser(ana)

    seat.post(f"/todos/{todo}/claim", {"back": "/"})

    assert f"Claimed {FSI}pay {RLO}me{PDI}. The lease ends" in seat.get("/").text
