"""A command line without a machine: its words in, its exit code and output back."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from app.cli import Host, run
from app.cli.credentials import Credentials, save
from app.cli.host import Ground
from app.domain.checks import Site
from app.listening import wake_ups_arrive
from tests.cli.fake import FakeServer
from tests.support.pg import SEALING_KEY


@dataclass(frozen=True, slots=True)
class Ran:
    """What one command came to."""

    code: int
    out: str
    err: str


Cli = Callable[..., Ran]


SITE = Site(
    base_url="https://sb.example", port=8080, is_loopback=True, has_trusted_proxies=True,
    dev_login=False,
    metrics_token="0123456789abcdef0123456789abcdef", connections=31, direct_connections=7,
    free_bytes=5 << 30, home="DATA", zone_version="2026.6",
)


def ground_at(url: str, *, key: bytes | None = SEALING_KEY, site: Site = SITE) -> Ground:
    """The database at `url`, as a host command gets it."""
    return Ground(pooled=url, direct=url, names_direct=False, key=key, key_place="THE_KEY",
                  site=site, wake_ups_arrive=lambda: wake_ups_arrive(url))


def _never() -> object:
    raise AssertionError("this command must not touch the server's own machine")


@pytest.fixture
def fake() -> Iterator[FakeServer]:
    """A scripted HTTP server."""
    server = FakeServer()
    yield server
    server.close()


@pytest.fixture
def host(tmp_path: Path, fake: FakeServer) -> Host:
    """A host whose default URL is the scripted server, with nobody logged in."""
    return Host(
        version="1.2.3",
        base_url="https://sb.example",
        local_url=fake.url,
        is_embedded=True,
        default_url=fake.url,
        credentials_path=tmp_path / "config" / "credentials.json",
        endpoint_token="sbk_worker",
        log_level="info",
        environment={"PATH": os.environ["PATH"], "SWITCHBOARD_ENDPOINT_TOKEN": "sbk_worker"},
        set_log_level=lambda _: None,
        serve=_never,
        migrate=_never,
        open_database=_never,
        ground=_never,
        new_ground=_never,
        spawn=_never,
    )


@pytest.fixture
def cli(
    host: Host, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Cli:
    """Run words on `host` (keywords replace its fields), with `stdin` as standard input."""

    def ran(*words: str, stdin: str = "", **changed: object) -> Ran:
        monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
        capsys.readouterr()
        code = run([*words], replace(host, **changed))
        out, err = capsys.readouterr()
        return Ran(code, out, err)

    return ran


@pytest.fixture
def logged_in(host: Host, fake: FakeServer) -> Credentials:
    """Credentials for the scripted server, saved."""
    credentials = Credentials(url=fake.url, token="sbo_saved")
    save(host, credentials)
    return credentials
