"""What the races of doorbells share: a queue under a policy, and proof that nothing rang."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from app.domain.callers import Endpoint
from tests.support.ears import Ears, listening
from tests.support.make import Make, QueueId
from tests.support.servers import Answer, Fleet, HttpCaller, agent, operator
from tests.support.wait import wait_for

_COUNT = """
create table if not exists removed_marks (queue_id bigint, at timestamptz default clock());
create or replace function count_removed_mark() returns trigger language plpgsql as $$
begin
  insert into removed_marks (queue_id) values (old.queue_id);
  return null;
end $$;
create or replace trigger count_removed_mark after delete on admission_reopen
  for each row execute function count_removed_mark();
create table if not exists reopen_rows (queue_id bigint);
create or replace function count_reopen_row() returns trigger language plpgsql as $$
begin
  insert into reopen_rows values (new.queue_id);
  return null;
end $$;
create or replace trigger count_reopen_row after insert on doorbells
  for each row when (new.kind = 'reopen') execute function count_reopen_row();
"""


@dataclass(frozen=True, slots=True)
class Lane:
    """An endpoint with one queue, its owner's token, and callers of each server."""

    fleet: Fleet
    endpoint: Endpoint
    queue: QueueId
    token: str
    credential: str

    def agent(self, server: int = 0) -> HttpCaller:
        """Its agent, at one server."""
        return agent(self.fleet[server].url, self.credential)

    def owner(self, server: int = 0) -> HttpCaller:
        """Its owner, at one server."""
        return operator(self.fleet[server].url, self.token)

    def push(self, title: str = "a todo", server: int = 0) -> str:
        """A todo of its owner, which may ring."""
        answer = self.owner(server).post(f"/endpoints/{self.endpoint.slug}/todos",
                                         {"title": title})
        assert answer.status == 201, answer.body
        return str(answer.json["id"])

    def fill(self, todos: int) -> list[str]:
        """Todos that may ring, made at once and without a bell."""
        return [str(self.fleet.make.todo(self.endpoint, self.queue, rings=True))
                for _ in range(todos)]

    def claim(self, server: int = 0) -> str | None:
        """The id of the todo it claims next; None when it gets none."""
        answer = self.agent(server).call("claim_next")
        assert answer.status == 200, answer.body
        if answer.json["empty"]:
            return None
        todo = answer.json["todo"]
        assert isinstance(todo, dict)
        return str(todo["id"])

    def end(self, todo: str, verb: str = "complete", server: int = 0) -> Answer:
        """Completes, fails or releases what it holds."""
        answer = self.agent(server).call(verb, id=todo)
        assert answer.status == 200, answer.body
        return answer

    def policy(self, server: int = 0, **policy: object) -> None:
        """Sets the whole policy, or clears it when there is nothing to set."""
        path = f"/admission/endpoint:{self.endpoint.slug}/{self.queue.name}"
        asked = self.owner(server)
        answer = asked.request("PUT", path, policy) if policy else asked.delete(path)
        assert answer.status == 200, answer.body

    def owes(self) -> bool:
        """Whether the queue is marked."""
        return self.fleet.make.value("select 1 from admission_reopen where queue_id = %s",
                                     int(self.queue)) == 1

    def reopens(self) -> int:
        """How many reopen rows were written for the queue so far."""
        return count(self.fleet.make, "doorbells where kind = 'reopen' and queue_id = %s",
                     int(self.queue))

    def written(self) -> int:
        """The same since count_marks, those included that the pruner deleted."""
        return count(self.fleet.make, "reopen_rows where queue_id = %s", int(self.queue))

    def removed(self) -> int:
        """How many marks were removed, since count_marks."""
        return count(self.fleet.make, "removed_marks where queue_id = %s", int(self.queue))


def lane(fleet: Fleet) -> Lane:
    """A lane of a human of its own."""
    human = fleet.make.human()
    endpoint = fleet.make.endpoint(human)
    return Lane(fleet, endpoint, fleet.make.queue_id(endpoint),
                fleet.make.operator_token(human), fleet.make.credential(endpoint))


def count(make: Make, what: str, *params: object) -> int:
    """How many rows there are of something."""
    return int(str(make.value(f"select count(*) from {what}", *params)))


def count_marks(make: Make) -> None:
    """Count the marks that are removed, and the reopen rows that are written, from now on."""
    make.run(_COUNT)


def rung(*streams: Ears) -> int:
    """How many bells were heard."""
    return sum(len(stream.bells) for stream in streams)


@contextmanager
def both(of: Lane) -> Iterator[list[Ears]]:
    """A stream of one lane at each server."""
    with ExitStack() as stack:
        yield [stack.enter_context(listening(server.url, of.credential)) for server in of.fleet]


@contextmanager
def canaries(fleet: Fleet) -> Iterator[Canaries]:
    """One more endpoint at each server, for proof that nothing else is on its way."""
    with ExitStack() as stack:
        lanes = [lane(fleet) for _ in fleet]
        yield Canaries(lanes, [stack.enter_context(listening(server.url, each.credential))
                               for server, each in zip(fleet, lanes, strict=True)])


@dataclass(frozen=True, slots=True)
class Canaries:
    """Endpoints whose bells come after everything that was written before."""

    lanes: list[Lane]
    ears: list[Ears]

    def sing(self) -> None:
        """Returns once each server has delivered a bell that is newer than this call."""
        todos = [each.push() for each in self.lanes]
        for todo, ears in zip(todos, self.ears, strict=True):
            wait_for(lambda: todo in ears.todo_ids, 10, what="a canary's bell")  # noqa: B023
