"""claim_next's way through the granted queues: heads first, then lapsed leases, then the truth.

No answer of empty is given while an admitted queue has pending work (REQ-4, REQ-7, R6, R7).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from app.db import database
from app.db.database import Connection, Database
from app.db.gates import Deadline
from app.db.memory import Counted, Lone
from app.db.statements import load
from app.domain.admission import UNAVAILABLE, Admitted, Deferral, Reason, Waiting
from app.domain.errors import Conflict, NotFound, Unavailable
from app.reads import admission
from app.transactions import admitting, picking, refusals, spent
from app.transactions.claims import Claimed, Claimer, Gone, NothingClaimed, Refused
from app.transactions.heads import Head, Queue, oldest_first
from app.transactions.picking import Kind

SQL = load("searching")


@dataclass(frozen=True, slots=True)
class _Behind:
    queue_id: int
    queue: str
    name: str


@dataclass(slots=True, kw_only=True)
class Search:
    """One claim_next: what it has been refused so far, and where it still may look."""

    db: Database
    claimer: Claimer
    queue_id: int | None
    gone: Gone
    refused: dict[int, Deferral] = field(default_factory=dict)
    has_read_others: bool = False
    has_repicked: set[int] = field(default_factory=set)
    patience: Deadline = field(default_factory=Deadline)

    def run(self) -> Claimed | NothingClaimed:
        """Claim, or say what waits behind which policy. Raises Unavailable, OutcomeUnknown."""
        found = self._lone()
        if found is not None:
            return found
        turns = 0
        while True:
            found = self._heads() or self._lapsed()
            if found is not None:
                return found
            behind, judged = self._behind_policies()
            admitted = [each for each in behind if isinstance(judged[each.queue_id], Admitted)]
            turns += 1
            is_last = turns > len(behind) or not self.patience.left()
            if not admitted or (is_last and self._all_refused(admitted)):
                return self._nothing(behind, judged)
            found = self._hidden(admitted)
            if found is not None:
                return found
            if not self.patience.left():
                raise Unavailable
            self._forget([each.queue_id for each in admitted])

    def _lone(self) -> Claimed | None:
        """Without a peek, where the endpoint drained one queue lately: the pick asks itself."""
        endpoint_id = self.claimer.endpoint_id
        if self.queue_id is not None or endpoint_id is None:
            return None
        lone = self.db.memory.lone.get(endpoint_id)
        if lone is None or not lone.is_trusted:
            return None
        found = self._try(Queue(lone.queue_id, lone.name, lone.has_policy), Kind.LONE, ())
        if found is None:
            self.db.memory.lone.put(endpoint_id, Lone.doubted(lone))
        return found

    def _heads(self) -> Claimed | None:
        """The heads of the queues, oldest first (R48)."""
        with self.db.reading() as conn:
            heads = database.many(conn, SQL["peek_heads"], self._scope(), Head)
        unasked = [head for head in heads if head.queue_id not in self.refused]
        for head, deferral in spent.still(self.db, unasked):
            self._refuse(head.queue_id, head.name, deferral)
        for kind, head in oldest_first(heads):
            if head.queue_id not in self.refused:
                queue = Queue(head.queue_id, head.name, head.has_policy)
                found = self._try(queue, kind, heads)
                if found is not None:
                    self._remember(queue, heads)
                    return found
        return None

    def _remember(self, queue: Queue, heads: Sequence[Head]) -> None:
        endpoint_id = self.claimer.endpoint_id
        if self.queue_id is not None or endpoint_id is None or len(heads) > 1:
            return
        known = self.db.memory.lone.get(endpoint_id)
        if known is None or known.is_trusted or known.has_policy != queue.has_policy:
            lone = Lone(queue.queue_id, queue.name, queue.has_policy, 0.0)
            self.db.memory.lone.put(endpoint_id, lone)

    def _lapsed(self) -> Claimed | None:
        """Takeovers, only when nothing else is claimable, or where the cap is full (R4, R70)."""
        with self.db.reading() as conn:
            queues = database.many(conn, SQL["peek_lapsed"], self._scope(), Queue)
        for queue in queues:
            if self._may_take_over(queue.queue_id):
                found = self._try(queue, Kind.LAPSED, ())
                if found is not None:
                    return found
        return None

    def _try(self, queue: Queue, kind: Kind, heads: Sequence[Head]) -> Claimed | None:
        if not queue.has_policy:
            return picking.take_next(self.db, self.claimer, queue.queue_id, kind, self.gone)
        answer = admitting.take_next(self.db, self.claimer, queue.queue_id, kind, self.gone)
        if not isinstance(answer, Refused):
            return answer
        self._refuse(queue.queue_id, queue.name, answer.deferral)
        self._leave_out_others(heads)
        if kind is not Kind.LAPSED and self._may_take_over(queue.queue_id):
            return self._try(queue, Kind.LAPSED, ())
        return None

    def _refuse(self, queue_id: int, name: str, deferral: Deferral) -> None:
        self.refused[queue_id] = deferral
        refusals.count(self.db, self.claimer, queue_id, name, deferral)

    def _may_take_over(self, queue_id: int) -> bool:
        """A full cap still admits a takeover, tried once; no other refusal does (R4)."""
        deferral = self.refused.get(queue_id)
        if deferral is None:
            return True
        if deferral.reason is not Reason.IN_FLIGHT_FULL or queue_id in self.has_repicked:
            return False
        self.has_repicked.add(queue_id)
        return True

    def _leave_out_others(self, heads: Sequence[Head]) -> None:
        """After the first refusal, look at the other policies once, unlocked, and skip (R13)."""
        others = [h for h in heads if h.has_policy and h.queue_id not in self.refused]
        if self.has_read_others or not others:
            return
        self.has_read_others = True
        with self.db.reading() as conn:
            found = admission.statuses(conn, [h.queue_id for h in others], counts_all=False)
        for head in others:
            status = found.get(head.queue_id)
            if status is not None and isinstance(status.decision, Deferral):
                self._refuse(head.queue_id, head.name, status.decision)

    def _behind_policies(self) -> tuple[list[_Behind], dict[int, Admitted | Deferral]]:
        """Afresh: granted queues with a policy and pending work, and what each would admit."""
        with self.db.reading() as conn:
            behind = database.many(
                conn, SQL["read_waiting_behind_policies"], self._scope(), _Behind
            )
            found = admission.statuses(conn, [b.queue_id for b in behind], counts_all=False)
        judged = {queue_id: status.decision for queue_id, status in found.items()}
        # A queue whose policy went away meanwhile is looked at again, as an admitted one.
        return behind, {b.queue_id: judged.get(b.queue_id, Admitted()) for b in behind}

    def _hidden(self, admitted: Sequence[_Behind]) -> Claimed | None:
        """Wait for the head that SKIP LOCKED hid: one known id, holding no policy lock (R7)."""
        for queue in admitted:
            if queue.queue_id in self.refused:
                continue
            params = self.claimer.params(queue_id=queue.queue_id)
            with self.db.reading() as conn:
                head = database.value(conn, SQL["read_head"], params)
            if not isinstance(head, str):
                continue
            try:
                answer = admitting.take(self.db, self.claimer, queue.queue_id, head, self.gone)
            except (Conflict, NotFound):
                continue  # somebody else took it meanwhile: go round
            if isinstance(answer, Claimed):
                return answer
            self._refuse(queue.queue_id, queue.name, answer.deferral)
        return None

    def _all_refused(self, queues: Sequence[_Behind]) -> bool:
        return all(queue.queue_id in self.refused for queue in queues)

    def _forget(self, queue_ids: Sequence[int]) -> None:
        """Look at them again: they admit now. The last refusal is kept for the final answer."""
        for queue_id in queue_ids:
            self.refused.pop(queue_id, None)
            self.has_repicked.discard(queue_id)

    def _nothing(
        self, behind: Sequence[_Behind], judged: dict[int, Admitted | Deferral]
    ) -> NothingClaimed:
        deferrals = {}
        for queue in behind:
            decision = judged[queue.queue_id]
            if isinstance(decision, Admitted):
                decision = self.refused.get(queue.queue_id, UNAVAILABLE)
            deferrals[queue.queue_id] = decision
            refusals.count(self.db, self.claimer, queue.queue_id, queue.name, decision)
        if not deferrals:
            return NothingClaimed()
        with self.db.reading() as conn:
            pending = _pending(self.db, conn, list(deferrals))
            boundary = _seconds_until(conn, list(deferrals.values()))
        waiting = tuple(
            _waiting(each.queue, deferrals[each.queue_id], pending[each.queue_id])
            for each in behind
        )
        return NothingClaimed(deferred=waiting, boundary_in=boundary)

    def _scope(self) -> database.Params:
        return self.claimer.params(queue_id=self.queue_id)


def _waiting(queue: str, deferral: Deferral, pending: int) -> Waiting:
    return Waiting(
        queue=queue,
        reason=deferral.reason,
        pending=pending,
        next_eligible_at=deferral.next_eligible_at,
        exact=deferral.exact,
    )


def _pending(db: Database, conn: Connection, queue_ids: list[int]) -> dict[int, int]:
    """Pending counts, shared for up to 1 s per process; a listed queue has at least one (R69)."""
    known = {queue_id: db.memory.pending.get(queue_id) for queue_id in queue_ids}
    stale = [queue_id for queue_id, count in known.items() if count is None or not count.is_fresh]
    if stale:
        rows = conn.execute(SQL["count_pending"], {"queue_ids": stale}).fetchall()
        counted = {queue_id: int(pending) for queue_id, pending in rows}
        for queue_id in stale:
            known[queue_id] = Counted.now(counted.get(queue_id, 0))
            db.memory.pending.put(queue_id, Counted.now(counted.get(queue_id, 0)))
    return {queue_id: max(count.pending, 1) for queue_id, count in known.items() if count}


def _seconds_until(conn: Connection, deferrals: Sequence[Deferral]) -> float | None:
    exact = [d.next_eligible_at for d in deferrals if d.exact and d.next_eligible_at]
    if not exact:
        return None
    seconds = database.value(conn, SQL["read_seconds_until"], {"at": min(exact)})
    return max(float(seconds), 0.0) if isinstance(seconds, float) else None
