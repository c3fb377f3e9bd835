"""What goes into a claim and what comes out of it, as values."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from uuid import UUID

from app.db.cancelling import Watcher as Watcher
from app.db.cancelling import cancelled_by
from app.db.database import Connection, Params
from app.domain.admission import Deferral, Headroom, Waiting
from app.domain.callers import Endpoint, Human
from app.domain.errors import Unavailable
from app.domain.todos import Attempt, Todo, clean_claimant, lease_seconds

Gone = Callable[[], bool]
"""Says whether the client that asked has left (R12)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimRequest:
    """What a caller says with a claim; `claim_key` is its Idempotency-Key (R61).

    One request may be tried many times (wait_seconds): `counted` holds the queues whose refusal
    was counted already, so that a call counts each once (R38).
    """

    lease_ttl_seconds: int | None = None
    claimant: str | None = None
    require_fence: bool = False
    claim_key: str | None = None
    args_hash: bytes | None = None
    session: str | None = None
    watcher: Watcher | None = None
    counted: set[int] = field(default_factory=set, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimed:
    """A committed claim: the todo as it now is, and its new attempt."""

    todo: Todo
    attempt_seq: int
    attempts_total: int
    prior_attempts: tuple[Attempt, ...]
    lease_token: str | None
    admission: Headroom | None = None
    is_replay: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class NothingClaimed:
    """No claim; `deferred` lists the queues whose work waits behind a policy.

    `boundary_in`: seconds on the database's clock until the first exact time in that list.
    """

    deferred: tuple[Waiting, ...] = ()
    boundary_in: float | None = None


@dataclass(frozen=True, slots=True)
class Refused:
    """A queue's policy admitted no claim; everything was rolled back."""

    deferral: Deferral


@dataclass(frozen=True, slots=True)
class Pick:
    """A todo claimed but not yet committed, and whether a lapsed lease was taken over."""

    todo: Todo
    is_takeover: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimer:
    """Who claims, and how: exactly one of endpoint_id and human_id is set."""

    owner: str
    endpoint_id: UUID | None
    human_id: UUID | None
    lease_seconds: int
    request: ClaimRequest

    @property
    def is_remembered(self) -> bool:
        """The claim leaves something to find it by: it needs a transaction of its own (R61)."""
        return self.request.claim_key is not None or self.request.require_fence

    def params(self, **more: object) -> Params:
        """The parameters that every statement of a claim takes from."""
        return {
            "kind": "endpoint" if self.endpoint_id else "owner",
            "endpoint_id": self.endpoint_id,
            "human_id": self.human_id,
            "owner": self.owner,
            "lease_seconds": self.lease_seconds,
            "session": self.request.session,
            "claimant": clean_claimant(self.request.claimant),
            "claim_key": self.request.claim_key,
            "args_hash": self.request.args_hash,
            "at": None,
            "token_hash": None,
            "policy_id": None,
            "window_start": None,
            **more,
        }


def of_endpoint(endpoint: Endpoint, request: ClaimRequest) -> Claimer:
    """An endpoint's claim: the call's lease, else the endpoint's default, else 300 s."""
    return Claimer(
        owner=endpoint.owner,
        endpoint_id=endpoint.id,
        human_id=None,
        lease_seconds=lease_seconds(request.lease_ttl_seconds, endpoint.default_lease_ttl_seconds),
        request=request,
    )


def of_human(human: Human) -> Claimer:
    """A claim on the board: always 300 s, never fenced, without a key (todos.md, "Lease")."""
    return Claimer(
        owner=human.owner,
        endpoint_id=None,
        human_id=human.id,
        lease_seconds=lease_seconds(None, None),
        request=ClaimRequest(),
    )


def leave_if(gone: Gone) -> None:
    """Raise Unavailable, so roll back, when nobody is there to take the answer (R12)."""
    if gone():
        raise Unavailable("The client left before the claim was committed.")


def watched(claimer: Claimer, conn: Connection) -> AbstractContextManager[None]:
    """Around the waits of a claim: a client that leaves has its statement cancelled (R12)."""
    return cancelled_by(claimer.request.watcher, conn)
