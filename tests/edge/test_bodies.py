"""Bodies of strangers: bounded before they are read, refused with a sentence, never a 500."""

from __future__ import annotations

import io

import pytest
from flask import Flask

from app.domain.errors import InvalidArgument, TooLarge, UnsupportedMediaType
from app.edge.bodies import allow, body_bytes, json_body

LIMIT = 64


class BrokenChunks(io.RawIOBase):
    """A stream whose parser trips in the middle, with a type of its own."""

    def readinto(self, buffer: object) -> int:
        raise ArithmeticError("a chunk size that is none")


def body(data: bytes, content_type: str = "application/json") -> dict[str, object]:
    with Flask("t").test_request_context(method="POST", data=data, content_type=content_type):
        return dict(json_body(LIMIT))


def chunked(stream: io.IOBase) -> bytes:
    environ = {"wsgi.input": stream, "wsgi.input_terminated": True}
    with Flask("t").test_request_context(method="POST", environ_overrides=environ):
        return body_bytes(LIMIT)


def test_an_object_is_read_whatever_the_charset_says() -> None:
    assert body(b'{"a":1}', "application/json; charset=utf-8") == {"a": 1}


@pytest.mark.parametrize("data", [
    b"", b"[]", b"1", b"null", b"{", b'{"a":1,"a":2}', b'{"a":"\\u0000"}', b'{"a":"\\ud800"}',
    b'{"a":1e400}', b'{"a":NaN}', b'{"a":-Infinity}', b"\xff", b'\xef\xbb\xbf{"a":1}',
    b'{"a":"' + b"\x00" + b'"}',
])
def test_what_is_not_an_object_we_can_store_is_refused(data: bytes) -> None:
    with pytest.raises(InvalidArgument):
        body(data)


def test_deep_nesting_and_endless_digits_are_refused_not_an_accident() -> None:
    for data in (b'{"a":' + b"[" * 20_000 + b"]" * 20_000 + b"}", b'{"a":' + b"9" * 5_000 + b"}"):
        with (
            Flask("t").test_request_context(
                method="POST", data=data, content_type="application/json"
            ),
            pytest.raises(InvalidArgument),
        ):
            json_body(1024 * 1024)


@pytest.mark.parametrize("content_type", ["text/plain", "", "application/json5", "image/png"])
def test_another_content_type_is_refused(content_type: str) -> None:
    with pytest.raises(UnsupportedMediaType):
        body(b"{}", content_type)


def test_a_declared_size_over_the_limit_is_refused_before_reading() -> None:
    with pytest.raises(TooLarge):
        body(b" " * (LIMIT + 1))
    with pytest.raises(TooLarge):
        body(b" " * (LIMIT + 1), "text/plain")
    assert body(b'{"a":1}'.ljust(LIMIT)) == {"a": 1}


def test_a_body_without_a_size_is_counted_while_it_is_read() -> None:
    endless = io.BytesIO(b"x" * 100_000)

    with pytest.raises(TooLarge):
        chunked(endless)

    assert endless.tell() <= LIMIT + 1
    assert chunked(io.BytesIO(b"x" * LIMIT)) == b"x" * LIMIT


def test_a_body_that_breaks_off_is_refused() -> None:
    environ = {"wsgi.input": io.BytesIO(b"{"), "CONTENT_LENGTH": "10"}
    with (
        Flask("t").test_request_context(method="POST", environ_overrides=environ),
        pytest.raises(InvalidArgument),
    ):
        body_bytes(LIMIT)
    with pytest.raises(InvalidArgument):
        chunked(BrokenChunks())


def test_an_unknown_key_is_named() -> None:
    allow({"a": 1}, "a", "b")
    with pytest.raises(InvalidArgument) as refused:
        allow({"a": 1, "c": 2}, "a", "b")
    assert refused.value.field == "c"
