"""The agent door over a real server: bodies in chunks, and clients that leave while they wait."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator

import pytest

from tests.support.make import Make
from tests.support.servers import Fleet, Server, agent
from tests.support.wait import wait_for

MEGABYTE = 1024 * 1024


@pytest.fixture
def server(fleet: Fleet) -> Server:
    return fleet.add()


@pytest.fixture
def make(fleet: Fleet) -> Make:
    return fleet.make


class Wire:
    """A raw connection to the server, speaking for one endpoint."""

    def __init__(self, server: Server, token: str) -> None:
        """Connects."""
        self._socket = socket.create_connection(("127.0.0.1", server.port), 20)
        self._socket.settimeout(20)
        self._token = token

    def ask(self, verb: str, body: bytes, *headers: str) -> None:
        """Sends a request whose body is exactly these bytes."""
        lines = [f"POST /agent/v1/{verb} HTTP/1.1", "Host: localhost", "Connection: close",
                 "Content-Type: application/json", f"Authorization: Bearer {self._token}", *headers]
        self._socket.sendall("\r\n".join([*lines, "", ""]).encode() + body)

    def end(self) -> None:
        """Says that nothing more will be sent, and keeps listening."""
        self._socket.shutdown(socket.SHUT_WR)

    def status(self) -> int:
        """The status of the answer; 0 when there was none."""
        said = b"".join(self._pieces())
        return int(said.split(b" ", 2)[1]) if said else 0

    def leave(self) -> None:
        """Closes without waiting for an answer."""
        self._socket.close()

    def _pieces(self) -> Iterator[bytes]:
        with self._socket:
            while piece := self._socket.recv(65_536):
                yield piece


def chunk(data: bytes) -> bytes:
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


CHUNKED = "Transfer-Encoding: chunked"


def test_chunked_bodies_are_read_bounded_and_refused_like_others(
    server: Server, make: Make
) -> None:
    token = make.credential(make.endpoint())

    def status(body: bytes, *headers: str, ends: bool = False) -> int:
        wire = Wire(server, token)
        wire.ask("list_todos", body, *headers)
        if ends:
            wire.end()
        return wire.status()

    assert status(chunk(b'{"limit"') + chunk(b":1}") + chunk(b""), CHUNKED) == 200
    assert status(chunk(b" " * (MEGABYTE + 1)) + chunk(b""), CHUNKED) == 413
    assert status(b"zz\r\n{}\r\n0\r\n\r\n", CHUNKED) == 400
    assert status(b"2\r\n{}0\r\n\r\n", CHUNKED) == 400
    assert status(b"2\r\n{}\r\n0\r\nbad trailer\r\n\r\n", CHUNKED) == 400
    assert status(b"", f"Content-Length: {MEGABYTE + 1}") == 413
    assert status(b"5\r\n{", CHUNKED, ends=True) in (0, 400)
    assert status(b"{", "Content-Length: 10", ends=True) in (0, 400)
    assert agent(server.url, token).call("whoami").status == 200


def test_a_client_that_leaves_while_it_waits_claims_nothing(server: Server, make: Make) -> None:
    endpoint = make.endpoint()
    token = make.credential(endpoint)
    body = json.dumps({"wait_seconds": 30}).encode()
    wire = Wire(server, token)
    wire.ask("claim_next", body, f"Content-Length: {len(body)}")
    wait_for(lambda: make.value("select last_seen_at from endpoints where id = %s", endpoint.id),
             what="the call came in")
    wire.leave()

    todo = make.todo(endpoint)
    make.run("select pg_notify('queue_changed', %s)",
             json.dumps({"ready": [int(make.queue_id(endpoint))]}))
    found = agent(server.url, token).call("claim_next", wait_seconds=20)

    assert found.json["todo"]["id"] == todo
    assert found.json["attempts_total"] == 1
    assert len(make.attempts(todo)) == 1
