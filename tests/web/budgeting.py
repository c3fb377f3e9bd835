"""What the tests of a queue's pages share: a form's values, and the words of a page."""

from __future__ import annotations

import re
from html import unescape

from werkzeug.test import TestResponse

from app.domain.callers import Endpoint, Human
from tests.support import page
from tests.support.make import Make, QueueId

NOON = "2026-09-30T12:00:00Z"
"""05:00 in Los Angeles."""

DAILY: dict[str, object] = {
    "max_in_flight": "5", "max_claims_per_window": "100", "period": "day",
    "tz": "America/Los_Angeles", "start": "00:00", "weekday": "", "reason": "", "revision": "1",
}


def lane(make: Make, human: Human, queue: str = "investigations") -> tuple[Endpoint, QueueId]:
    """An endpoint with one queue, whose policy is the one `DAILY` spells; and the queue."""
    endpoint = make.endpoint(human, name="lane", queues=(queue,))
    number = make.queue_id(endpoint, queue)
    make.policy(number, max_in_flight=5, max_claims_per_window=100, tz="America/Los_Angeles",
                human=human)
    return endpoint, number


def words(answer: TestResponse) -> str:
    """What the main part of a page says, without its markup and without a list of zones."""
    main = answer.text.split("<main", 1)[1].split("</main>", 1)[0]
    main = re.sub(r"<datalist.*?</datalist>|<svg.*?</svg>", " ", main, flags=re.DOTALL)
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", "<" + main)).split())


def values(answer: TestResponse) -> dict[str, str]:
    """What the fields of a page hold, by name; a select's by its selected option."""
    read = page.parse(re.sub(r"<datalist.*?</datalist>", "", answer.text, flags=re.DOTALL))
    found = {each.get("name") or "": each.get("value") or "" for each in read.all("input")}
    found |= {each.get("name") or "": each.text.lstrip("\r\n") for each in read.all("textarea")}
    for option in read.all("option"):
        select = next(each for each in option.inside if each.tag == "select")
        if option.get("selected") is not None:
            found[select.get("name") or ""] = option.get("value") or ""
    return found


def rows(answer: TestResponse) -> list[list[str]]:
    """The body rows of every table of a page, cell by cell."""
    read = page.parse(answer.text)
    return [
        [" ".join(cell.text.split()) for cell in read.all("th", "td") if row in cell.inside]
        for row in read.all("tr") if any(outer.tag == "tbody" for outer in row.inside)
    ]


def audit(make: Make, queue_id: int) -> list[tuple[object, object, object]]:
    """Every audit record of a queue, oldest first: action, after, reason."""
    return make.rows("select action, after, reason from admission_policy_audit"
                     " where queue_id = %s order by id", int(queue_id))
