"""The web processes: gunicorn's master with threaded workers, a child of the supervisor."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import sys
import threading
import time
from pathlib import Path

from flask import Flask
from gunicorn.arbiter import Arbiter
from gunicorn.config import Config
from gunicorn.workers.base import Worker

from app import create_app, logs, measuring, parts
from app.children import die_with_parent
from app.db.direct import dial
from app.db.listener import Listener
from app.edge import deps
from app.edge.deps import EdgeState
from app.settings import Settings

_THREADS = 256  # 64 more than may wait (edge/waiting.py), so that waiters never stop the site
_log = logging.getLogger("gunicorn")


class Site:
    """The application as gunicorn asks for it: its settings, and what each worker loads."""

    def __init__(self, settings: Settings, descriptor: int) -> None:
        self.cfg = Config()
        self._settings = settings
        self._state: EdgeState | None = None
        for name, value in _options(descriptor).items():
            self.cfg.set(name, value)
        self.cfg.set("post_fork", _after_fork)
        self.cfg.set("post_worker_init", self.watch)
        self.cfg.set("worker_exit", self.close)
        self.cfg.validate()
        self._closing = contextlib.ExitStack()

    def wsgi(self) -> Flask:
        """Make the pool, the threads and the application of one worker, after the fork.

        Nothing of it may exist in the master: threads do not survive a fork, and a connection
        shared by two workers answers the wrong one.
        """
        urls = parts.urls_of(self._settings)
        key = parts.key_of(self._settings)
        grouped = self._settings.grouped_commit
        database = self._closing.enter_context(
            parts.open_database(
                urls,
                key,
                has_grouped_commit=grouped,
                most_teams_per_human=self._settings.max_teams_per_human,
                hooks=parts.hook_rules(self._settings),
            )
        )
        counting = measuring.join(os.environ, "w")
        database.counters.attach(counting)
        listener = Listener(dial(urls.direct))
        listener.start()
        self._closing.callback(listener.stop)
        app = create_app(parts.edge_config(self._settings), database, listener, counting)
        with app.app_context():
            self._state = deps.state()
        self._closing.callback(self._state.watchtower.close)
        return app

    def reload(self) -> None:
        """On HUP the master starts fresh workers; the settings stay those of the start."""

    def watch(self, worker: Worker) -> None:
        """End waiting calls as soon as the worker is told to stop; gthread has no hook for it."""

        def look() -> None:
            while worker.alive:
                time.sleep(0.1)
            if self._state is not None:
                self._state.waiting.close()
                self._state.ringer.close()

        threading.Thread(target=look, name="stop-watch", daemon=True).start()

    def close(self, _arbiter: Arbiter, _worker: Worker) -> None:
        """Send the last notices and close the connections of a worker that ends."""
        self._closing.close()


class Log:
    """gunicorn's log calls, sent to ours. What a client sent is left out: a path may hold a token.

    gunicorn asks for a class of this shape and does not require its own to be the parent.
    """

    def __init__(self, cfg: Config) -> None:
        self.cfg = cfg
        self.access_log_enabled = False

    def setup(self, cfg: Config) -> None:
        """Take new settings after a HUP."""
        self.cfg = cfg

    def debug(self, message: str, *args: object, **_more: object) -> None:
        """Drop it: gunicorn's debug lines repeat every setting and every closed connection."""

    def info(self, message: str, *args: object, **_more: object) -> None:
        """Log at debug: starting and stopping are said by the supervisor."""
        _log.debug(message, *args)

    def warning(self, message: str, *args: object, **_more: object) -> None:
        """Log a warning; a malformed request without what it said."""
        if message.startswith("Invalid request from"):
            _log.info("a request that is not HTTP was refused")
            return
        _log.warning(message, *args)

    def error(
        self, message: str, *args: object, exc_info: bool = False, **_more: object
    ) -> None:
        """Log an error."""
        _log.error(message, *args, exc_info=exc_info)

    def critical(self, message: str, *args: object, **_more: object) -> None:
        """Log an error that ends a process."""
        _log.critical(message, *args)

    def exception(self, message: str, *args: object, **_more: object) -> None:
        """Log an error and its trace; of a failed request, neither path nor query."""
        if message.startswith("Error handling request"):
            _log.exception("a request failed below the application")
            return
        _log.exception(message, *args)

    def access(self, *_facts: object) -> None:
        """Log nothing: one line per state change is what our own logs say."""

    def reopen_files(self) -> None:
        """Nothing to open again: we write to stderr."""

    def close_on_exec(self) -> None:
        """Nothing is held open."""


def main(argv: list[str]) -> int:
    """Serve on the inherited listening socket argv[0], logging from level argv[1] on."""
    descriptor, level = argv
    logs.configure(level)
    Arbiter(Site(Settings.from_environment(os.environ), int(descriptor))).run()
    return 0


def _options(descriptor: int) -> dict[str, object]:
    """Measured in dependencies.md 2.2."""
    memory = Path("/dev/shm")
    return {
        "bind": f"fd://{descriptor}",
        "workers": parts.worker_count(),
        "worker_class": "gthread",
        "threads": _THREADS,
        "worker_connections": 2 * _THREADS,
        "timeout": 30,
        "graceful_timeout": 15,
        "keepalive": 5,
        "max_requests": 0,
        "preload_app": False,
        "control_socket_disable": True,
        "worker_tmp_dir": str(memory) if os.access(memory, os.W_OK) else None,
        "logger_class": Log,
        "forwarded_allow_ips": "",  # edge/address.py alone judges forwarding headers
        "proc_name": "switchboard",
    }


def _after_fork(_arbiter: Arbiter, _worker: Worker) -> None:
    die_with_parent(signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
