"""`db dump` and `db load`: a full backup in one file, and back into an empty database."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Mapping
from typing import IO

import click

from app.cli.frame import Branch, pass_host
from app.cli.host import Ground, Host
from app.cli.jsontext import reindent
from app.cli.outfile import STDIO, is_stdout, written
from app.cli.output import Failure, note, show_value, to_json, wants_json
from app.db import dumping, loading
from app.db.dumpfile import DumpRefused
from app.db.migrate import Connection
from app.db.sealing import Sealer
from app.domain.values import Json
from app.reads import keys


@click.group(cls=Branch)
def db() -> None:
    """On the server host: back the database up, and restore it."""


@db.command("dump")
@click.argument("file")
@pass_host
def dump(host: Host, file: str) -> None:
    """Write every row to FILE, or to standard output when FILE is -. Servers may go on serving.

    The key that opens stored secrets is not in it: keep that too, in another place.
    """
    is_piped = is_stdout(_named(file))
    if is_piped and sys.stdout.isatty():
        raise click.UsageError("A dump is not for a terminal: name a file, or pipe it.")
    with _in_words(), host.ground() as ground:
        if ground.away:
            raise Failure(f"Nothing to dump: {ground.away}. {ground.away_do}")
        with written(file) as out:
            done = dumping.dump(ground.direct, out, release=host.version)
        place = ground.key_place
    told: dict[str, Json] = {
        "file": file, "tables": len(done.rows), "rows": sum(done.rows.values()),
        "migration": done.migration, "taken_at": done.taken_at, "key": place,
    }  # fmt: skip
    says = (
        f"Dumped {told['rows']} rows of {told['tables']} tables, at migration {done.migration}."
    )
    if not is_piped:
        show_value(told, [says])
    elif wants_json():  # standard output is the dump itself
        click.echo(reindent(to_json(told)), err=True)
    else:
        note(says)
    if not wants_json():
        note(f"The key that opens its secrets is not in it. Keep it too, apart from it: {place}")


@db.command("load")
@click.argument("file")
@pass_host
def load(host: Host, file: str) -> None:
    """Load FILE into an empty database, then migrate it.

    FILE may be -, for standard input. The key of the dumped database must be in its place first:
    secret.key in the data folder, or SWITCHBOARD_SECRET_ENCRYPTION_KEY. Sign-ins, operator tokens,
    credentials of endpoints and the URLs of webhooks are those of the dump, and go on working where
    the base URL is the same; what was revoked or rotated after the dump is as it was before.

    Nothing is changed when the dump is damaged, cut off or newer than this release, when the
    database holds rows, or when the key does not open the secrets of the dump.
    """
    with _in_words(), host.new_ground() as ground, _read(_named(file)) as source:
        done = loading.load_dump(
            ground.direct, source, require_key=lambda conn: _require_key(conn, ground)
        )
    told: dict[str, Json] = {
        "tables": len(done.rows), "rows": sum(done.rows.values()), "taken_at": done.taken_at,
        "migrated": [*done.migrated], "key": ground.key_place,
    }  # fmt: skip
    show_value(told, _loaded(told, done.migrated))


def _named(file: str) -> str:
    if not file:
        raise click.UsageError("FILE is empty: name a file, or -.")
    return file


def _loaded(told: Mapping[str, Json], migrated: list[str]) -> Iterator[str]:
    yield f"Loaded {told['rows']} rows of {told['tables']} tables, as of {told['taken_at']}."
    yield from (f"applied {version}" for version in migrated)
    yield f"The stored secrets open with the key in {told['key']}, which no dump holds."


def _require_key(conn: Connection, ground: Ground) -> None:
    """Raise DumpRefused unless our key opens every secret that was just loaded."""
    if ground.key is None:
        raise DumpRefused(f"{ground.key_place} is not set: set it to the key the dump belongs to.")
    found = keys.opened_by(conn, Sealer(ground.key))
    if found.shut:
        raise DumpRefused(
            f"{found.shut} of {found.stored} stored secrets do not open with the key in"
            f" {ground.key_place}. Put the key of the dumped database there, and load again."
        )


@contextlib.contextmanager
def _in_words() -> Iterator[None]:
    try:
        yield
    except DumpRefused as refused:
        raise Failure(f"{refused} Nothing was changed.") from refused


@contextlib.contextmanager
def _read(file: str) -> Iterator[IO[bytes]]:
    if file == STDIO:
        yield sys.stdin.buffer
        return
    try:
        descriptor = os.open(file, os.O_RDONLY)
    except OSError as refused:
        raise Failure(f"{file} cannot be read: {refused.strerror}.") from refused
    with os.fdopen(descriptor, "rb") as source:
        yield source
