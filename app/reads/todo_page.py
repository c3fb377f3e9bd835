"""One todo as its page shows it: the todo, its attempts, its place, and what the viewer may do."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from app.db.database import Database, one
from app.db.statements import load
from app.domain.callers import Human
from app.domain.errors import NotFound
from app.domain.todos import Todo
from app.reads import admission, todos
from app.reads.admission import QueueStatus
from app.reads.todos import TodoDetail

SQL = load("todo_page")

ATTEMPTS_SHOWN = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a pending todo stands in its queue, from 1, and how many wait there."""

    place: int
    pending: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What is known around a todo: `repeats` counts the creates its key answered (todos.md,
    "Dedup"), `owner_name` is who holds or held it, `endpoint` is None for a team's queue.
    """

    may_configure: bool
    endpoint: str | None
    is_alive: bool
    repeats: int
    owner_name: str | None
    now: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenTodo:
    """A todo with everything its page says; `status` is None without a policy."""

    detail: TodoDetail
    facts: Facts
    place: Place | None
    status: QueueStatus | None

    @property
    def todo(self) -> Todo:
        """The todo itself."""
        return self.detail.todo


def see_todo(db: Database, human: Human, todo_id: str) -> SeenTodo:
    """One todo within the human's reach. Raises NotFound: foreign and unknown are one."""
    detail = todos.get_for_human(db, human, todo_id, ATTEMPTS_SHOWN)
    params = {"human_id": human.id, "todo_id": detail.todo.id}
    with db.reading() as conn:
        facts = one(conn, SQL["read_facts"], params, Facts)
        place = one(conn, SQL["read_place"], params, Place)
        queue_id = detail.todo.queue_id
        status = admission.statuses(conn, [queue_id]).get(queue_id)
    if facts is None:
        raise NotFound  # pruned, or out of reach, since the first look
    return SeenTodo(detail=detail, facts=facts, place=place, status=status)
