"""How long a sign-in lasts: days for someone who keeps coming, and never past its two ends."""

from __future__ import annotations

import pytest
from flask.testing import FlaskClient
from psycopg_pool import PoolTimeout

from app.db.database import Database
from app.transactions import pruning
from app.transactions.pruning import Retention
from tests.support.clock import Clock
from tests.support.make import Make

HOUR = 3600.0
DAY = 24 * HOUR


@pytest.fixture
def ana(client: FlaskClient, make: Make) -> FlaskClient:
    """A browser in which Ana signed in just now, by a link."""
    assert client.post(f"/auth/link/{make.login_link(make.human('Ana'))}").status_code == 303
    return client


def is_signed_in(client: FlaskClient) -> bool:
    """Whether a page that needs a session opens; without one it leads to the sign-in page."""
    answer = client.get("/settings")
    assert "Set-Cookie" not in answer.headers
    if answer.status_code == 302:
        assert answer.headers["Location"] == "/login"
    return answer.status_code == 200


@pytest.mark.rule("identity.md: Sessions and pages")
def test_someone_who_comes_every_few_hours_stays_in_for_thirty_days_and_no_longer(
    ana: FlaskClient, clock: Clock, db: Database
) -> None:
    started = clock.set(clock.now())
    hours = 0.0
    while hours + 11 < 30 * 24:
        clock.advance(11 * HOUR)
        hours += 11
        assert is_signed_in(ana), f"{hours} hours after signing in"
        if hours % 5 == 0:
            pruning.prune(db, Retention())
    clock.advance((30 * 24 - hours) * HOUR - 60)
    assert is_signed_in(ana)

    clock.advance(60)

    assert (clock.now() - started).days == 30
    assert not is_signed_in(ana)


@pytest.mark.rule("identity.md: Sessions and pages")
@pytest.mark.parametrize(("idle", "end"), [(12 * HOUR - 1, "in"), (12 * HOUR, "out")])
def test_twelve_hours_without_a_request_end_it(
    ana: FlaskClient, clock: Clock, idle: float, end: str
) -> None:
    clock.set(clock.now())
    for hours in (5, 10, 11):
        clock.advance(hours * HOUR)
        assert is_signed_in(ana)

    clock.advance(idle)

    assert is_signed_in(ana) is (end == "in")


@pytest.mark.parametrize("days", [0, 29])
def test_an_end_is_an_end_whatever_is_asked_afterwards(
    ana: FlaskClient, clock: Clock, make: Make, days: int
) -> None:
    make.run("update sessions set created_at = created_at - make_interval(days => %s)", days)
    clock.advance(2 * DAY)

    assert not is_signed_in(ana)
    assert not is_signed_in(ana)
    assert ana.post("/settings/zone", data={"zone": "UTC"}).status_code == 401


def test_a_request_of_someone_else_keeps_nobody_in(
    ana: FlaskClient, clock: Clock, make: Make
) -> None:
    other = ana.application.test_client()
    other.post(f"/auth/link/{make.login_link(make.human('Ben'))}")
    clock.advance(11 * HOUR)
    assert is_signed_in(other)
    clock.advance(2 * HOUR)

    assert is_signed_in(other)
    assert not is_signed_in(ana)


@pytest.mark.rule("identity.md: Sessions and pages")
@pytest.mark.parametrize(("method", "path"), [
    ("GET", "/"), ("GET", "/settings"), ("GET", "/login"), ("POST", "/logout"),
])
def test_a_store_that_is_away_is_503_and_signs_nobody_out(
    ana: FlaskClient, db: Database, monkeypatch: pytest.MonkeyPatch, method: str, path: str
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(db.pool, "getconn", _away)
        answer = ana.open(path, method=method)

    assert answer.status_code == 503
    assert "Set-Cookie" not in answer.headers
    assert is_signed_in(ana)


def _away(*_: object, **__: object) -> None:
    raise PoolTimeout
