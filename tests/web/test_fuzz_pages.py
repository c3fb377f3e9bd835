"""Whatever is thrown at a page or a form, the answer is a page that says so: never a 500."""

from __future__ import annotations

import io
import itertools
from collections.abc import Callable, Iterator
from urllib.parse import quote, urlencode

import pytest
from flask import Flask
from werkzeug.test import TestResponse

from tests.support.client import Browser
from tests.support.make import Make
from tests.web import scene
from tests.web.scene import TABLE, Scene
from tests.web.test_strangers import Browse

FORMS = {name: row for name, row in TABLE.items() if row.is_post}
PAGES = {name: row for name, row in TABLE.items() if not (row.is_post or row.is_stream)}
# One at a time in the place of each value that somebody types.
THROWN = {
    "NUL": "a\0b", "only NUL": "\0", "control": "\x1b[31m\x7f", "line ends": "a\r\nb\rc",
    "not a character": "\ufffe\uffff", "beyond the plane": "\U0001f9d1\u200d\U0001f680",
    "right to left": "\u202egnp.exe", "huge number": "9" * 400, "huge negative": "-" + "9" * 400,
    "not a number": "NaN", "infinite": "Infinity", "exponent": "1e999", "other digits": "\u0663",
    "other minus": "\u22121", "true": "true", "null": "null", "deep": "[" * 30_000,
    "many keys": '{"a":1,"a":2}', "lone surrogate in JSON": '"\\ud800"', "NUL in JSON": '"\\u0000"',
    "big number in JSON": "1" * 5000, "script": "<script>alert(1)</script>",
    "a template": "{{ 7*7 }}{% raw %}", "percent": "%s %(x)s %%", "an SQL comment": "'; --",
    "nothing": "", "blank": " \u00a0\u3000", "long": "x" * 70_000,
}  # fmt: skip
NASTIEST = ("NUL", "huge number", "other digits", "deep", "lone surrogate in JSON")
QUERIES = ("page", "queue", "state", "q", "endpoint", "from", "back", "next", "step", "tz")


@pytest.fixture(autouse=True)
def _unlimited(app: Flask) -> None:
    scene.without_limits(app)


@pytest.fixture
def own(make: Make) -> Scene:
    """One person's things."""
    return scene.of_human(make, "ana")


def is_bearable(answer: TestResponse, *, refused: bool = False) -> bool:
    """Whether the answer is one of ours: done, or refused with a reason."""
    if refused:
        return answer.status_code in (400, 403, 413, 415, 422)
    return answer.status_code in (200, 204, 303, 400, 403, 404, 409, 410, 413, 422, 503)


def bodies(data: dict[str, str], token: str) -> Iterator[tuple[str, bytes]]:
    """Form bodies with a thing in all fields at once, and the nastiest in one good form's field:
    what is refused first must not hide what is never looked at.
    """
    for what, text in THROWN.items():
        yield what, urlencode({**dict.fromkeys(data, text), "csrf_token": token}).encode()
    for field, what in itertools.product(data, NASTIEST):
        sent = {**data, field: THROWN[what], "csrf_token": token}
        yield f"{field}: {what}", urlencode(sent).encode()


@pytest.mark.parametrize("name", [name for name, row in FORMS.items() if row.data])
def test_any_value_in_any_field_is_taken_or_refused_in_words(
    browser: Browse, make: Make, own: Scene, name: str
) -> None:
    row, seat = FORMS[name], browser(own.human)

    faults = [f"{what}: {answer.status_code}"
              for what, body in bodies(own.data(row), seat.csrf)
              for answer in [post(seat, own.path(row), body)]
              if not is_bearable(answer)]  # fmt: skip

    assert not faults, "\n".join(faults)


def post(
    seat: Browser, path: str, body: bytes, kind: str = "application/x-www-form-urlencoded"
) -> TestResponse:
    """A form whose body was made by hand."""
    return seat.client.post(path, data=body, content_type=kind)


class Broken(io.RawIOBase):
    """What the server raises from a chunked body whose chunks do not parse."""

    def readable(self) -> bool:
        """It can be read, and breaks."""
        return True

    def readinto(self, buffer: object) -> int:
        """Breaks."""
        raise OSError("bad chunk")


WRONG_BODIES: dict[str, Callable[[Browser, str, bytes], TestResponse]] = {
    "bytes that are no text": lambda seat, path, good: post(
        seat, path, good + b"&reason=%ff%fe&title=\xff\xfe&name=%ED%A0%80"),
    "a repeated field": lambda seat, path, good: post(seat, path, good + b"&" + good),
    "a repeated token": lambda seat, path, good: post(seat, path, b"csrf_token=x&" + good),
    "unknown fields": lambda seat, path, good: post(seat, path, good + b"&id=1&human_id=2&[]=3"),
    "many fields": lambda seat, path, good: post(seat, path, good + b"&x=1" * 5000),
    "JSON": lambda seat, path, good: post(seat, path, b'{"name": "x"}', "application/json"),
    "text": lambda seat, path, good: post(seat, path, good, "text/plain"),
    "no kind": lambda seat, path, good: post(seat, path, good, ""),
    "a wrong boundary": lambda seat, path, good: post(
        seat, path, good, "multipart/form-data; boundary=x"),
    "no boundary": lambda seat, path, good: post(seat, path, good, "multipart/form-data"),
    "a broken part": lambda seat, path, good: post(
        seat, path, b"--x\r\nContent-Disposition: form-data; name=\xff\r\n\r\na",
        "multipart/form-data; boundary=x"),
    "an unknown charset": lambda seat, path, good: post(
        seat, path, good, "application/x-www-form-urlencoded; charset=utf-7"),
    "a megabyte": lambda seat, path, good: post(seat, path, good + b"&name=" + b"x" * 1_048_577),
    "broken chunks": lambda seat, path, good: seat.client.post(
        path, content_type="application/x-www-form-urlencoded",
        environ_overrides={"wsgi.input": Broken(), "wsgi.input_terminated": True}),
    "a file": lambda seat, path, good: seat.client.post(
        path, data={"csrf_token": seat.csrf, "name": (io.BytesIO(b"\0"), "x\0.txt")}),
}  # fmt: skip
REFUSED = ("JSON", "text", "no kind", "a megabyte", "broken chunks", "a wrong boundary",
           "a repeated token")  # fmt: skip


@pytest.mark.parametrize("what", WRONG_BODIES)
def test_a_body_that_is_no_form_is_refused_in_words(
    browser: Browse, make: Make, what: str
) -> None:
    faults, refused = [], what in REFUSED
    own = scene.of_human(make, "ana")
    seat = browser(own.human)
    before = scene.everything(make)

    for name, row in FORMS.items():
        if name in ("POST account.use_link", "POST account.use_dev_login", "POST account.sign_out"):
            continue
        good = urlencode({**own.data(row), "csrf_token": seat.csrf}).encode()
        answer = WRONG_BODIES[what](seat, own.path(row), good)
        if not is_bearable(answer, refused=refused):
            faults.append(f"{name}: {answer.status_code}")

    assert not faults, "\n".join(faults)
    if refused:
        assert scene.everything(make) == before


def test_any_query_is_taken_or_refused_in_words(browser: Browse, own: Scene) -> None:
    seat, faults = browser(own.human), []
    thrown = ["%00", "%ff", "-1", "0", "9" * 400, "%D9%A3", "", "x" * 5000, "%2f%2fevil"]

    for name, row in PAGES.items():
        for text in thrown:
            query = "&".join(f"{key}={text}" for key in QUERIES)
            answer = seat.get(f"{own.path(row)}?{query}")
            if not is_bearable(answer) and answer.status_code != row.owner:
                faults.append(f"{name}: {answer.status_code} for {text[:30]!r}")
            if "evil" in answer.headers.get("Location", ""):
                faults.append(f"{name}: leads to {answer.headers['Location']}")

    assert not faults, "\n".join(faults)


HEADERS = ("HX-Current-URL", "HX-Request", "HX-Target", "HX-Trigger", "Referer", "Origin", "Accept",
           "Accept-Language", "X-Refresh", "X-Forwarded-For", "If-Modified-Since", "Range")


@pytest.mark.parametrize("text", [
    "\xff\xfe", "http://[", "//evil.example/x", "x" * 3000, "=;,;=\"",
])
def test_any_header_is_borne(browser: Browse, own: Scene, text: str) -> None:
    seat, faults = browser(own.human), []

    for name, row in PAGES.items():
        with_headers = seat.get(own.path(row), headers=dict.fromkeys(HEADERS, text))
        with_cookie = seat.client.get(own.path(row), headers={"Cookie": f"sb_session={text}"})
        faults += [f"{name}: {answer.status_code}" for answer in (with_headers, with_cookie)
                   if answer.status_code >= 500 and answer.status_code != row.owner]  # fmt: skip

    assert not faults, "\n".join(faults)


BACK = ("https://evil.example", "//evil.example", "/\\evil.example", "/todos\r\nSet-Cookie: x=1",
        "http://localhost@evil.example/")  # fmt: skip


@pytest.mark.parametrize("place", ["query", "field", "referer", "htmx"])
def test_nobody_is_sent_to_an_address_that_somebody_else_wrote(
    browser: Browse, make: Make, place: str
) -> None:
    faults = []

    for back in BACK:
        own = scene.of_human(make, "ana")
        seat = browser(own.human)
        for name, row in FORMS.items():
            answer = _sent_back(seat, own.path(row), own.data(row), place, back)
            if answer.status_code != row.owner and answer.status_code != 200:
                # What was done before stands in the way: once more with everything as it was.
                own = scene.of_human(make, "ana")
                seat = browser(own.human)
                answer = _sent_back(seat, own.path(row), own.data(row), place, back)
            said = [answer.headers.get(header, "")
                    for header in ("Location", "HX-Redirect", "HX-Location", "Set-Cookie")]
            if any(word in text for text in said for word in ("evil", "x=1")):
                faults.append(f"{name}: {said} for {back!r}")

    assert not faults, "\n".join(faults)


def _sent_back(
    seat: Browser, path: str, data: dict[str, str], place: str, back: str
) -> TestResponse:
    named = dict.fromkeys(("back", "next", "from", "return_to", "fragment", "to"), back)
    sent: dict[str, object] = {**data, **(named if place == "field" else {})}
    headers = {"referer": {"Referer": back}, "htmx": {"HX-Request": "true", "HX-Current-URL": back}}
    query = "&".join(f"{key}={quote(text)}" for key, text in named.items())
    plain = {name: text.replace("\r", "").replace("\n", "")
             for name, text in headers.get(place, {}).items()}  # fmt: skip
    return seat.post(f"{path}?{query}" if place == "query" else path, sent, headers=plain)
