"""The scene of the audit: two people, two teams, one of everything of theirs, and its keeping.

Built once. Whatever a request changed is put back, so that each sees the same rows.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields

import psycopg
from flask import Flask
from psycopg import sql

from app.data import data
from app.db import statements
from app.domain.callers import Endpoint, Human
from app.domain.verbs import BASICS, GRANTABLE
from app.edge import deps
from tests.support.make import Make, Team
from tests.web import scene

UNKNOWN_ID = "00000000-0000-4000-8000-000000000000"
# Stamps that any request may move, whatever it is answered.
_STAMPS = ["last_used_at", "last_seen_at", "last_auth_at"]
# Spent by whoever asks, refused or not (R43); and sessions slide.
MOVING = frozenset({"sessions", "admission_write_buckets"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Somebody's things by the names that rows use; `words` stand in no answer to a stranger."""

    names: Mapping[str, str]
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """Places, and the humans and agents that ask, by what they are to the team of `team`."""

    own: Place
    team: Place
    other: Place
    scenes: Mapping[str, scene.Scene]
    humans: Mapping[str, Human]
    agents: Mapping[str, Endpoint]
    tokens: Mapping[str, str]
    sessions: Mapping[str, str]
    credentials: Mapping[str, str]


def build(make: Make) -> Stage:
    """Ann with her own things; team blue with its things and roles; the owner of team green."""
    ann, blue, green = (scene.of_human(make, "ann"), scene.of_team(make, "blue"),
                        scene.of_team(make, "green"))  # fmt: skip
    assert blue.member
    assert blue.admin
    humans = {"ann": ann.human, "stranger": scene.of_human(make, "sue").human,
              "member": blue.member, "admin": blue.admin, "owner": blue.human,
              "other owner": green.human}  # fmt: skip
    agents = {
        "basic agent": make.endpoint(ann.human, queues=("inbox", "rest"), verbs=BASICS),
        "opted-in agent": make.endpoint(ann.human, queues=("inbox", "rest"), verbs=GRANTABLE),
        "team's agent": make.endpoint(blue.human, blue.team, verbs=GRANTABLE),
        "foreign agent": make.endpoint(humans["stranger"], verbs=GRANTABLE),
    }  # fmt: skip
    return Stage(
        own=_place(make, ann), team=_place(make, blue), other=_place(make, green),
        scenes={"own": ann, "team": blue, "other": green}, humans=humans, agents=agents,
        tokens={name: make.operator_token(human) for name, human in humans.items()},
        sessions={name: make.session(human) for name, human in humans.items()},
        credentials={name: make.credential(each) for name, each in agents.items()},
    )  # fmt: skip


def _place(make: Make, own: scene.Scene) -> Place:
    endpoint = own.names["endpoint"]
    queue = str(make.value("select name from queues where id = %s", int(own.names["queue"])))
    more = {
        "endpoint_slug": str(make.value("select slug from endpoints where id = %s", endpoint)),
        "event": str(make.event(endpoint if own.team is None else None,
                                own.team.id if own.team else None)),
        "queue_name": queue,
        "scope": f"endpoint:{endpoint}" if own.team is None else f"team:{own.team.slug}",
        "budget": endpoint if own.team is None else f"team:{own.team.slug}",
        "ingest": str(make.value("select ingest_token from endpoint_webhooks where id = %s",
                                 own.names["webhook"])),
    }  # fmt: skip
    if own.team is not None:
        more |= _of_team(make, own, own.team)
    return Place(names={**own.names, **more}, words=own.words)


def _of_team(make: Make, own: scene.Scene, team: Team) -> dict[str, str]:
    assert own.member
    lone = make.team(f"lone-{team.slug}")  # with one owner only
    for human, role in ((own.human, "owner"), (own.admin, "admin"), (own.member, "member")):
        assert human
        make.member(lone, human, role)
    lane = make.endpoint(own.member, name=f"{team.slug} hands")
    idle, busy = make.team_queue(team, "idle"), make.team_queue(team, "busy")
    make.todo(queue=busy)
    invite = make.value(
        "insert into team_invites (id, team_id, email_lower, role, token_sha256, expires_at,"
        " created_by) values (gen_random_uuid(), %s, 'kim@example.org', 'member', %s,"
        " clock() + interval '7 days', %s) returning id", team.id, team.slug, own.human.id)
    link = make.value(
        "insert into team_group_links (id, team_id, group_name, role)"
        " values (gen_random_uuid(), %s, 'nights', 'member') returning id", team.id)
    return {"team": team.slug, "lone": lone.slug,
            "hand": str(own.member.id), "boss": str(own.human.id),
            "invite": str(invite), "group_link": str(link), "idle_queue": idle.name.split("/")[1],
            "team_queue": busy.name.split("/")[1], "hands_endpoint": str(lane.id)}  # fmt: skip


def unknown(name: str, place: Place) -> str:
    """A name of the same kind that names nothing."""
    if name in ("scope", "budget"):
        kind, colon, _ = place.names[name].rpartition(":")
        return f"{kind}{colon}nobody-abcd"
    spelled = {"event": "999999999", "endpoint_slug": "nobody-abcd", "queue_name": "nothing",
               "ingest": "nothing", "team": "nobody", "lone": "nobody", "idle_queue": "nothing",
               "team_queue": "nothing"}  # fmt: skip
    return spelled.get(name) or scene.unknown(name)


def without_limits(app: Flask) -> None:
    """Lets thousands of requests through: every bucket of the process is always full."""
    with app.app_context():
        limits = deps.state().limits
    for field in fields(limits):
        seconds = itertools.count(0.0, 1000.0)
        getattr(limits, field.name)._clock = lambda seconds=seconds: next(seconds)


class Keeper:
    """Remembers every row of a database once, says what has changed since, and puts it back."""

    def __init__(self, url: str) -> None:
        self._conn = psycopg.connect(url, autocommit=True)
        self._tables = [str(name) for (name,) in self._conn.execute(
            "select relname from pg_class where relnamespace = 'public'::regnamespace"
            " and relkind = 'r' and relname <> 'schema_migrations' order by 1").fetchall()]
        self.keep()

    def keep(self) -> None:
        """Takes what is there now for the beginning."""
        self._conn.execute("drop schema if exists kept cascade; create schema kept")
        for name in self._tables:
            self._conn.execute(sql.SQL("create table kept.{0} as table public.{0}").format(
                sql.Identifier(name)))
        self._digests, self._versions = self._read(), self._glance()

    def put_back(self) -> set[str]:
        """Makes every table what it was, and names those that had changed, but the moving ones."""
        if self._glance() == self._versions:
            return set()
        changed = self._changed()
        with self._conn.transaction():
            self._conn.execute("set local session_replication_role = 'replica'")
            for name in changed:
                for text in ("delete from public.{}",
                             "insert into public.{0} overriding system value table kept.{0}"):
                    self._conn.execute(sql.SQL(text).format(sql.Identifier(name)))
        self._versions = self._glance()
        return changed - MOVING

    def close(self) -> None:
        """Ends its connection."""
        self._conn.close()

    def _glance(self) -> list[tuple[object, ...]]:
        """How many rows each table has, and which transactions wrote them: cheap to ask."""
        looks = sql.SQL(" union all ").join(
            sql.SQL("select {}, count(*), sum(xmin::text::bigint) from public.{}").format(
                sql.Literal(name), sql.Identifier(name))
            for name in self._tables)  # fmt: skip
        return self._conn.execute(looks).fetchall()

    def _changed(self) -> set[str]:
        now = self._read()
        return {name for name in self._tables if now[name] != self._digests[name]}

    def _read(self) -> dict[str, str]:
        looks = sql.SQL(" union all ").join(
            sql.SQL("select {}, md5(coalesce(string_agg(h, '' order by h), '')) from (select"
                    " md5((to_jsonb(t) - %(stamps)s::text[])::text) h from public.{} t) r").format(
                        sql.Literal(name), sql.Identifier(name))
            for name in self._tables)  # fmt: skip
        found = self._conn.execute(looks, {"stamps": _STAMPS}).fetchall()
        return {str(name): str(digest) for name, digest in found}


@contextmanager
def kept(url: str) -> Iterator[Keeper]:
    """A keeper for the length of the block."""
    keeper = Keeper(url)
    try:
        yield keeper
    finally:
        keeper.close()


def names_of(said: list[str]) -> list[str]:
    """Statements by the names they have in sql/queries; others by their own first words."""
    return [_NAMED.get(text, " ".join(text.split()[:3])) for text in said]


def _named() -> dict[str, str]:
    modules = [path.stem for path in sorted((data("sql") / "queries").glob("*.sql"))]
    return {text.as_string(None): f"{module}.{name}"
            for module in modules for name, text in statements.load(module).items()}  # fmt: skip


_NAMED = _named()


def csrf(session: str) -> str:
    """The token that the forms of a session carry."""
    return hashlib.sha256(b"switchboard csrf 1:" + session.encode()).hexdigest()
