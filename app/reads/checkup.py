"""The facts behind `doctor`: looks at the database over both of its URLs, changing nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime

import psycopg

from app.db import migrate
from app.db.database import Connection, many, one, value
from app.db.direct import dial
from app.db.sealing import Sealer
from app.db.statements import load
from app.domain import checkup_database, checkup_site
from app.domain.checks import Check, Server, Site, Way, fail
from app.reads import keys

SQL = load("checkup")

_SETTINGS = (
    "default_transaction_isolation", "default_transaction_read_only", "synchronous_commit",
    "fsync", "full_page_writes", "statement_timeout", "lock_timeout", "transaction_timeout",
    "idle_in_transaction_session_timeout", "idle_session_timeout",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Patient:
    """The two URLs of the database, its key and the key's place, and two facts of the host.

    `away` says why there is no database to look at, and `away_do` what to do; else they are empty.
    """

    pooled: str
    direct: str
    names_direct: bool
    key: bytes | None
    key_place: str
    host_now: Callable[[], datetime]
    wake_ups_arrive: Callable[[], bool]
    away: str = ""
    away_do: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Facts:
    version: str
    version_number: int
    encoding: str
    role: str
    is_standby: bool
    most_connections: int


@dataclass(frozen=True, slots=True)
class _Named:
    name: str
    setting: str


@dataclass(frozen=True, slots=True)
class _Identity:
    identity: str
    pid: int


def examine(patient: Patient, site: Site) -> list[Check]:
    """Every check there is, in order; those that need a database only when it can be reached."""
    found = [*_database(patient, site), checkup_site.base_url(site)]
    if patient.key is None and not patient.away:  # without a data folder there is no key either
        found.append(checkup_site.no_key(patient.key_place))
    disk = checkup_site.disk(site)
    return [*found, checkup_site.metrics_token(site.metrics_token), *([disk] if disk else [])]


def _database(patient: Patient, site: Site) -> Iterator[Check]:
    if patient.away:
        yield fail("database", patient.away, patient.away_do)
        return
    name = "the direct URL" if patient.names_direct else "the database URL"
    try:
        with dial(patient.direct)() as conn:
            yield from _over(conn, patient, site)
            name = "SWITCHBOARD_DATABASE_URL"
            if patient.names_direct:
                yield checkup_database.ways(_way(patient.pooled), _way_of(conn), names_direct=True)
            else:
                way = _way_of(conn)
                yield checkup_database.ways(way, way, names_direct=False)
    except psycopg.Error as away:
        reason = " ".join(str(away).split()) or type(away).__name__
        yield checkup_database.unreachable(name, reason)


def _over(conn: Connection, patient: Patient, site: Site) -> Iterator[Check]:
    server = _server(conn)
    yield checkup_database.database(server)
    yield checkup_database.isolation(server)
    yield checkup_database.durability(server)
    yield checkup_database.timeouts(server)
    yield checkup_database.connections(server, site, names_direct=patient.names_direct)
    yield checkup_database.listening(_heard(patient))
    wanted = [one.version for one in migrate.migrations()]
    pending, applied = migrate.pending(conn), migrate.applied(conn)
    newer = sorted(set(applied) - set(wanted))
    yield checkup_database.migrations(pending, newer, len(wanted))
    if not pending:  # what follows asks the tables of this release
        yield from _of_our_tables(conn, patient, site)


def _of_our_tables(conn: Connection, patient: Patient, site: Site) -> Iterator[Check]:
    before = patient.host_now()
    now = value(conn, SQL["read_clock"], {})
    after = patient.host_now()
    assert isinstance(now, datetime)  # a select without a from always answers
    yield checkup_database.clock((now - before - (after - before) / 2).total_seconds())
    used = [str(name) for (name,) in conn.execute(SQL["list_zones"])]
    yield checkup_database.zones(site.zone_version, used, now)
    if patient.key is not None:
        opened = keys.opened_by(conn, Sealer(patient.key))
        yield checkup_site.encryption_key(patient.key_place, stored=opened.stored, shut=opened.shut)


def _server(conn: Connection) -> Server:
    facts = one(conn, SQL["read_server"], {}, _Facts)
    assert facts is not None  # the role and the database that we are connected with
    rows = many(conn, SQL["list_server_settings"], {"names": [*_SETTINGS]}, _Named)
    return Server(
        version=facts.version, version_number=facts.version_number, encoding=facts.encoding,
        role=facts.role, is_standby=facts.is_standby, most_connections=facts.most_connections,
        settings={row.name: row.setting for row in rows},
    )  # fmt: skip


def _heard(patient: Patient) -> bool | None:
    try:
        return patient.wake_ups_arrive()
    except psycopg.Error:
        return None


def _way(url: str) -> Way:
    with dial(url)() as conn:
        return _way_of(conn)


def _way_of(conn: Connection) -> Way:
    found = one(conn, SQL["read_identity"], {}, _Identity)
    assert found is not None
    # A pooler answers for a process of its own, not for the one that runs our statements.
    return Way(identity=found.identity, is_pooled=found.pid != conn.info.backend_pid)
