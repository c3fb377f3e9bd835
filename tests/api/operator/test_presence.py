"""An endpoint's presence and shift over /api/v1."""

from __future__ import annotations

import pytest

from app.domain.callers import Endpoint
from tests.support.client import Caller
from tests.support.clock import Clock
from tests.support.make import Make

OFFICE = "TZ=Europe/Berlin Mon-Fri 09:00-17:00"
IN = {"presence": "in", "source": "default", "until": None, "shift": None, "pending": 0}


def test_the_owner_says_in_or_out_and_takes_it_back(
    api: Caller, make: Make, lane: Endpoint, clock: Clock
) -> None:
    clock.set("2026-11-30T12:00:00Z")
    make.todo(lane, "a/b")
    path = f"/endpoints/{lane.slug}/presence"
    here = {**IN, "pending": 1}

    assert api.get(path).get_json() == here
    out = api.put(path, json={"presence": "out"}).get_json()
    assert out == {**here, "presence": "out", "source": "operator"}
    assert api.get(path).get_json() == out
    until = api.put(path, json={"presence": "in", "until": "2026-11-30T14:30:00+01:00"})
    assert until.get_json() == {**here, "source": "operator", "until": "2026-11-30T13:30:00Z"}
    assert api.delete(path).get_json() == here
    assert api.delete(path).get_json() == here


def test_a_shift_is_set_by_slug_or_id_and_taken_away(
    api: Caller, lane: Endpoint, clock: Clock
) -> None:
    clock.set("2026-11-30T20:00:00Z")
    set_ = api.put(f"/endpoints/{lane.id}/shift", json={"shift": OFFICE})

    assert set_.get_json() == {
        "presence": "out", "source": "shift", "until": "2026-12-01T08:00:00Z", "shift": OFFICE,
        "pending": 0,
    }
    assert api.put(f"/endpoints/{lane.slug}/shift", json={"shift": None}).get_json() == IN


@pytest.mark.parametrize(("path", "body", "field"), [
    ("presence", {}, "presence"), ("presence", {"presence": "away"}, "presence"),
    ("presence", {"presence": None}, "presence"), ("presence", {"presence": True}, "presence"),
    ("presence", {"presence": "out", "until": "tomorrow"}, "until"),
    ("presence", {"presence": "out", "until": 5}, "until"),
    ("presence", {"presence": "out", "until": "2001-01-01T00:00:00Z"}, "until"),
    ("presence", {"presence": "out", "for": "1h"}, "for"),
    ("shift", {}, "shift"), ("shift", {"shift": ""}, "shift"), ("shift", {"shift": 5}, "shift"),
    ("shift", {"shift": "Mon-Fri 9-17"}, "shift"),
    ("shift", {"shift": "TZ=Mars/Base 09:00-17:00"}, "shift"),
    ("shift", {"shift": None, "tz": "UTC"}, "tz"),
])  # fmt: skip
def test_what_cannot_be_used_names_its_field_and_stores_nothing(
    api: Caller, lane: Endpoint, path: str, body: dict[str, object], field: str
) -> None:
    answer = api.put(f"/endpoints/{lane.slug}/{path}", json=body)

    assert (answer.status_code, answer.get_json()["code"], answer.get_json()["field"]) == (
        400, "invalid_argument", field)  # fmt: skip
    assert api.get(f"/endpoints/{lane.slug}/presence").get_json() == IN


def test_a_revoked_endpoint_is_read_and_not_changed(api: Caller, revoked: Endpoint) -> None:
    path = f"/endpoints/{revoked.slug}"

    assert api.get(f"{path}/presence").get_json() == IN
    for answer in (
        api.put(f"{path}/presence", json={"presence": "out"}),
        api.delete(f"{path}/presence"),
        api.put(f"{path}/shift", json={"shift": OFFICE}),
    ):
        assert answer.status_code == 409
        body = answer.get_json()
        assert (body["code"], body["state"]) == ("conflict", "revoked")
