"""The saved login: private, whole or absent, and only for a server's URL."""

from __future__ import annotations

import os
import stat
from dataclasses import replace
from pathlib import Path

import click
import pytest

from app.cli import Host
from app.cli.credentials import Credentials, base_url, forget, is_token, load, location, save
from app.cli.output import Failure

ADA = Credentials(url="http://127.0.0.1:8080", token="sbo_ada")


def test_what_is_saved_is_loaded(host: Host) -> None:
    save(host, ADA)

    assert load(host) == ADA


def test_only_the_owner_may_read_the_file(host: Host) -> None:
    path = save(host, ADA)

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_readable_file_becomes_private_when_it_is_replaced(host: Host) -> None:
    path = save(host, ADA)
    path.chmod(0o644)

    save(host, replace(ADA, token="sbo_next"))

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert load(host) == replace(ADA, token="sbo_next")


def test_the_file_is_replaced_in_one_step_and_nothing_is_left_beside_it(host: Host) -> None:
    path = save(host, ADA)
    with path.open("rb") as reader:
        save(host, replace(ADA, token="sbo_next"))
        assert b"sbo_ada" in reader.read()

    assert [*path.parent.iterdir()] == [path]


def test_a_failed_write_keeps_the_old_file(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = save(host, ADA)

    def full(_handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(Failure, match="cannot be saved"):
        save(host, replace(ADA, token="sbo_next"))

    assert load(host) == ADA
    assert [*path.parent.iterdir()] == [path]


def test_nobody_is_logged_in_without_a_file_and_forgetting_twice_is_fine(host: Host) -> None:
    save(host, ADA)
    forget(host)
    forget(host)

    assert load(host) is None


@pytest.mark.parametrize("text", ["", "{", "[]", '{"url": 1}', '{"url": "http://x"}'])
def test_a_broken_file_is_a_sentence(host: Host, text: str) -> None:
    path = location(host)
    path.parent.mkdir()
    path.write_text(text)

    with pytest.raises(Failure):
        load(host)


def test_without_a_setting_the_file_is_in_the_users_config_directory(
    host: Host, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))

    where = location(replace(host, credentials_path=None))

    assert (where.parent.name, where.name) == ("switchboard", "credentials.json")


def test_a_base_url_loses_its_trailing_slash() -> None:
    assert base_url("https://sb.example/board/") == "https://sb.example/board"
    assert base_url("http://[::1]:8080") == "http://[::1]:8080"


@pytest.mark.parametrize(
    "text",
    ["", "sb.example", "ftp://sb.example", "http://", "http://ada@sb.example", "http://x?y=1",
     "http://x#y", "http://x:0", "http://x:notaport", "http://x:99999", "http://a\n.example",
     "file:///etc/passwd", "http://[::1"],
)  # fmt: skip
def test_what_is_no_servers_url_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter):
        base_url(text)


@pytest.mark.parametrize("text", ["", "a b", "a\nb", "é", "x" * 513])
def test_what_no_header_could_carry_is_no_token(text: str) -> None:
    assert not is_token(text)
