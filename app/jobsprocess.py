"""The background jobs, in a process of their own: a child of the supervisor."""

from __future__ import annotations

import os
import signal
import sys
import threading
from types import FrameType

from app import logs, measuring, parts
from app.db.direct import dial
from app.db.listener import Listener
from app.settings import Settings
from app.transactions.pruning import Retention
from jobs import runner


def main(argv: list[str]) -> int:
    """Run the jobs until SIGTERM, logging from level argv[0] on."""
    logs.configure(argv[0])
    settings = Settings.from_environment(os.environ)
    stop = threading.Event()

    def ask(_number: int, _frame: FrameType | None) -> None:
        stop.set()

    signal.signal(signal.SIGTERM, ask)
    urls = parts.urls_of(settings)
    key, rules = parts.key_of(settings), parts.hook_rules(settings)
    with parts.open_database(urls, key, size=parts.JOBS_POOL_SIZE, hooks=rules) as database:
        database.counters.attach(measuring.join(os.environ, "jobs"))
        listener = Listener(dial(urls.direct))
        listener.start()
        leader = dial(urls.direct, server_keepalives=True)
        caps = Retention(
            events_per_owner=settings.retention_events_per_owner,
            todos_per_owner=settings.retention_todos_per_owner,
        )
        try:
            runner.run(database, listener, leader, stop, caps)
        finally:
            listener.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
