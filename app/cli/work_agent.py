"""The agent surface as a worker needs it: no claim lost or doubled, and patient settling."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from app.cli.client import Client, NoAnswer
from app.cli.output import Answer, inner
from app.cli.work_backoff import Backoff
from app.cli.work_deferred import Nothing, heard
from app.cli.work_say import Speaker
from app.cli.work_stop import Stop
from app.domain.values import Json

CALL_SECONDS = 10.0  # the server has a verdict within 5 s
ANSWER_SECONDS = 20.0  # beyond what the server was asked to wait
RECOVERY_SECONDS = 5.0
LEASE_LOOK_SECONDS = 60.0
DEFAULT_LEASE_SECONDS = 300


class Refused(Exception):
    """The server will not have it; the worker ends with its sentence."""

    def __init__(self, answer: Answer):
        self.status = answer.status
        self.sentence = str(answer.body.get("error") or f"The server answered {answer.status}.")
        super().__init__(self.sentence)


class OutOfReach(Exception):
    """The server gave no definite answer for as long as the worker would wait."""


class GaveUp(Exception):
    """Told to stop before the server gave a definite answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimed:
    """One lease: the todo as the server told it, and the fence that proves the lease is ours."""

    todo: dict[str, Json]
    lease_token: str | None
    lease_seconds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """No definite answer: out of reach, restarting, or too busy. It may have acted all the same."""

    sentence: str
    retry_after: float | None
    may_have_acted: bool


class Agent:
    """One lane's way to `/agent/v1`: its claims on one connection, everything else on others.

    `patience` is how many seconds a claim keeps trying while the server is out of reach.
    """

    def __init__(
        self, url: str, token: str, *, claimant: str, stop: Stop, speaker: Speaker,
        patience: float = float("inf"),
    ):  # fmt: skip
        self._claims = Client(url, token)
        self._others = Client(url, token, connections=2)
        self._claimant = claimant
        self._stop = stop
        self._speaker = speaker
        self._patience = patience
        self._lease_seconds = 0
        self.granted: tuple[str, ...] = ()  # the queues it may drain, as old as the lease
        self._looked_at = float("-inf")
        self._is_claiming = False

    def lease_seconds(self) -> int:
        """The endpoint's effective lease, at most a minute old. It is sent with every claim and
        heartbeat, so that a change of the default never outruns the heartbeats."""
        if time.monotonic() - self._looked_at >= LEASE_LOOK_SECONDS:
            told = _told(self._whoami())
            found, granted = told.get("effective_lease_ttl_seconds"), told.get("queues")
            self._lease_seconds = found if isinstance(found, int) else DEFAULT_LEASE_SECONDS
            self.granted = tuple(map(str, granted)) if isinstance(granted, list) else ()
            self._looked_at = time.monotonic()
        return self._lease_seconds

    def claim_next(
        self, queue: str | None, *, wait_seconds: int, lease_seconds: int
    ) -> Claimed | Nothing:
        """Claim one todo, waiting up to `wait_seconds` for it; Nothing when there is none.

        One intended claim has one Idempotency-Key, however often it must be asked for (R61).
        Raises Refused, OutOfReach when patience ends, and GaveUp when stopping finds nothing.
        """
        body: dict[str, Json] = {
            "wait_seconds": wait_seconds, "require_fence": True, "claimant": self._claimant,
            "lease_ttl_seconds": lease_seconds, **({"queue": queue} if queue is not None else {}),
        }  # fmt: skip
        key = {"Idempotency-Key": secrets.token_urlsafe(24)}
        self._is_claiming = True
        try:
            answer = self._asked_until_told(body, key, ANSWER_SECONDS + wait_seconds)
        finally:
            self._is_claiming = False
        return _claimed(_told(answer), lease_seconds) or Nothing(deferred=heard(answer))

    def abort_claim(self) -> None:
        """End the claim under way, from another thread, once stopping was asked for."""
        if self._is_claiming:
            self._claims.abort()

    def settle(self, verb: str, body: Mapping[str, Json]) -> Answer:
        """Call a verb that may be repeated until a definite answer comes, a refusal included.
        Raises GaveUp when stopping gives the server up first."""
        backoff = Backoff()
        while True:
            told = self._tried(self._others, verb, body)
            if isinstance(told, Answer):
                return told
            if self._stop.given_up.is_set():
                raise GaveUp
            self._speaker.trouble(told.sentence)
            backoff.pause(self._stop.given_up, at_least=told.retry_after)

    def beat(self, claimed: Claimed) -> Answer | Trouble:
        """One heartbeat, not repeated."""
        body = lease_body(claimed, lease_ttl_seconds=claimed.lease_seconds)
        return self._tried(self._others, "heartbeat", body)

    def close(self) -> None:
        """Close the connections."""
        self._claims.close()
        self._others.close()

    def _whoami(self) -> Answer:
        return self._insisted(lambda: self._tried(self._others, "whoami", {}))

    def _asked_until_told(
        self, body: dict[str, Json], key: dict[str, str], seconds: float
    ) -> Answer:
        def ask() -> Answer | Trouble:
            told = self._tried(self._claims, "claim_next", body, key, seconds)
            if isinstance(told, Trouble) and told.may_have_acted and self._stop.asked.is_set():
                return self._recovered(body, key)
            return told

        return self._insisted(ask)

    def _insisted(self, ask: Callable[[], Answer | Trouble]) -> Answer:
        backoff, ends_at = Backoff(), time.monotonic() + self._patience
        while True:
            told = ask()
            if isinstance(told, Answer):
                return told
            if self._stop.asked.is_set():
                raise GaveUp
            if time.monotonic() >= ends_at:
                raise OutOfReach(told.sentence)
            self._speaker.trouble(told.sentence)
            backoff.pause(self._stop.asked, at_least=told.retry_after)

    def _recovered(self, body: dict[str, Json], key: dict[str, str]) -> Answer | Trouble:
        """Stopping with an answer lost: find the claim it may have made, so that it is released.

        The wait is asked away; when the server counts that as other arguments, its 409 says the
        claim is there, and the first arguments fetch it without waiting.
        """
        now = {**body, "wait_seconds": 0}
        told = self._tried(self._others, "claim_next", now, key, RECOVERY_SECONDS)
        if isinstance(told, Answer) and told.status == 409:
            return self._tried(self._others, "claim_next", body, key, RECOVERY_SECONDS)
        return told

    def _tried(
        self, client: Client, verb: str, body: Mapping[str, Json],
        headers: Mapping[str, str] | None = None, seconds: float = CALL_SECONDS,
    ) -> Answer | Trouble:  # fmt: skip
        try:
            answer = client.call(
                "POST", f"/agent/v1/{verb}", body, headers=headers, read_seconds=seconds
            )
        except NoAnswer as silence:
            return Trouble(
                sentence=silence.sentence, retry_after=silence.retry_after, may_have_acted=True
            )
        if answer.status < 500 and answer.status != 429:
            self._speaker.recovered()
            return answer
        return Trouble(
            sentence=Refused(answer).sentence, retry_after=answer.retry_after,
            may_have_acted=answer.status == 500,
        )  # fmt: skip


def lease_body(claimed: Claimed, **more: Json) -> dict[str, Json]:
    """The arguments that name a lease: the todo's id and its fence."""
    fence: dict[str, Json] = {}
    if claimed.lease_token is not None:
        fence = {"lease_token": claimed.lease_token}
    return {"id": claimed.todo["id"], **fence, **more}


def _told(answer: Answer) -> dict[str, Json]:
    if answer.status != 200:
        raise Refused(answer)
    return answer.body


def _claimed(body: dict[str, Json], lease_seconds: int) -> Claimed | None:
    todo = inner(body, "todo")
    if "id" not in todo:
        return None
    history: dict[str, Json] = {
        name: body[name] for name in ("attempt_seq", "attempts_total", "prior_attempts")
        if name in body
    }  # fmt: skip
    token = body.get("lease_token")
    return Claimed(
        todo={**todo, **history},
        lease_token=token if isinstance(token, str) else None,
        lease_seconds=lease_seconds,
    )
