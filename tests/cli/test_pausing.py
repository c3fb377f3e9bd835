"""A pause set on the command line is a pause like any other: the page's Resume undoes it (R68)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest
from flask import Flask
from werkzeug.serving import make_server

from app.cli import Host
from app.cli.credentials import Credentials, save
from app.domain.callers import Human
from tests.cli.conftest import Cli
from tests.support.client import Browser
from tests.support.make import Make
from tests.web.budgeting import values


@pytest.fixture
def address(app: Flask) -> Iterator[str]:
    """The application, answering on a port of this machine."""
    server = make_server("127.0.0.1", 0, app, threaded=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize(("pause", "limits"), [
    (("--max-in-flight", "0", "--per-day", "100"), (5, 100)),
    (("--max-in-flight", "5", "--per-day", "0"), (5, 100)),
])
def test_a_pause_by_command_is_resumed_on_the_page(
    cli: Cli, host: Host, address: str, make: Make, browser: Callable[[Human], Browser],
    pause: tuple[str, ...], limits: tuple[int, int],
) -> None:
    ana = make.human("Ana")
    lane = make.endpoint(ana, queues=("lane-m",))
    queue, words = make.queue_id(lane, "lane-m"), ("queue", "budget", "set", lane.slug, "lane-m")
    save(host, Credentials(url=address, token=make.operator_token(ana)))
    for limit in (("--max-in-flight", "5", "--per-day", "100"), pause):
        assert cli(*words, *limit, "--tz", "UTC").code == 0
    seat = browser(ana)

    resumed = seat.post(f"/queues/{queue}/resume",
                        {"revision": values(seat.get(f"/queues/{queue}"))["revision"]})

    assert resumed.status_code == 303
    assert make.rows("select max_in_flight, max_claims_per_window from admission_policies") == [
        limits]
