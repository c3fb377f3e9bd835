"""`queue budget`: one PUT for a whole policy, and what `show` makes of the answers."""

from __future__ import annotations

import json
import sys

import pytest

from app.domain.values import Json
from tests.cli.conftest import Cli
from tests.cli.fake import Asked, FakeServer, Reply, ok, refused

pytestmark = pytest.mark.usefixtures("logged_in")

DAY: dict[str, Json] = {"period": "day", "tz": "America/Los_Angeles", "start": "00:00"}
EXHAUSTED: dict[str, Json] = {
    "scope": "endpoint:lane-m-k3x9", "queue": "lane-m",
    "policy": {"max_in_flight": 3, "max_claims_per_window": 100, "window": DAY},
    "revision": 4,
    "status": {"state": "deferred", "reason": "window_exhausted",
               "next_eligible_at": "2026-10-01T07:00:00Z", "exact": True},
    "usage": {"in_flight": 3, "used": 100, "remaining": 0,
              "window_started_at": "2026-09-30T07:00:00Z",
              "window_resets_at": "2026-10-01T07:00:00Z"},
    "also_binding": ["in_flight_full"],
    "windows": [{"window_start": "2026-09-30T07:00:00Z", "used": 100, "retries": 6,
                 "takeovers": 1, "limit_at_last_charge": 100}],
    "audit": [{"at": "2026-09-30T14:00:00Z", "action": "update",
               "actor": {"human_id": "7c1e", "name": "Ada"},
               "endpoint": {"id": "0b8e", "slug": "lane-m-k3x9"},
               "before": {"max_in_flight": 3, "max_claims_per_window": 50, "window": DAY},
               "after": {"max_in_flight": 3, "max_claims_per_window": 100, "window": DAY},
               "reason": "incident 12"},
              {"at": "2026-09-29T14:00:00Z", "action": "create",
               "actor": {"human_id": "7c1e", "name": "Ada"}, "before": None,
               "after": {"max_in_flight": 3, "max_claims_per_window": 50, "window": DAY},
               "reason": None}],
}  # fmt: skip
CAPPED: dict[str, Json] = {
    "scope": "team:core", "queue": "builds/fast",
    "policy": {"max_in_flight": 2, "max_claims_per_window": None, "window": None},
    "revision": 1, "status": {"state": "admitted"},
    "usage": {"in_flight": 1, "used": None, "remaining": None, "window_started_at": None,
              "window_resets_at": None},
}  # fmt: skip
NONE: dict[str, Json] = {
    "scope": "endpoint:lane-m-k3x9", "queue": "inbox", "policy": None, "revision": None,
    "status": {"state": "admitted"}, "usage": None, "also_binding": [], "windows": [], "audit": [],
}  # fmt: skip
FEW = "50 a day from 00:00 America/Los_Angeles, 3 in flight"
MANY = "100 a day from 00:00 America/Los_Angeles, 3 in flight"
SET = ("queue", "budget", "set", "lane-m-k3x9", "lane-m")
SHOW = ("queue", "budget", "show")


def listing(asked: Asked) -> Reply:
    if asked.verb == "endpoints":
        return ok(endpoints=[{"slug": "lane-m-k3x9", "id": "0b8e"}, {"slug": "idle", "id": "77"}])
    if asked.verb == "teams":
        return ok(teams=[{"slug": "core", "id": "c0"}, {"slug": "other", "id": "07"}])
    return ok(policies=[EXHAUSTED, CAPPED])


@pytest.mark.req("REQ-10")
@pytest.mark.rule("R36: one PUT, no read first, and the flags are the whole policy")
def test_set_sends_one_put_with_the_whole_policy(cli: Cli, fake: FakeServer) -> None:
    fake.script = lambda _: Reply(body=EXHAUSTED)

    ran = cli(*SET, "--per-day", "100", "--tz", "America/Los_Angeles", "--reason", "incident 12")

    assert ran.code == 0
    (asked,) = fake.asked
    assert (asked.method, asked.path) == (
        "PUT", "/api/v1/admission/endpoint%3Alane-m-k3x9/lane-m")
    assert asked.body == {
        "max_in_flight": None, "max_claims_per_window": 100, "window": DAY,
        "reason": "incident 12",
    }  # fmt: skip
    assert "a limit that you do not name is removed" in " ".join(
        cli(*SET[:3], "--help").out.split())


@pytest.mark.parametrize(
    ("flags", "sent"),
    [
        (("--max-in-flight", "3"), (3, None, None)),
        (("--per-hour", "7", "--tz", "UTC", "--start", "00:30"),
         (None, 7, {"period": "hour", "tz": "UTC", "start": "00:30"})),
        (("--per-week", "7", "--tz", "UTC"),
         (None, 7, {"period": "week", "tz": "UTC", "start": "00:00", "weekday": "Mon"})),
        (("--per-week", "0", "--tz", "x", "--weekday", "Sun", "--max-in-flight", "0"),
         (0, 0, {"period": "week", "tz": "x", "start": "00:00", "weekday": "Sun"})),
        (("--per-day", "-1", "--tz", "", "--start", ""),
         (None, -1, {"period": "day", "tz": "", "start": ""})),
    ],
)  # fmt: skip
def test_set_leaves_the_bounds_to_the_server(
    flags: tuple[str, ...], sent: tuple[Json, Json, Json], cli: Cli, fake: FakeServer
) -> None:
    fake.script = lambda _: Reply(body=CAPPED)

    assert cli(*SET, *flags).code == 0
    assert fake.asked[0].body == dict(
        zip(("max_in_flight", "max_claims_per_window", "window"), sent, strict=True))


@pytest.mark.parametrize(
    "flags",
    [
        (),
        ("--reason", "x"),
        ("--per-hour", "1", "--per-day", "1", "--tz", "UTC"),
        ("--per-day", "1", "--per-week", "1", "--tz", "UTC"),
        ("--per-day", "1"),
        ("--per-day", "1", "--tz", "UTC", "--weekday", "Mon"),
        ("--per-hour", "1", "--tz", "UTC", "--weekday", "Mon"),
        ("--per-week", "1", "--tz", "UTC", "--weekday", "monday"),
        ("--max-in-flight", "3", "--tz", "UTC"),
        ("--max-in-flight", "3", "--start", "00:00"),
        ("--max-in-flight", "3", "--weekday", "Mon"),
        ("--tz", "UTC"),
        ("--max-in-flight", "1e400"),
        ("--max-in-flight", "1_0"),
        ("--max-in-flight", "٣"),
        ("--max-in-flight", "9" * 5000),
        ("--max-in-flight", "1.0"),
    ],
)
def test_set_that_makes_no_policy_is_wrong_usage(
    flags: tuple[str, ...], cli: Cli, fake: FakeServer
) -> None:
    ran = cli(*SET, *flags)

    assert ran.code == 2
    assert ran.out == ""
    assert "Usage: switchboard queue budget set" in ran.err
    assert fake.asked == []


def test_what_the_server_refuses_names_the_flag_and_exits_1(cli: Cli, fake: FakeServer) -> None:
    window = ("--per-day", "1", "--tz", "localtime")
    for field, flag in (("window.tz", "--tz"), ("max_claims_per_window", "--per-day"),
                        ("max_in_flight", "--max-in-flight"), ("window", "field window")):
        fake.script = lambda _, field=field: refused_on(field)

        ran = cli(*SET, *window)

        assert (ran.code, ran.err) == (1, f"Error: It will not do. ({flag})\n")
    assert json.loads(cli(*SET, *window, "--json").err) == refused_on("window").body


def refused_on(field: str) -> Reply:
    """A refusal of a field whose sentence does not name it."""
    return Reply(status=400, body={
        "error": "It will not do.", "code": "invalid_argument", "field": field})


@pytest.mark.parametrize("limit", ["max_in_flight", "max_claims_per_window"])
def test_a_zero_says_that_the_queue_is_paused(limit: str, cli: Cli, fake: FakeServer) -> None:
    policy = {"max_in_flight": 5, "max_claims_per_window": 5, "window": DAY, limit: 0}
    status = {"state": "deferred", "reason": "paused", "next_eligible_at": None, "exact": False}
    fake.script = lambda _: Reply(body={**EXHAUSTED, "policy": policy, "status": status})

    lines = cli(*SET, "--max-in-flight", "0").out.splitlines()

    assert lines[0] == "Queue lane-m is paused."
    assert "status        paused  (paused: no claim is admitted)" in lines


def test_set_prints_the_stored_policy_and_its_status(cli: Cli, fake: FakeServer) -> None:
    fake.script = lambda _: Reply(body=CAPPED)

    assert cli(*SET, "--max-in-flight", "2").out.splitlines() == [
        "scope      team:core",
        "queue      builds/fast",
        "status     admitted",
        "claims     no limit",
        "in flight  1 of 2",
        "window     -",
        "resets     -",
        "revision   1",
    ]


@pytest.mark.parametrize(
    ("ref", "queue", "path"),
    [
        ("lane", "a/b", "endpoint%3Alane/a%2Fb"),
        ("lane", "a:b c", "endpoint%3Alane/a%3Ab%20c"),
        ("lane", "..", "endpoint%3Alane/%2E%2E"),
        ("team:core", "builds", "team%3Acore/builds"),
        ("endpoint:lane", "x", "endpoint%3Alane/x"),
        ("a/b", "x", "endpoint%3Aa%2Fb/x"),
    ],
)
def test_names_cannot_leave_their_place_in_the_path(
    ref: str, queue: str, path: str, cli: Cli, fake: FakeServer
) -> None:
    fake.script = lambda _: ok(deleted=True)

    assert cli("queue", "budget", "clear", ref, queue).out == "cleared\n"
    assert fake.asked[0].path == f"/api/v1/admission/{path}"


def test_clear_says_whether_there_was_a_policy(cli: Cli, fake: FakeServer) -> None:
    fake.script = lambda _: ok(deleted=False)

    ran = cli("queue", "budget", "clear", "lane", "x", "--reason", "no longer & never")

    assert (ran.code, ran.out) == (0, "no policy\n")
    assert fake.asked[0].method == "DELETE"
    assert fake.asked[0].query == {"reason": "no longer & never"}


def test_show_lists_every_policy_in_its_own_zone(cli: Cli, fake: FakeServer) -> None:
    fake.script = listing

    assert cli(*SHOW).out.splitlines() == [
        "SCOPE                 QUEUE        STATUS            USED  LIMIT  IN-FLIGHT  CAP  RESETS",
        "endpoint:lane-m-k3x9  lane-m       window_exhausted  100   100    3          3"
        "    2026-10-01 00:00 America/Los_Angeles",
        "team:core             builds/fast  admitted          -     -      1          2    -",
    ]  # fmt: skip
    assert [one.path for one in fake.asked] == ["/api/v1/admission"]


@pytest.mark.parametrize(
    ("ref", "queues"), [("lane-m-k3x9", ["lane-m"]), ("0b8e", ["lane-m"]), ("idle", []),
                        ("team:core", ["builds/fast"]), ("team:c0", ["builds/fast"]),
                        ("team:other", [])],
)  # fmt: skip
def test_show_with_an_owner_lists_its_policies(
    ref: str, queues: list[str], cli: Cli, fake: FakeServer
) -> None:
    fake.script = listing

    told = json.loads(cli(*SHOW, ref, "--json").out)

    assert [one["queue"] for one in told["policies"]] == queues


@pytest.mark.parametrize(("ref", "kind"), [("typo", "endpoint"), ("team:typo", "team")])
def test_show_of_an_owner_nobody_has_exits_1(
    ref: str, kind: str, cli: Cli, fake: FakeServer
) -> None:
    fake.script = listing

    ran = cli(*SHOW, ref)

    assert (ran.code, ran.err) == (1, f"Error: No {kind} of yours is called typo.\n")


def test_show_of_no_policies_is_a_hint(cli: Cli, fake: FakeServer) -> None:
    fake.script = lambda _: ok(policies=[])

    ran = cli(*SHOW)

    assert (ran.code, ran.out) == (
        0, "No policies that you may change; `switchboard queue budget set` makes one.\n")


@pytest.mark.rule("R55: who changed it, when and why")
@pytest.mark.rule("R56: every limit that would refuse is shown")
def test_show_of_one_queue_says_limits_use_windows_and_changes(
    cli: Cli, fake: FakeServer
) -> None:
    fake.script = lambda _: Reply(body=EXHAUSTED)

    assert cli(*SHOW, "lane-m-k3x9", "lane-m").out.splitlines() == [
        "scope         endpoint:lane-m-k3x9",
        "queue         lane-m",
        "status        window_exhausted"
        "  (the window's claims are used up, until 2026-10-01T07:00:00Z)",
        "also binding  in_flight_full",
        "claims        100 of 100",
        "in flight     3 of 3",
        "window        day from 00:00 America/Los_Angeles",
        "resets        2026-10-01 00:00 America/Los_Angeles",
        "revision      4",
        "",
        "WINDOW                                USED  LIMIT  RETRIES  TAKEOVERS",
        "2026-09-30 00:00 America/Los_Angeles  100   100    6        1",
        "",
        f"{'CHANGED':20}  {'BY':20}  {'FROM':52}  {'TO':53}  REASON",
        f"2026-09-30T14:00:00Z  {'Ada (by lane-m-k3x9)':20}  {FEW:52}  {MANY:53}  incident 12",
        f"2026-09-29T14:00:00Z  {'Ada':20}  {'no policy':52}  {FEW:53}  -",
    ]  # fmt: skip


def test_show_of_a_queue_without_a_policy_says_so_and_exits_0(cli: Cli, fake: FakeServer) -> None:
    fake.script = lambda _: Reply(body=NONE)

    ran = cli(*SHOW, "lane-m-k3x9", "inbox")

    assert (ran.code, ran.out) == (
        0, "endpoint:lane-m-k3x9 inbox has no policy; claims are not limited.\n")


def test_show_after_a_clear_still_tells_windows_and_changes(cli: Cli, fake: FakeServer) -> None:
    fake.script = lambda _: Reply(body={
        **NONE, "windows": EXHAUSTED["windows"], "audit": EXHAUSTED["audit"]})

    out = cli(*SHOW, "lane-m-k3x9", "inbox").out

    assert "2026-09-30 07:00 UTC" in out
    assert "incident 12" in out


def test_a_policy_that_cannot_be_read_is_not_called_unlimited(cli: Cli, fake: FakeServer) -> None:
    status: Json = {"state": "deferred", "reason": "admission_unavailable",
                    "next_eligible_at": None, "exact": False}  # fmt: skip
    fake.script = lambda _: Reply(body={**NONE, "status": status})

    out = cli(*SHOW, "lane-m-k3x9", "inbox").out

    assert "no claim is admitted" in out
    assert "no policy" not in out


def test_a_zone_this_release_does_not_know_leaves_the_time_as_it_came(
    cli: Cli, fake: FakeServer
) -> None:
    moon = {"max_in_flight": None, "max_claims_per_window": 1,
            "window": {"period": "day", "tz": "Moon/Base", "start": "00:00"}}  # fmt: skip
    fake.script = lambda _: ok(policies=[{**EXHAUSTED, "policy": moon}])

    assert "2026-10-01T07:00:00Z" in cli(*SHOW).out


def test_names_of_others_cannot_move_the_terminal(cli: Cli, fake: FakeServer) -> None:
    evil = {**EXHAUSTED, "queue": "x\x1b[2J", "scope": "endpoint:\x1b]0;y"}
    fake.script = lambda asked: Reply(body=evil) if asked.verb == "q" else ok(policies=[evil])

    assert "\x1b" not in cli(*SHOW).out + cli(*SHOW, "e", "q").out + cli(
        "queue", "budget", "set", "e", "q", "--max-in-flight", "0").out


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [((*SHOW, "a", "b"), "not_found", "Not found."), ((*SET, "--max-in-flight", "1"), "conflict",
                                                      "Revoked.")],
)  # fmt: skip
def test_a_refusal_exits_1_and_its_body_goes_to_stderr_with_json(
    words: tuple[str, ...], code: str, sentence: str, cli: Cli, fake: FakeServer
) -> None:
    fake.script = lambda _: refused(404, code, sentence)

    ran = cli(*words, "--json")

    assert (ran.code, ran.out) == (1, "")
    assert json.loads(ran.err) == {"error": sentence, "code": code}


@pytest.mark.parametrize("words", [(*SET, "--max-in-flight", "1"), (*SHOW, "e", "q"), SHOW])
def test_json_prints_the_body_of_the_api(
    words: tuple[str, ...], cli: Cli, fake: FakeServer
) -> None:
    text = '{"scope":"endpoint:e", "policy":null,"big":12345678901234567890.10}'
    fake.script = lambda _: Reply(text=text)

    out = cli(*words, "--json").out

    assert "".join(out.split()) == "".join(text.split())


class Terminal:
    """Standard output of a test that says it is a terminal."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)


def test_a_terminal_gets_a_bar_and_colours_and_a_pipe_gets_neither(
    cli: Cli, fake: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake.script = listing
    piped = cli(*SHOW).out
    Terminal(monkeypatch)
    coloured = cli(*SHOW, environment={}).out
    plain = cli(*SHOW, environment={"NO_COLOR": "1"}).out

    assert "█" not in piped
    assert "\x1b" not in piped
    assert "100 ██████████" in coloured
    assert "1 █████░░░░░" in coloured
    assert "\x1b[31mwindow_exhausted\x1b[0m" in coloured
    assert "\x1b" not in plain


def test_a_terminal_colours_the_status_of_one_queue(
    cli: Cli, fake: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake.script = lambda _: Reply(body=EXHAUSTED)
    Terminal(monkeypatch)

    assert "\x1b[31mwindow_exhausted\x1b[0m" in cli(*SHOW, "e", "q", environment={}).out


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_made_for_every_shell(shell: str, cli: Cli) -> None:
    assert "_SWITCHBOARD_COMPLETE" in cli("completion", shell).out


def test_help_names_the_new_commands(cli: Cli) -> None:
    assert "demo" in cli("--help").out
    assert {"show", "set", "clear", "verify"} <= {*cli("queue", "budget", "--help").out.split()}
