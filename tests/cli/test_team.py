"""The team commands: what each asks the server, and what it prints of the answer."""

from __future__ import annotations

import json

import pytest

from app.domain.values import Json
from tests.cli.conftest import Cli
from tests.cli.fake import FakeServer, Reply, ok, refused

pytestmark = pytest.mark.usefixtures("logged_in")

CREW: dict[str, Json] = {
    "id": "c0", "slug": "crew", "display_name": "The crew", "role": "owner",
    "members_create_webhooks": False, "suspended": False,
}  # fmt: skip
QUEUE: dict[str, Json] = {
    "id": "q1", "name": "builds/fast", "queue": "team:crew/builds/fast", "has_policy": True,
    "drained_by": [{"endpoint_id": "e1", "slug": "lane-a"}, {"endpoint_id": "e2", "slug": "b"}],
}  # fmt: skip
INVITE: dict[str, Json] = {
    "id": "i1", "email": "ada@sb.example", "role": "member", "created_at": "t0",
    "expires_at": "t7", "accepted_at": None, "revoked_at": None,
}  # fmt: skip
LINK = "https://sb.example/invites/tok_en-1"

SAID = [
    (("list",), "GET", "/teams", {}, ok(teams=[CREW]),
     ["SLUG  NAME      ROLE   STATE", "crew  The crew  owner  active"]),
    (("show", "crew"), "GET", "/teams/crew", {},
     ok(**CREW, members=3, queues=2, endpoints=1),
     ["team                     crew", "id                       c0",
      "name                     The crew", "your role                owner",
      "state                    active", "members create webhooks  off",
      "members                  3", "queues                   2", "endpoints                1"]),
    (("create", "crew"), "POST", "/teams", {"slug": "crew"}, Reply(status=201, body=CREW),
     ["crew is made; you are its owner."]),
    (("create", "crew", "--name", "The crew"), "POST", "/teams",
     {"slug": "crew", "display_name": "The crew"}, Reply(status=201, body=CREW),
     ["crew is made; you are its owner."]),
    (("edit", "crew", "--slug", "band", "--name", "B", "--members-create-webhooks", "off"),
     "PATCH", "/teams/crew",
     {"slug": "band", "display_name": "B", "members_create_webhooks": False},
     ok(**{**CREW, "slug": "band", "suspended": True, "members_create_webhooks": True}),
     ["team                     band", "id                       c0",
      "name                     The crew", "your role                owner",
      "state                    suspended", "members create webhooks  on"]),
    (("edit", "crew", "--members-create-webhooks", "on"), "PATCH", "/teams/crew",
     {"members_create_webhooks": True}, ok(**CREW), None),
    (("delete", "crew", "-y"), "DELETE", "/teams/crew", {}, ok(slug="crew", deleted=True),
     ["crew is deleted."]),
    (("leave", "crew"), "POST", "/teams/crew/leave", {}, ok(slug="crew", left=True),
     ["You left crew."]),
    (("transfer", "crew", "h2"), "POST", "/teams/crew/transfer", {"human_id": "h2"},
     ok(**{**CREW, "role": "admin"}), ["h2 owns crew; you are admin."]),
    (("member", "list", "crew"), "GET", "/teams/crew/members", {},
     ok(members=[{"human_id": "h2", "display_name": "Bo", "role": "member",
                  "source": "oidc_group"}]),
     ["HUMAN  NAME  ROLE    SOURCE", "h2     Bo    member  oidc_group"]),
    (("member", "role", "crew", "h2", "admin"), "PATCH", "/teams/crew/members/h2",
     {"role": "admin"}, ok(human_id="h2", display_name="Bo", role="admin", source="manual"),
     ["Bo is admin of crew."]),
    (("member", "remove", "crew", "h2"), "DELETE", "/teams/crew/members/h2", {},
     ok(human_id="h2", removed=True), ["h2 is out of crew."]),
    (("invite", "create", "crew", "ada@sb.example"), "POST", "/teams/crew/invites",
     {"email": "ada@sb.example"}, Reply(status=201, body={**INVITE, "invite_url": LINK}),
     ["invite   i1", "email    ada@sb.example", "role     member", "expires  t7",
      f"link     {LINK}", "Pass the link on now; it is not shown again."]),
    (("invite", "create", "crew", "a@b", "--role", "admin"), "POST", "/teams/crew/invites",
     {"email": "a@b", "role": "admin"}, Reply(status=201, body={}), None),
    (("invite", "list", "crew"), "GET", "/teams/crew/invites", {}, ok(invites=[INVITE]),
     ["ID  EMAIL           ROLE    CREATED  EXPIRES  ACCEPTED  REVOKED",
      "i1  ada@sb.example  member  t0       t7       -         -"]),
    (("invite", "revoke", "crew", "i1", "-y"), "DELETE", "/teams/crew/invites/i1", {},
     ok(id="i1", revoked=True), ["i1 is revoked."]),
    (("group", "list", "crew"), "GET", "/teams/crew/group-links", {},
     ok(group_links=[{"id": "g1", "group": "eng/core", "role": "admin"}]),
     ["ID  GROUP     ROLE", "g1  eng/core  admin"]),
    (("group", "add", "crew", "eng/core"), "POST", "/teams/crew/group-links",
     {"group": "eng/core", "role": "member"},
     Reply(status=201, body={"id": "g1", "group": "eng/core", "role": "member"}),
     ["eng/core is linked to crew as member: g1."]),
    (("group", "add", "crew", "eng", "--role", "admin"), "POST", "/teams/crew/group-links",
     {"group": "eng", "role": "admin"}, Reply(status=201, body={}), None),
    (("group", "remove", "crew", "g1"), "DELETE", "/teams/crew/group-links/g1", {},
     ok(id="g1", deleted=True), ["g1 is unlinked."]),
    (("queue", "list", "crew"), "GET", "/teams/crew/queues", {}, ok(queues=[QUEUE]),
     ["ID  QUEUE                  BUDGET  ENDPOINTS",
      "q1  team:crew/builds/fast  yes     lane-a,b"]),
    (("queue", "create", "crew", "builds/fast"), "POST", "/teams/crew/queues",
     {"name": "builds/fast"}, Reply(status=201, body=QUEUE),
     ["team:crew/builds/fast is made."]),
    (("queue", "create", "crew", "builds/fast"), "POST", "/teams/crew/queues",
     {"name": "builds/fast"}, Reply(body=QUEUE), ["team:crew/builds/fast was there already."]),
    (("queue", "delete", "crew", "builds/fast", "-y"), "DELETE",
     "/teams/crew/queues/builds%2Ffast", {}, ok(id="q1", deleted=True),
     ["team:crew/builds/fast is deleted."]),
    (("grant", "lane-a", "team:crew/builds/fast"), "PUT",
     "/endpoints/lane-a/team-queues/crew/builds%2Ffast", {},
     ok(endpoint_id="e1", queue="team:crew/builds/fast", granted=True),
     ["lane-a drains team:crew/builds/fast."]),
    (("ungrant", "lane-a", "team:crew/builds/fast"), "DELETE",
     "/endpoints/lane-a/team-queues/crew/builds%2Ffast", {},
     ok(endpoint_id="e1", queue="team:crew/builds/fast", granted=False),
     ["lane-a does not drain team:crew/builds/fast."]),
]  # fmt: skip
ASKS = [
    (("delete", "crew"), "/teams/crew"),
    (("invite", "revoke", "crew", "i1"), "/teams/crew/invites/i1"),
    (("queue", "delete", "crew", "b"), "/teams/crew/queues/b"),
]  # fmt: skip


def asked_once(fake: FakeServer) -> tuple[str, str, dict[str, Json]]:
    assert len(fake.asked) == 1
    one = fake.asked[0]
    assert one.headers["Authorization"] == "Bearer sbo_saved"
    return one.method, one.path.removeprefix("/api/v1"), one.body


@pytest.mark.parametrize(("words", "method", "path", "body", "reply", "lines"), SAID,
                         ids=lambda value: " ".join(value) if isinstance(value, tuple) else "")
def test_a_command_asks_its_route_and_says_what_came_of_it(
    words: tuple[str, ...], method: str, path: str, body: dict[str, Json], reply: Reply,
    lines: list[str] | None, cli: Cli, fake: FakeServer,
) -> None:  # fmt: skip
    fake.script = lambda _: reply

    ran = cli("team", *words)

    assert (ran.code, ran.err) == (0, "")
    assert asked_once(fake) == (method, path, body)
    assert lines is None or ran.out.splitlines() == lines
    assert json.loads(cli("team", *words, "--json").out) == reply.body


def test_a_refusal_of_any_command_is_the_servers_sentence_and_one(
    cli: Cli, fake: FakeServer
) -> None:
    fake.script = lambda _: refused(403, "role_required", "Only an owner may do that.")
    error = {"error": "Only an owner may do that.", "code": "role_required"}

    for words in {words for words, *_ in SAID}:
        ran = cli("team", *words)
        assert (ran.code, ran.out) == (1, ""), words
        assert ran.err == "Error: Only an owner may do that.\n", words
        told = cli("team", *words, "--json")
        assert (told.code, told.out, json.loads(told.err)) == (1, "", error), words


@pytest.mark.parametrize(
    ("words", "name", "hint"),
    [
        (("list",), "teams", "No teams yet; `switchboard team create SLUG` makes one."),
        (("member", "list", "c"), "members", "No members."),
        (("invite", "list", "c"), "invites",
         "No invites; `switchboard team invite create SLUG EMAIL` makes one."),
        (("group", "list", "c"), "group_links",
         "No groups; `switchboard team group add SLUG GROUP` links one."),
        (("queue", "list", "c"), "queues",
         "No queues; `switchboard team queue create SLUG NAME` makes one."),
    ],
)  # fmt: skip
def test_an_empty_list_is_a_one_line_hint(
    words: tuple[str, ...], name: str, hint: str, cli: Cli, fake: FakeServer
) -> None:
    fake.script = lambda _: Reply(body={name: []})

    assert cli("team", *words).out == f"{hint}\n"


def test_wrong_usage_is_two_and_asks_nothing(cli: Cli, fake: FakeServer) -> None:
    for words in (
        ("show",), ("create",), ("edit", "crew"), ("transfer", "crew"),
        ("edit", "crew", "--members-create-webhooks", "maybe"), ("member", "list"),
        ("member", "role", "crew", "h2", "king"), ("member", "role", "crew", "h2"),
        ("invite", "create", "crew"), ("invite", "create", "crew", "a@b", "--role", "king"),
        ("invite", "accept", "tok_en"), ("invite", "revoke", "crew"), ("queue", "create", "crew"),
        ("group", "add", "crew", "eng", "--role", "owner"), ("group", "remove", "crew"),
        ("grant", "lane-a"), ("grant", "lane-a", "builds"), ("grant", "lane-a", "team:crew"),
        ("grant", "lane-a", "team:crew/"), ("ungrant", "lane-a", "team:/builds"),
        ("ungrant", "lane-a", "crew/builds"),
    ):  # fmt: skip
        ran = cli("team", *words)
        assert (ran.code, ran.out, fake.asked) == (2, "", []), words
        assert ran.err.startswith("Usage: switchboard team"), words


def test_a_refused_field_is_named_by_the_flag_that_set_it(cli: Cli, fake: FakeServer) -> None:
    said = []
    for field, words in (
        ("display_name", ("create", "crew", "--name", " ")),
        ("slug", ("create", "c", "--name", "C")),
        ("slug", ("edit", "crew", "--slug", "c")),
        ("members_create_webhooks", ("edit", "crew", "--members-create-webhooks", "on")),
    ):
        fake.script = lambda _, field=field: Reply(status=400, body={
            "error": f"{field}: no.", "code": "invalid_argument", "field": field})
        said.append(cli("team", *words).err)

    assert said == [
        "Error: display_name: no. (--name)\n", "Error: slug: no.\n",
        "Error: slug: no. (--slug)\n",
        "Error: members_create_webhooks: no. (--members-create-webhooks)\n",
    ]  # fmt: skip


def test_what_is_gone_for_good_is_asked_about_first(cli: Cli, fake: FakeServer) -> None:
    for words, _ in ASKS:
        declined = cli("team", *words, stdin="n\n")
        unanswered = cli("team", *words, stdin="")
        assert (declined.code, declined.out) == (0, ""), words
        assert "[y/N]" in declined.err, words
        assert (unanswered.code, unanswered.out) == (1, ""), words

    assert fake.asked == []


def test_agreeing_goes_ahead(cli: Cli, fake: FakeServer) -> None:
    fake.script = lambda _: ok(deleted=True)

    assert [cli("team", *words, stdin="y\n").code for words, _ in ASKS] == [0, 0, 0]
    assert [(one.method, one.path) for one in fake.asked] == [
        ("DELETE", f"/api/v1{path}") for _, path in ASKS
    ]


@pytest.mark.parametrize("given", ["tok_en-1\n", f"{LINK}\n", f"  {LINK}/ \n", "tok_en-1"])
def test_an_invite_is_read_from_standard_input(given: str, cli: Cli, fake: FakeServer) -> None:
    fake.script = lambda _: ok(slug="crew", role="member")

    ran = cli("team", "invite", "accept", stdin=given)

    assert (ran.code, ran.out, ran.err) == (0, "You are member of crew.\n", "")
    assert asked_once(fake) == ("POST", "/invites/accept", {"token": "tok_en-1"})


@pytest.mark.parametrize("given", ["", "\n", "https://sb.example/invites/\n"])
def test_no_invite_on_standard_input_is_usage(given: str, cli: Cli, fake: FakeServer) -> None:
    ran = cli("team", "invite", "accept", stdin=given)

    assert (ran.code, ran.out, fake.asked) == (2, "", [])
    assert "no link or token" in ran.err


def test_an_invite_that_is_worth_nothing_says_why_it_may_be(cli: Cli, fake: FakeServer) -> None:
    fake.script = lambda _: refused(404, "not_found", "Not found.")

    ran = cli("team", "invite", "accept", stdin=LINK)
    told = cli("team", "invite", "accept", "--json", stdin=LINK)

    assert (ran.code, ran.out) == (1, "")
    assert ran.err == "Error: No such invite: it is used, revoked, expired or was never one.\n"
    assert json.loads(told.err) == {"error": "Not found.", "code": "not_found"}
    assert "tok_en" not in ran.err + told.err


def test_no_word_leaves_its_place_in_the_path(cli: Cli, fake: FakeServer) -> None:
    cli("team", "show", "../me?x=1#")
    cli("team", "member", "remove", "crew", "..")
    cli("team", "queue", "delete", "crew", "a:b c", "-y")

    assert [one.path.removeprefix("/api/v1") for one in fake.asked] == [
        "/teams/..%2Fme%3Fx%3D1%23", "/teams/crew/members/%2E%2E",
        "/teams/crew/queues/a%3Ab%20c",
    ]  # fmt: skip


def test_a_todo_is_pushed_into_a_teams_queue(cli: Cli, fake: FakeServer) -> None:
    fake.script = lambda _: Reply(status=201, body={
        "id": "td_1", "team": "crew", "queue": "team:crew/builds/fast", "state": "pending",
        "created": True,
    })  # fmt: skip

    ran = cli("todo", "push", "team:crew", "Look", "--queue", "builds/fast", "--kind", "k",
              "--payload", "null", "--key", "same")  # fmt: skip

    assert (ran.code, ran.out) == (0, "td_1 is in team:crew/builds/fast.\n")
    assert asked_once(fake) == (
        "POST", "/teams/crew/queues/builds%2Ffast/todos",
        {"title": "Look", "kind": "k", "key": "same", "payload": None},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("team:crew", "Look"), "--queue is required with team:crew"),
        (("team:crew", "Look", "--queue", ""), "--queue is required with team:crew"),
        (("team:crew/builds", "Look"), "write team:SLUG"),
        (("team:", "Look", "--queue", "b"), "write team:SLUG"),
    ],
)
def test_a_team_without_a_queue_takes_no_todo(
    words: tuple[str, ...], sentence: str, cli: Cli, fake: FakeServer
) -> None:
    ran = cli("todo", "push", *words)

    assert (ran.code, ran.out, fake.asked) == (2, "", [])
    assert sentence in ran.err


def test_a_team_is_named_where_endpoints_and_webhooks_are_made(
    cli: Cli, fake: FakeServer
) -> None:
    fake.script = lambda _: Reply(status=201, body={})

    cli("vend", "lane m", "--team", "crew")
    cli("webhook", "create", "lane-a", "--source-type", "github", "--queue", "team:crew/builds")

    assert [one.body for one in fake.asked] == [
        {"name": "lane m", "team": "crew"},
        {"source_type": "github", "target_queue": "team:crew/builds"},
    ]
