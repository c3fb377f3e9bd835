"""Host commands: humans, links and tokens straight from the database."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from uuid import uuid4

import pytest

from app.db.database import Database
from app.reads import identity
from app.transactions import people
from tests.cli.conftest import Cli, Ran

Admin = Callable[..., Ran]


@pytest.fixture
def admin(cli: Cli, db: Database) -> Admin:
    """Run `admin ...` on the test's database."""

    def opened() -> AbstractContextManager[Database]:
        return nullcontext(db)

    return lambda *words: cli("admin", *words, open_database=opened)


def test_create_human_prints_id_link_and_token_one_line_each(admin: Admin, db: Database) -> None:
    ran = admin("create-human", "--name", "Ada", "--email", "ada@sb.example")

    lines = dict(line.split(maxsplit=1) for line in ran.out.splitlines())
    facts = identity.human_by_operator_token(db, lines["operator_token"])
    assert ran.code == 0
    assert [*lines] == ["human_id", "login_url", "operator_token"]
    assert facts is not None
    assert str(facts.human.id) == lines["human_id"]
    assert facts.human.email == "ada@sb.example"
    assert lines["login_url"].startswith("https://sb.example/auth/link/")


def test_a_printed_link_signs_in_once(admin: Admin, db: Database) -> None:
    made = json.loads(admin("create-human", "--name", "Ada", "--json").out)

    token = made["login_url"].rsplit("/", 1)[1]

    assert people.consume_login_link(db, token) is not None
    assert people.consume_login_link(db, token) is None


def test_login_url_and_token_take_an_id_or_a_unique_name(admin: Admin, db: Database) -> None:
    ada = people.create_human(db, display_name="Ada")

    by_name = admin("token", "--human", "Ada", "--name", "laptop")
    by_id = admin("login-url", "--human", str(ada.id), "--json")

    facts = identity.human_by_operator_token(db, by_name.out.strip())
    assert facts is not None
    assert (facts.human.id, facts.token.name) == (ada.id, "laptop")
    assert json.loads(by_id.out)["human_id"] == str(ada.id)


@pytest.mark.parametrize("command", ["login-url", "token"])
def test_an_unknown_or_ambiguous_human_is_one(command: str, admin: Admin, db: Database) -> None:
    people.create_human(db, display_name="Twin")
    twin = people.create_human(db, display_name="Twin")

    unknown, foreign = admin(command, "--human", "Nobody"), admin(command, "--human", str(uuid4()))
    ambiguous, exact = admin(command, "--human", "Twin"), admin(command, "--human", str(twin.id))

    assert [ran.code for ran in (unknown, foreign, ambiguous, exact)] == [1, 1, 1, 0]
    assert "Several humans are named" in ambiguous.err
    assert (unknown.out, ambiguous.out) == ("", "")


@pytest.mark.parametrize(
    "words",
    [("create-human",), ("create-human", "--name", " "), ("token",), ("login-url",),
     ("create-human", "--name", "a\x1bb"), ("create-human", "--name", "x" * 5000)],
)  # fmt: skip
def test_a_name_that_will_not_do_is_usage(words: tuple[str, ...], admin: Admin) -> None:
    ran = admin(*words)

    assert (ran.code, ran.out) == (2, "")
    assert ("--human" if words[0] != "create-human" else "--name") in ran.err
