"""One person's queues in every state a header can have, at one fixed moment.

Policies are saved by the product, so that they have a record; what they have used, and the
todos, are put there directly.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID, uuid4

from app.db.database import Database
from app.domain.callers import Endpoint, Human
from app.domain.queues import QueueAddress
from app.domain.values import Json
from app.transactions import policies
from tests.support.clock import Clock
from tests.support.make import Make, QueueId, TodoId, Webhook

PT = "America/Los_Angeles"
NOW = datetime.fromisoformat("2026-07-14T20:05:00+00:00")  # 13:05 in Los Angeles
DAY = datetime.fromisoformat("2026-07-14T07:00:00+00:00")  # when its day began
_WINDOW: dict[str, Json] = {"period": "day", "tz": PT, "start": "00:00"}
QUEUES = (
    "investigations", "reviews", "mail", "builds", "nightly", "imports", "notes", "unused")


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """What the person owns, by the names the tests use."""

    lane: Endpoint
    other: Endpoint
    revoked: Endpoint
    webhook: Webhook
    hook: UUID
    queues: dict[str, QueueId]
    todos: dict[str, TodoId]

    def queue(self, name: str) -> str:
        """The path of a queue's page."""
        return f"/queues/{self.queues[name]}"

    def todo(self, name: str) -> str:
        """The path of a todo's page."""
        return f"/todos/{self.todos[name]}"


def fill(db: Database, make: Make, clock: Clock, human: Human) -> World:
    """Stops the clock and makes the world of one person."""
    clock.set(NOW)
    lane = make.endpoint(human, name="lane m", queues=QUEUES)
    queues = {name: make.queue_id(lane, name) for name in QUEUES}
    _set_budgets(db, make, human, lane, queues)
    other = make.endpoint(human, name="night shift", expires_at=NOW + timedelta(days=30))
    revoked = make.endpoint(human, name="old lane")
    make.run("update endpoints set state = 'revoked', revoked_at = clock() where id = %s",
             revoked.id)
    webhook = make.webhook(lane, target_queue="notes")
    make.route(webhook, other, granted_by=human)
    make.operator_token(human, name="laptop")
    return World(lane=lane, other=other, revoked=revoked, webhook=webhook,
                 hook=_failing_hook(make, lane), queues=queues,
                 todos=_todos(make, lane, human))


def _failing_hook(make: Make, lane: Endpoint) -> UUID:
    hook = uuid4()
    make.run("insert into notify_hooks (id, endpoint_id, url, secret, consecutive_failures,"
             " last_attempt_at, last_error) values"
             " (%s, %s, 'https://hooks.example/ring', '', 3, clock(), 'timeout')", hook, lane.id)
    return hook


def _set_budgets(
    db: Database, make: Make, human: Human, lane: Endpoint, queues: dict[str, QueueId]
) -> None:
    def save(
        queue: str, raw: dict[str, Json], used: int | None = None, reason: str | None = None
    ) -> None:
        address = QueueAddress(f"endpoint:{lane.slug}", queue)
        policies.save(db, human, address, raw, reason=reason)
        if used is not None:
            policy = make.value("select id from admission_policies where queue_id = %s",
                                int(queues[queue]))
            make.run("insert into admission_windows (policy_id, window_start, used,"
                     " limit_at_last_charge) values (%s, %s, %s, 100)", policy, DAY, used)

    daily: dict[str, Json] = {"max_in_flight": 5, "max_claims_per_window": 100, "window": _WINDOW}
    save("investigations", daily, 100, "The vendor allows a hundred a day.")
    save("reviews", daily, 73)
    save("mail", daily, 80)
    save("builds", {"max_in_flight": 1})
    save("nightly", {"max_in_flight": 3})
    save("nightly", {"max_in_flight": 0}, reason="The vendor is down <b>until</b> noon.")
    save("imports", daily)
    make.run("update admission_policies set window_tz = 'Mars/Olympus' where queue_id = %s",
             int(queues["imports"]))


def _todos(make: Make, lane: Endpoint, human: Human) -> dict[str, TodoId]:
    old = NOW - timedelta(hours=3)
    made = {
        f"alert {number}": make.todo(
            lane, "investigations", title=f"Look into alert {number}", source="github",
            kind="issues", created_at=old + timedelta(minutes=number))
        for number in range(1, 13)
    }
    for number in (1, 2):
        make.todo(lane, "investigations", state="claimed", title=f"Running alert {number}")
    for queue in ("reviews", "mail", "builds", "nightly", "imports"):
        made[queue] = make.todo(lane, queue, title=f"A todo for {queue}")
    made["held"] = make.todo(lane, "reviews", state="claimed", title="Claimed by hand",
                             holder=human)
    make.todo(lane, "builds", state="claimed", title="Build the tree")
    made["note"] = make.todo(
        lane, "notes", title="A long name: " + "reallylongwordwithoutanyspace" * 4,
        payload={"text": "<script>alert(1)</script>", "nested": {"list": [1, 2.5, None]}},
        key="delivery-1")
    made["claimed"] = make.todo(lane, "notes", state="claimed", title="Being worked")
    made["done"] = make.todo(lane, "notes", state="done", title="Worked")
    made["dead"] = make.todo(lane, "notes", state="failed", attempt=5, title="Failed for good")
    made["parked"] = make.todo(lane, "notes", state="failed", attempt=1, title="Waits for its turn",
                               next_retry_at=NOW + timedelta(hours=1))
    return made
