"""The worker's claims: one key per intended claim, patience with the server, and clear ends."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest

from app.domain.values import Json
from tests.cli.conftest import Cli
from tests.cli.fake import DROPPED, Asked, FakeServer, Reply, ok, refused

Script = Callable[[Asked], Reply | None]


def claimed(number: int = 1, **more: Json) -> Reply:
    todo: Json = {"id": f"td_{number}", "queue": "inbox", "state": "claimed", "attempt": 1,
                  "max_attempts": 5, "title": "Look", "payload": {"n": number}}  # fmt: skip
    return ok(todo=todo, empty=False, attempt_seq=1, attempts_total=1, prior_attempts=[],
              lease_token="fence", **more)  # fmt: skip


def agent_server(claims: Iterator[Reply], **settled: Reply) -> Script:
    """Answers claims one after the other, then empty; other verbs by name, or 200."""

    def script(asked: Asked) -> Reply:
        if asked.verb == "whoami":
            return settled.get("whoami", ok(effective_lease_ttl_seconds=300))
        if asked.verb == "claim_next":
            return next(claims, ok(empty=True))
        row: Json = {**asked.body, "queue": "inbox", "state": "done", "next_retry_at": None}
        return settled.get(asked.verb, Reply(body=row))

    return script


def keys(fake: FakeServer) -> list[str | None]:
    return [one.key for one in fake.of("claim_next")]


def test_once_claims_runs_and_completes_with_the_fence(cli: Cli, fake: FakeServer) -> None:
    fake.script = agent_server(iter([claimed(7)]))

    ran = cli("work", "--once", "--", "cat")

    claim, complete = fake.of("claim_next")[0], fake.of("complete")[0]
    assert ran.code == 0
    assert ran.out == "claimed  td_7  inbox  attempt 1  Look\ndone  td_7  inbox\n"
    assert claim.headers["Authorization"] == "Bearer sbk_worker"
    assert claim.body["require_fence"] is True
    assert claim.body["wait_seconds"] == 0
    assert claim.body["lease_ttl_seconds"] == 300
    assert "queue" not in claim.body
    assert complete.body["lease_token"] == "fence"
    assert complete.body["result"]["payload"] == {"n": 7}
    assert complete.body["result"]["prior_attempts"] == []
    assert "lease_token" not in complete.body["result"]


@pytest.mark.parametrize(
    "lost",
    [DROPPED, refused(503, "unavailable"), refused(500, "internal"), Reply(status=502, text="<p>"),
     refused(429, "rate_limited", Retry_After="0")],
)  # fmt: skip
def test_a_claim_without_an_answer_is_asked_again_with_the_same_key(
    lost: Reply, cli: Cli, fake: FakeServer
) -> None:
    fake.script = agent_server(iter([lost, lost, claimed()]))

    ran = cli("work", "--once", "--", "true")

    first, second, third = fake.of("claim_next")
    assert ran.code == 0
    assert first.key == second.key == third.key
    assert first.body == second.body == third.body
    assert len(fake.of("complete")) == 1
    assert "The server answers again." in ran.out


def test_each_intended_claim_has_a_key_of_its_own(cli: Cli, fake: FakeServer) -> None:
    replies = iter([claimed(1), claimed(2), claimed(3), refused(401, "unauthenticated", "Gone.")])
    fake.script = agent_server(replies)

    ran = cli("work", "--", "true")

    assert (ran.code, ran.err) == (1, "Error: Gone.\n")
    assert len(set(keys(fake))) == 4
    assert all(key and len(key) <= 64 and key.isascii() for key in keys(fake))
    assert [one.body["id"] for one in fake.of("complete")] == ["td_1", "td_2", "td_3"]


def test_retry_after_is_waited_for(cli: Cli, fake: FakeServer) -> None:
    fake.script = agent_server(iter([refused(429, "rate_limited", Retry_After="1"), claimed()]))
    pauses: list[float] = []

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "app.cli.work_agent.Backoff.pause",
            lambda _self, _until, *, at_least=None: pauses.append(at_least),
        )
        cli("work", "--once", "--", "true")

    assert pauses == [1.0]


def test_once_with_nothing_to_do_says_so_after_one_wait(cli: Cli, fake: FakeServer) -> None:
    fake.script = agent_server(iter([]))

    ran = cli("work", "--once", "--", "true")

    assert (ran.code, ran.out) == (0, "Nothing to do.\n")
    assert [one.body["wait_seconds"] for one in fake.of("claim_next")] == [0, 30]


def test_answers_of_later_releases_are_no_trouble(cli: Cli, fake: FakeServer) -> None:
    waiting: Json = [{"queue": "inbox", "reason": "paused", "pending": 3, "exact": False}]
    fake.script = agent_server(iter([ok(empty=True, deferred=waiting, new={"x": []})]))

    assert cli("work", "--once", "--", "true").code == 0


@pytest.mark.parametrize(
    ("status", "code"), [(400, "invalid_argument"), (401, "unauthenticated"), (403, "forbidden"),
                         (404, "not_found")],
)  # fmt: skip
def test_a_refused_claim_ends_the_worker_with_the_servers_sentence(
    status: int, code: str, cli: Cli, fake: FakeServer
) -> None:
    fake.script = agent_server(iter([refused(status, code, "The queue is not granted.")]))

    ran = cli("work", "--queue", "other", "--concurrency", "3", "--", "true")

    assert (ran.code, ran.err) == (1, "Error: The queue is not granted.\n")


def test_a_worthless_credential_ends_the_worker_before_any_claim(
    cli: Cli, fake: FakeServer
) -> None:
    fake.script = agent_server(iter([]), whoami=refused(401, "unauthenticated", "No."))

    assert cli("work", "--", "true").code == 1
    assert fake.of("claim_next") == []


def test_several_queues_take_turns(cli: Cli, fake: FakeServer) -> None:
    ends = refused(401, "unauthenticated")
    fake.script = agent_server(iter([claimed(1), claimed(2), claimed(3), ends]))

    cli("work", "--queue", "a", "--queue", "b", "--queue", "a", "--queue", "c", "--", "true")

    asked = [one.body["queue"] for one in fake.of("claim_next")]
    assert sorted(asked[:3]) == ["a", "b", "c"]
    assert asked[3] == asked[0]


def test_several_idle_queues_are_each_looked_at_before_a_short_wait(
    cli: Cli, fake: FakeServer
) -> None:
    replies = iter([ok(empty=True)] * 7 + [refused(401, "unauthenticated")])
    fake.script = agent_server(replies)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("app.cli.work_agent.Backoff.pause", lambda *_, **__: None)
        cli("work", "--queue", "a", "--queue", "b", "--", "true")

    looks = [(one.body["queue"], one.body["wait_seconds"]) for one in fake.of("claim_next")]
    assert [wait for _, wait in looks] == [0, 0, 2, 0, 0, 2, 0, 0]
    assert {queue for queue, _ in looks[:2]} == {"a", "b"}
    assert {looks[2][0], looks[5][0]} == {"a", "b"}


def test_one_queue_is_named_in_the_wait(cli: Cli, fake: FakeServer) -> None:
    fake.script = agent_server(iter([]))

    cli("work", "--queue", "lane/m", "--once", "--", "true")

    assert fake.of("claim_next")[0].body["queue"] == "lane/m"


def test_once_gives_a_server_out_of_reach_up_in_time(cli: Cli, fake: FakeServer) -> None:
    fake.close()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("app.cli.work.WAIT_SECONDS", 0)
        ran = cli("work", "--once", "--", "true")

    assert (ran.code, ran.err) == (1, f"Error: No server answers at {fake.url}.\n")


@pytest.mark.parametrize(
    "words",
    [("work",), ("work", "--once"), ("work", "--concurrency", "0", "--", "cat"),
     ("work", "--concurrency", "65", "--", "cat"),
     ("work", "--once", "--concurrency", "2", "--", "cat")],
)  # fmt: skip
def test_wrong_usage_is_two(words: tuple[str, ...], cli: Cli) -> None:
    ran = cli(*words)

    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("Usage: switchboard work")


@pytest.mark.parametrize("token", [None, "", "two words"])
def test_without_a_credential_it_is_one_and_a_sentence(token: str | None, cli: Cli) -> None:
    ran = cli("work", "--once", "--", "cat", endpoint_token=token)

    assert ran.code == 1
    assert "SWITCHBOARD_ENDPOINT_TOKEN" in ran.err


def test_with_json_every_line_is_an_object(cli: Cli, fake: FakeServer) -> None:
    fake.script = agent_server(iter([claimed(7)]))

    ran = cli("work", "--once", "--json", "--", "true")

    assert [json.loads(line)["event"] for line in ran.out.splitlines()] == ["claimed", "done"]


def test_a_title_cannot_drive_the_terminal(cli: Cli, fake: FakeServer) -> None:
    evil: Json = {"id": "td_1", "queue": "q", "title": "\x1b[2J\nfake line"}
    fake.script = agent_server(iter([ok(todo=evil)]))

    ran = cli("work", "--once", "--", "true")

    assert "\x1b" not in ran.out
    assert len(ran.out.splitlines()) == 2
