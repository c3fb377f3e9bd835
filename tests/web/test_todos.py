"""The todos page: counts, filters, search, rows and pages, exact and the viewer's own."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from urllib.parse import quote

import pytest

from tests.support import page as markup
from tests.support.client import Browser
from tests.support.clock import Clock
from tests.support.make import Make

Seat = Callable[..., Browser]
HX = {"HX-Request": "true"}


def titles(text: str) -> list[str]:
    """The titles of the listed todos, in order."""
    seen = markup.parse(text)
    return [link.text for link in seen.all("a") if link.get("data-drawer") is not None]


def counts(text: str) -> dict[str, int]:
    """The state links with their counts."""
    links = [link for link in markup.parse(text).all("a")
             if (link.get("id") or "").startswith("state-")]
    return {words[0]: int(words[1]) for words in (link.text.split() for link in links)}


def found(text: str) -> str:
    """The heading above the table."""
    return next(h.text for h in markup.parse(text).all("h2") if h.get("id") == "found")


def test_states_are_counted_and_the_list_is_newest_first(browser: Seat, make: Make) -> None:
    ana = make.human()
    lane = make.endpoint(ana, queues=("inbox", "lane-m"))
    begin = make.now() - timedelta(hours=1)
    for number, state in enumerate(("pending", "pending", "claimed", "done", "failed")):
        make.todo(lane, ("inbox", "lane-m")[number % 2], state=state, title=f"t{number}",
                  created_at=begin + timedelta(seconds=number))

    text = browser(ana).get("/todos").text

    assert titles(text) == ["t4", "t3", "t2", "t1", "t0"]
    assert counts(text) == {"All": 5, "Pending": 2, "Claimed": 1, "Done": 1, "Failed": 1}
    assert found(text) == "5 todos"
    assert '<caption>' in text
    assert text.count('scope="col"') == 7


def test_smoke(browser: Seat, make: Make) -> None:
    ana = make.human()
    lane = make.endpoint(ana, queues=("inbox",))
    make.policy(make.queue_id(lane), max_claims_per_window=0)
    todo = make.todo(lane, payload={"a": 1}, key="k")
    seat = browser(ana)
    assert seat.get("/todos").status_code == 200
    assert seat.get("/todos", headers=HX).status_code == 200
    assert seat.get(f"/todos/{todo}").status_code == 200
    assert seat.get(f"/todos/{todo}", headers=HX).status_code == 200
    assert seat.get(f"/todos/{todo}/discard").status_code == 200
    refused = seat.post(f"/todos/{todo}/claim", {"from": "/"})
    assert refused.status_code == 409
    make.run("delete from admission_policies")
    make.run("update queues set has_policy = false")
    claimed = seat.post(f"/todos/{todo}/claim", {"from": "/"})
    assert (claimed.status_code, claimed.location) == (303, f"/#todo-{todo}-link")
    mine = seat.get(f"/todos/{todo}").text
    assert "Extend lease of" in mine
    assert seat.post(f"/todos/{todo}/complete", {"result": "{", "from": "/"}).status_code == 422
    assert seat.post(f"/todos/{todo}/complete", {"result": "{}", "from": "/"}).status_code == 303
    q = make.queue_id(lane)
    assert seat.get(f"/queues/{int(q)}/todos").status_code == 200
    assert seat.post(f"/queues/{int(q)}/todos", {"title": "x"}).status_code == 303
    assert seat.post(f"/queues/{int(q)}/todos", {"title": "x", "key":"a"}).status_code == 303
    assert seat.post(f"/queues/{int(q)}/todos", {"title": "x", "key":"a"}).status_code == 409
    assert seat.post(f"/queues/{int(q)}/todos", {"title": ""}).status_code == 422
