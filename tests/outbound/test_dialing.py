"""One attempt against real sockets: whom we dial, whom we trust, and when it ends."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from AntiSSRF import IPAddressRanges

from app.domain.addresses import AddressRules, parse_networks
from app.domain.hooks import Failure, HookRules, Verdict
from app.outbound.dialing import Dialer
from tests.support.receiver import Receiver, receiving

LOOPBACK = HookRules(addresses=AddressRules(allowed=parse_networks(["127.0.0.0/8", "::1"])))


@pytest.fixture
def receiver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    """A receiver that this process trusts."""
    with receiving(tmp_path) as made:
        monkeypatch.setenv("SSL_CERT_FILE", str(made.authority))
        yield made


def post(url: str, rules: HookRules = LOOPBACK, *, seconds: float = 5.0) -> Verdict:
    """One attempt."""
    return Dialer(rules, seconds=seconds).post(url, {"Webhook-Id": "msg_1"}, b'{"a":1}')


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[list[str]]]:
    """What names resolve to, question by question; the last answer is given for ever."""
    answers: dict[str, list[list[str]]] = {}
    real = socket.getaddrinfo

    def resolve(host: str, port: int, *args: Any, **kwargs: Any) -> list[Any]:
        if host not in answers:
            return real(host, port, *args, **kwargs)
        found = answers[host].pop(0) if len(answers[host]) > 1 else answers[host][0]
        return [each for address in found
                for each in real(address, port, type=socket.SOCK_STREAM)]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    return answers


def test_a_call_arrives_as_it_was_sent(receiver: Receiver) -> None:
    assert post(receiver.url("/wake?k=1&l=%20")) == Verdict(status=204)

    call = receiver.calls[0]
    assert (call.path, call.body) == ("/wake?k=1&l=%20", b'{"a":1}')
    assert call.headers["host"] == f"localhost:{receiver.port}"
    assert call.headers["webhook-id"] == "msg_1"


@pytest.mark.parametrize(("status", "failure"), [
    (200, None), (302, Failure.REDIRECT), (404, Failure.HTTP_STATUS), (503, Failure.HTTP_STATUS),
])
def test_a_status_decides_and_no_redirect_is_followed(
    receiver: Receiver, status: int, failure: Failure | None
) -> None:
    receiver.always("/wake", status)

    assert post(receiver.url()) == Verdict(status=status, failure=failure)
    assert [call.path for call in receiver.calls] == ["/wake"]


def test_a_name_that_the_certificate_does_not_hold_is_refused(
    receiver: Receiver, names: dict[str, list[list[str]]]
) -> None:
    names["other.example"] = [["127.0.0.1"]]

    assert post(f"https://other.example:{receiver.port}/") == Verdict(failure=Failure.TLS)
    assert post(f"https://127.0.0.1:{receiver.port}/") == Verdict(status=204)
    assert len(receiver.calls) == 1


def test_an_authority_nobody_trusts_is_refused(tmp_path: Path) -> None:
    with receiving(tmp_path) as stranger:
        assert post(stranger.url()) == Verdict(failure=Failure.TLS)
        assert stranger.calls == []


def test_proxies_of_the_environment_are_not_asked(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "HTTP_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")

    assert post(receiver.url()) == Verdict(status=204)


# --- where nobody is sent ------------------------------------------------------------------------


@pytest.mark.parametrize("host", [
    "127.0.0.1", "10.0.0.1", "169.254.169.254", "192.168.1.1", "100.64.0.1", "0.0.0.0",
    "224.0.0.1", "255.255.255.255", "[::1]", "[::]", "[fd00::1]", "[fe80::1]", "[ff02::1]",
    "[::ffff:127.0.0.1]", "[::ffff:8.8.8.8]", "[::127.0.0.1]", "[64:ff9b::7f00:1]",
    "[64:ff9b:1::7f00:1]", "[2002:7f00:1::]", "[2001:0:7f00:1::]", "[fec0::1]", "0177.0.0.1",
    "127.1", "2130706433", "0x7f000001", "0x7f.1", "localhost", "127.0.0.1.",
])  # fmt: skip
def test_no_form_of_an_inner_address_is_dialled(host: str) -> None:
    assert post(f"https://{host}/", HookRules()) == Verdict(failure=Failure.REJECTED_SSRF)


@pytest.mark.parametrize("text", IPAddressRanges.recommended_latest)
def test_a_name_that_leads_into_a_refused_range_is_not_dialled(
    names: dict[str, list[list[str]]], text: str
) -> None:
    names["inner.example"] = [["8.8.8.8", text.split("/")[0]]]

    assert post("https://inner.example/", HookRules()) == Verdict(failure=Failure.REJECTED_SSRF)


def test_a_name_is_resolved_once_per_attempt_and_what_was_judged_is_dialled(
    receiver: Receiver, names: dict[str, list[list[str]]]
) -> None:
    names["localhost"] = [["127.0.0.1"], ["169.254.169.254"], ["127.0.0.1"]]

    verdicts = [post(receiver.url()) for _ in range(3)]

    assert [verdict.failure for verdict in verdicts] == [None, Failure.REJECTED_SSRF, None]
    assert len(receiver.calls) == 2


def test_http_is_dialled_only_where_it_is_allowed(tmp_path: Path) -> None:
    def serve(peer: socket.socket) -> None:
        peer.recv(4096)
        peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")

    with peer_that(serve) as port:
        url = f"http://localhost:{port}/"
        allowed = HookRules(allows_http=True, addresses=LOOPBACK.addresses)
        assert post(url) == Verdict(failure=Failure.REJECTED_SSRF)
        assert post(url, allowed) == Verdict(status=200)


def test_our_own_address_and_port_are_never_dialled(receiver: Receiver) -> None:
    ours = HookRules(addresses=AddressRules(allowed=LOOPBACK.addresses.allowed,
                                            own_port=receiver.port))

    assert post(receiver.url(), ours) == Verdict(failure=Failure.REJECTED_SSRF)
    assert receiver.calls == []


# --- when it ends --------------------------------------------------------------------------------


@contextmanager
def peer_that(does: Callable[[socket.socket], object]) -> Iterator[int]:
    """The port of a bare TCP peer that does this with each connection, then closes it."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                peer, _ = listener.accept()
            except OSError:
                return
            with peer, suppress(OSError):
                does(peer)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(5)


def trickle(head: bytes) -> Callable[[socket.socket], None]:
    """Sends a head, then a byte of a header now and then, until the other side has gone."""
    def does(peer: socket.socket) -> None:
        peer.recv(4096)
        peer.sendall(head)
        peer.settimeout(0.05)
        while True:
            peer.sendall(b"x")
            try:
                if peer.recv(4096) == b"":
                    return
            except TimeoutError:
                continue
    return does


def silent(peer: socket.socket) -> None:
    """Takes all and says nothing, until the other side has gone."""
    while peer.recv(4096):
        pass


HTTP = HookRules(allows_http=True, addresses=LOOPBACK.addresses)


@pytest.mark.parametrize(("scheme", "does"), [
    ("http", silent), ("https", silent), ("http", trickle(b"HTTP/1.1 200 OK\r\nA: ")),
    ("http", trickle(b"HTTP/1.1 2")), ("http", trickle(b"HTTP/1.1 100 Continue\r\n\r\n")),
], ids=["silent", "silent in tls", "headers", "status line", "continue"])
def test_a_peer_that_takes_its_time_is_left_when_the_time_is_over(
    scheme: str, does: Callable[[socket.socket], object]
) -> None:
    with peer_that(does) as port:
        began = time.monotonic()
        verdict = post(f"{scheme}://localhost:{port}/", HTTP, seconds=0.5)
        took = time.monotonic() - began

    assert verdict == Verdict(failure=Failure.TIMEOUT)
    assert 0.4 < took < 2


def test_an_endless_answer_is_a_delivery_all_the_same() -> None:
    with peer_that(trickle(b"HTTP/1.1 200 OK\r\n\r\n")) as port:
        assert post(f"http://localhost:{port}/", HTTP, seconds=0.5) == Verdict(status=200)


@pytest.mark.parametrize(("scheme", "answer", "failure"), [
    ("http", b"", Failure.NETWORK), ("http", b"SSH-2.0-x\r\n", Failure.NETWORK),
    ("http", b"HTTP/1.1 999999 x\r\n\r\n", Failure.NETWORK),
    ("http", b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 500 + b"\r\n", Failure.NETWORK),
    ("https", b"", Failure.NETWORK), ("https", b"HTTP/1.1 200 OK\r\n\r\n", Failure.TLS),
])  # fmt: skip
def test_a_peer_that_speaks_something_else(scheme: str, answer: bytes, failure: Failure) -> None:
    def does(peer: socket.socket) -> None:
        peer.recv(4096)
        peer.sendall(answer)

    with peer_that(does) as port:
        assert post(f"{scheme}://localhost:{port}/", HTTP) == Verdict(failure=failure)


def test_a_port_nobody_listens_on_and_a_name_nobody_has(
    names: dict[str, list[list[str]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    names["nobody.example"] = [[]]

    assert post(f"https://localhost:{port}/") == Verdict(failure=Failure.NETWORK)
    assert post("https://nobody.example/") == Verdict(failure=Failure.NETWORK)


def test_the_next_address_is_tried_when_one_takes_no_connection(
    receiver: Receiver, names: dict[str, list[list[str]]]
) -> None:
    names["localhost"] = [["127.0.0.9", "127.0.0.1"]]

    assert post(receiver.url()) == Verdict(status=204)


def test_a_resolver_that_does_not_answer_ends_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    released = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: released.wait(20) and [])

    assert post("https://a.example/", seconds=0.2) == Verdict(failure=Failure.TIMEOUT)
    released.set()
