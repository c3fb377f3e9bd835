"""A real HTTPS receiver of notify hooks, with a certificate authority of its own.

It keeps what came, answers as it is told, and checks signatures with the stock library of the
Standard Webhooks. Whoever trusts `receiver.authority` (SSL_CERT_FILE) may call it.
"""

from __future__ import annotations

import json
import ssl
import threading
import time
from collections import defaultdict, deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from standardwebhooks import Webhook

DEFAULT = 204


@dataclass(frozen=True, slots=True)
class Received:
    """One call: where to, what it said, and when by the monotonic clock of this process."""

    path: str
    headers: dict[str, str]
    body: bytes
    at: float

    @property
    def json(self) -> dict[str, object]:
        """The body as a JSON object."""
        parsed = json.loads(self.body)
        assert isinstance(parsed, dict)
        return parsed

    def verified(self, secret: str) -> dict[str, object]:
        """The body, once the stock library has found it signed with `secret`; else it raises."""
        Webhook(secret).verify(self.body, self.headers)
        return self.json


class Receiver:
    """The receiver as a test sees it."""

    def __init__(self, port: int, authority: Path) -> None:
        self.port = port
        self.authority = authority
        self.calls: list[Received] = []
        self._scripts: dict[str, deque[int]] = defaultdict(deque)
        self._lasting: dict[str, int] = {}

    def url(self, path: str = "/wake") -> str:
        """Where a hook calls it."""
        return f"https://localhost:{self.port}{path}"

    def answer(self, path: str, *statuses: int) -> None:
        """Answers the next calls of a path so, and then 204 again."""
        self._scripts[path].extend(statuses)

    def always(self, path: str, status: int) -> None:
        """Answers every call of a path so."""
        self._lasting[path] = status

    def of(self, path: str) -> list[Received]:
        """The calls of one path, in the order they came."""
        return [call for call in self.calls if call.path == path]

    def next_status(self, path: str) -> int:
        """What the call that came now is answered."""
        script = self._scripts[path]
        return script.popleft() if script else self._lasting.get(path, DEFAULT)


@contextmanager
def receiving(folder: Path, *, names: tuple[str, ...] = ("localhost", "127.0.0.1")
              ) -> Iterator[Receiver]:
    """A receiver on the loopback address for the length of the block."""
    authority, chain = make_certificates(folder, names)
    server = _Server(("127.0.0.1", 0), _Door)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(chain)
    # The greeting belongs to the thread of the connection, not to the one that accepts.
    server.socket = context.wrap_socket(server.socket, server_side=True,
                                        do_handshake_on_connect=False)
    server.receiver = Receiver(server.server_port, authority)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield server.receiver
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def make_certificates(folder: Path, names: tuple[str, ...]) -> tuple[Path, Path]:
    """An authority's certificate, and a key with a certificate of it for these names."""
    ours, theirs = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    issuer = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Tests")])
    top = (_certificate(issuer, issuer, ours.public_key())
           .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
           .sign(ours, hashes.SHA256()))
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "receiver")])
    spelled = x509.SubjectAlternativeName([_name(text) for text in names])
    leaf = (_certificate(issuer, subject, theirs.public_key())
            .add_extension(spelled, critical=False).sign(ours, hashes.SHA256()))
    authority, chain = folder / "authority.pem", folder / "receiver.pem"
    authority.write_bytes(top.public_bytes(serialization.Encoding.PEM))
    chain.write_bytes(
        theirs.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
                             serialization.NoEncryption())
        + leaf.public_bytes(serialization.Encoding.PEM))
    return authority, chain


def _certificate(issuer: x509.Name, subject: x509.Name, key: ec.EllipticCurvePublicKey
                 ) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (x509.CertificateBuilder().issuer_name(issuer).subject_name(subject).public_key(key)
            .serial_number(x509.random_serial_number()).not_valid_before(now - timedelta(days=1))
            .not_valid_after(now + timedelta(days=1)))


def _name(text: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(text))
    except ValueError:
        return x509.DNSName(text)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    receiver: Receiver

    def handle_error(self, request: object, client_address: object) -> None:
        """A caller that does not trust us, or goes away, is no news."""


class _Door(BaseHTTPRequestHandler):
    server: _Server
    timeout = 10

    def do_POST(self) -> None:
        receiver = self.server.receiver
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        receiver.calls.append(Received(self.path, {k.lower(): v for k, v in self.headers.items()},
                                       body, time.monotonic()))
        status = receiver.next_status(self.path)
        self.send_response(status)
        if 300 <= status < 400:
            self.send_header("Location", receiver.url("/elsewhere"))
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_GET(self) -> None:
        """What a client that follows a redirect asks."""
        self.do_POST()

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing; a test asks for calls."""
