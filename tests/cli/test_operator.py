"""Each operator command: what it asks the server, and what it prints of the answer."""

from __future__ import annotations

import pytest

from app.domain.values import Json
from tests.cli.conftest import Cli
from tests.cli.fake import Asked, FakeServer, Reply, ok, refused

pytestmark = pytest.mark.usefixtures("logged_in")

LANE: dict[str, Json] = {
    "id": "0b8e", "slug": "lane-m-k3x9", "agent_name": "lane m", "state": "active",
    "queues": ["lane-m", "inbox"], "verbs": ["claim"], "default_lease_ttl_seconds": None,
    "effective_lease_ttl_seconds": 300,
}  # fmt: skip
TODO: dict[str, Json] = {
    "id": "td_1", "queue": "inbox", "state": "pending", "attempt": 1, "max_attempts": 5,
    "title": "Look", "created_at": "2026-09-30T15:04:05Z", "next_retry_at": None,
    "dead_letter": False,
}  # fmt: skip
HOOK: dict[str, Json] = {
    "webhook_id": "51f0", "ingest_url": "https://sb.example/webhooks/w/9f2c",
    "source_type": "github", "target_queue": "inbox", "trust_mode": "signed",
    "created_at": "2026-09-30T15:04:05Z",
}  # fmt: skip


def asked_once(fake: FakeServer) -> tuple[str, str, dict[str, Json]]:
    assert len(fake.asked) == 1
    one = fake.asked[0]
    assert one.headers["Authorization"] == "Bearer sbo_saved"
    return one.method, one.path.removeprefix("/api/v1"), one.body


def test_endpoint_list_is_a_table(cli: Cli, fake: FakeServer) -> None:
    other = {**LANE, "slug": "b", "expires_at": "2026-10-01T00:00:00Z",
             "default_lease_ttl_seconds": 60}  # fmt: skip
    fake.script = lambda _: ok(endpoints=[LANE, other])

    assert cli("endpoint", "list").out.splitlines() == [
        "SLUG         AGENT   STATE   QUEUES        EXPIRES               LEASE",
        "lane-m-k3x9  lane m  active  lane-m,inbox  never                 300s (default)",
        "b            lane m  active  lane-m,inbox  2026-10-01T00:00:00Z  60s",
    ]


@pytest.mark.parametrize(
    ("words", "name", "hint"),
    [
        (("endpoints",), "endpoints", "No endpoints yet; `switchboard vend NAME` makes one.\n"),
        (("agents",), "agents", "No agents yet; `switchboard vend NAME` makes one.\n"),
        (("todo", "list"), "todos", "No todos; `switchboard todo push REF TITLE` makes one.\n"),
        (("event", "list"), "events", "No events.\n"),
        (("webhook", "list"), "webhooks",
         "No webhooks; `switchboard webhook create REF` makes one.\n"),
        (("webhook", "routes", "w"), "routes",
         "No routes; its own endpoint gets every delivery.\n"),
    ],
)  # fmt: skip
def test_an_empty_list_is_a_one_line_hint(
    words: tuple[str, ...], name: str, hint: str, cli: Cli, fake: FakeServer
) -> None:
    fake.script = lambda _: Reply(body={name: []})

    assert cli(*words).out == hint


def test_agent_list_is_a_table(cli: Cli, fake: FakeServer) -> None:
    fake.script = lambda _: ok(agents=[{"id": "1", "name": "lane m"}])

    assert cli("agents").out == "ID  NAME    DESCRIPTION\n1   lane m  -\n"


def test_vend_sends_what_was_said_and_shows_the_credential_once(
    cli: Cli, fake: FakeServer
) -> None:
    hook: Json = {**HOOK, "signing_secret": "5ec"}
    fake.script = lambda _: Reply(
        status=201,
        body={"agent_name": "lane m", "slug": "lane-m-k3x9", "endpoint_id": "0b8e",
              "token": "sbk_once", "queues": ["lane-m"], "agent_url": "u", "webhook": hook},
    )  # fmt: skip

    ran = cli(
        "vend", "lane m", "--queue", "lane-m", "--queue", "inbox", "--verb", "claim",
        "--lifetime", "7d", "--default-lease", "90", "--webhook-source", "github",
    )  # fmt: skip

    assert ran.code == 0
    assert ran.out.count("sbk_once") == 1
    assert "signing secret  5ec\n" in ran.out
    assert asked_once(fake) == (
        "POST", "/endpoints",
        {"name": "lane m", "queues": ["lane-m", "inbox"], "verbs": ["claim"], "lifetime": "7d",
         "default_lease_ttl_seconds": 90, "webhook_source_type": "github"},
    )  # fmt: skip


def test_vend_leaves_the_defaults_to_the_server(cli: Cli, fake: FakeServer) -> None:
    fake.script = lambda _: Reply(status=201, body={})

    cli("vend", "a")

    assert asked_once(fake)[2] == {"name": "a"}


@pytest.mark.parametrize(("text", "sent"), [("90", 90), ("none", None)])
def test_edit_sends_the_lease_or_null(
    text: str, sent: int | None, cli: Cli, fake: FakeServer
) -> None:
    fake.script = lambda _: Reply(body=LANE)

    ran = cli("endpoint", "edit", "lane-m-k3x9", "--default-lease", text)

    assert ran.code == 0
    assert asked_once(fake) == (
        "PATCH", "/endpoints/lane-m-k3x9", {"default_lease_ttl_seconds": sent}
    )


@pytest.mark.parametrize(
    "words",
    [
        ("endpoint", "edit", "x"), ("endpoint", "edit", "x", "--default-lease", "soon"),
        ("endpoint", "edit", "x", "--default-lease", "-1"), ("endpoint", "revoke"), ("vend",),
        ("vend", "a", "--default-lease", "x"), ("todo", "push", "x"), ("todo", "show"),
        ("todo", "push", "x", "t", "--payload", "{"), ("todo", "list", "--state", "lost"),
        ("todo", "push", "x", "t", "--payload", "1e999"), ("todo", "list", "--limit", "0"),
        ("todo", "complete", "td_1", "--result", "nope"), ("webhook", "create", "x"),
        ("event", "show"), ("event", "list", "--limit", "201"), ("webhook", "routes"),
    ],
)  # fmt: skip
def test_wrong_usage_is_two_and_asks_nothing(
    words: tuple[str, ...], cli: Cli, fake: FakeServer
) -> None:
    ran = cli(*words)

    assert (ran.code, ran.out, fake.asked) == (2, "", [])
    assert ran.err.startswith("Usage: ")


@pytest.mark.parametrize(
    ("words", "path"),
    [(("endpoint", "revoke", "lane"), "/endpoints/lane/revoke"),
     (("todo", "discard", "td_1"), "/todos/td_1/discard")],
)  # fmt: skip
@pytest.mark.parametrize("answer", ["", "perhaps\n"])
def test_a_question_nobody_answers_changes_nothing_and_is_one(
    words: tuple[str, ...], path: str, answer: str, cli: Cli, fake: FakeServer
) -> None:
    ran = cli(*words, stdin=answer)

    assert (ran.code, ran.out, fake.asked) == (1, "", [])
    assert ran.err.endswith("Error: Nobody answered, so nothing was changed; -y agrees"
                            " beforehand.\n")


@pytest.mark.parametrize(
    ("words", "path"),
    [(("endpoint", "revoke", "lane"), "/endpoints/lane/revoke"),
     (("todo", "discard", "td_1"), "/todos/td_1/discard")],
)  # fmt: skip
@pytest.mark.parametrize("answer", ["n\n", "\n", "no\n"])
def test_declining_changes_nothing_and_is_zero(
    words: tuple[str, ...], path: str, answer: str, cli: Cli, fake: FakeServer
) -> None:
    ran = cli(*words, stdin=answer)

    assert (ran.code, ran.out, fake.asked) == (0, "", [])
    assert "[y/N]" in ran.err


@pytest.mark.parametrize(
    ("words", "path"),
    [(("endpoint", "revoke", "lane"), "/endpoints/lane/revoke"),
     (("todo", "discard", "td_1"), "/todos/td_1/discard")],
)  # fmt: skip
@pytest.mark.parametrize(("flags", "answer"), [((), "y\n"), (("-y",), ""), (("--yes",), "")])
def test_agreeing_or_y_goes_ahead(
    words: tuple[str, ...], path: str, flags: tuple[str, ...], answer: str, cli: Cli,
    fake: FakeServer,
) -> None:  # fmt: skip
    fake.script = lambda _: Reply(body={**TODO, "slug": "lane"})

    ran = cli(*words, *flags, stdin=answer)

    assert ran.code == 0
    assert asked_once(fake) == ("POST", path, {})


def test_a_ref_cannot_leave_its_place_in_the_path(cli: Cli, fake: FakeServer) -> None:
    cli("todo", "show", "../endpoints?x=1#")
    cli("todo", "show", "..")

    assert [one.path for one in fake.asked] == [
        "/api/v1/todos/..%2Fendpoints%3Fx%3D1%23", "/api/v1/todos/%2E%2E",
    ]  # fmt: skip


def test_push_sends_title_payload_and_key(cli: Cli, fake: FakeServer) -> None:
    fake.script = lambda _: Reply(status=201, body={"id": "td_1", "queue": "q", "created": True})

    ran = cli(
        "todo", "push", "--queue", "q", "lane", "Look", "--kind", "k", "--payload", '{"n": 41}',
        "--key", "same",
    )  # fmt: skip

    assert ran.out == "td_1 is in q.\n"
    assert asked_once(fake) == (
        "POST", "/endpoints/lane/todos",
        {"title": "Look", "queue": "q", "kind": "k", "key": "same", "payload": {"n": 41}},
    )  # fmt: skip


def test_pushing_the_same_key_again_says_so(cli: Cli, fake: FakeServer) -> None:
    fake.script = lambda _: ok(id="td_1", queue="q", created=False)

    assert cli("todo", "push", "lane", "Look").out == "td_1 was there already, in q.\n"


def test_todo_list_sends_its_filters_and_names_the_next_page(cli: Cli, fake: FakeServer) -> None:
    fake.script = lambda _: ok(todos=[TODO], next_cursor="c2")

    ran = cli("todo", "list", "--queue", "a/b", "--state", "pending", "--limit", "1",
              "--cursor", "c1", "--endpoint", "lane", "--team", "crew")  # fmt: skip

    assert ran.out.splitlines() == [
        "ID    QUEUE  STATE    ATTEMPT  CREATED               TITLE",
        "td_1  inbox  pending  1/5      2026-09-30T15:04:05Z  Look",
    ]
    assert ran.err == "More: --cursor c2\n"
    assert fake.asked[0].query == {
        "queue": "a/b", "state": "pending", "limit": "1", "cursor": "c1", "endpoint": "lane",
        "team": "crew",
    }  # fmt: skip


def test_todo_show_prints_payload_result_and_attempts(cli: Cli, fake: FakeServer) -> None:
    attempt: Json = {"seq": 1, "outcome": "failed", "summary": "no\nluck", "claimed_at": "t"}
    fake.script = lambda _: Reply(body={**TODO, "payload": {"n": 1}, "attempts": [attempt]})

    out = cli("todo", "show", "td_1").out

    assert '{"n": 1}' in out
    assert "no\\u000aluck" in out


@pytest.mark.parametrize("action", ["complete", "fail"])
def test_settling_sends_what_was_said(action: str, cli: Cli, fake: FakeServer) -> None:
    fake.script = lambda _: Reply(body={**TODO, "state": "done"})

    ran = cli("todo", action, "td_1", "--result", "null", "--summary", "s", "--artifact", "https://x")

    assert ran.out == "td_1 is done.\n"
    assert asked_once(fake) == (
        "POST", f"/todos/td_1/{action}", {"summary": "s", "artifact": "https://x", "result": None}
    )


def test_retry_and_release_ask_their_routes(cli: Cli, fake: FakeServer) -> None:
    fake.script = lambda _: Reply(body=TODO)

    cli("todo", "retry", "td_1")
    cli("todo", "release", "td_1", "--summary", "later")

    assert [(one.path, one.body) for one in fake.asked] == [
        ("/api/v1/todos/td_1/retry", {}), ("/api/v1/todos/td_1/release", {"summary": "later"}),
    ]  # fmt: skip


def test_a_webhook_shows_its_secret_only_when_it_is_made(cli: Cli, fake: FakeServer) -> None:
    fake.script = lambda _: Reply(status=201, body={**HOOK, "signing_secret": "5ec"})

    made = cli("webhook", "create", "lane", "--source-type", "github", "--queue", "inbox")
    rotated = cli("webhook", "rotate", "51f0")

    assert "5ec" in made.out
    assert "5ec" in rotated.out
    assert [(one.method, one.path, one.body) for one in fake.asked] == [
        ("POST", "/api/v1/endpoints/lane/webhooks",
         {"source_type": "github", "target_queue": "inbox"}),
        ("POST", "/api/v1/webhooks/51f0/rotate", {}),
    ]  # fmt: skip


def test_webhooks_are_listed_for_all_or_one_endpoint_and_deleted(
    cli: Cli, fake: FakeServer
) -> None:
    fake.script = lambda _: ok(webhooks=[HOOK], webhook_id="51f0", deleted=True)

    assert "51f0  github  inbox  signed" in cli("webhook", "list").out
    cli("webhook", "list", "lane")
    assert cli("webhook", "delete", "51f0").out == "51f0 is deleted.\n"
    assert [(one.method, one.path) for one in fake.asked] == [
        ("GET", "/api/v1/webhooks"), ("GET", "/api/v1/endpoints/lane/webhooks"),
        ("DELETE", "/api/v1/webhooks/51f0"),
    ]  # fmt: skip


def test_a_route_is_removed_by_slug(cli: Cli, fake: FakeServer) -> None:
    fake.script = lambda _: ok(routes=[{"slug": "other", "endpoint_id": "e2", "granted_at": "t"}])

    cli("webhook", "routes", "51f0", "--add", "third", "--remove", "other")

    calls = [(one.method, one.path.removeprefix("/api/v1/webhooks/51f0")) for one in fake.asked]
    assert calls == [
        ("POST", "/routes"), ("GET", "/routes"), ("DELETE", "/routes/e2"), ("GET", "/routes"),
    ]  # fmt: skip


def test_event_list_and_show(cli: Cli, fake: FakeServer) -> None:
    one: Json = {"id": 7, "received_at": "t", "source": "github", "event_type": "issues",
                 "trust_mode": "signed", "verified": True}  # fmt: skip

    def script(asked: Asked) -> Reply:
        return Reply(body=one) if asked.path.endswith("/7") else ok(events=[one], next_cursor=None)

    fake.script = script

    assert cli("event", "list").out.splitlines()[1] == "7   t         github  issues  signed  yes"
    assert "event_type   issues" in cli("event", "show", "7").out


def test_unknown_fields_and_missing_ones_are_no_trouble(cli: Cli, fake: FakeServer) -> None:
    fake.script = lambda _: ok(endpoints=[{"new": [1]}, "odd"], extra={})

    assert cli("endpoints").code == 0


def test_a_refusal_is_the_servers_own_sentence(cli: Cli, fake: FakeServer) -> None:
    fake.script = lambda _: refused(409, "conflict", "The endpoint is revoked.")

    ran = cli("endpoint", "revoke", "x", "-y")

    assert (ran.code, ran.out, ran.err) == (1, "", "Error: The endpoint is revoked.\n")
