"""Who holds a todo: its row lock, its latest attempt, and the row as it is afterwards."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from app.db import database
from app.db.database import Connection
from app.db.sealing import token_hash
from app.db.statements import load
from app.domain.callers import Endpoint, Human
from app.domain.errors import NotFound
from app.domain.settlement import Held, LatestAttempt, require_holder
from app.domain.todos import Todo, is_todo_id

SQL = load("holders")


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """Who settles: an endpoint by its fence, or a human on the board, who has none."""

    owner: str
    endpoint_id: UUID | None = None
    human_id: UUID | None = None
    lease_token: str | None = None

    @property
    def fence(self) -> bytes | None:
        """The hash of the lease token that was said, as the attempt stores it."""
        return None if self.lease_token is None else token_hash(self.lease_token)

    @property
    def is_fenced(self) -> bool:
        """The fence is asked of endpoints only; board actions ignore it."""
        return self.endpoint_id is not None


def of_endpoint(endpoint: Endpoint, lease_token: str | None) -> Holder:
    """An endpoint that says it holds a claim."""
    return Holder(owner=endpoint.owner, endpoint_id=endpoint.id, lease_token=lease_token)


def of_human(human: Human) -> Holder:
    """A human who says so, on the board or through the operator API."""
    return Holder(owner=human.owner, human_id=human.id)


def lock(conn: Connection, holder: Holder, todo_id: str) -> Held:
    """Wait for the todo's row lock within the holder's tenant. Raises NotFound, Unavailable."""
    statement = SQL["lock_for_endpoint"] if holder.endpoint_id else SQL["lock_for_human"]
    params = {
        # A text that cannot be an id runs the same statement: foreign and unknown look alike.
        "todo_id": todo_id if is_todo_id(todo_id) else "",
        "endpoint_id": holder.endpoint_id,
        "human_id": holder.human_id,
    }
    held = database.one(conn, statement, params, Held)
    if held is None:
        raise NotFound
    return held


def latest(conn: Connection, held: Held) -> LatestAttempt | None:
    """The newest attempt of a locked todo; None when it was never claimed."""
    params = {"todo_id": held.id, "seq": held.attempts_total}
    return database.one(conn, SQL["read_latest_attempt"], params, LatestAttempt)


def require(holder: Holder, held: Held, newest: LatestAttempt | None) -> None:
    """Raise Conflict unless the holder holds the lease and says its fence right."""
    require_holder(
        held, newest, owner=holder.owner, token_hash=holder.fence, fenced=holder.is_fenced
    )


def row(conn: Connection, todo_id: str) -> Todo:
    """The todo as it now is. Raises NotFound."""
    todo = database.one(conn, SQL["read_row"], {"todo_id": todo_id}, Todo)
    if todo is None:
        raise NotFound
    return todo
