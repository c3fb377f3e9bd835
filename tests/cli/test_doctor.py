"""`doctor`: a sound installation is said to be sound, and every planted fault is found."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from app import hosting, sharing
from app.binaries import EmbeddedError
from app.cli.host import Ground
from app.domain import checkup_database
from app.domain.checks import Way
from app.settings import Settings
from tests.cli.conftest import SITE, Cli, Ran, ground_at
from tests.support.make import Make
from tests.support.pg import Fresh

Doctor = Callable[[Ground], Ran]
CHECKS = ["database", "isolation", "durability", "role timeouts", "connections", "listen",
          "migrations", "clock", "zones", "encryption key", "urls", "base url", "metrics token",
          "disk"]  # fmt: skip
MOVED = """create or replace function clock() returns timestamptz language sql volatile
as $$ select clock_timestamp() + interval '{}' $$"""


@pytest.fixture
def doctor(cli: Cli) -> Doctor:
    """Run `doctor --json` on this ground."""
    return lambda ground: cli("doctor", "--json", ground=lambda: nullcontext(ground))


def found(ran: Ran) -> dict[str, tuple[str, str]]:
    """Every check that is not ok, by name: its verdict, and all it says."""
    return {one["name"]: (one["verdict"], f"{one['says']} {one['do']}")
            for one in json.loads(ran.out)["checks"] if one["verdict"] != "ok"}  # fmt: skip


def test_a_sound_installation_is_sound_in_words_and_in_json(
    durable_database: Fresh, cli: Cli, doctor: Doctor
) -> None:
    ground = ground_at(durable_database.url)

    told, table = doctor(ground), cli("doctor", ground=lambda: nullcontext(ground))

    body = json.loads(told.out)
    assert (told.code, table.code, body["ok"]) == (0, 0, True), told.out
    assert [one["name"] for one in body["checks"]] == CHECKS
    head, *lines = table.out.splitlines()
    assert head.split() == ["IS", "CHECK", "FOUND"]
    assert len(lines) == len(CHECKS)
    assert all(line.startswith("ok  ") for line in lines)


def test_every_fault_of_the_database_is_found_with_what_to_do(
    durable_database: Fresh, doctor: Doctor
) -> None:
    url = durable_database.url
    name = psycopg.conninfo.conninfo_to_dict(url)["dbname"]
    make = Make(url)
    make.webhook(make.endpoint())
    policy = make.policy(make.queue_id(make.endpoint()), max_claims_per_window=1)
    last = make.value("select max(version) from schema_migrations")
    faults = [
        (f"alter database {name} set default_transaction_isolation = 'serializable'",
         "isolation", "fail", "is serializable Run: alter role"),
        (f"alter database {name} set default_transaction_read_only = on",
         "database", "fail", "read-only"),
        (f"alter database {name} set synchronous_commit = off",
         "durability", "fail", "synchronous_commit is off"),
        (f"alter database {name} set statement_timeout = '3s'",
         "role timeouts", "warn", "statement_timeout is 3000 ms"),
        (f"alter database {name} set idle_session_timeout = '5min'",
         "role timeouts", "warn", "idle_session_timeout is 300000 ms"),
        (f"alter database {name} connection limit 30",
         "connections", "fail", "up to 31 of 30 Raise max_connections"),
        (f"alter database {name} connection limit 40", "connections", "warn", "a second server"),
        (MOVED.format("5 seconds"), "clock", "warn", "5.0 s ahead of this host Set both clocks"),
        (MOVED.format("-1 hour"), "clock", "fail", "3600.0 s behind this host"),
        (MOVED.format("3 years"), "zones", "warn", "2026.6 is old Update the package tzdata"),
        (f"update admission_policies set window_tz = 'Mars/Olympus' where id = '{policy}'",
         "zones", "fail", "unknown zones: Mars/Olympus"),
        ("update endpoint_webhooks set secret = 'enc:v1:' || secret",
         "encryption key", "fail", "1 of 1 stored secrets do not open with it Put the key"),
        ("insert into schema_migrations values ('9999_later', '00', clock())",
         "migrations", "fail", "the database is newer: it has 9999_later"),
        (f"update schema_migrations set sha256 = '00' where version = '{last}'",
         "migrations", "fail", f"1 pending or edited, first {last} Run `switchboard migrate`"),
    ]  # fmt: skip
    undo = (f"alter database {name} reset all", f"alter database {name} connection limit -1",
            MOVED.format("0"), "delete from schema_migrations where version = '9999_later'",
            f"update admission_policies set window_tz = 'UTC' where id = '{policy}'",
            "update endpoint_webhooks set secret = replace(secret, 'enc:v1:enc', 'enc')")

    for fault, check, verdict, words in faults:
        make.run(fault)
        ran = doctor(ground_at(url))
        for statement in undo:
            make.run(statement)
        is_, says = found(ran).get(check, ("ok", ""))
        assert is_ == verdict, (fault, ran.out)
        assert words in says, says
        assert ran.code == (1 if "fail" in {word for word, _ in found(ran).values()} else 0)
    make.close()


def test_a_cluster_that_a_crash_destroys_is_found(doctor: Doctor, db_url: str) -> None:
    ran = doctor(ground_at(db_url))

    assert ran.code == 1
    assert found(ran)["durability"] == (
        "fail", "fsync is off: a crash may destroy the database Turn fsync on in postgresql.conf.")


@pytest.mark.parametrize(("changed", "check", "verdict", "words"), [
    ({"base_url": "http://board.example.org"}, "base url", "fail", "in clear Put TLS in front"),
    ({"has_trusted_proxies": False}, "base url", "warn", "SWITCHBOARD_TRUSTED_PROXIES"),
    ({"base_url": "http://127.0.0.1:8080", "is_loopback": False}, "base url", "warn", "beyond"),
    ({"base_url": "http://localhost:9999", "has_trusted_proxies": False}, "base url", "warn",
     "listens on port 8080 Set SWITCHBOARD_BASE_URL to port 8080, unless a proxy passes it on."),
    ({"dev_login": True, "is_loopback": False}, "base url", "fail", "SWITCHBOARD_DEV_LOGIN"),
    ({"metrics_token": None}, "metrics token", "warn", "not set in this shell: a server"),
    ({"metrics_token": "ab" * 20}, "metrics token", "warn", "easily guessed"),
    ({"free_bytes": 1 << 30}, "disk", "warn", "1.0 GiB free at DATA Make room"),
    ({"free_bytes": 1 << 20}, "disk", "fail", "0.0 GiB"),
])  # fmt: skip
def test_every_fault_of_the_settings_and_the_host_is_found(
    changed: dict[str, object], check: str, verdict: str, words: str, doctor: Doctor, db_url: str
) -> None:
    told = found(doctor(ground_at(db_url, site=replace(SITE, **changed))))

    assert told[check][0] == verdict
    assert words in told[check][1]
    assert set(told) == {check, "durability"}  # the tests' fast cluster has no fsync


def test_a_wrong_key_and_no_key_are_found(doctor: Doctor, db_url: str, make: Make) -> None:
    make.webhook(make.endpoint())

    wrong = found(doctor(ground_at(db_url, key=bytes(32))))["encryption key"]
    none = found(doctor(ground_at(db_url, key=None)))["encryption key"]

    assert wrong == ("fail", "1 of 1 stored secrets do not open with it"
                             " Put the key they were sealed with into THE_KEY.")
    assert none[1].startswith("THE_KEY is not set in this shell Set it to 32 bytes")


def test_a_database_out_of_reach_or_never_migrated_is_found(
    doctor: Doctor, db_url: str, fresh_database: Fresh
) -> None:
    away = doctor(ground_at(db_url.replace("port=5432", "port=1")))
    make = Make(fresh_database.url)
    make.run("drop table schema_migrations")
    make.close()
    bare = doctor(ground_at(fresh_database.url))

    assert (away.code, bare.code) == (1, 1)
    assert found(away)["database"][1].startswith("the database URL: ")
    assert "No such file" in found(away)["database"][1]
    assert [one["name"] for one in json.loads(away.out)["checks"]] == [
        "database", "base url", "metrics token", "disk"]
    assert "Run `switchboard migrate`" in found(bare)["migrations"][1]


def test_a_direct_url_to_another_database_or_to_nothing_is_found(
    doctor: Doctor, db_url: str, fresh_database: Fresh
) -> None:
    two = replace(ground_at(fresh_database.url), pooled=db_url, names_direct=True)
    same = replace(ground_at(db_url), names_direct=True)
    gone = replace(two, pooled=db_url.replace("port=5432", "port=1"))

    assert found(doctor(two))["urls"] == (
        "fail", "the two database URLs lead to two databases"
                " Point SWITCHBOARD_DATABASE_DIRECT_URL to the database of the other.")
    assert found(doctor(same))["urls"][0] == "warn"
    assert "SWITCHBOARD_DATABASE_URL: " in found(doctor(gone))["database"][1]


def test_a_pooler_is_told_by_the_process_it_hides_and_wake_ups_that_do_not_arrive(
    doctor: Doctor, db_url: str
) -> None:
    direct, pooled = (Way(identity="one", is_pooled=flag) for flag in (False, True))
    lost = replace(ground_at(db_url), wake_ups_arrive=lambda: False)

    alone = checkup_database.ways(pooled, pooled, names_direct=False)
    wrong = checkup_database.ways(pooled, pooled, names_direct=True)
    right = checkup_database.ways(pooled, direct, names_direct=True)

    assert (alone.verdict, alone.says) == ("fail", "the database URL leads through a pooler")
    assert (wrong.verdict, wrong.says) == ("fail", "the direct URL leads through a pooler")
    assert right.verdict == "ok"
    assert "SWITCHBOARD_DATABASE_DIRECT_URL" in found(doctor(lost))["listen"][1]


def test_the_roof_hands_down_what_the_settings_say(doctor: Doctor, db_url: str) -> None:
    settings = Settings.from_environment({
        "SWITCHBOARD_DATABASE_URL": db_url, "SWITCHBOARD_ADDR": "0.0.0.0:8080", "HOME": "/",
        "SWITCHBOARD_BASE_URL": "https://sb.example", "SWITCHBOARD_DEV_LOGIN": "1",
    })  # fmt: skip

    with hosting.ground(settings) as ground:
        told = found(doctor(ground))

    assert ground.site.connections > ground.site.direct_connections > 0
    assert ground.site.zone_version[:2] == "20"
    assert {"base url", "encryption key", "metrics token"} <= set(told)
    assert told["encryption key"][1].startswith("SWITCHBOARD_SECRET_ENCRYPTION_KEY is not set")


def test_without_a_data_folder_nothing_is_made_and_its_name_is_told(
    cli: Cli, tmp_path: Path
) -> None:
    home = tmp_path / "typo" / "data"
    ground = embedded(home)

    told, dump = cli("doctor", "--json", ground=ground), cli("db", "dump", "-", ground=ground)

    assert (told.code, dump.code) == (1, 1)
    assert str(home) in found(told)["database"][1]
    assert "SWITCHBOARD_DATA_DIR" in found(told)["database"][1]
    assert f"Nothing to dump: there is no database in the data folder {home}." in dump.err
    assert not home.parent.exists()


def test_when_the_embedded_postgres_does_not_start_the_other_checks_are_still_made(
    cli: Cli, tmp_path: Path
) -> None:
    (tmp_path / "pg").mkdir()
    (tmp_path / "secret.key").write_text("00" * 32)
    ground = embedded(tmp_path, SWITCHBOARD_PG_BIN=str(tmp_path / "nowhere"))

    told, table, dump = (cli(*words, ground=ground) for words in (
        ("doctor", "--json"), ("doctor",), ("db", "dump", str(tmp_path / "dump"))))  # fmt: skip

    assert (told.code, table.code, dump.code) == (1, 1, 1)
    assert [one["name"] for one in json.loads(told.out)["checks"]] == [
        "database", "base url", "metrics token", "disk"]
    verdict, says = found(told)["database"]
    assert verdict == "fail"
    assert "nowhere" in says
    assert "postgres.log" in says
    assert "fail  database" in table.out
    assert dump.err.startswith("Error: Nothing to dump: ")
    assert not (tmp_path / "dump").exists()


def test_of_the_log_of_a_postgres_that_does_not_start_only_the_last_line_is_told(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pg").mkdir()

    def refuse(*_: object, **__: object) -> None:
        raise EmbeddedError("Postgres did not start. Its last words:\nLOG: fine\nPANIC: no.")

    monkeypatch.setattr(sharing, "open_embedded", refuse)
    (tmp_path / "secret.key").write_text("00" * 32)

    says = json.loads(cli("doctor", "--json", ground=embedded(tmp_path)).out)["checks"][0]["says"]

    assert says == "Postgres did not start. Its last words: PANIC: no"


def embedded(home: Path, **changed: str) -> Callable[[], AbstractContextManager[Ground]]:
    """The ground of an embedded database in `home`."""
    named = {"SWITCHBOARD_DATA_DIR": str(home), "HOME": "/", **changed}
    return lambda: hosting.ground(Settings.from_environment(named))
