"""Boards on real servers: another server's changes, kills, full houses, clients that hang up."""

from __future__ import annotations

import json
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass

import psycopg
import pytest
import urllib3

from app.domain.callers import Endpoint, Human
from app.edge.waiting import BOARD_STREAMS_PER_SESSION, BUDGET
from app.parts import worker_count
from tests.race.boards import Board, truth
from tests.support.events import Events
from tests.support.make import Make, QueueId
from tests.support.rounds import rounds
from tests.support.servers import Fleet, Server, agent
from tests.support.wait import wait_for

pytestmark = [pytest.mark.race, pytest.mark.req("REQ-11"), pytest.mark.timeout(300)]

CYCLES = rounds(100, 1_000)
AT_ONCE = 4


@dataclass
class Ground:
    """One person with one budgeted queue, on a pair of servers."""

    fleet: Fleet
    make: Make
    ana: Human
    lane: Endpoint
    inbox: QueueId
    session: str

    def claim(self, server: Server) -> None:
        """A todo is made and claimed through one server."""
        self.make.todo(self.lane)
        answer = agent(server.url, self.make.credential(self.lane)).call("claim_next")
        assert answer.status == 200
        assert answer.json["todo"]


def ground_on(fleet: Fleet) -> Ground:
    make = fleet.make
    ana = make.human()
    lane = make.endpoint(ana)
    inbox = make.queue_id(lane)
    make.policy(inbox, max_in_flight=500, max_claims_per_window=1_000)
    return Ground(fleet, make, ana, lane, inbox, make.session(ana))


@pytest.fixture
def live(pair: Fleet) -> Ground:
    return ground_on(pair)


def test_a_claim_through_one_server_is_seen_on_the_other_within_two_seconds(live: Ground) -> None:
    first, second = live.fleet
    for here, there in ((first, second), (second, first)):
        with Events(there.url, live.session, "?cards=yes") as events:
            events.named(f"counts-{live.inbox}")
            before = int(str(live.make.value("select count(*) from todo_attempts")))
            live.claim(here)
            began = time.monotonic()
            used = live.make.value("select sum(used) from admission_windows w"
                                   " join admission_policies p on p.id = w.policy_id"
                                   " where p.queue_id = %s", int(live.inbox))
            events.named(f"counts-{live.inbox}", f"{used} of 1000 used", timeout=2)
            events.named(f"cards-{live.inbox}", "claimed by", timeout=2)
            assert time.monotonic() - began <= 2
            assert live.make.value("select count(*) from todo_attempts") == before + 1


@pytest.mark.crash
def test_a_board_recovers_from_the_kill_of_either_server(servers: Fleet) -> None:
    live = ground_on(servers)
    for killed, other in ((servers[0], servers[1]), (servers[1], servers[0])):
        with closing(Board(killed.url, live.session)) as board, \
                closing(Board(other.url, live.session)) as beside:
            killed.kill()
            live.claim(other)
            _all_say_the_truth(live, beside)
            killed.start()
            _all_say_the_truth(live, board, seconds=10)
            live.claim(killed)
            _all_say_the_truth(live, board, beside)


def _all_say_the_truth(live: Ground, *boards: Board, seconds: float = 3) -> None:
    fact = truth(live.make, live.ana)
    wait_for(lambda: [board.says for board in boards] == [fact] * len(boards), seconds)


@pytest.mark.rule("dependencies.md 2.2: streams drain at reload and stop")
def test_open_streams_end_within_three_seconds_of_a_stop(fleet: Fleet) -> None:
    live = ground_on(fleet)
    server = fleet.add()
    sessions = [live.make.session(live.ana) for _ in range(5)]
    with ExitStack() as stack:
        streams = [stack.enter_context(Events(server.url, session)) for session in sessions * 2]
        for stream in streams:
            stream.named("live")
        began = time.monotonic()
        server.processes()[0].send_signal(signal.SIGTERM)
        for stream in streams:
            stream.rest(3)
        assert time.monotonic() - began <= 3
    assert server.stop() == 0


class House:
    """Fills every waiting thread of a server, with streams and with long polls."""

    def __init__(self, live: Ground, server: Server) -> None:
        self.live = live
        self.server = server
        self.open = ExitStack()
        self.streams = 0
        self._session, self._left = "", 0

    def stream(self) -> bool:
        """One more stream, of a session that has few; whether it was let in."""
        if not self._left:
            self._session = self.live.make.session(self.live.ana)
            self._left = BOARD_STREAMS_PER_SESSION
        self._left -= 1
        events = Events(self.server.url, self._session)
        if events.until(lambda frame: frame.event).event != "live":
            events.close()
            return False
        self.open.callback(events.close)
        self.streams += 1
        return True

    def poll(self, endpoint: Endpoint) -> None:
        """One more claim_next that waits 30 s; nobody reads its answer."""
        body = json.dumps({"wait_seconds": 30})
        raw = self.open.enter_context(
            socket.create_connection(("127.0.0.1", self.server.port)))
        raw.sendall((
            "POST /agent/v1/claim_next HTTP/1.1\r\nHost: 127.0.0.1\r\n"
            "Content-Type: application/json\r\n"
            f"Authorization: Bearer {self.live.make.credential(endpoint)}\r\n"
            f"Content-Length: {len(body)}\r\n\r\n{body}").encode())


@pytest.fixture
def house(live: Ground) -> Iterator[House]:
    made = House(live, live.fleet[0])
    yield made
    made.open.close()
    wait_for(made.stream, 20, what="there is room again")
    made.open.close()


def test_a_full_house_still_answers_and_the_next_stream_is_not_live(
    live: Ground, house: House
) -> None:
    seats = BUDGET * worker_count()
    while house.streams < seats - 60:
        house.stream()
    idle = live.make.endpoint(live.ana)
    for _ in range(40):
        house.poll(idle)
    refused = 0
    while refused < 20:  # a worker may have room while the other has none
        refused = 0 if house.stream() else refused + 1

    took = []
    for path in ("/healthz", "/login", "/") * 4:
        began = time.monotonic()
        answer = urllib3.request("GET", house.server.url + path, timeout=5, headers={
            "Cookie": f"sb_session={live.session}"}, redirect=False)
        took.append(time.monotonic() - began)
        assert answer.status < 400
    assert max(took) < 1
    assert house.streams > BUDGET
    with Events(house.server.url, live.session) as events:
        assert [frame.event for frame in events.rest() if frame.event] == ["not-live"]
        assert events.seen[0].retry == 60_000


def test_clients_that_come_and_go_leave_nothing_behind(live: Ground) -> None:
    server = live.fleet[0]
    sessions = [live.make.session(live.ana) for _ in range(AT_ONCE)]

    def cycle(number: int) -> None:
        opened = [Events(server.url, session) for session in sessions]
        for each, events in enumerate(opened):
            if (number + each) % 3:
                events.until(lambda frame: frame.event)
        for events in opened:
            events.close()

    for number in range(25):  # until the server has made the threads it needs
        cycle(number)
    # Nothing else asks this server now; its kept connections end after 5 s.
    wait_for(lambda: _held(live, server).sockets == 0, 10)
    before = _held(live, server)
    for number in range(CYCLES // AT_ONCE):
        cycle(number)

    wait_for(lambda: _held(live, server).sockets == 0, 10, what="every socket is closed")
    wait_for(lambda: _held(live, server).backends <= before.backends, 20)
    after = _held(live, server)
    # The server keeps a thread it has once needed; what leaks would be a thread for each cycle.
    assert after.threads <= before.threads + AT_ONCE
    assert after.files <= before.files + AT_ONCE


@dataclass(frozen=True, slots=True)
class Held:
    """What a server holds: client sockets in any state, threads, open files, database backends."""

    sockets: int
    threads: int
    files: int
    backends: int


def _held(live: Ground, server: Server) -> Held:
    workers = [each for each in server.processes() if "app.webserver" in " ".join(each.cmdline())]
    assert workers
    with psycopg.connect(live.fleet.database_url) as conn:
        row = conn.execute("select count(*) from pg_stat_activity where datname ="
                           " current_database() and state <> 'idle'"
                           " and pid <> pg_backend_pid()").fetchone()
    assert row is not None
    return Held(
        sockets=sum(
            1 for each in workers for conn in each.net_connections("tcp")
            if conn.laddr and conn.laddr.port == server.port and conn.raddr),
        threads=sum(each.num_threads() for each in workers),
        files=sum(each.num_fds() for each in workers),
        backends=int(row[0]),
    )
