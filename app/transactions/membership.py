"""The end of a membership: who lost reach of a team holds none of its work any longer (R47)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from app.db import journal
from app.db.database import Connection, Database, many, run
from app.db.statements import load
from app.domain.errors import NotFound
from app.transactions import ending
from app.transactions.ending import ClosedAttempt

SQL = load("membership")


SOURCES = ("manual", "oidc_group")


@dataclass(frozen=True, slots=True, kw_only=True)
class Membership:
    """One human in one team."""

    team_id: UUID
    human_id: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """A membership as a group of the sign-in provider left it; `role` None: it ended."""

    team_id: UUID
    human_id: UUID
    role: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost:
    """What a removal ended. Hand it to `announce` after the commit.

    `is_member_still`: another source keeps every one of the humans in their teams, so nothing was
    released. `out` are those whom no source keeps, `unseen` the queues that somebody sees no
    longer, by id. `given` is what groups changed, for the log.
    """

    is_member_still: bool
    out: tuple[UUID, ...] = ()
    released: tuple[str, ...] = ()
    unseen: frozenset[int] = frozenset()
    closed: tuple[ClosedAttempt, ...] = ()
    given: tuple[Given, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Held:
    id: str
    queue_id: int


def remove_member(db: Database, team_id: UUID, human_id: UUID, *, source: str = "manual") -> Lost:
    """Delete one membership and release what it held, in one transaction.

    `source` is manual or oidc_group. Who may do this is for the caller to ask. Raises NotFound
    when there is no such membership, Unavailable. (identity.md, "Teams")
    """
    with db.transaction() as conn:
        lost = remove(conn, team_id, human_id, source=source)
    announce(db, lost)
    return lost


def remove(conn: Connection, team_id: UUID, human_id: UUID, *, source: str) -> Lost:
    """The same inside the caller's transaction, which holds no lock of a membership yet."""
    return remove_many(conn, [Membership(team_id=team_id, human_id=human_id)], (source,))


def remove_entirely(conn: Connection, team_id: UUID, human_id: UUID) -> Lost:
    """End a membership whatever it comes from. Raises NotFound when there is none."""
    return remove_many(conn, [Membership(team_id=team_id, human_id=human_id)], SOURCES)


def remove_many(
    conn: Connection, memberships: Sequence[Membership], sources: Sequence[str]
) -> Lost:
    """End memberships of these sources and release what those held who are out now, once each.

    Todos of all of them are locked first, together, in id order. Hold no lock of a todo or a
    membership before. Raises NotFound when none of them was there.
    """
    params = _params(memberships, sources)
    locked = _lock_held(conn, params)
    if run(conn, SQL["delete_memberships"], params) == 0:
        raise NotFound
    out = many(conn, SQL["read_who_is_out"], params, Membership)
    if not out:
        return Lost(is_member_still=True)
    params = _params(out, sources)
    # What was claimed while we waited for a lock above is held by now: look once more.
    ids = sorted({*locked, *_lock_held(conn, params)})
    released = many(conn, SQL["mark_held_released"], {**params, "ids": ids}, _Held)
    unseen = conn.execute(SQL["read_queues"], params).fetchall()
    closed = ending.close_attempts(conn, [row.id for row in released], "released", "requeued")
    return Lost(
        is_member_still=False,
        out=tuple(each.human_id for each in out),
        released=tuple(sorted(row.id for row in released)),
        unseen=frozenset(row[0] for row in unseen),
        closed=tuple(closed),
    )


def announce(db: Database, lost: Lost) -> None:
    """After the commit: it counts as a release (R47), and open boards look again."""
    for each in lost.given:
        journal.note(
            "group_member_set" if each.role else "group_member_removed",
            team_id=each.team_id,
            human_id=each.human_id,
            role=each.role,
        )
    db.feed.changed(*sorted(lost.unseen))
    ending.tell_released(db, lost.released, lost.closed)
    if lost.out:
        ending.give_back(db, lost.unseen, human_ids=lost.out)


def _params(memberships: Sequence[Membership], sources: Sequence[str]) -> dict[str, object]:
    return {
        "team_ids": [each.team_id for each in memberships],
        "human_ids": [each.human_id for each in memberships],
        "sources": list(sources),
    }


def _lock_held(conn: Connection, params: Mapping[str, object]) -> list[str]:
    return [row.id for row in many(conn, SQL["lock_held_todos"], params, _Held)]
