"""Titles: each documented event has its sentence, and no shape of body raises."""

from __future__ import annotations

import copy
import json
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.domain.titles import title_for
from app.domain.titles_forge import PEOPLE
from app.domain.titles_machinery import MACHINERY

HERE = Path(__file__).parent
EVENTS = sorted(PEOPLE | MACHINERY)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
KEYS = st.sampled_from(
    ["action", "issue", "pull_request", "number", "title", "ref", "commits", "repository",
     "full_name", "review", "state", "comment", "body", "forkee", "release", "pages", "alert"]
)
PLAUSIBLE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.just("closed"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=6),
    max_leaves=20,
)


def cases() -> list[tuple[str, dict[str, object]]]:
    """Every example event: its source and the case in the file."""
    found = []
    for source in ("github", "gitea"):
        for path in sorted((HERE / f"{source}_events").glob("*.json")):
            case = json.loads(path.read_text(encoding="utf-8"))
            found.append(pytest.param(source, case, id=f"{source}-{path.stem}"))
    return found


def broken(document: object) -> Iterator[object]:
    """Copies of a document, each with one value (two levels deep) taken out or of a wrong type."""
    assert isinstance(document, dict)
    for key in document:
        for odd in (None, 7, "odd", [], {}, [None], True):
            yield {**document, key: odd}
        yield {name: value for name, value in document.items() if name != key}
        if isinstance(document[key], dict):
            for inner in document[key]:
                for odd in (None, [], {"odd": 1}, False):
                    changed = copy.copy(document)
                    changed[key] = {**document[key], inner: odd}
                    yield changed


def assert_fit(title: str) -> None:
    """A title is one line of 1 to 200 visible characters."""
    assert 1 <= len(title) <= 200
    assert title == title.strip()
    assert not any(unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") for c in title)


@pytest.mark.parametrize(("source", "case"), cases())
def test_a_documented_event_has_its_title(source: str, case: dict[str, object]) -> None:
    assert title_for(source, str(case["event"]), case["body"]) == case["title"]


@pytest.mark.parametrize("source", ["github", "gitea"])
def test_there_are_at_least_twenty_examples(source: str) -> None:
    assert len(list((HERE / f"{source}_events").glob("*.json"))) >= 20


@pytest.mark.parametrize(("source", "case"), cases())
def test_a_broken_event_still_has_a_fit_title(source: str, case: dict[str, object]) -> None:
    for document in broken(case["body"]):
        assert_fit(title_for(source, str(case["event"]), document))


@pytest.mark.parametrize("document", [None, [], {}, "text", 7, True, {"action": {"no": "word"}}])
@pytest.mark.parametrize("event", EVENTS)
def test_without_its_fields_an_event_is_said_plainly(event: str, document: object) -> None:
    assert title_for("github", event, document) == f"github {event}"


@given(source=st.sampled_from(["github", "gitea", "stripe", "slack", "generic"]),
       event=st.sampled_from(EVENTS) | st.none() | st.text(), document=JSON | PLAUSIBLE)
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_no_shape_raises(source: str, event: str | None, document: object) -> None:
    assert_fit(title_for(source, event, document))


@pytest.mark.parametrize(
    ("source", "event", "title"),
    [
        ("stripe", "charge.succeeded", "stripe charge.succeeded"),
        ("stripe", None, "stripe delivery"),
        ("slack", "app_mention", "slack app_mention"),
        ("generic", None, "generic delivery"),
        ("github", None, "github delivery checks requested (o/r)"),
        ("github", "merge_group", "github merge_group checks requested (o/r)"),
    ],
)
def test_everything_else_is_a_plain_line(source: str, event: str | None, title: str) -> None:
    document = {"action": "checks_requested", "repository": {"full_name": "o/r"}}

    assert title_for(source, event, document) == title


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("  padded \t out  ", "padded out"),
        ("two\nlines", "two"),
        ("\n\n  \nlate", "late"),
        ("bell\x07 and \x1b[31mred", "bell and [31mred"),
        ("right\u202eto left", "rightto left"),
        ("line\u2028separator", "line"),
        ("crew 👩\u200d🚀", "crew 👩\u200d🚀"),
        ("half \ud800 pair", "half pair"),
    ],
)
def test_a_title_is_one_line_without_control_characters(written: str, read: str) -> None:
    issue = {"number": 1, "title": written}

    title = title_for("github", "issues", {"action": "opened", "issue": issue})

    assert title == f"issue #1 opened: {read}"


def test_a_long_title_is_cut_and_keeps_its_repository() -> None:
    document = {
        "action": "opened",
        "issue": {"number": 1, "title": "long " * 100_000},
        "repository": {"full_name": "octo-org/harbour"},
    }

    title = title_for("github", "issues", document)

    assert_fit(title)
    assert title.startswith("issue #1 opened: long long")
    assert title.endswith("… (octo-org/harbour)")


def test_a_long_name_everywhere_still_fits() -> None:
    long = "x" * 5000
    document = {"action": long, "issue": {"number": 1, "title": long},
                "repository": {"full_name": long}}

    assert_fit(title_for("github", "issues", document))
    assert_fit(title_for("github", long, document))
    assert_fit(title_for(long, long, document))


def test_a_number_is_a_whole_number() -> None:
    for odd in (True, 1.5, "41", -1, 10**30, None):
        issue = {"number": odd, "title": "Fix"}
        document = {"action": "opened", "issue": issue}
        assert title_for("github", "issues", document) == "issue opened: Fix"
