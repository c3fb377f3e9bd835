"""A small OpenID Connect provider in a process of its own, honest until a test tells it not to be.

It keeps the protocol strictly (registered redirect URI, one-time codes, PKCE, client secret), so
that a client that is careless with any of them does not get in. `python -m tests.support.provider`
prints its port. `POST /mood` sets what it does wrong; `GET /counts` says what it was asked.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import urllib3
from joserfc import jwt
from joserfc.jwk import RSAKey

CLIENT_ID = "switchboard"
CLIENT_SECRET = "a secret/with+signs"
REDIRECT = "http://localhost/auth/callback"
PERSON = {"sub": "ana-1", "name": "Ana Ng", "email": "ana@example.org", "email_verified": True,
          "groups": ["night", "day"]}  # fmt: skip
_http = urllib3.PoolManager(retries=False, timeout=20)


class Provider:
    """The process as a test sees it."""

    def __init__(self, port: int) -> None:
        self.issuer = f"http://127.0.0.1:{port}"

    def mood(self, **changes: object) -> None:
        """Replaces what it does wrong; without arguments it is honest again."""
        answer = _http.request("POST", f"{self.issuer}/mood", json=changes)
        assert answer.status == 204, answer.data

    def counts(self) -> dict[str, int]:
        """How often each path was asked since it started."""
        found: dict[str, int] = _http.request("GET", f"{self.issuer}/counts").json()
        return found

    def visit(self, url: str) -> str:
        """A browser's visit that ends in a redirect: where to."""
        answer = _http.request("GET", url, redirect=False)
        assert answer.status == 302, answer.data
        return answer.headers["Location"]


@contextmanager
def running() -> Iterator[Provider]:
    """A provider's process for the length of the block."""
    command = [sys.executable, "-m", "tests.support.provider"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield Provider(int(process.stdout.readline()))
        finally:
            process.kill()


class _Minds:
    """What the process knows: its keys, its codes, its mood."""

    def __init__(self) -> None:
        self.keys = [RSAKey.generate_key(2048, {"kid": "first"})]
        self.rogue = RSAKey.generate_key(2048, {"kid": "first"})
        self.codes: dict[str, dict[str, str]] = {}
        self.mood: dict[str, Any] = {}
        self.counts: Counter[str] = Counter()
        self.issuer = ""

    def discovery(self) -> dict[str, Any]:
        return {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "jwks_uri": f"{self.issuer}/keys",
            "id_token_signing_alg_values_supported": ["RS256"],
        } | self.mood.get("discovery", {})

    def id_token(self, asked: dict[str, str], access_token: str) -> str:
        now = int(time.time()) + self.mood.get("clock", 0)
        half = hashlib.sha256(access_token.encode()).digest()[:16]
        claims = {
            "iss": self.issuer, "aud": CLIENT_ID, "iat": now, "exp": now + 300,
            "nonce": asked["nonce"], "at_hash": base64.urlsafe_b64encode(half).decode().rstrip("="),
            **PERSON, **self.mood.get("claims", {}),
        }  # fmt: skip
        claims = {name: value for name, value in claims.items() if value is not None}
        return self._signed(claims)

    def _signed(self, claims: dict[str, Any]) -> str:
        how = self.mood.get("sign", "honestly")
        if how == "none":
            parts = [{"alg": "none", "typ": "JWT"}, claims]
            return ".".join([*(_base64(json.dumps(part).encode()) for part in parts), ""])
        if how == "shared":
            head = _base64(json.dumps({"alg": "HS256", "kid": self.keys[-1].kid}).encode())
            head += "." + _base64(json.dumps(claims).encode())
            public = self.keys[-1].as_pem(private=False)
            return f"{head}.{_base64(hmac.digest(public, head.encode(), 'sha256'))}"
        key = self.rogue if how == "rogue" else self.keys[-1]
        return jwt.encode({"alg": "RS256", "kid": key.kid}, claims, key)


class _Door(BaseHTTPRequestHandler):
    minds = _Minds()

    def do_GET(self) -> None:
        minds, url = self.minds, urlsplit(self.path)
        minds.counts[url.path] += 1
        if url.path == "/.well-known/openid-configuration":
            self._answer("described", minds.discovery())
        elif url.path == "/keys":
            self._answer("keys", {"keys": [key.as_dict(private=False) for key in minds.keys]})
        elif url.path == "/authorize":
            self._authorize(dict(parse_qsl(url.query)))
        else:
            self._send(200, json.dumps(minds.counts).encode())

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.minds.counts[self.path] += 1
        if self.path == "/mood":
            self.minds.mood = json.loads(body)
            if self.minds.mood.get("new_key"):
                self.minds.keys = [RSAKey.generate_key(2048, {"kid": secrets.token_hex(4)})]
            self._send(204, b"")
        else:
            self._trade(dict(parse_qsl(body.decode())))

    def _authorize(self, asked: dict[str, str]) -> None:
        expected = {"client_id": CLIENT_ID, "redirect_uri": REDIRECT, "response_type": "code",
                    "code_challenge_method": "S256"}  # fmt: skip
        wrong = {name: asked.get(name) for name in expected if asked.get(name) != expected[name]}
        missing = {"state", "nonce", "code_challenge"} - asked.keys()
        if wrong or missing or "openid" not in asked.get("scope", "").split():
            self._send(400, f"wrong {wrong}, missing {missing}".encode())
            return
        code = secrets.token_urlsafe(16)
        self.minds.codes[code] = asked
        answer = {"state": asked["state"]} | (self.minds.mood.get("answer") or {"code": code})
        self.send_response(302)
        self.send_header("Location", f"{REDIRECT}?{urlencode(answer)}")
        self.end_headers()

    def _trade(self, form: dict[str, str]) -> None:
        asked = self.minds.codes.pop(form.get("code", ""), None)
        if not self._is_client(form):
            self._send(401, b'{"error": "invalid_client"}')
            return
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        is_ours = asked is not None and asked["code_challenge"] == _base64(digest)
        if asked is None or not is_ours or form.get("redirect_uri") != REDIRECT:
            self._send(400, b'{"error": "invalid_grant"}')
            return
        access = secrets.token_urlsafe(16)
        self._answer("token", {"access_token": access, "token_type": "Bearer", "expires_in": 300,
                               "id_token": self.minds.id_token(asked, access),
                               **self.minds.mood.get("token_members", {})})  # fmt: skip

    def _is_client(self, form: dict[str, str]) -> bool:
        basic = base64.b64encode(f"{CLIENT_ID}:{CLIENT_SECRET}".encode()).decode()
        secret = form.get("client_secret")
        return (self.headers.get("Authorization"), form.get("client_id"), secret) == {
            "basic": (f"Basic {basic}", None, None), "post": (None, CLIENT_ID, CLIENT_SECRET),
            "public": (None, CLIENT_ID, None),
        }[self.minds.mood.get("client", "basic")]  # fmt: skip

    def _answer(self, name: str, honest: dict[str, Any]) -> None:
        status, text = self.minds.mood.get(name, [200, json.dumps(honest)])
        if text == "huge":
            text = "[" * 300_000
        if text == "silence":
            time.sleep(8)
        self._send(status, text.encode())

    def _send(self, status: int, body: bytes) -> None:
        self.send_response(status)
        if 300 <= status < 400:
            self.send_header("Location", f"{self.minds.issuer}/keys")
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing; a test asks for counts."""


def _base64(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def _serve() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Door)
    _Door.minds.issuer = f"http://127.0.0.1:{server.server_port}"
    sys.stdout.write(f"{server.server_port}\n")
    sys.stdout.flush()
    server.serve_forever()


if __name__ == "__main__":
    _serve()
