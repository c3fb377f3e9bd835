"""Web processes of a real server: how many there are, which, and their ends."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import psutil
import urllib3

from app.edge.metrics import VARIABLE
from tests.support.scraping import Scrape, scrape
from tests.support.servers import Server
from tests.support.wait import wait_for

Answer = TypeVar("Answer")
_START = 30.0


class Workers:
    """The web master of a server and its workers."""

    def __init__(self, server: Server) -> None:
        """Finds the master among the server's processes."""
        self.server = server
        (self._master,) = [each for each in server.processes()
                           if "app.webserver" in each.cmdline() and _is_master(each)]

    def be(self, number: int) -> None:
        """Have so many workers from now on."""
        for more in range(len(self.living()) + 1, number + 1):
            self._master.send_signal(signal.SIGTTIN)  # two at once would be one
            wait_for(lambda n=more: len(self.living()) == n, _START)
        self.settle(number)

    def living(self) -> list[psutil.Process]:
        """The workers there are now."""
        return [each for each in self._master.children()
                if each.is_running() and each.status() != psutil.STATUS_ZOMBIE]

    def end(self, workers: list[psutil.Process], number: int) -> None:
        """End some with the signal of that number, and wait for as many others."""
        before = len(self.living())
        for each in workers:
            with contextlib.suppress(psutil.NoSuchProcess):
                each.send_signal(number)
        psutil.wait_procs(workers, _START)
        wait_for(lambda: len(self.living()) >= before, _START)
        self.settle(before)

    def settle(self, number: int) -> None:
        """Wait until so many workers count, each in a slot of its own."""
        wait_for(lambda: len(self.slots()) >= number, _START,
                 what=f"{number} workers count at {self.server.url}")

    def slots(self) -> set[int]:
        """The workers that hold a slot now."""
        pids = {each.pid for each in self.living()}
        # Read once: a slot that is being given away is empty for a moment.
        said = [path.read_text().split() for path in self.folder().glob("w*.slot")]
        return pids & {int(words[0]) for words in said if words}

    def folder(self) -> Path:
        """Where the server's processes count."""
        return Path(self._master.environ()[VARIABLE])


def persistently(act: Callable[[], Answer]) -> Answer:
    """What an act answers once no worker is killed under it."""
    answers: list[Answer] = []

    def tried() -> bool:
        with contextlib.suppress(urllib3.exceptions.HTTPError, ConnectionError):
            answers.append(act())
        return bool(answers)

    wait_for(tried, 20)
    return answers[0]


def steady_scrape(server: Server) -> Scrape:
    """A scrape, asked again when the worker that answers is killed."""
    return persistently(lambda: scrape(server.url))


def _is_master(process: psutil.Process) -> bool:
    parent = process.parent()
    return parent is not None and "app.webserver" not in parent.cmdline()
