"""A person writes a todo: for one of their endpoints, or into a queue they may see."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from app.db.database import Connection, Database, Rollback, one, value
from app.db.statements import load
from app.domain import strictjson
from app.domain.authoring import NewWork, check_work
from app.domain.callers import Human
from app.domain.errors import Conflict, InvalidArgument, NotFound
from app.domain.queues import TeamQueue
from app.domain.values import Json
from app.reads import team_queues, teams
from app.transactions import configuring, creating
from app.transactions.configuring import Configurable
from app.transactions.creating import CreatedTodo, NewEvent, NewTodo

SQL = load("authoring")

SOURCE = "operator"


@dataclass(frozen=True, slots=True, kw_only=True)
class Authored:
    """The todo that bears the key now, new or not, and the endpoint it is for."""

    endpoint_id: UUID
    slug: str
    todo: CreatedTodo


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamAuthored:
    """As Authored, in a team's queue: the team's slug and the queue's display name."""

    team: str
    queue: str
    todo: CreatedTodo


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A queue a person may write todos for; `queue` is its display name, `slug` the endpoint's,
    None for a team's queue. `is_open` is false outside the endpoint's scope or after its end.
    """

    queue_id: int
    name: str
    queue: str
    endpoint_id: UUID | None
    team_id: UUID | None
    slug: str | None
    in_scope: bool
    is_alive: bool

    @property
    def is_open(self) -> bool:
        """Whether a todo written now would be worked on."""
        return self.in_scope and self.is_alive


@dataclass(frozen=True, slots=True, kw_only=True)
class Entered:
    """The todo a form made. `is_duplicate`: it made none, for another live todo bears its key.

    `earlier` is the title of the todo when the same form had made it already from other words, so
    that what it says now was added nowhere.
    """

    todo: CreatedTodo
    is_duplicate: bool
    earlier: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Words:
    title: str
    kind: str | None
    payload: Json
    key: str | None


@dataclass(frozen=True, slots=True)
class _Place:
    queue_id: int
    endpoint_id: UUID | None
    team_id: UUID | None


def add_todo(db: Database, human: Human, ref: str, work: NewWork) -> Authored:
    """Record a verified event and create its todo, or find the live one with the same key.

    Raises NotFound, Conflict with `state` on a revoked endpoint, InvalidArgument naming the
    field. (operator-api.md, "POST /endpoints/{ref}/todos")
    """
    with db.transaction() as conn:
        found = configuring.find_active(conn, human, ref)
        checked = check_work(work)
        queue_id = _lock_queue(conn, found, checked)
        todo = creating.create_todo(conn, _todo(conn, _Place(queue_id, found.id, None), checked))
        if not todo.created:
            raise Rollback  # takes the event of this repeat along
    creating.report_created(db, [todo], source=SOURCE)
    return Authored(endpoint_id=found.id, slug=found.slug, todo=todo)


def add_team_todo(
    db: Database, human: Human, ref: str, queue: str, work: NewWork
) -> TeamAuthored:
    """As `add_todo`, into a queue of a team, by any of its members.

    Raises NotFound outside the team and for an unknown queue, InvalidArgument naming the field.
    (operator-api.md, "Teams": POST /teams/{slug}/queues/{queue}/todos)
    """
    with db.transaction() as conn:
        team = teams.find(conn, human, ref)
        row = team_queues.read(conn, human, team, queue)
        checked = check_work(work)
        _hold_team_queue(conn, human, row.id)
        todo = creating.create_todo(conn, _todo(conn, _Place(row.id, None, team.id), checked))
        if not todo.created:
            raise Rollback  # takes the event of this repeat along
    creating.report_created(db, [todo], source=SOURCE)
    # A live todo that bears the key keeps its queue, whichever of the team's was asked for.
    name = str(TeamQueue(team.slug, todo.queue_name))
    return TeamAuthored(team=team.slug, queue=name, todo=todo)


def target(db: Database, human: Human, queue_id: int) -> Target:
    """The queue a todo is to be written for: an endpoint's by whoever may configure it, a team's
    by any member. Raises NotFound: foreign, unknown and not allowed are one.
    """
    with db.reading() as conn:
        return _target(conn, human, queue_id)


def add_to_queue(
    db: Database, human: Human, queue_id: int, work: NewWork, *, once: str | None = None
) -> Entered:
    """As `add_todo`, into a queue named by its id, a team's too.

    `once` names one opened form: what is sent twice from it is one todo, also without a key, and
    `earlier` says so when it was edited in between.
    Raises NotFound, Conflict when the queue takes no todo, InvalidArgument naming the field.
    (operator-api.md, "Teams": POST /teams/{slug}/queues/{queue}/todos)
    """
    with db.transaction() as conn:
        found = _target(conn, human, queue_id)
        checked = check_work(work)
        _hold_open(conn, human, found)
        place = _Place(found.queue_id, found.endpoint_id, found.team_id)
        event_id = creating.insert_event(conn, _event(place, checked, once))
        resent = one(conn, SQL["read_todo_of_event"], {"event_id": event_id}, CreatedTodo)
        if resent is not None:
            earlier = _earlier(conn, resent, checked)
            return Entered(todo=resent, is_duplicate=False, earlier=earlier)
        todo = creating.create_todo(conn, _todo_of(place, checked, event_id))
        if not todo.created:
            raise Rollback  # takes the event of this repeat along
    creating.report_created(db, [todo], source=SOURCE)
    return Entered(todo=todo, is_duplicate=not todo.created)


def _earlier(conn: Connection, todo: CreatedTodo, work: NewWork) -> str | None:
    said = one(conn, SQL["read_work_of_todo"], {"todo_id": todo.id}, _Words)
    if said is None:
        return None
    now = _Words(title=work.title, kind=work.kind, payload=work.payload, key=work.key)
    return None if said == now else said.title


def _target(conn: Connection, human: Human, queue_id: int) -> Target:
    params = {"human_id": human.id, "queue_id": queue_id}
    found = one(conn, SQL["read_target"], params, Target)
    if found is None:
        raise NotFound
    return found


def _hold_team_queue(conn: Connection, human: Human, queue_id: int) -> None:
    """Hold a team's queue against its deletion until the commit; NotFound when it is gone."""
    params = {"human_id": human.id, "queue_id": queue_id}
    if value(conn, SQL["lock_team_queue"], params) is None:
        raise NotFound


def _hold_open(conn: Connection, human: Human, found: Target) -> None:
    """Hold the endpoint against a revoke until the commit, or the team's queue."""
    params = {"endpoint_id": found.endpoint_id, "name": found.name}
    if found.endpoint_id is None:
        _hold_team_queue(conn, human, found.queue_id)
    elif not found.in_scope:
        raise Conflict("No agent drains this queue: it is outside the endpoint's scope.")
    elif value(conn, SQL["lock_queue"], params) is None:
        raise Conflict("The endpoint is revoked.", state="revoked")


def _lock_queue(conn: Connection, found: Configurable, work: NewWork) -> int:
    """The queue's id, holding the endpoint against a revoke until the commit."""
    name = found.queues[0] if work.queue is None else work.queue
    if name not in found.queues:
        raise InvalidArgument("queue: outside the endpoint's scope.", field="queue")
    queue_id = value(conn, SQL["lock_queue"], {"endpoint_id": found.id, "name": name})
    if not isinstance(queue_id, int):
        raise Conflict("The endpoint is revoked.", state="revoked")
    return queue_id


def _todo(conn: Connection, place: _Place, work: NewWork) -> NewTodo:
    return _todo_of(place, work, creating.insert_event(conn, _event(place, work, None)))


def _todo_of(place: _Place, work: NewWork, event_id: int) -> NewTodo:
    return NewTodo(
        queue_id=place.queue_id,
        endpoint_id=place.endpoint_id,
        team_id=place.team_id,
        source=SOURCE,
        kind=work.kind,
        title=work.title,
        payload=work.payload,
        has_payload=work.payload is not None,
        event_id=event_id,
        idempotency_key=work.key,
    )


def _event(place: _Place, work: NewWork, once: str | None) -> NewEvent:
    has_payload = work.payload is not None
    return NewEvent(
        source=SOURCE,
        family=SOURCE,
        event_type=work.kind,
        # The key dedups todos while they live; a later todo of the same key is a new event. Only
        # a form that is sent twice is the same event twice.
        external_id=None if once is None else f"form:{once}",
        trust_mode=SOURCE,
        verified=True,
        verify_detail="written by the operator",
        content_type="application/json" if has_payload else None,
        headers={},
        payload=strictjson.dumps(work.payload).encode() if has_payload else None,
        source_ip=None,
        webhook_id=None,
        endpoint_id=place.endpoint_id,
        team_id=place.team_id,
    )
