"""The disconnect watcher over real sockets: it cancels once, in time, and never afterwards."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from app.edge import watcher
from app.edge.watcher import HangUps, Poller, Readable, Watchtower

Pair = tuple[socket.socket, socket.socket]
POLLERS: list[Callable[[], Poller]] = [HangUps, Readable]


@pytest.fixture(params=POLLERS, ids=["hang-ups", "readable"])
def tower(request: pytest.FixtureRequest) -> Iterator[Watchtower]:
    """A tower with each way to hear of a hang-up."""
    made = Watchtower(request.param)
    yield made
    made.close()


@pytest.fixture
def pair() -> Iterator[Pair]:
    """Our end and the client's."""
    ours, theirs = socket.socketpair()
    yield ours, theirs
    ours.close()
    theirs.close()


def of(tower: Watchtower, pair: Pair) -> watcher.ClientWatcher:
    return tower.over({"gunicorn.socket": pair[0]})


def test_a_client_that_hangs_up_inside_is_cancelled_once(tower: Watchtower, pair: Pair) -> None:
    cancelled = threading.Semaphore(0)

    with of(tower, pair).watching(cancelled.release):
        pair[1].close()
        assert cancelled.acquire(timeout=10)

    assert not cancelled.acquire(blocking=False)


def test_a_client_that_was_gone_before_is_cancelled_too(tower: Watchtower, pair: Pair) -> None:
    cancelled = threading.Event()
    pair[1].close()

    with of(tower, pair).watching(cancelled.set):
        assert cancelled.wait(10)


def test_a_client_that_stays_is_never_cancelled(tower: Watchtower, pair: Pair) -> None:
    calls: list[int] = []

    for _ in range(100):
        with of(tower, pair).watching(lambda: calls.append(1)):
            pass
    pair[1].close()
    _let_the_thread_go_round(tower)

    assert calls == []


def test_bytes_of_a_next_request_are_no_hang_up(tower: Watchtower, pair: Pair) -> None:
    calls: list[int] = []

    with of(tower, pair).watching(lambda: calls.append(1)):
        pair[1].sendall(b"GET / HTTP/1.1\r\n")
        _let_the_thread_go_round(tower)

    assert calls == []
    assert pair[0].recv(64) == b"GET / HTTP/1.1\r\n"


def test_on_linux_a_hang_up_behind_waiting_bytes_is_heard(pair: Pair) -> None:
    tower = Watchtower(HangUps)
    cancelled = threading.Event()

    with of(tower, pair).watching(cancelled.set):
        pair[1].sendall(b"GET / HTTP/1.1\r\n")
        pair[1].close()
        assert cancelled.wait(10)
    tower.close()


def test_leaving_waits_until_a_cancel_in_flight_has_come_to_its_end(
    tower: Watchtower, pair: Pair
) -> None:
    begun, may_end = threading.Event(), threading.Event()
    order: list[str] = []

    def cancel() -> None:
        begun.set()
        may_end.wait(10)
        order.append("cancelled")

    def claim() -> None:
        with of(tower, pair).watching(cancel):
            pair[1].close()
            begun.wait(10)
        order.append("left")

    claiming = threading.Thread(target=claim)
    claiming.start()
    assert begun.wait(10)
    claiming.join(0.1)
    assert claiming.is_alive()
    may_end.set()
    claiming.join(10)

    assert order == ["cancelled", "left"]


def test_whatever_the_moment_no_cancel_begins_after_the_block_was_left(
    tower: Watchtower,
) -> None:
    late: list[int] = []
    for turn in range(300):
        ours, theirs = socket.socketpair()
        inside = [True]

        def cancel(state: list[bool] = inside) -> None:
            if not state[0]:
                late.append(1)

        hang_up = threading.Thread(target=theirs.close)
        with of(tower, (ours, theirs)).watching(cancel):
            hang_up.start()
            if turn % 3:
                time.sleep(0)
        inside[0] = False
        hang_up.join()
        ours.close()

    _let_the_thread_go_round(tower)
    assert late == []


def test_one_claims_hang_up_cancels_no_other_even_when_numbers_come_again(
    tower: Watchtower,
) -> None:
    staying = [socket.socketpair() for _ in range(4)]
    wrong: list[int] = []
    stop = threading.Event()

    def stay(number: int) -> None:
        while not stop.is_set():
            with of(tower, staying[number]).watching(lambda: wrong.append(number)):
                pass

    threads = [threading.Thread(target=stay, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(300):
        ours, theirs = socket.socketpair()
        with of(tower, (ours, theirs)).watching(lambda: None):
            theirs.close()
        ours.close()
    stop.set()
    for thread in threads:
        thread.join(10)

    assert wrong == []
    for ours, theirs in staying:
        ours.close()
        theirs.close()


def test_a_cancel_that_raises_blinds_nobody(tower: Watchtower, pair: Pair) -> None:
    failed, heard = threading.Event(), threading.Event()

    def fail() -> None:
        failed.set()
        raise RuntimeError("the cancel of this test fails")

    with of(tower, pair).watching(fail):
        pair[1].close()
        assert failed.wait(10)
    ours, theirs = socket.socketpair()
    with of(tower, (ours, theirs)).watching(heard.set):
        theirs.close()
        assert heard.wait(10)
    ours.close()


def test_without_a_socket_nothing_is_watched_and_no_thread_starts() -> None:
    tower = Watchtower()

    with tower.over({}).watching(lambda: None):
        pass

    assert tower._thread is None
    tower.close()


def test_a_socket_the_server_closed_is_no_error(tower: Watchtower, pair: Pair) -> None:
    pair[0].close()

    with of(tower, pair).watching(lambda: None):
        pass


def test_nothing_is_left_open(tower: Watchtower, pair: Pair) -> None:
    with of(tower, pair).watching(lambda: None):
        pass
    before = _open_files()
    for _ in range(50):
        with of(tower, pair).watching(lambda: None):
            pass

    assert _open_files() == before
    assert tower._posts == {}


def test_a_tower_that_was_closed_watches_nobody_and_its_thread_has_ended(
    tower: Watchtower, pair: Pair
) -> None:
    with of(tower, pair).watching(lambda: None):
        thread = tower._thread
        tower.close()
    with of(tower, pair).watching(lambda: None):
        pass

    assert thread is not None
    assert not thread.is_alive()
    tower.close()


def test_the_thread_starts_with_the_first_watch_and_is_a_daemon(
    tower: Watchtower, pair: Pair
) -> None:
    assert tower._thread is None
    with of(tower, pair).watching(lambda: None):
        assert tower._thread is not None
        assert tower._thread.daemon


def _let_the_thread_go_round(tower: Watchtower) -> None:
    """Returns when the thread has heard a hang-up that came after everything before."""
    ours, theirs = socket.socketpair()
    heard = threading.Event()
    with of(tower, (ours, theirs)).watching(heard.set):
        theirs.close()
        assert heard.wait(10)
    ours.close()


def _open_files() -> int:
    return len(os.listdir("/dev/fd"))
