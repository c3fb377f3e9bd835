"""JSON from strangers: strict where a caller speaks to us, lenient where a sender posts to us."""

from __future__ import annotations

import json
import math
from typing import Final

from app.domain.errors import InvalidArgument
from app.domain.values import Json

DEEPEST = 64
LONGEST_INTEGER = 400  # digits; beyond it no double and no column of ours holds the number
_BODY = "The request body"
_TOO_DEEP = "The request body is nested too deeply."


class _NotJson:
    """The answer of parse_lenient when the bytes are not JSON that the store can hold."""


NOT_JSON: Final = _NotJson()


class _Refused(Exception):
    """A JSON text that we do not take, with the sentence that says why and the key, if known."""

    def __init__(self, sentence: str, field: str | None = None) -> None:
        super().__init__(sentence)
        self.field = field


def parse_object(data: bytes) -> dict[str, Json]:
    """Parse a request body into a JSON object.

    UTF-8 only, no duplicate keys, no NUL or lone surrogate, finite numbers, at most 64 levels.
    Raises InvalidArgument.
    """
    value = _parse(data, strict=True)
    if isinstance(value, dict):
        return value
    raise InvalidArgument("The request body must be a JSON object.")


def parse_text(text: str, *, name: str) -> Json:
    """Parse JSON a person typed, as strictly as a body; any value. `name` begins each sentence.

    Raises InvalidArgument, which says where the text stops being JSON.
    """
    try:
        return _parse(text.encode("utf-8", "surrogatepass"), strict=True)
    except InvalidArgument as wrong:
        raise InvalidArgument(wrong.sentence.replace(_BODY, name) + _place(text)) from None


def parse_lenient(data: bytes) -> Json | _NotJson:
    """Parse a delivery's body; NOT_JSON when it is not JSON or cannot be stored (ingest.md)."""
    try:
        return _parse(data, strict=False)
    except InvalidArgument:
        return NOT_JSON


def dumps(value: Json) -> str:
    """Write a value as compact JSON; never NaN or Infinity."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _place(text: str) -> str:
    """Where the text stops being JSON, as one more sentence; empty when it is JSON."""
    try:
        json.loads(text)
    except json.JSONDecodeError as wrong:
        return f" See line {wrong.lineno}, column {wrong.colno}: {wrong.msg.lower()}."
    except (ValueError, RecursionError):
        return ""
    return ""


def _parse(data: bytes, *, strict: bool) -> Json:
    try:
        value: Json = json.loads(
            data.decode("utf-8"),
            object_pairs_hook=_no_duplicates if strict else dict,
            parse_constant=_no_constant,
            parse_float=_finite,
            parse_int=_short,
        )
        _check_all(value)
    except _Refused as wrong:
        raise InvalidArgument(str(wrong), field=wrong.field) from None
    except UnicodeDecodeError:
        raise InvalidArgument("The request body must be UTF-8.") from None
    except RecursionError:
        raise InvalidArgument(_TOO_DEEP) from None
    except ValueError:
        raise InvalidArgument("The request body is not valid JSON.") from None
    return value


def _check_all(value: Json) -> None:
    """Check every part; a fault below a key of the body names that key."""
    if not isinstance(value, dict):
        _check(value, DEEPEST)
        return
    for key, item in value.items():
        try:
            _check_text(key)
            _check(item, DEEPEST - 1)
        except _Refused as wrong:
            field = key if key.isprintable() else None
            raise _Refused(str(wrong), field) from None


def _no_duplicates(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    found: dict[str, Json] = {}
    for key, value in pairs:
        if key in found:
            field = key if key.isprintable() else None
            raise _Refused("The request body names a key twice.", field)
        found[key] = value
    return found


def _no_constant(name: str) -> Json:
    raise _Refused(f"The request body contains {name}, which is not JSON.")


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise _Refused("The request body contains a number that is too large.")
    return number


def _short(digits: str) -> int:
    if len(digits) > LONGEST_INTEGER:
        raise _Refused("The request body contains a number that is too large.")
    return int(digits)


def _check(value: Json, levels: int) -> None:
    if levels == 0:
        raise _Refused(_TOO_DEEP)
    if isinstance(value, str):
        _check_text(value)
    elif isinstance(value, list):
        for item in value:
            _check(item, levels - 1)
    elif isinstance(value, dict):
        for key, item in value.items():
            _check_text(key)
            _check(item, levels - 1)


def _check_text(text: str) -> None:
    if "\x00" in text:
        raise _Refused("The request body contains a NUL character.")
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        raise _Refused("The request body contains a lone surrogate.")
