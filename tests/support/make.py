"""Builders: rows inserted directly, so that a fault of the product's writers cannot hide in tests.

Everything that does not matter has a default. `make` works on the database behind `db`; a test
with a database of its own takes `Make(url)`.
"""

from __future__ import annotations

import hashlib
import itertools
import secrets
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import psycopg
import pytest
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from app.db.sealing import Sealer
from app.domain.callers import Endpoint, Human
from app.domain.verbs import BASICS
from tests.support.pg import SEALING_KEY
from tests.support.wait import wait_for

SOURCE_TYPES = ("github", "gitea", "stripe", "slack", "generic")
_OUTCOMES = {
    "done": ("completed", "done"),
    "failed": ("failed", "retry_scheduled"),
    "pending": ("released", "requeued"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Team:
    """A team as a test knows it."""

    id: uuid.UUID
    slug: str


class QueueId(int):
    """The id of a queue, with the name callers write."""

    name: str

    def __new__(cls, number: int, name: str) -> QueueId:
        self = super().__new__(cls, number)
        self.name = name
        return self


class TodoId(str):
    """The id of a todo, also reachable as `.id`, with the queue it stands in."""

    __slots__ = ("queue_id",)
    queue_id: int

    def __new__(cls, text: str, queue_id: int) -> TodoId:
        self = super().__new__(cls, text)
        self.queue_id = queue_id
        return self

    @property
    def id(self) -> str:
        """The plain id."""
        return str(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Webhook:
    """A registered webhook with its secret in clear."""

    id: uuid.UUID
    endpoint_id: uuid.UUID
    source_type: str
    token: str
    secret: str | None

    @property
    def path(self) -> str:
        """Where a sender posts."""
        return f"/webhooks/w/{self.token}"


class Make:
    """Builders over one database."""

    def __init__(self, url: str) -> None:
        self._conn = psycopg.connect(url, autocommit=True)
        self._numbers = itertools.count(1)
        self._credentials: dict[uuid.UUID, str] = {}

    def close(self) -> None:
        """Ends the builders' connection."""
        self._conn.close()

    # --- people and teams -------------------------------------------------------------------

    def human(self, name: str | None = None, *, email: str | None = None) -> Human:
        """A person who owns nothing yet."""
        human = Human(id=uuid.uuid4(), display_name=name or f"human {next(self._numbers)}",
                      email=email)
        self._insert("humans", id=human.id, display_name=human.display_name, email=email)
        return human

    def operator_token(self, human: Human, *, name: str = "tests") -> str:
        """A token that opens /api/v1 for this human."""
        token = f"sbo_{secrets.token_urlsafe(32)}"
        self._insert("oauth_tokens", token_hash=_sha256(token), human_id=human.id, name=name)
        return token

    def session(self, human: Human, *, seconds: float = 12 * 3600) -> str:
        """A signed-in browser's cookie value."""
        token = secrets.token_urlsafe(32)
        self._insert("sessions", token_hash=_sha256(token), human_id=human.id,
                     expires_at=self.now() + timedelta(seconds=seconds))
        return token

    def login_link(self, human: Human, *, seconds: float = 900) -> str:
        """The token of a sign-in link."""
        token = secrets.token_urlsafe(32)
        self._insert("login_links", token_hash=_sha256(token), human_id=human.id,
                     expires_at=self.now() + timedelta(seconds=seconds))
        return token

    def team(self, slug: str | None = None) -> Team:
        """A team without members."""
        team = Team(id=uuid.uuid4(), slug=slug or f"team-{next(self._numbers)}")
        self._insert("teams", id=team.id, slug=team.slug, display_name=team.slug)
        return team

    def member(self, team: Team, human: Human, role: str = "member",
               *, source: str = "manual") -> None:
        """A membership (roles owner, admin, member)."""
        self._insert("team_members", team_id=team.id, human_id=human.id, role=role, source=source)

    def remove_member(self, team: Team, human: Human) -> None:
        """Deletes the membership rows and nothing else."""
        self._conn.execute("delete from team_members where team_id = %s and human_id = %s",
                           (team.id, human.id))

    def team_queue(self, team: Team, name: str = "inbox") -> QueueId:
        """A queue the team owns."""
        number = self._insert("queues", returning="id", team_id=team.id, name=name)
        return QueueId(int(str(number)), f"team:{team.slug}/{name}")

    def grant(self, endpoint: Endpoint, queue_id: int) -> None:
        """Lets an endpoint drain a team queue."""
        self._insert("endpoint_team_grants", endpoint_id=endpoint.id, queue_id=int(queue_id))

    # --- agents and endpoints ---------------------------------------------------------------

    def endpoint(
        self,
        human: Human | None = None,
        team: Team | None = None,
        *,
        queues: Sequence[str] = ("inbox",),
        verbs: Sequence[str] = BASICS,
        name: str | None = None,
        default_lease_ttl_seconds: int | None = None,
        expires_at: datetime | None = None,
        webhook_max: int = 10,
        webhook_source_types: Sequence[str] = SOURCE_TYPES,
        webhook_queues: Sequence[str] | None = None,
    ) -> Endpoint:
        """An active endpoint of an agent of `human` (a new one by default) or of `team`.

        With both, the team owns it and the human vended it.
        """
        vendor = human or self.human()
        agent_name = name or f"agent {next(self._numbers)}"
        made = Endpoint(
            id=uuid.uuid4(), slug=f"{agent_name.replace(' ', '-')}-{secrets.token_hex(2)}",
            agent_id=uuid.uuid4(), agent_name=agent_name, queues=tuple(queues),
            verbs=frozenset(verbs), owner_human_id=None if team else vendor.id,
            owner_team_id=team.id if team else None, vended_by_human_id=vendor.id,
            expires_at=expires_at, default_lease_ttl_seconds=default_lease_ttl_seconds,
        )
        credential = self._credentials[made.id] = f"sbk_{secrets.token_urlsafe(32)}"
        self._insert("agents", id=made.agent_id, name=agent_name, created_by_human_id=vendor.id,
                     owner_human_id=made.owner_human_id, owner_team_id=made.owner_team_id)
        self._insert(
            "endpoints", id=made.id, agent_id=made.agent_id, slug=made.slug,
            credential_hash=_sha256(credential), credential_prefix=credential[:10],
            scope_queues=list(queues), scope_verbs=list(verbs), webhook_max=webhook_max,
            webhook_source_types=list(webhook_source_types),
            webhook_queues=list(queues if webhook_queues is None else webhook_queues),
            expires_at=expires_at, default_lease_ttl_seconds=default_lease_ttl_seconds,
            vended_by_human_id=vendor.id,
        )
        for queue in queues:
            self._insert("queues", endpoint_id=made.id, name=queue)
        return made

    def credential(self, endpoint: Endpoint) -> str:
        """The token that opens /agent/v1 for an endpoint made here."""
        return self._credentials[endpoint.id]

    def queue(self, endpoint: Endpoint, name: str) -> QueueId:
        """One more queue of the endpoint, outside its scope unless the scope names it."""
        number = self._insert("queues", returning="id", endpoint_id=endpoint.id, name=name)
        return QueueId(int(str(number)), name)

    def wait_until_blocked(self, sessions: int = 1) -> None:
        """Returns once that many sessions of this database wait for a lock."""
        waiting = ("select count(*) from pg_stat_activity where datname = current_database()"
                   " and wait_event_type = 'Lock'")
        wait_for(lambda: int(str(self.value(waiting))) >= sessions)

    def queue_id(self, endpoint: Endpoint, name: str = "inbox") -> QueueId:
        """The id of an endpoint's own queue."""
        number = self.value("select id from queues where endpoint_id = %s and name = %s",
                            endpoint.id, name)
        assert number is not None, f"{endpoint.slug} has no queue {name}"
        return QueueId(int(str(number)), name)

    def policy(
        self,
        queue_id: int,
        *,
        max_in_flight: int | None = None,
        max_claims_per_window: int | None = None,
        period: str | None = None,
        tz: str | None = None,
        start: str | None = None,
        weekday: str | None = None,
        human: Human | None = None,
    ) -> uuid.UUID:
        """A live policy on a queue, UTC days when it only has a window limit, and its id."""
        windowed = max_claims_per_window is not None or period is not None
        made, who = uuid.uuid4(), (human or self.human()).id
        self._insert(
            "admission_policies", id=made, queue_id=int(queue_id), max_in_flight=max_in_flight,
            max_claims_per_window=max_claims_per_window,
            window_period=(period or "day") if windowed else None,
            window_tz=(tz or "UTC") if windowed else None,
            window_start=(start or "00:00") if windowed else None,
            window_weekday=weekday, created_by_human_id=who, updated_by_human_id=who,
        )
        return made

    def window(self, policy_id: uuid.UUID, starts_at: datetime, used: int, *,
               limit: int = 100) -> None:
        """Units a policy has spent in the window that began then."""
        self._insert("admission_windows", policy_id=policy_id, window_start=starts_at, used=used,
                     limit_at_last_charge=limit)

    # --- webhooks ---------------------------------------------------------------------------

    def webhook(
        self,
        endpoint: Endpoint,
        source_type: str = "github",
        target_queue: str = "inbox",
        *,
        secret: str | None = "the shared secret",
        trust_mode: str | None = None,
        team_queue: QueueId | None = None,
    ) -> Webhook:
        """A webhook, signed when it has a secret, else open."""
        made = Webhook(id=uuid.uuid4(), endpoint_id=endpoint.id, source_type=source_type,
                       token=secrets.token_urlsafe(32), secret=secret)
        self._insert(
            "endpoint_webhooks", id=made.id, endpoint_id=endpoint.id, source_type=source_type,
            target_queue=team_queue.name if team_queue else target_queue,
            target_team_queue_id=int(team_queue) if team_queue else None,
            trust_mode=trust_mode or ("signed" if secret else "open"), ingest_token=made.token,
            secret=Sealer(SEALING_KEY).seal(secret, str(made.id)) if secret else None,
        )
        return made

    def route(self, webhook: Webhook, target: Endpoint, *, granted_by: Human | None = None) -> None:
        """Lets deliveries of a webhook fan out to another endpoint."""
        self._insert("webhook_routes", webhook_id=webhook.id, target_endpoint_id=target.id,
                     granted_by_human_id=granted_by.id if granted_by else None)

    def notify_hook(
        self,
        endpoint: Endpoint,
        url: str = "https://hooks.example.org/wake?token=hush",
        *,
        secret: str = "whsec_" + "A" * 43 + "=",
        **columns: object,
    ) -> uuid.UUID:
        """A notify hook of an endpoint, enabled unless a column says otherwise."""
        made = uuid.uuid4()
        self._insert("notify_hooks", id=made, endpoint_id=endpoint.id, url=url,
                     secret=Sealer(SEALING_KEY).seal(secret, str(made)), **columns)
        return made

    # --- work -------------------------------------------------------------------------------

    def todo(
        self,
        endpoint: Endpoint | None = None,
        queue: str | QueueId = "inbox",
        *,
        state: str = "pending",
        attempt: int | None = None,
        max_attempts: int = 5,
        lease: float = 300.0,
        next_retry_at: datetime | None = None,
        holder: Endpoint | Human | None = None,
        title: str | None = None,
        payload: object = None,
        source: str = "operator",
        kind: str | None = None,
        key: str | None = None,
        created_at: datetime | None = None,
        updated_at: datetime | None = None,
        fence: bytes | None = None,
        rings: bool = False,
    ) -> TodoId:
        """A todo in any state the product could have left it in, its attempts included.

        `queue` is a name of the endpoint's own queue or a `QueueId` (a team's too). `lease` is in
        seconds from now and may be negative (lapsed); it counts for `claimed` only. A `failed`
        todo is a dead letter unless `next_retry_at` is given. `attempt` defaults to what the state
        needs. `holder` claimed it last (the endpoint by default). `fence` is a lease token's
        SHA-256. `rings`: it comes of a verified event, so it may be pushed.
        """
        queue_id = queue if isinstance(queue, int) else self.queue_id(_some(endpoint), queue)
        owner = self._conn.execute("select endpoint_id, team_id from queues where id = %s",
                                   (int(queue_id),)).fetchone()
        assert owner is not None
        spent = attempt if attempt is not None else (0 if state == "pending" else 1)
        made = TodoId(f"td_{_uuid7().hex}", int(queue_id))
        now = self.now()
        who = holder or endpoint
        claimed = state == "claimed"
        # Together: a test that looks on meanwhile must not see a todo without its attempts.
        with self._conn.transaction():
            self._insert(
                "todos", id=str(made), queue_id=int(queue_id), endpoint_id=owner[0],
                team_id=owner[1],
                source=source, kind=kind, title=title or f"todo {next(self._numbers)}",
                event_id=self.event(*owner) if rings else None,
                payload=None if payload is None else Jsonb(payload), idempotency_key=key,
                state=state,
                owner=who.owner if who and state in ("claimed", "failed") and spent else None,
                lease_expires_at=now + timedelta(seconds=lease) if claimed else None,
                attempt=spent, max_attempts=max_attempts, attempts_total=spent,
                next_retry_at=next_retry_at,
                created_at=created_at or now, updated_at=updated_at or created_at or now,
                claimed_at=now if spent and state != "pending" else None,
                completed_at=now if state == "done" else None,
                claimed_by_endpoint_id=who.id if isinstance(who, Endpoint) and claimed else None,
            )
            for seq in range(1, spent + 1):
                self._attempt(made, seq, who, now + timedelta(seconds=lease), now, fence=fence,
                              ended=None if claimed and seq == spent else _ended(
                                  state if seq == spent else "pending", next_retry_at))
        return made

    def event(
        self, endpoint_id: object, team_id: object = None, *, verified: bool = True,
        trust_mode: str = "signed",
    ) -> int:
        """A stored event of an endpoint or a team."""
        number = self._insert(
            "events", returning="id", source="github", family="webhook", trust_mode=trust_mode,
            verified=verified, endpoint_id=endpoint_id, team_id=team_id, headers=Jsonb({}),
            payload_size=0,
        )
        return int(str(number))

    def _attempt(
        self, todo: TodoId, seq: int, who: Endpoint | Human | None, lease: datetime,
        now: datetime, *, ended: tuple[str, str] | None, fence: bytes | None,
    ) -> None:
        by_endpoint = isinstance(who, Endpoint)
        self._insert(
            "todo_attempts", todo_id=str(todo), seq=seq, attempt=seq,
            claimer_kind="endpoint" if by_endpoint else "owner",
            claimer_endpoint_id=who.id if isinstance(who, Endpoint) else None,
            owner=who.owner if who else "agent:gone", claimed_at=now, lease_expires_at=lease,
            ended_at=now if ended else None, outcome=ended[0] if ended else None,
            disposition=ended[1] if ended else None,
            lease_token_hash=None if ended else fence,
        )

    # --- looking ----------------------------------------------------------------------------

    def now(self) -> datetime:
        """This database's clock."""
        at = self.value("select clock()")
        assert isinstance(at, datetime)
        return at

    def value(self, query: str, *params: object) -> object:
        """The first column of the first row of any query, or None."""
        row = self._conn.execute(query.encode(), params or None).fetchone()
        return row[0] if row else None

    def rows(self, query: str, *params: object) -> list[tuple[object, ...]]:
        """Every row of any query."""
        return self._conn.execute(query.encode(), params or None).fetchall()

    def run(self, query: str, *params: object) -> int:
        """Runs any statement and returns how many rows it touched."""
        return self._conn.execute(query.encode(), params or None).rowcount

    def row(self, todo_id: str) -> Mapping[str, object]:
        """The whole row of one todo, by column."""
        with self._conn.cursor(row_factory=dict_row) as cursor:
            found = cursor.execute("select * from todos where id = %s", (str(todo_id),)).fetchone()
        assert found is not None, f"no todo {todo_id}"
        return found

    def attempts(self, todo_id: str) -> list[dict[str, object]]:
        """The attempts of one todo, oldest first."""
        with self._conn.cursor(row_factory=dict_row) as cursor:
            return cursor.execute("select * from todo_attempts where todo_id = %s order by seq",
                                  (str(todo_id),)).fetchall()

    def _insert(self, table: str, *, returning: str | None = None, **values: object) -> object:
        names = ", ".join(values)
        holes = ", ".join(f"%({name})s" for name in values)
        tail = f" returning {returning}" if returning else ""
        cursor = self._conn.execute(
            f"insert into {table} ({names}) values ({holes}){tail}".encode(), values)
        row = cursor.fetchone() if returning else None
        return row[0] if row else None


@pytest.fixture
def make(db_url: str) -> Iterator[Make]:
    """Builders over the database behind `db`."""
    builders = Make(db_url)
    yield builders
    builders.close()


def _ended(state: str, next_retry_at: datetime | None) -> tuple[str, str]:
    if state == "failed" and next_retry_at is None:
        return ("failed", "dead_lettered")
    return _OUTCOMES[state]


def _some(endpoint: Endpoint | None) -> Endpoint:
    assert endpoint is not None, "a queue's name needs the endpoint that has it"
    return endpoint


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


_last = 0


def _uuid7() -> uuid.UUID:
    """A time-ordered id: todos made one after the other sort in that order."""
    global _last
    _last = max(_last + 1, time.time_ns() // 1_000)
    return uuid.UUID(int=(_last << 64) | secrets.randbits(64))
