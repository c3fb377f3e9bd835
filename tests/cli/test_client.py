"""HTTP as the command line speaks it: every accident is a sentence, nothing is followed."""

from __future__ import annotations

import socket
import threading

import pytest

from app.cli.client import Client, NoAnswer
from tests.cli.fake import DROPPED, FakeServer, Reply, ok
from tests.support.wait import wait_for


def test_the_token_goes_along_and_the_connection_is_kept(fake: FakeServer) -> None:
    fake.script = lambda _: ok(fine=True)
    client = Client(fake.url, "sbo_x")

    bodies = [client.call("GET", "/a").body, client.call("POST", "/b", {"x": "é"}).body]

    assert bodies == [{"fine": True}] * 2
    assert [one.headers["Authorization"] for one in fake.asked] == ["Bearer sbo_x"] * 2
    assert fake.asked[1].body == {"x": "é"}
    assert len({one.connection for one in fake.asked}) == 1


def test_a_redirect_is_not_followed(fake: FakeServer) -> None:
    fake.script = lambda _: Reply(status=302, body={}, headers={"Location": fake.url + "/other"})

    assert Client(fake.url, "t").call("GET", "/a").status == 302
    assert len(fake.asked) == 1


def test_no_proxy_of_the_environment_is_used(
    fake: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    fake.script = lambda _: ok()

    assert Client(fake.url, "t").call("GET", "/a").status == 200


def test_a_path_before_the_api_is_kept(fake: FakeServer) -> None:
    fake.script = lambda _: ok()

    Client(fake.url + "/board", "t").call("GET", "/a", query={"q": "x y&z"})

    assert (fake.asked[0].path, fake.asked[0].query) == ("/board/a", {"q": "x y&z"})


@pytest.mark.parametrize("text", ["<html>", "", "[]", "null", '"x"'])
def test_an_answer_that_is_no_json_object_is_no_answer(fake: FakeServer, text: str) -> None:
    fake.script = lambda _: Reply(status=502, text=text, headers={"Retry-After": "7"})

    with pytest.raises(NoAnswer, match="answered 502 without a JSON object") as caught:
        Client(fake.url, "t").call("GET", "/a")

    assert caught.value.retry_after == 7


def test_a_lost_answer_is_a_sentence_and_not_repeated(fake: FakeServer) -> None:
    fake.script = lambda _: DROPPED

    with pytest.raises(NoAnswer, match="was lost"):
        Client(fake.url, "t").call("POST", "/a", {})

    assert len(fake.asked) == 1


def test_nobody_listening_is_a_sentence(fake: FakeServer) -> None:
    fake.close()

    with pytest.raises(NoAnswer, match="No server answers at"):
        Client(fake.url, "t").call("GET", "/a")


def test_an_answer_that_takes_too_long_is_a_sentence() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        client = Client(f"http://127.0.0.1:{silent.getsockname()[1]}", "t")

        with pytest.raises(NoAnswer, match="did not answer within"):
            client.call("GET", "/a", read_seconds=0.05)


def test_a_token_no_header_can_carry_is_a_sentence(fake: FakeServer) -> None:
    with pytest.raises(NoAnswer, match="cannot be sent"):
        Client(fake.url, "a\r\nX-Evil: 1").call("GET", "/a")

    assert fake.asked == []


def test_a_wait_can_be_ended_from_another_thread(fake: FakeServer) -> None:
    held = threading.Event()
    fake.script = lambda _: ok(waited=held.wait(30))
    client = Client(fake.url, "t")
    caught: list[NoAnswer] = []

    def ask() -> None:
        try:
            client.call("GET", "/a")
        except NoAnswer as lost:
            caught.append(lost)

    asking = threading.Thread(target=ask)
    asking.start()
    wait_for(lambda: fake.asked)
    client.abort()
    asking.join(5)
    held.set()

    assert not asking.is_alive()
    assert len(caught) == 1
