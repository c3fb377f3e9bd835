"""Scrapes of /metrics, parsed: a series that is not there is missing, never 0."""

from __future__ import annotations

import subprocess
import time
from dataclasses import dataclass

import urllib3
from prometheus_client.parser import text_string_to_metric_families

METRICS_TOKEN = "a-token-for-scrapes-of-32-bytes-or-more"
CHARGED = "switchboard_admission_charged_total"
CLAIMED = "switchboard_todos_claimed_total"
_http = urllib3.PoolManager(retries=False, timeout=urllib3.Timeout(connect=5, read=20))


@dataclass(frozen=True, slots=True)
class Scrape:
    """What one scrape said, and how long it took in seconds."""

    text: str
    samples: dict[tuple[str, frozenset[tuple[str, str]]], float]
    seconds: float = 0.0

    def value(self, name: str, **labels: str) -> float:
        """One series; KeyError when it is missing."""
        return self.samples[name, frozenset(labels.items())]

    def total(self, name: str, **labels: str) -> float:
        """The sum of every series of that name with these labels, whatever others they have."""
        wanted = frozenset(labels.items())
        return sum(value for (metric, have), value in self.samples.items()
                   if metric == name and wanted <= have)

    def has(self, name: str) -> bool:
        """Whether any series of that name is there."""
        return any(metric == name for metric, _ in self.samples)

    def labels(self, name: str) -> set[str]:
        """Every value of one label, in every series."""
        return {value for _, labels in self.samples for label, value in labels if label == name}

    def counters(self) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
        """Every series that must never fall."""
        return {key: value for key, value in self.samples.items()
                if key[0].endswith(("_total", "_bucket", "_count", "_sum"))}


def parsed(text: str, seconds: float = 0.0) -> Scrape:
    """A scrape from its text."""
    samples = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            key = (sample.name, frozenset(sample.labels.items()))
            assert key not in samples, f"twice in one scrape: {key}"
            samples[key] = sample.value
    return Scrape(text, samples, seconds)


def scrape(url: str) -> Scrape:
    """Asks a real server once, on a connection of its own; whichever worker may answer."""
    began_at = time.monotonic()
    answer = _http.request("GET", f"{url}/metrics", headers={
        "Authorization": f"Bearer {METRICS_TOKEN}", "Connection": "close"})
    assert answer.status == 200, answer.data
    return parsed(answer.data.decode(), time.monotonic() - began_at)


def never_fell(earlier: Scrape, later: Scrape) -> None:
    """Fails when a counter of `earlier` is lower in `later`, or gone.

    What only the answering process knows of itself, and what a process takes with it, is left out.
    """
    for (name, labels), before in earlier.counters().items():
        if name.startswith(("python_", "process_")):
            continue
        after = later.samples.get((name, labels))
        assert after is not None, f"{name} {sorted(labels)} is gone"
        assert after >= before, f"{name} {sorted(labels)} fell from {before} to {after}"


def promtool_finds(text: str) -> str:
    """What `promtool check metrics` says of an exposition; nothing when it is clean."""
    done = subprocess.run(["promtool", "check", "metrics"], input=text.encode(),
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    said = done.stdout.decode()
    return said if done.returncode or said else ""
