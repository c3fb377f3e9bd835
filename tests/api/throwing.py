"""What strangers may throw at a door: bodies, queries, headers, paths; and the one rule they test.

Short rounds by default; in the soak twenty times as long.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar
from urllib.parse import quote

import hypothesis.strategies as st
from flask import Flask
from flask.testing import FlaskClient
from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import SearchStrategy
from werkzeug.test import TestResponse

from app.edge.deps import EdgeState, Limits
from app.edge.limits import TokenBuckets
from tests.support import rounds as rounds_of_this_run

Thing = TypeVar("Thing")
LONG = rounds_of_this_run.LONG
SECONDS = 3_600 if LONG else 120
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
TYPES = ("application/json", "application/json; charset=utf-16", "text/plain", "",
         "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "a/b; =;;")

# Text with everything a database or an encoder may stumble over.
TEXT = st.one_of(
    st.text(max_size=40),
    st.sampled_from(["", " ", "\x00", "a\x00b", "\ud800", "\U0010ffff", "null", "true", "-1", "%",
                     "'", "../..", "team:x/y", "team:\x00/y", "td_" + "0" * 32, "x" * 3_000,
                     "é" * 300]),
)
DECODABLE = TEXT.map(lambda text: text.encode("utf-8", "replace").decode())
STORABLE = DECODABLE.map(lambda text: text.replace("\x00", ""))
NUMBER = st.one_of(
    st.integers(-5, 60), st.integers(), st.floats(),
    st.sampled_from([2**31, 2**63, -(2**63) - 1, 10**30, 10**400, 1e308]),
)
SCALAR = st.one_of(st.none(), st.booleans(), NUMBER, TEXT)
VALUE = st.recursive(
    SCALAR,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXT, inner, max_size=3)),
    max_leaves=8,
)
BROKEN = st.one_of(
    st.binary(max_size=60),
    st.sampled_from([b"", b"{", b"[" * 5_000, b'{"a":' * 2_000, b'{"id":1,"id":2}', b'{"id":1e999}',
                     b'{"id":"\\ud800"}', b'{"id":"\\u0000"}', b"\xef\xbb\xbf{}", b"\xff\xfe{}",
                     b'{"id":' + b"1" * 6_000 + b"}", b"NaN", b"{}{}", b"\x00"]),
)


def rounds(examples: int) -> settings:
    """How long to throw: the same short rounds every time, or long ones that differ."""
    return settings(
        max_examples=examples * (20 if LONG else 1), deadline=None, derandomize=not LONG,
        database=None, suppress_health_check=list(HealthCheck),
    )


def throw(examples: int, things: SearchStrategy[Thing], act: Callable[[Thing], object]) -> None:
    """Throw that many drawn things, one by one, at `act`."""
    @rounds(examples)
    @given(things)
    def each(thing: Thing) -> None:
        act(thing)

    each()


def thrown(response: TestResponse, *allowed: int) -> TestResponse:
    """The rule: no answer of 500 or more (but `allowed`), and every JSON answer is an object."""
    if response.mimetype == "text/event-stream":
        response.close()  # it has begun, and would go on for ever
        assert response.status_code == 200
        return response
    status, said = response.status_code, response.get_data()
    assert status < 500 or status in allowed, f"{status} {said[:300]!r}"
    if response.mimetype == "application/json" and response.request.method != "HEAD":
        body = json.loads(said)
        assert isinstance(body, dict)
        assert status < 400 or {"error", "code"} <= set(body)
    return response


def without_limits(app: Flask) -> Flask:
    """The same application with buckets nobody can empty: a 429 would hide what is behind it."""
    shared = app.extensions["switchboard"]
    assert isinstance(shared, EdgeState)
    endless = {each.name: TokenBuckets(rate=1_000_000, burst=1_000_000)
               for each in dataclasses.fields(Limits)}
    app.extensions["switchboard"] = dataclasses.replace(shared, limits=Limits(**endless))
    return app


def body(known: Mapping[str, SearchStrategy[object]]) -> SearchStrategy[bytes]:
    """A body: mostly an object of known keys with any values, sometimes anything at all."""
    fields = {key: st.one_of(likely, VALUE) for key, likely in known.items()}
    objects = st.fixed_dictionaries({}, optional=fields)
    surprises = st.builds(lambda a, b: a | b, objects, st.dictionaries(TEXT, VALUE, max_size=2))
    return st.one_of(objects.map(_dump), objects.map(_dump), surprises.map(_dump),
                     VALUE.map(_dump), BROKEN)


def whole(known: Mapping[str, SearchStrategy[object]]) -> SearchStrategy[bytes]:
    """A body that is right in shape: values as `known` has them, and one left out at times."""
    everything = st.fixed_dictionaries(dict(known))
    return st.one_of(everything, st.fixed_dictionaries({}, optional=dict(known))).map(_dump)


def query(known: Sequence[str]) -> SearchStrategy[str]:
    """A query string: known and unknown names, repeated at times, any text, also undecodable."""
    names = st.one_of(st.sampled_from([*known, "surprise"]), TEXT)
    values = st.one_of(TEXT, st.integers(-5, 300).map(str))
    pair = st.builds(lambda name, value: f"{_quote(name)}={_quote(value)}", names, values)
    raw = st.sampled_from(["%", "%zz", "a", "&&", "=", "%ff=%fe", "%ed%a0%80=1", ";", "limit=%00"])
    return st.lists(st.one_of(pair, pair, raw), max_size=4).map("&".join)


def path_parts() -> SearchStrategy[str]:
    """A path as it stands in a request line: any text, percent-encoded, slashes and dots kept."""
    odd = st.sampled_from(["%00", "a%2Fb", "..", ".", "%ff", "%ed%a0%80", "a//b", "a/", "%"])
    return st.one_of(TEXT.map(_quote), odd, st.lists(odd, max_size=3).map("/".join))


def header_text() -> SearchStrategy[str]:
    """A header's value: what a server lets through, mostly wrong."""
    letters = st.characters(min_codepoint=0x20, max_codepoint=0xFF, exclude_characters="\x7f")
    return st.one_of(st.text(letters, max_size=70), st.sampled_from(["", "once", "x" * 64]))


def request(
    paths: SearchStrategy[str],
    token: str,
    known: Mapping[str, SearchStrategy[object]] | None = None,
) -> SearchStrategy[Callable[[FlaskClient], TestResponse]]:
    """A whole request to one of `paths`, with a good token most of the time."""
    proof = st.one_of(st.just(f"Bearer {token}"), st.just(f"Bearer {token}"), header_text())
    names = ["Idempotency-Key", "Accept", "X-Request-Id", "Cookie", "Range", "If-None-Match",
             "X-Forwarded-For", "Origin", "X-HTTP-Method-Override"]
    headers = st.builds(
        lambda proof, others: {**others, "Authorization": proof},
        proof, st.dictionaries(st.sampled_from(names), header_text(), max_size=2),
    )
    types = st.one_of(st.just("application/json"), st.sampled_from(TYPES), header_text())

    def ask(path: str, method: str, asked: str, said: dict[str, str], data: bytes, kind: str
            ) -> Callable[[FlaskClient], TestResponse]:
        return lambda client: client.open(
            path, method=method, query_string=asked, headers=said, data=data, content_type=kind
        )

    return st.builds(ask, paths, st.sampled_from(METHODS), query(["limit", "cursor"]), headers,
                     body(known or {}), types)


def _dump(value: object) -> bytes:
    """JSON as careless senders write it: NaN, Infinity and lone surrogates included."""
    return json.dumps(value).encode()


def _quote(text: str) -> str:
    return quote(text.encode("utf-8", "surrogatepass"), safe="/.:")
