"""Boards that stay open as a browser's would, and what the database says they should show."""

from __future__ import annotations

import contextlib
import re
import threading

import urllib3

from app.domain.callers import Human
from tests.support.events import Ended, Events, Frame
from tests.support.make import Make

Shown = dict[int, tuple[str, str]]
"""By queue id: the exact figures of its header, and how many todos it has in each state."""

_FIGURES = re.compile(r'id="q-(\d+)-fig"[^>]*>([^<]*)<')
_TODOS = re.compile(r'id="q-(\d+)-todos"[^>]*>([^<]*)<')
_RETRY = 0.3  # seconds; a browser takes ten times as long


class Board:
    """One open page: loaded once, then kept current by its stream alone, over any lost stream.

    It loads itself afresh when its stream opens again or says so, as static/live.js does.
    """

    def __init__(self, url: str, session: str) -> None:
        """Opens the page in a thread of its own; close() ends it."""
        self._url = url
        self._session = session
        self._shown: dict[int, dict[str, str]] = {}
        self._events: Events | None = None
        self._ending = threading.Event()
        self.reopened = 0
        self._load()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    @property
    def says(self) -> Shown:
        """What the page shows now."""
        shown = {queue_id: dict(parts) for queue_id, parts in self._shown.copy().items()}
        return {queue_id: (parts.get("figures", ""), parts.get("todos", ""))
                for queue_id, parts in shown.items()}

    def drop(self) -> None:
        """Cuts the connection; the board opens another."""
        events = self._events
        if events is not None:
            with contextlib.suppress(OSError):
                events.cut()

    def close(self) -> None:
        """Leaves the page."""
        self._ending.set()
        self.drop()
        self._thread.join(15)
        assert not self._thread.is_alive()

    def _run(self) -> None:
        while not self._ending.is_set():
            try:
                self._follow()
            except (Ended, OSError, urllib3.exceptions.HTTPError):
                self._ending.wait(_RETRY)

    def _follow(self) -> None:
        with Events(self._url, self._session, "?cards=yes") as events:
            self._events = events
            while not self._ending.is_set():
                self._take(events.next(20))

    def _take(self, frame: Frame) -> None:
        if frame.event == "live":
            self.reopened += 1
        if frame.event == "resync" or (frame.event == "live" and self.reopened > 1):
            self._load()
        for queue_id, words in _FIGURES.findall(frame.data):
            self._shown.setdefault(int(queue_id), {})["figures"] = words
        for queue_id, words in _TODOS.findall(frame.data):
            self._shown.setdefault(int(queue_id), {})["todos"] = words

    def _load(self) -> None:
        answer = urllib3.request("GET", self._url, timeout=10, headers={
            "Cookie": f"sb_session={self._session}"})
        assert answer.status == 200, answer.status
        self._take(Frame(data=answer.data.decode()))


def truth(make: Make, human: Human) -> Shown:
    """What every board of the human must show, by one direct look at the tables."""
    rows = make.rows(
        "select q.id, coalesce(w.used, 0), p.max_claims_per_window, p.max_in_flight,"
        " count(t.id) filter (where t.state = 'claimed'),"
        " count(t.id) filter (where t.state = 'pending'),"
        " count(t.id) filter (where t.state = 'failed' and t.next_retry_at is not null),"
        " count(t.id) filter (where t.state = 'failed' and t.next_retry_at is null)"
        " from queues q join endpoints e on e.id = q.endpoint_id"
        " join agents a on a.id = e.agent_id"
        " join admission_policies p on p.queue_id = q.id"
        " left join admission_windows w on w.policy_id = p.id"
        "  and w.window_start = date_trunc('day', clock(), 'UTC')"
        " left join todos t on t.queue_id = q.id"
        " where a.owner_human_id = %s group by q.id, w.used, p.id", human.id)
    return {int(str(row[0])): (_figures(*row[1:5]), _todos(*row[4:8])) for row in rows}


def _figures(used: object, limit: object, cap: object, flying: object) -> str:
    spent = f"{used} used, limit 0" if limit == 0 else f"{used} of {limit} used"
    return f"{spent}, {flying} in flight, limit 0" if cap == 0 else (
        f"{spent}, {flying} of {cap} in flight")


def _todos(claimed: object, pending: object, retrying: object, dead: object) -> str:
    said = [f"{pending} pending"]
    said += [f"{claimed} claimed"] if claimed else []
    said += [f"{retrying} waiting for a retry"] if retrying else []
    said += [f"{dead} dead letter{'' if dead == 1 else 's'}"] if dead else []
    return ", ".join(said)
