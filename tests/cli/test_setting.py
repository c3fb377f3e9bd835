"""`admin setting`: the rows of `settings` are listed, read, and changed within their ranges."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import nullcontext

import pytest

from app.db.database import Database
from app.domain.instance_settings import RULES
from app.reads.instance import sse_retry_ms
from tests.cli.conftest import Cli, Ran
from tests.support.make import Make

SettingCommand = Callable[..., Ran]


@pytest.fixture
def setting(cli: Cli, db: Database) -> SettingCommand:
    """Run `admin setting ...` on the test's database."""
    return lambda *words: cli("admin", "setting", *words, open_database=lambda: nullcontext(db))


def test_every_setting_is_listed_with_its_value_or_default(
    setting: SettingCommand, make: Make
) -> None:
    make.run("delete from settings where key = 'sse_retry_ms'")
    make.run("insert into settings values ('attempts_pruned_through', '2026-01-01T00:00:00Z')")

    lines, told = setting().out.splitlines(), json.loads(setting("--json").out)["settings"]

    assert lines[0].split() == ["SETTING", "VALUE", "IS", "MEANING"]
    assert {one["key"]: one["value"] for one in told} == {
        "attempt_history_max_per_todo": "50", "attempts_pruned_through": "2026-01-01T00:00:00Z",
        "retention_max_age_days": "30", "retention_max_rows": "500000", "sse_retry_ms": "3000",
    }  # fmt: skip
    assert [line.split()[0] for line in lines[1:]] == [one["key"] for one in told]


def test_a_setting_is_changed_read_back_and_obeyed(setting: SettingCommand, db: Database) -> None:
    changed, read = setting("sse_retry_ms", "00500"), setting("sse_retry_ms", "--json")

    assert (changed.code, changed.out) == (0, "500\n")
    assert json.loads(read.out) == {"key": "sse_retry_ms", "value": "500", "is_default": False}
    assert sse_retry_ms(db) == 500


def test_a_setting_that_was_never_seeded_can_be_set(
    setting: SettingCommand, make: Make
) -> None:
    ran = setting("attempt_history_max_per_todo", "7")

    assert ran.code == 0
    assert make.value("select attempt_history_cap()") == 7


@pytest.mark.parametrize(("words", "says"), [
    (("retention_days",), "'retention_days' is no setting. There are: attempt_history_max"),
    (("retention_days", "3"), "is no setting"),
    (("sse_retry_ms", "soon"), "must be a whole number from 100 to 600000, not 'soon'"),
    (("sse_retry_ms", "99"), "from 100"),
    (("retention_max_age_days", "0"), "from 1 to 36500"),
    (("retention_max_rows", "9" * 30), "whole number"),
    (("retention_max_rows", "\u0663"), "whole number"),
    (("attempt_history_max_per_todo", "4"), "from 5"),
    (("attempts_pruned_through", "2026-01-01T00:00:00Z"), "written by retention alone"),
    (("sse_retry_ms", "500", "600"), "Usage:"),
])  # fmt: skip
def test_what_will_not_do_is_usage_and_changes_nothing(
    words: tuple[str, ...], says: str, setting: SettingCommand, make: Make
) -> None:
    before = make.rows("select key, value from settings order by key")

    ran = setting(*words)

    assert (ran.code, ran.out) == (2, "")
    assert says in ran.err
    assert make.rows("select key, value from settings order by key") == before


def test_the_least_and_the_most_of_every_setting_are_taken(
    setting: SettingCommand, make: Make
) -> None:
    for key, rule in RULES.items():
        for number in (rule.least, rule.most):
            assert setting(key, str(number)).code == 0
            assert make.value("select value from settings where key = %s", key) == str(number)


def test_the_help_names_every_key_with_its_range(cli: Cli) -> None:
    said = cli("admin", "setting", "-h").out

    assert [key for key, rule in RULES.items()
            if f"{key}  {rule.least} to {rule.most}, {rule.default} by default" not in said] == []
    assert "SWITCHBOARD_RETENTION_TODOS_PER_OWNER" in said
