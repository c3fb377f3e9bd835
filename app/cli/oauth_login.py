"""Logging in through a browser: register, ask, wait at the loopback door, trade the code in."""

from __future__ import annotations

import base64
import hashlib
import platform
import secrets
import subprocess
import sys
import threading
from collections.abc import Mapping
from urllib.parse import urlencode

from app.cli import grants
from app.cli.credentials import Credentials
from app.cli.oauth_discovery import (
    Provider,
    discover,
    posted_form,
    posted_json,
    reason,
    refused,
)
from app.cli.oauth_loopback import listening
from app.cli.output import Failure, note
from app.domain.values import Json

WAIT_SECONDS = 300.0
_NAME_LIMIT = 60
_ID_LIMIT = 512
_OPENS = "import sys, webbrowser; sys.exit(not webbrowser.open(sys.argv[1]))"
_STANDARD_ERROR = 2


def sign_in(url: str, *, opens: bool) -> Credentials:
    """Get an operator grant of the server at `url` with its person's consent.

    The address to open is always printed; with `opens` a browser is started too. Raises Failure
    when the server or the person refuses, when nobody answers in time, or when the answer is not
    the server's own (RFC 9207).
    """
    provider = discover(url)
    state, verifier = secrets.token_urlsafe(32), secrets.token_urlsafe(48)
    try:
        with listening(state) as door:
            client_id = _registered(provider, door.redirect_uri)
            address = _address(provider, client_id, door.redirect_uri, state, verifier)
            note("Log in at this address:")
            note(address)
            if opens:
                threading.Thread(target=_open, args=(address,), daemon=True).start()
            came = door.wait(WAIT_SECONDS)
            redirect_uri = door.redirect_uri
    except OSError as error:
        raise Failure(f"No port of this machine is free to come back to: {error}") from error
    code = _code(provider, came)
    return _traded(provider, client_id, redirect_uri, code, verifier)


def challenge(verifier: str) -> str:
    """The S256 challenge of a PKCE verifier (RFC 7636)."""
    digest = hashlib.sha256(verifier.encode()).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def _registered(provider: Provider, redirect_uri: str) -> str:
    """The id of a new public client (RFC 7591)."""
    answer = posted_json(provider.register_url, {
        "client_name": _client_name(),
        "redirect_uris": [redirect_uri],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
    })  # fmt: skip
    client_id: Json = answer.body.get("client_id")
    if answer.status not in (200, 201) or not isinstance(client_id, str):
        raise refused(f"{provider.url} did not register this command: {reason(answer)}", answer)
    if not 0 < len(client_id) <= _ID_LIMIT:
        raise Failure(f"{provider.url} registered this command under no usable name.")
    return client_id


def _client_name() -> str:
    machine = "".join(char for char in platform.node() if char.isascii() and char.isprintable())
    return f"switchboard on {machine}"[:_NAME_LIMIT] if machine else "switchboard"


def _address(
    provider: Provider, client_id: str, redirect_uri: str, state: str, verifier: str
) -> str:
    asked = urlencode({
        "response_type": "code", "client_id": client_id, "redirect_uri": redirect_uri,
        "state": state, "code_challenge": challenge(verifier), "code_challenge_method": "S256",
        "resource": provider.resource,
    })  # fmt: skip
    joint = "&" if "?" in provider.authorize_url else "?"
    return f"{provider.authorize_url}{joint}{asked}"


def browse(address: str) -> bool:
    """Open an address in a browser of this machine; whether one could be started.

    In a process of its own: a browser may print what it likes, and our standard output is the
    answer's alone.
    """
    opening = [sys.executable, "-I", "-c", _OPENS, address]
    try:
        return subprocess.run(opening, stdout=_STANDARD_ERROR, check=False).returncode == 0
    except OSError:
        return False


def _open(address: str) -> None:
    if not browse(address):
        note("No browser could be started here; open the address yourself, on this machine.")


def _code(provider: Provider, came: Mapping[str, str] | None) -> str:
    if came is None:
        raise Failure(f"Nobody answered in the browser within {WAIT_SECONDS / 60:.0f} minutes, so"
                      " nobody is logged in; run `switchboard login` again.")  # fmt: skip
    if came.get("iss") != provider.issuer:
        raise Failure(f"The browser came back with an answer that is not of {provider.url};"
                      " nothing was saved.")  # fmt: skip
    error = came.get("error")
    if error == "access_denied":
        raise Failure("Access was denied in the browser; nobody is logged in.")
    code = came.get("code")
    if error is not None or not code:
        said = came.get("error_description") or error or "it sent no code"
        raise Failure(f"{provider.url} refused the login: {said}")
    return code


def _traded(
    provider: Provider, client_id: str, redirect_uri: str, code: str, verifier: str
) -> Credentials:
    answer = posted_form(provider.token_url, {
        "grant_type": "authorization_code", "code": code, "redirect_uri": redirect_uri,
        "client_id": client_id, "code_verifier": verifier, "resource": provider.resource,
    })  # fmt: skip
    if answer.status != 200:
        raise refused(f"{provider.url} refused the login: {reason(answer)}", answer)
    return grants.granted(
        answer, url=provider.url, client_id=client_id, token_url=provider.token_url,
        revoke_url=provider.revoke_url,
    )  # fmt: skip
