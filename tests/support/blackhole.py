"""A TCP proxy before Postgres that can stand still: it takes every byte and passes nothing on."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from psycopg.conninfo import conninfo_to_dict, make_conninfo


class Proxy:
    """Forwards connections to one database; `url` leads through it."""

    def __init__(self, url: str) -> None:
        self._far = conninfo_to_dict(url)
        self._door = socket.create_server(("127.0.0.1", 0))
        self._holes: list[threading.Event] = [threading.Event()]
        self._sockets: list[socket.socket] = []
        port = self._door.getsockname()[1]
        self.url = make_conninfo(url, host="127.0.0.1", hostaddr="127.0.0.1", port=port)
        self.connections = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def stand_still(self) -> None:
        """What is connected now hears nothing more; new connections are served."""
        hole = self._holes[-1]
        self._holes.append(threading.Event())
        hole.set()

    def close(self) -> None:
        """End everything."""
        self._door.close()
        for each in self._sockets:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._door.accept()
            except OSError:
                return
            far = self._reach()
            self.connections += 1
            self._sockets += [near, far]
            hole = self._holes[-1]
            for source, target in ((near, far), (far, near)):
                threading.Thread(
                    target=_pump, args=(source, target, hole), daemon=True).start()

    def _reach(self) -> socket.socket:
        host, port = str(self._far.get("host", "127.0.0.1")), str(self._far.get("port", 5432))
        if host.startswith("/"):
            far = socket.socket(socket.AF_UNIX)
            far.connect(f"{host}/.s.PGSQL.{port}")
            return far
        return socket.create_connection((host, int(port)))


def _pump(source: socket.socket, target: socket.socket, hole: threading.Event) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            if not hole.is_set():
                target.sendall(data)
        if not hole.is_set():
            target.shutdown(socket.SHUT_RDWR)


@contextmanager
def proxied(url: str) -> Iterator[Proxy]:
    """A proxy for the length of a block."""
    proxy = Proxy(url)
    try:
        yield proxy
    finally:
        proxy.close()
