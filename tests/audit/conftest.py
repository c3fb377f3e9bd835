"""The stage, built once for a file of tests, and an application over it without rate limits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from flask import Flask

from app import create_app
from app.db.database import Database
from app.db.direct import dial
from app.db.listener import Listener
from app.edge.deps import EdgeConfig
from tests.audit import stage
from tests.audit.stage import Keeper, Stage
from tests.support.make import Make
from tests.support.pg import Databases, opened

BASE_URL = "http://localhost"
SCRAPER = "a token of the scraper's"


@dataclass(frozen=True, slots=True, kw_only=True)
class Theatre:
    """The stage, the application that plays on it, and who keeps the scenery."""

    stage: Stage
    app: Flask
    db: Database
    listener: Listener
    make: Make
    keeper: Keeper


@pytest.fixture(scope="module")
def theatre(
    fast_cluster: Databases, worker_id: str, request: pytest.FixtureRequest
) -> Iterator[Theatre]:
    """One database for all tests of a file; each leaves it as it found it."""
    name = f"audit_{worker_id}_{request.module.__name__.rpartition('.')[2]}"
    url = fast_cluster.create(name)
    make, listener = Make(url), Listener(dial(url))
    listener.start()
    try:
        with opened(url) as db:
            built = stage.build(make)
            app = create_app(EdgeConfig(base_url=BASE_URL, metrics_token=SCRAPER), db, listener)
            stage.without_limits(app)
            with stage.kept(url) as keeper:
                yield Theatre(stage=built, app=app, db=db, listener=listener, make=make,
                              keeper=keeper)
    finally:
        make.close()
        listener.stop()
        fast_cluster.drop(name)
