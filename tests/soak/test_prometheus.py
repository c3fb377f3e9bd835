"""A real Prometheus scrapes two servers under load; its arithmetic is the database's."""

from __future__ import annotations

import json
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import urllib3

from tests.race.counting import Workers, persistently
from tests.support.make import Make
from tests.support.scraping import CHARGED, METRICS_TOKEN
from tests.support.servers import Fleet, agent, free_port
from tests.support.verify import away_from_boundaries
from tests.support.wait import wait_for

LOAD_SECONDS = 180
RECYCLES = 6
_http = urllib3.PoolManager(retries=False)

CONFIG = """
global: {{scrape_interval: 1s, scrape_timeout: 900ms}}
scrape_configs:
  - job_name: switchboard
    authorization: {{credentials: {token}}}
    static_configs: [{{targets: [{targets}]}}]
"""


class Prometheus:
    """A Prometheus with its data in a folder, asked through its own API."""

    def __init__(self, port: int) -> None:
        """Asks the one that listens on that port."""
        self._url = f"http://127.0.0.1:{port}"

    def is_ready(self) -> bool:
        """Whether it answers queries by now."""
        return persistently(lambda: _http.request("GET", f"{self._url}/-/ready").status == 200)

    def ask(self, query: str, at: float | None = None) -> dict[str, float]:
        """An instant query's values by instance."""
        fields = {"query": query} | ({} if at is None else {"time": f"{at:.3f}"})
        answer = json.loads(_http.request("GET", f"{self._url}/api/v1/query", fields=fields).data)
        assert answer["status"] == "success", answer
        return {each["metric"].get("instance", ""): float(each["value"][1])
                for each in answer["data"]["result"]}


@contextmanager
def scraping(fleet: Fleet, folder: Path) -> Iterator[Prometheus]:
    """A Prometheus that scrapes a fleet each second."""
    targets = ", ".join(f'"127.0.0.1:{server.port}"' for server in fleet)
    config = folder / "prometheus.yml"
    config.write_text(CONFIG.format(token=METRICS_TOKEN, targets=targets))
    port = free_port()
    with (folder / "prometheus.log").open("wb") as log:
        process = subprocess.Popen(
            ["prometheus", f"--config.file={config}", f"--storage.tsdb.path={folder / 'tsdb'}",
             f"--web.listen-address=127.0.0.1:{port}"], stdout=log, stderr=log)
    prometheus = Prometheus(port)
    try:
        wait_for(prometheus.is_ready, 60)
        yield prometheus
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)


@pytest.mark.timeout(900)
@pytest.mark.rule("issue E: a real Prometheus reads as many charges per hour as the database has")
def test_charges_per_hour_are_what_the_database_has(fleet: Fleet, tmp_path: Path) -> None:
    fleet.add_together(2, SWITCHBOARD_METRICS_TOKEN=METRICS_TOKEN)
    make, queue = fleet.make, "charged"
    endpoint = make.endpoint(queues=(queue,))
    make.policy(make.queue_id(endpoint, queue), max_claims_per_window=1_000_000,
                **away_from_boundaries(make.now()))
    token, stop = make.credential(endpoint), threading.Event()

    def work(number: int) -> None:
        builders = Make(fleet.database_url)
        while not stop.is_set():
            builders.todo(endpoint, queue)
            persistently(lambda: agent(fleet[number % 2].url, token).request(
                "POST", "/claim_next", {}, headers={"Connection": "close"}))
        builders.close()

    with scraping(fleet, tmp_path) as prometheus:
        wait_for(lambda: len(prometheus.ask(f"{CHARGED} == 0")) == 2, 60,
                 what="both servers were scraped before the first claim")
        workers = [threading.Thread(target=work, args=(n,), daemon=True) for n in range(4)]
        for each in workers:
            each.start()
        for turn in range(RECYCLES):
            stop.wait(LOAD_SECONDS / RECYCLES)
            masters = Workers(fleet[turn % 2])
            masters.end(masters.living()[:1], signal.SIGTERM)
        stop.set()
        for each in workers:
            each.join(60)
        used = make.value("select sum(used) from admission_windows")
        claims = float(str(used))
        wait_for(lambda: sum(prometheus.ask(CHARGED).values()) == claims, 30)

        by_hour = increase(prometheus)

    assert claims > 1_000
    assert by_hour == pytest.approx(claims, abs=0.01)


def increase(prometheus: Prometheus) -> float:
    """The charges of the last hour, of both servers.

    Each is asked at the time of its last sample: between samples Prometheus guesses ahead.
    """
    seen_at = prometheus.ask(f"timestamp({CHARGED})")
    return sum(prometheus.ask(f'increase({CHARGED}{{instance="{instance}"}}[1h])', at)[instance]
               for instance, at in seen_at.items())
