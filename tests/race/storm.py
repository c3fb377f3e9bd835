"""Everything at once: actors claim, settle, edit, revoke and prune until they are told to stop.

Each actor keeps to the doors of the product where there is one, notes every answer it got, and is
allowed to be refused; it is not allowed to meet an error that nobody planned.
"""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable

import psycopg

from app.domain.callers import Endpoint, Human
from app.domain.errors import DomainError, OutcomeUnknown
from app.transactions import claiming, pruning
from tests.support.make import Make
from tests.support.servers import Fleet, HttpCaller, agent, operator

QUEUES = ("capped", "budgeted", "edited", "free")
CAP = 3  # of "capped", all along
BUDGET = 25  # of "budgeted", per hour, all along
RETENTION = pruning.Retention(todos_per_owner=1_000_000, events_per_owner=1_000_000)


class Storm:
    """The actors of one storm over two servers, and what they were answered."""

    def __init__(self, fleet: Fleet, seed: int) -> None:
        """Makes two owners with an endpoint each; `run` lets the actors loose."""
        self.fleet = fleet
        self.make = fleet.make
        self.answers: Counter[tuple[str, int]] = Counter()
        self.faults: list[str] = []
        self.stop = threading.Event()
        self._seed = seed
        self.owners = [self.make.human("ada"), self.make.human("bob")]
        self.endpoints = [self.make.endpoint(each, queues=QUEUES) for each in self.owners]
        self.caps, self.budgets = [], []
        for each in self.endpoints:
            self.caps.append(self.make.policy(self.make.queue_id(each, "capped"),
                                              max_in_flight=CAP))
            self.budgets.append(self.make.policy(self.make.queue_id(each, "budgeted"),
                                                 max_claims_per_window=BUDGET, period="hour"))

    def run(self, seconds: float, meanwhile: Callable[[], None]) -> None:
        """Everybody acts for so long; `meanwhile` is called about once a second."""
        actors: list[Callable[[random.Random, Make], None]] = [self._clock, self._prune]
        for number, (owner, endpoint) in enumerate(zip(self.owners, self.endpoints, strict=True)):
            actors += [self._creator(endpoint), self._owner(owner, endpoint, number),
                       self._editor(owner, endpoint, number), self._board(owner, endpoint),
                       self._revoker(owner, number)]
            actors += [self._worker(endpoint, n) for n in range(4)]
            actors += [self._picker(endpoint, number)]
        threads = [threading.Thread(target=self._act, args=(actor, n), daemon=True)
                   for n, actor in enumerate(actors)]
        for thread in threads:
            thread.start()
        ends_at = time.monotonic() + seconds  # the looks take longer as the tables grow
        while time.monotonic() < ends_at and not self.stop.wait(1.0):
            meanwhile()
        self.stop.set()
        for thread in threads:
            thread.join(60)
        if any(thread.is_alive() for thread in threads):
            self.faults.append("an actor did not come back")

    def _act(self, actor: Callable[[random.Random, Make], None], number: int) -> None:
        chance, make = random.Random(self._seed + number), Make(self.fleet.database_url)
        try:
            while not self.stop.is_set():
                actor(chance, make)
        except BaseException as fault:
            self.faults.append(f"{actor.__qualname__}: {fault!r}")
            self.stop.set()
        finally:
            make.close()

    def _note(self, what: str, status: int) -> None:
        self.answers[what, status] += 1

    def _clock(self, chance: random.Random, make: Make) -> None:
        """Leases lapse, retries fall due and windows end, sooner than anybody has patience for."""
        if not self.stop.wait(4):
            self.fleet.clock.advance(chance.choice((15, 40, 400, 1500)))
            self._note("clock", 200)

    def _prune(self, chance: random.Random, make: Make) -> None:
        """Retention of old rows beside everything else; those it deletes carry no charge."""
        endpoint = chance.choice(self.endpoints)
        todo = make.todo(endpoint, chance.choice(QUEUES), state="done")
        make.run("update todos set updated_at = clock() - interval '200 days',"
                 " completed_at = clock() - interval '200 days' where id = %s", str(todo))
        self._domain("prune", lambda: pruning.prune(self.fleet.db, RETENTION))
        self.stop.wait(0.3)

    def _creator(self, endpoint: Endpoint) -> Callable[[random.Random, Make], None]:
        def create(chance: random.Random, make: Make) -> None:
            for queue in QUEUES:
                if _pending(make, endpoint, queue) < 20:
                    for _ in range(10):
                        make.todo(endpoint, queue, max_attempts=chance.choice((1, 2, 5)))
            self.stop.wait(0.1)
        return create

    def _worker(self, endpoint: Endpoint, number: int) -> Callable[[random.Random, Make], None]:
        door = agent(self.fleet[number % 2].url, self.make.credential(endpoint))

        def work(chance: random.Random, make: Make) -> None:
            asked: dict[str, object] = {"lease_ttl_seconds": chance.choice((1, 2, 300))}
            if chance.random() < 0.5:
                asked["queue"] = chance.choice(QUEUES)
            if chance.random() < 0.2:
                asked["wait_seconds"] = 1
            asked["require_fence"] = chance.random() < 0.3
            key = f"{chance.getrandbits(64)}" if chance.random() < 0.3 else None
            answer = door.call("claim_next", key=key, **asked)
            self._note("claim_next", answer.status)
            if key and chance.random() < 0.3:
                self._note("replay", door.call("claim_next", key=key, **asked).status)
            if answer.status == 200 and not answer.json["empty"]:
                self._settle(chance, door, answer.json["todo"]["id"], answer.json)
        return work

    def _picker(self, endpoint: Endpoint, number: int) -> Callable[[random.Random, Make], None]:
        door = agent(self.fleet[number].url, self.make.credential(endpoint))

        def pick(chance: random.Random, make: Make) -> None:
            for todo in _some(make, endpoint, "state in ('pending', 'claimed', 'failed')"):
                answer = door.call("claim", id=todo, lease_ttl_seconds=2)
                self._note("claim", answer.status)
                if answer.status == 200:
                    self._settle(chance, door, todo, answer.json)
        return pick

    def _settle(self, chance: random.Random, door: HttpCaller, todo: str, claimed: object) -> None:
        assert isinstance(claimed, dict)
        token = claimed.get("lease_token")
        fence = {"lease_token": token} if token else {}
        verb = chance.choice(("complete", "complete", "fail", "release", "heartbeat", "abandon"))
        if verb == "heartbeat":
            self._note(verb, door.call(verb, id=todo, **fence).status)
            verb = "complete"
        if verb != "abandon":
            self._note(verb, door.call(verb, id=todo, **fence).status)

    def _owner(
        self, human: Human, endpoint: Endpoint, number: int
    ) -> Callable[[random.Random, Make], None]:
        door = operator(self.fleet[number].url, self.make.operator_token(human))

        def own(chance: random.Random, make: Make) -> None:
            verb, state = chance.choice((("retry", "failed"), ("discard", "pending")))
            for todo in _some(make, endpoint, f"state = '{state}'")[:1]:
                self._note(verb, door.post(f"/todos/{todo}/{verb}").status)
            self._note("list", door.get("/todos").status)
            self.stop.wait(0.1)
        return own

    def _editor(
        self, human: Human, endpoint: Endpoint, number: int
    ) -> Callable[[random.Random, Make], None]:
        door = operator(self.fleet[1 - number].url, self.make.operator_token(human))
        path = f"/admission/endpoint:{endpoint.slug}/edited"

        def edit(chance: random.Random, make: Make) -> None:
            if chance.random() < 0.3:
                answer = door.request("DELETE", path)
            else:
                window = {"period": chance.choice(("hour", "day")), "tz": "Asia/Kathmandu",
                          "start": f"00:{chance.choice((0, 15, 30)):02}"}
                answer = door.request("PUT", path, chance.choice((
                    {"max_in_flight": chance.randrange(5)},
                    {"max_claims_per_window": chance.randrange(200), "window": window},
                    {"max_in_flight": 4, "max_claims_per_window": 1000, "window": window})))
            self._note("edit", answer.status)
            self.stop.wait(0.9)
        return edit

    def _board(self, human: Human, endpoint: Endpoint) -> Callable[[random.Random, Make], None]:
        door = operator(self.fleet[0].url, self.make.operator_token(human))

        def board(chance: random.Random, make: Make) -> None:
            for todo in _some(make, endpoint, "state = 'pending'")[:2]:
                status = self._domain("board claim", lambda todo=todo: claiming.board_claim(
                    self.fleet.db, human, todo, gone=lambda: False))
                if status == 200:
                    verb = chance.choice(("complete", "fail", "release"))
                    self._note(f"board {verb}", door.post(f"/todos/{todo}/{verb}").status)
            self.stop.wait(0.2)
        return board

    def _revoker(self, human: Human, number: int) -> Callable[[random.Random, Make], None]:
        door = operator(self.fleet[number].url, self.make.operator_token(human))

        def revoke(chance: random.Random, make: Make) -> None:
            endpoint = make.endpoint(human)
            make.policy(make.queue_id(endpoint), max_in_flight=5, max_claims_per_window=8)
            for _ in range(10):
                make.todo(endpoint)
            doors = [agent(each.url, make.credential(endpoint)) for each in self.fleet]
            threads = [threading.Thread(target=lambda d=d: [
                self._note("revoked claim", d.call("claim_next").status) for _ in range(6)])
                for d in doors]
            for thread in threads:
                thread.start()
            self._note("revoke", door.post(f"/endpoints/{endpoint.slug}/revoke").status)
            for thread in threads:
                thread.join(30)
            self.stop.wait(1)
        return revoke

    def _domain(self, what: str, call: Callable[[], object]) -> int:
        """A call in this process: refused is 409, an outcome nobody knows would be 500."""
        try:
            call()
        except OutcomeUnknown:
            self._note(what, 500)
            return 500
        except DomainError:
            self._note(what, 409)
            return 409
        self._note(what, 200)
        return 200


def _pending(make: Make, endpoint: Endpoint, queue: str) -> int:
    return int(str(make.value("select count(*) from todos where queue_id = %s and state ="
                              " 'pending'", make.queue_id(endpoint, queue))))


def _some(make: Make, endpoint: Endpoint, which: str) -> list[str]:
    try:
        return [str(todo) for (todo,) in make.rows(
            f"select id from todos where endpoint_id = %s and {which} order by random() limit 4",
            endpoint.id)]
    except psycopg.errors.QueryCanceled:
        return []
