"""A plain in-memory model of todos, leases and budgets: the rules of the contract, nothing else.

Time is a number of seconds that only the test moves. Nothing here is shared with the product.
"""

from __future__ import annotations

from dataclasses import dataclass, field

AGENT, BOARD = "agent", "board"


class Conflict(Exception):
    """The state does not allow it."""


class Refused(Exception):
    """The queue's policy admits no claim; says why."""


@dataclass
class Policy:
    """What is stored; `period` is hour or day, `minute` where an hour begins."""

    cap: int | None
    limit: int | None
    period: str = "hour"
    minute: int = 0

    def start(self, now: int) -> int:
        """When the window that contains `now` began."""
        if self.period == "day":
            return now - now % 86400
        return now - (now - 60 * self.minute) % 3600


@dataclass
class Queue:
    """One queue: a live policy or none, and what each window has used, kept through every edit."""

    policy: Policy | None = None
    used: dict[int, int] = field(default_factory=dict)


@dataclass
class Todo:
    """One todo; `last` is who made its latest attempt and how that ended (None: still open)."""

    number: int
    queue: str
    created: int
    max_attempts: int
    state: str = "pending"
    owner: str | None = None
    attempt: int = 0
    total: int = 0
    lease: int | None = None
    retry: int | None = None
    last: tuple[str, str | None] | None = None

    @property
    def order(self) -> tuple[int, int]:
        """Oldest first (R48)."""
        return self.created, self.number


class Model:
    """What must be true of one endpoint's queues after a history."""

    def __init__(self, now: int, queues: tuple[str, ...]) -> None:
        """Begins empty, without policies."""
        self.now = now
        self.queues = {name: Queue() for name in queues}
        self.todos: list[Todo] = []

    # --- looking ---------------------------------------------------------------------------

    def is_lapsed(self, todo: Todo) -> bool:
        """Claimed by somebody whose lease is over, with attempts left for somebody else."""
        return (todo.state == "claimed" and todo.lease is not None and todo.lease <= self.now
                and todo.attempt < todo.max_attempts)

    def is_due(self, todo: Todo) -> bool:
        """A parked retry whose time has come."""
        return (todo.state == "failed" and todo.retry is not None and todo.retry <= self.now
                and todo.attempt < todo.max_attempts)

    def is_claimable(self, todo: Todo) -> bool:
        """The one predicate of all claim paths."""
        return todo.state == "pending" or self.is_lapsed(todo) or self.is_due(todo)

    def in_flight(self, queue: str, but: Todo | None = None) -> int:
        """Claimed todos of a queue, lapsed ones too."""
        return sum(each.state == "claimed" and each.queue == queue and each is not but
                   for each in self.todos)

    def used(self, queue: str) -> int:
        """Units of the current window."""
        one = self.queues[queue]
        return one.used.get(one.policy.start(self.now), 0) if one.policy else 0

    def refusal(self, queue: str, candidate: Todo | None) -> str | None:
        """Why the queue's policy refuses this candidate (None: a pending one), or None (R5)."""
        policy = self.queues[queue].policy
        if policy is None:
            return None
        if policy.cap == 0 or policy.limit == 0:
            return "paused"
        if policy.limit is not None and self.used(queue) >= policy.limit:
            return "window_exhausted"
        if policy.cap is not None and self.in_flight(queue, candidate) >= policy.cap:
            return "in_flight_full"
        return None

    def oldest(self, queue: str, *, lapsed: bool) -> Todo | None:
        """The head of a queue, or its oldest lapsed claim."""
        fits = self.is_lapsed if lapsed else lambda t: t.state == "pending" or self.is_due(t)
        found = [each for each in self.todos if each.queue == queue and fits(each)]
        return min(found, key=lambda each: each.order, default=None)

    def next_ones(self, queues: tuple[str, ...]) -> list[Todo]:
        """What claim_next may answer: the oldest admitted head, or a takeover that comes first.

        A takeover in a full queue is found where that queue's head stands in line, or after all
        heads (R4, R70); without any admitted head every admitted takeover is right.
        """
        heads = sorted((head for name in queues if (head := self.oldest(name, lapsed=False))),
                       key=lambda each: each.order)
        takeovers = {name: old for name in queues if (old := self.oldest(name, lapsed=True))
                     and self.refusal(name, old) is None}
        before = []
        for head in heads:
            reason = self.refusal(head.queue, None)
            if reason is None:
                return [*before, head]
            if reason == "in_flight_full" and head.queue in takeovers:
                before.append(takeovers[head.queue])
        return list(takeovers.values())

    def deferred(self, queues: tuple[str, ...]) -> dict[str, str]:
        """The queues an answer of nothing must list, and why."""
        return {name: reason for name in queues
                if (reason := self.refusal(name, None)) is not None
                and any(each.queue == name and each.state == "pending" for each in self.todos)}

    # --- acting ----------------------------------------------------------------------------

    def add(self, queue: str, max_attempts: int) -> Todo:
        """One more pending todo."""
        todo = Todo(len(self.todos), queue, self.now, max_attempts)
        self.todos.append(todo)
        return todo

    def claim(self, todo: Todo, owner: str, lease: int) -> int | None:
        """Claim and charge; the units used then, None when nothing is charged."""
        if not self.is_claimable(todo):
            raise Conflict
        reason = self.refusal(todo.queue, todo)
        if reason is not None:
            raise Refused(reason)
        todo.state, todo.owner, todo.lease, todo.retry = "claimed", owner, self.now + lease, None
        todo.attempt += 1
        todo.total += 1
        todo.last = (owner, None)
        one = self.queues[todo.queue]
        if one.policy is None or one.policy.limit is None:
            return None
        start = one.policy.start(self.now)
        one.used[start] = one.used.get(start, 0) + 1
        return one.used[start]

    def settle(self, todo: Todo, owner: str, outcome: str) -> None:
        """Complete, fail or release; the same word said twice changes nothing (R66)."""
        if todo.state != "claimed" and outcome != "released" and todo.last == (owner, outcome):
            return
        if todo.state != "claimed" or todo.owner != owner:
            raise Conflict
        todo.lease, todo.last = None, (owner, outcome)
        if outcome == "completed":
            todo.state = "done"
        elif outcome == "released":
            todo.state, todo.owner = "pending", None
        else:
            todo.state = "failed"
            wait = min(30 * 2 ** (todo.attempt - 1), 900)
            todo.retry = self.now + wait if todo.attempt < todo.max_attempts else None

    def heartbeat(self, todo: Todo, owner: str, lease: int) -> None:
        """Move the lease; it may shorten."""
        if todo.state != "claimed" or todo.owner != owner:
            raise Conflict
        todo.lease = self.now + lease

    def retry_now(self, todo: Todo) -> None:
        """A failed todo is pending again with fresh attempts."""
        if todo.state != "failed":
            raise Conflict
        todo.state, todo.owner, todo.attempt, todo.retry = "pending", None, 0, None

    def discard(self, todo: Todo) -> None:
        """Pending or parked: a dead letter, and nothing is charged."""
        if todo.state != "pending" and not (todo.state == "failed" and todo.retry is not None):
            raise Conflict
        todo.state, todo.retry, todo.owner = "failed", None, None

    def sweep(self) -> None:
        """The reaper and the retry scheduler."""
        for todo in self.todos:
            if todo.state == "claimed" and todo.lease is not None and todo.lease <= self.now:
                todo.state = "pending" if todo.attempt < todo.max_attempts else "failed"
                todo.last = (str(todo.owner), "reaped")
                todo.owner, todo.lease = None, None
            elif todo.state == "failed" and todo.retry is not None and todo.retry <= self.now:
                todo.state, todo.retry, todo.owner = "pending", None, None
