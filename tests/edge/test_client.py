"""Has the client gone? Asked of real sockets, plain and under TLS."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator

import pytest
from flask import Flask, request

from app.edge import client

Pair = tuple[socket.socket, socket.socket]


@pytest.fixture(params=["unix", "tcp"])
def pair(request: pytest.FixtureRequest) -> Iterator[Pair]:
    """Our end and the client's."""
    ours, theirs = socket.socketpair() if request.param == "unix" else _tcp_pair()
    yield ours, theirs
    ours.close()
    theirs.close()


def _tcp_pair() -> Pair:
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        door.listen()
        theirs = socket.create_connection(door.getsockname())
        ours, _ = door.accept()
        return ours, theirs


def test_a_client_that_waits_is_there(pair: Pair) -> None:
    assert not client.is_closed(pair[0])


def test_a_client_that_closed_is_gone(pair: Pair) -> None:
    pair[1].close()

    assert client.is_closed(pair[0])


def test_bytes_of_a_next_request_do_not_read_as_gone_and_stay_unread(pair: Pair) -> None:
    pair[1].sendall(b"GET / HTTP/1.1\r\n")

    assert not client.is_closed(pair[0])
    assert pair[0].recv(64) == b"GET / HTTP/1.1\r\n"
    assert not client.is_closed(pair[0])


def test_a_client_that_sent_more_and_then_closed_is_gone(pair: Pair) -> None:
    pair[1].sendall(b"GET / HTTP/1.1\r\n")
    pair[1].close()

    # Only Linux can tell; elsewhere the waiting bytes hide the end, which is the safe side.
    assert client.is_closed(pair[0]) is hasattr(client.select, "POLLRDHUP")


def test_a_connection_that_was_reset_is_gone() -> None:
    ours, theirs = _tcp_pair()
    theirs.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    theirs.close()

    assert client.is_closed(ours)
    ours.close()
    assert client.is_closed(ours)


@pytest.mark.parametrize("timeout", [None, 0.0, 30.0])
def test_the_look_never_blocks_whatever_the_socket_mode(pair: Pair, timeout: float | None) -> None:
    pair[0].settimeout(timeout)

    assert not client.is_closed(pair[0])


def test_a_request_asks_the_socket_its_server_shows(pair: Pair) -> None:
    with Flask(__name__).test_request_context(environ_overrides={"gunicorn.socket": pair[0]}):
        watcher = client.watcher(request.environ)
        assert not client.is_gone()
        pair[1].close()
        assert client.is_gone()

    assert watcher()


def test_without_a_socket_nobody_is_gone() -> None:
    with Flask(__name__).test_request_context():
        assert not client.is_gone()


def test_a_stream_waits_neither_for_a_reader_nor_for_a_host_that_is_gone(pair: Pair) -> None:
    client.bound_sends({"gunicorn.socket": pair[0]}, 0.1)

    with pytest.raises(TimeoutError):
        pair[0].sendall(b"x" * 64 * 2**20)  # more than any buffer holds
    if pair[0].family == socket.AF_INET and hasattr(socket, "TCP_USER_TIMEOUT"):
        heard = pair[0].getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT)
        assert heard == 30_000
    client.bound_sends({})
