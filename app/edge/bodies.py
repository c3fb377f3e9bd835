"""A request's body, bounded before it is read and parsed without mercy."""

from __future__ import annotations

import logging

from flask import request

from app.domain import strictjson
from app.domain.errors import InvalidArgument, TooLarge, UnsupportedMediaType
from app.domain.values import Json

log = logging.getLogger(__name__)


def json_body(limit_bytes: int) -> dict[str, Json]:
    """The request's JSON object, of at most `limit_bytes` bytes.

    Raises TooLarge (413), UnsupportedMediaType (415), InvalidArgument (400): not JSON, not an
    object, or JSON that Postgres could not hold (agent-api.md, "Transport").
    """
    return strictjson.parse_object(json_bytes(limit_bytes))


def json_bytes(limit_bytes: int) -> bytes:
    """The request's body, unparsed, once its size and type are right; raises as `json_body`.

    For doors that must ask who may do this before they judge what was sent (R57).
    """
    if request.mimetype != "application/json":
        _refuse_declared_size(limit_bytes)
        raise UnsupportedMediaType
    return body_bytes(limit_bytes)


def body_bytes(limit_bytes: int) -> bytes:
    """The request's raw body, never more than one byte past `limit_bytes` read of it.

    A declared size over the limit is refused before anything is read; a chunked body declares
    none and is counted while it is read. Raises TooLarge, and InvalidArgument when the body
    cannot be read to its end.
    """
    _refuse_declared_size(limit_bytes)
    request.max_content_length = limit_bytes + 1
    data = _read_all()
    if len(data) > limit_bytes:
        raise TooLarge
    return data


def allow(body: dict[str, Json], *keys: str) -> None:
    """Refuse the first key of `body` that is none of `keys`, naming it (README.md)."""
    for key in body:
        if key not in keys:
            raise InvalidArgument(f"Unknown key: {key[:100]}.", field=key)


def _refuse_declared_size(limit_bytes: int) -> None:
    if request.content_length is not None and request.content_length > limit_bytes:
        raise TooLarge


def _read_all() -> bytes:
    try:
        data = request.get_data(cache=False)
    except Exception as error:
        # The server parses chunks while we read and raises types of its own for a broken one;
        # whatever it is, the body never arrived whole, so nothing was asked of us.
        log.debug("body_unreadable error=%s", type(error).__name__)
        raise InvalidArgument("The body could not be read to its end.") from error
    # A connection that ends early ends the stream without an error: only the length tells.
    if request.content_length is not None and len(data) < request.content_length:
        log.debug("body_unreadable error=CutShort")
        raise InvalidArgument("The body could not be read to its end.")
    return data
