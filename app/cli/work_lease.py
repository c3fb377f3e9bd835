"""The life of one lease: COMMAND runs, heartbeats keep the lease, and its end settles the todo."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass

from app.cli.jsontext import parse_one
from app.cli.output import Answer, to_json, word
from app.cli.work_agent import Agent, Claimed, GaveUp, Refused, lease_body
from app.cli.work_backoff import Backoff
from app.cli.work_child import CannotStart, Child
from app.cli.work_say import Speaker
from app.cli.work_stop import Stop
from app.domain.values import Json

BEATS_PER_LEASE = 3
RESULT_LIMIT = 900 * 1024  # bytes as sent; a request holds 1 MiB
ENDS_THE_WORKER = (401, 403)


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What every lease of a worker shares."""

    command: tuple[str, ...]
    environment: Mapping[str, str]
    stop: Stop
    speaker: Speaker


def work_on(work: Work, agent: Agent, claimed: Claimed) -> None:
    """Run COMMAND on a claimed todo and settle it by how it ends.

    Raises CannotStart, after failing the todo, when COMMAND cannot run at all, and Refused when the
    credential is worth nothing any more.
    """
    _say(work, "claimed", claimed.todo, _heading(claimed.todo))
    if work.stop.asked.is_set():
        _settle(work, agent, claimed, "release", {})
        return
    wake = threading.Event()
    try:
        child = Child(work.command, _environment(work, claimed), to_json(claimed.todo), wake.set)
    except CannotStart as trouble:
        _settle(work, agent, claimed, "fail", {"summary": str(trouble)})
        raise
    beats = _Beats(agent, claimed, work.speaker, wake)
    with work.stop.waking(wake), beats:
        _await(work, child, beats, wake)
        _end(work, agent, claimed, child, beats)


def _await(work: Work, child: Child, beats: _Beats, wake: threading.Event) -> None:
    while child.exit_code is None and beats.lost is None:
        left = work.stop.grace_left()
        if left == 0:
            return
        wake.wait(left)
        wake.clear()


def _end(work: Work, agent: Agent, claimed: Claimed, child: Child, beats: _Beats) -> None:
    if child.exit_code is not None:
        if child.exit_code == 0:
            _complete(work, agent, claimed, child)
        else:
            _settle(work, agent, claimed, "fail", {"summary": _summary(child, child.exit_code)})
        return
    child.terminate()
    if beats.lost is None:
        _settle(work, agent, claimed, "release", {})
        return
    _say(work, "lost", claimed.todo, f"{beats.lost.sentence} The command was ended.")
    if beats.lost.status in ENDS_THE_WORKER:
        raise beats.lost


def _complete(work: Work, agent: Agent, claimed: Claimed, child: Child) -> None:
    text, is_cut = child.output
    body: dict[str, Json] = {"result": _result(text)} if text else {}
    if is_cut:
        body["summary"] = f"The output was cut after {len(text.encode())} bytes."
    _settle(work, agent, claimed, "complete", body)


def _settle(
    work: Work, agent: Agent, claimed: Claimed, verb: str, body: dict[str, Json]
) -> None:
    try:
        answer = agent.settle(verb, lease_body(claimed, **body))
        if answer.status in (400, 413) and body:  # better settled bare than not at all
            refused = Refused(answer).sentence
            work.speaker.say(f"The {verb} was refused ({refused}); sent without its result.")
            answer = agent.settle(verb, lease_body(claimed))
    except GaveUp:
        _say(work, "lost", claimed.todo, f"no answer to {verb}; its lease will lapse")
        return
    if answer.status == 200:
        _say(work, *_outcome(verb, answer))
        return
    refusal = Refused(answer)
    _say(work, "lost", claimed.todo, refusal.sentence)
    if refusal.status in ENDS_THE_WORKER:
        raise refusal


def _outcome(verb: str, answer: Answer) -> tuple[str, dict[str, Json], str]:
    row = answer.body
    if verb == "complete":
        return "done", row, ""
    if verb == "release":
        return "released", row, ""
    due = row.get("next_retry_at")
    return "failed", row, f"retried at {word(due)}" if due else "dead letter"


class _Beats:
    """Heartbeats at a third of the lease, for as long as it is entered; `lost` is the refusal that
    ended them, if one did."""

    def __init__(self, agent: Agent, claimed: Claimed, speaker: Speaker, wake: threading.Event):
        self.lost: Refused | None = None
        self._agent = agent
        self._claimed = claimed
        self._speaker = speaker
        self._wake = wake
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        interval = self._claimed.lease_seconds / BEATS_PER_LEASE
        while not self._over.wait(interval):
            if not self._beaten():
                self._wake.set()
                return

    def _beaten(self) -> bool:
        backoff = Backoff(most=2.0)
        while not self._over.is_set():
            told = self._agent.beat(self._claimed)
            if isinstance(told, Answer):
                if told.status == 200:
                    return True
                return self._refused(told)
            self._speaker.trouble(told.sentence)
            backoff.pause(self._over, at_least=told.retry_after)
        return True


    def _refused(self, answer: Answer) -> bool:
        if answer.body.get("code") == "forbidden":  # a grant without the verb is no lost lease
            self._speaker.say("This endpoint may not heartbeat; its leases end when they end.")
            self._over.set()
            return True
        self.lost = Refused(answer)
        return False


def _environment(work: Work, claimed: Claimed) -> dict[str, str]:
    todo = claimed.todo
    return {
        **work.environment,
        "SWITCHBOARD_TODO_ID": str(todo["id"]),
        "SWITCHBOARD_QUEUE": str(todo.get("queue", "")),
        "SWITCHBOARD_ATTEMPT": str(todo.get("attempt", "")),
    }


def _result(text: str) -> Json:
    """What COMMAND printed: a JSON value if it is one, else its text."""
    text = text.replace("\x00", "\ufffd")
    try:
        value = parse_one(text)
    except ValueError:
        value = text
    if len(json.dumps(value)) <= RESULT_LIMIT:
        return value
    while len(json.dumps(text)) > RESULT_LIMIT:
        text = text[: len(text) // 2]
    return text


def _summary(child: Child, exit_code: int) -> str:
    how = f"exit code {exit_code}" if exit_code > 0 else f"signal {-exit_code}"
    return child.errors.replace("\x00", "\ufffd").strip() or f"The command ended with {how}."


def _heading(todo: Mapping[str, Json]) -> str:
    return f"attempt {word(todo.get('attempt'))}  {word(todo.get('title'))}"


def _say(work: Work, name: str, todo: Mapping[str, Json], more: str = "") -> None:
    work.speaker.event(name, todo, more)
