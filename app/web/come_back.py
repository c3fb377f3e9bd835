"""Where a person was on the way to when they had to sign in first.

The path travels in a cookie that is sealed with the server's key, is good for ten minutes and goes
only to the addresses that sign in. Only pages named here can be in it: nobody is ever led to an
address somebody else chose.
"""

from __future__ import annotations

import json
from datetime import timedelta
from urllib.parse import urlsplit

from flask import Response, request

from app.edge.deps import database, state
from app.edge.oauth import AUTHORIZE
from app.edge.sealed import open_sealed, seal
from app.reads import instants

COOKIE = "sb_come_back"
LIFETIME = timedelta(minutes=10)
PAGES = (AUTHORIZE,)
BELOW = "/invites/"

_HOME = "/"
_PATH = "/auth"
# Sealed and in base64 it stays below the 4096 bytes that browsers keep of one cookie.
_LONGEST = 2800


def remember(response: Response) -> Response:
    """Note the address of this request, to be led to after signing in. One that is too long for a
    cookie is not noted: the person then finds the board, and asks their app again.
    """
    query = request.query_string.decode("ascii", "replace")
    path = f"{request.path}?{query}" if query else request.path
    if len(path) > _LONGEST or not _is_ours(path):
        return response
    ends_at = instants.now(database()) + LIFETIME
    note = seal(json.dumps({"path": path, "ends_at": ends_at.timestamp()}), COOKIE)
    return _with_note(response, note, max_age=int(LIFETIME.total_seconds()))


def target() -> str:
    """The path to go to after signing in: the one noted in the last ten minutes, or the board."""
    opened = open_sealed(request.cookies.get(COOKIE, ""), COOKIE)
    if opened is None:
        return _HOME
    note: dict[str, str | float] = json.loads(opened)
    path, ends_at = str(note["path"]), float(note["ends_at"])
    is_late = ends_at < instants.now(database()).timestamp()
    return path if _is_ours(path) and not is_late else _HOME


def forget(response: Response) -> Response:
    """Have the browser drop the note, when it sent one: it serves one sign-in."""
    return _with_note(response, "", max_age=0) if COOKIE in request.cookies else response


def _is_ours(path: str) -> bool:
    parts = urlsplit(path)
    is_named = parts.path in PAGES or parts.path.startswith(BELOW)
    return not (parts.scheme or parts.netloc) and is_named


def _with_note(response: Response, note: str, *, max_age: int) -> Response:
    response.set_cookie(
        COOKIE,
        note,
        max_age=max_age,
        path=_PATH,
        secure=state().config.is_https,
        httponly=True,
        samesite="Lax",
    )
    return response
