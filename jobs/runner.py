"""Runs the jobs: one thread each, woken by timers and by every NOTIFY, led by one process."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import psycopg

from app.db.changes import Change
from app.db.database import Database
from app.db.direct import Connect, waits
from app.db.listener import Listener
from app.domain.errors import DomainError
from app.transactions.pruning import Retention
from jobs import expiry, presence, reaper, reopen, requeue, retention
from jobs.leader import Leader

_log = logging.getLogger(__name__)

SPACING = 0.5  # seconds between two runs of one job, however many notices come in
_JUST_AFTER = 0.005  # seconds a timer adds, not to look a hair too early
_POLL = 0.5  # seconds between two looks at who leads


class Report(Protocol):
    """What a job's run_once returns."""

    @property
    def next_in(self) -> float | None:
        """Seconds until something is due; None when nothing is foreseen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A name, the longest pause in seconds, the work; `is_timed` jobs re-arm on every NOTIFY."""

    name: str
    every: float
    run_once: Callable[[], Report]
    is_timed: bool = True


def jobs_of(db: Database, caps: Retention) -> tuple[Job, ...]:
    """Every job of this release, bound to its database."""
    prune = partial(retention.run_once, db, caps)
    clocks = partial(presence.Timekeeper().run_once, db)
    return (
        Job(name="reaper", every=reaper.EVERY, run_once=partial(reaper.run_once, db)),
        Job(name="requeue", every=requeue.EVERY, run_once=partial(requeue.run_once, db)),
        Job(name="expiry", every=expiry.EVERY, run_once=partial(expiry.run_once, db)),
        Job(name="reopen", every=reopen.EVERY, run_once=partial(reopen.Reopener().run_once, db)),
        Job(name="presence", every=presence.EVERY, run_once=clocks),
        Job(name="retention", every=retention.EVERY, run_once=prune, is_timed=False),
    )


class JobThread:
    """One job in one thread. An outage is logged and tried again; nothing ends it but stop()."""

    def __init__(self, job: Job) -> None:
        """Does nothing before start()."""
        self._job = job
        self._stopping = threading.Event()
        self._notice = threading.Event()
        self._retries = waits(1.0, 30.0)
        self._thread = threading.Thread(target=self._run, name=f"job-{job.name}", daemon=True)

    def start(self) -> None:
        """Start; the first run is at once."""
        self._thread.start()

    def wake(self) -> None:
        """Look again soon: something was said to have changed. Never blocks."""
        if self._job.is_timed:
            self._notice.set()

    def stop(self) -> None:
        """Ask the thread to end after the run it is in."""
        self._stopping.set()
        self._notice.set()

    def join(self, timeout: float) -> bool:
        """Wait for the end, at most `timeout` seconds; False when it is still running."""
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def _run(self) -> None:
        while not self._stopping.is_set():
            self._notice.clear()
            started = time.monotonic()
            pause = self._run_once()
            # Timers and notices may wait out the spacing: "within 1 s" leaves room for it.
            self._notice.wait(pause)
            self._stopping.wait(max(SPACING - (time.monotonic() - started), 0.0))

    def _run_once(self) -> float:
        """Run the job; the seconds until the next run."""
        try:
            report = self._job.run_once()
        except (DomainError, psycopg.Error) as error:
            pause = next(self._retries)
            _log.warning("%s failed, again in %.1f s: %s", self._job.name, pause, error)
            return pause
        except Exception:
            # A mistake of ours must not stop the sweeps for the life of the server.
            _log.exception("%s failed", self._job.name)
            return next(self._retries)
        self._retries = waits(1.0, 30.0)
        if report.next_in is None:
            return self._job.every
        return min(self._job.every, max(report.next_in, 0.0) + _JUST_AFTER)


class Runner:
    """All jobs of one process, between start() and stop()."""

    def __init__(self, jobs: tuple[Job, ...], listener: Listener) -> None:
        """`listener` tells of every NOTIFY; whoever made it starts and stops it."""
        self._jobs = jobs
        self._listener = listener
        self._threads: list[JobThread] = []
        self._unsubscribe: Callable[[], None] = _nothing

    def start(self) -> None:
        """Start every job."""
        self._threads = [JobThread(job) for job in self._jobs]
        self._unsubscribe = self._listener.subscribe(self._wake)
        for thread in self._threads:
            thread.start()

    def stop(self, timeout: float = 10.0) -> None:
        """Stop every job; a run that does not end in `timeout` seconds is left to roll back."""
        self._unsubscribe()
        for thread in self._threads:
            thread.stop()
        ends_at = time.monotonic() + timeout
        for thread in self._threads:
            if not thread.join(max(ends_at - time.monotonic(), 0.0)):
                _log.warning("a job is still running at stop")
        self._threads = []

    def _wake(self, change: Change) -> None:
        """Re-arm every timer; a NOTIFY that names nothing does so too (push.md, "NOTIFY")."""
        del change
        for thread in self._threads:
            thread.wake()


def run(
    database: Database,
    listener: Listener,
    connect: Connect,
    stop: threading.Event,
    caps: Retention,
) -> None:
    """Run the jobs while this process leads, until `stop` is set; the jobs process's main.

    `connect` opens the leader's own direct connection, with server-side keepalives (dial).
    Listener and feed are started and stopped by the caller. Never raises for an outage.
    """
    leader = Leader(connect)
    runner = Runner(jobs_of(database, caps), listener)
    is_running = False
    while not stop.is_set():
        leads = leader.leads()
        if leads and not is_running:
            runner.start()
        if is_running and not leads:
            runner.stop()
        is_running = leads
        stop.wait(_POLL)
    if is_running:
        runner.stop()
    leader.resign()


def _nothing() -> None:
    """Stand in for an unsubscriber before start()."""
