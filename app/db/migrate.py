"""sql/migrations, once each, in order, under an advisory lock: two servers never race."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import psycopg
from psycopg.rows import TupleRow

from app.data import data
from app.db.statements import load

Connection: TypeAlias = psycopg.Connection[TupleRow]

SQL = load("migrate")

# Any constant will do as long as every server uses the same one.
_LOCK = 0x5317C4B0A2D


class MigrationError(Exception):
    """The stored migrations and the files do not agree."""


@dataclass(frozen=True, slots=True)
class Migration:
    """One file of sql/migrations: its number and name, its text and the text's SHA-256."""

    version: str
    text: str

    @property
    def sha256(self) -> str:
        """Hex digest, stored beside the version so that an edited file is refused."""
        return hashlib.sha256(self.text.encode()).hexdigest()


def migrations(folder: Path | None = None) -> list[Migration]:
    """Read the migration files in order of their numbers."""
    files = sorted((folder or data("sql") / "migrations").glob("*.sql"))
    return [Migration(file.stem, file.read_text(encoding="utf-8")) for file in files]


def migrate(url: str, folder: Path | None = None) -> list[str]:
    """Apply what is pending, each file in its own transaction; answer the versions applied.

    Raises MigrationError when an applied file was edited or is newer than this release, and
    psycopg.Error when a file fails (nothing of it stays).
    """
    with psycopg.connect(
        url, autocommit=True, connect_timeout=5, prepare_threshold=None
    ) as conn:
        return apply(conn, migrations(folder))


def apply(conn: Connection, wanted: list[Migration]) -> list[str]:
    """Apply what is pending of `wanted` on an open connection; answer the versions applied.

    In a transaction of the caller's, all of it belongs to that. Raises as migrate() does.
    """
    with conn.transaction():
        lock(conn)
        conn.execute(SQL["create_schema_migrations"])
    done = [m.version for m in wanted if _apply(conn, m)]
    _refuse_newer(conn, {m.version for m in wanted})
    return done


def pending(conn: Connection) -> list[str]:
    """The versions that the database does not have yet; [] when it is current."""
    known = applied(conn)
    return [m.version for m in migrations() if known.get(m.version) != m.sha256]


def applied(conn: Connection) -> dict[str, str]:
    """Every migration the database has, and its SHA-256; nothing when it was never migrated."""
    row = conn.execute(SQL["read_whether_migrated"]).fetchone()
    return _applied(conn) if row and row[0] else {}


def lock(conn: Connection) -> None:
    """Wait for whoever migrates, and keep others waiting until the end of the transaction."""
    conn.execute(SQL["lock_migrations"], {"lock": _LOCK})


def _applied(conn: Connection) -> dict[str, str]:
    return dict(conn.execute(SQL["read_applied"]).fetchall())


def _apply(conn: Connection, migration: Migration) -> bool:
    with conn.transaction():
        lock(conn)
        known = _applied(conn).get(migration.version)
        if known == migration.sha256:
            return False
        if known is not None:
            raise MigrationError(f"Migration {migration.version} was edited after it was applied.")
        # Our own file, never a caller's text; several statements, so as bytes and without params.
        conn.execute(migration.text.encode())
        conn.execute(
            SQL["insert_applied"], {"version": migration.version, "sha256": migration.sha256}
        )
    return True


def _refuse_newer(conn: Connection, known: set[str]) -> None:
    newer = sorted(set(_applied(conn)) - known)
    if newer:
        raise MigrationError(
            f"The database is newer than this release: it has migration {newer[-1]}."
        )
