"""What real servers count while workers are recycled and killed: each claim once, for good."""

from __future__ import annotations

import itertools
import random
import signal
import statistics
import threading
from collections.abc import Iterator

import pytest

from app.domain.callers import Endpoint
from tests.race.counting import Workers, persistently, steady_scrape
from tests.support.make import Make
from tests.support.pg import Databases, Fresh, opened
from tests.support.race import all_returned, together
from tests.support.rounds import rounds
from tests.support.scraping import (
    CHARGED,
    CLAIMED,
    METRICS_TOKEN,
    Scrape,
    never_fell,
    promtool_finds,
    scrape,
)
from tests.support.servers import Fleet, Server, agent
from tests.support.verify import Verify, away_from_boundaries
from tests.support.wait import wait_for

pytestmark = pytest.mark.race
KILLS = rounds(3, 50)
RECYCLES = rounds(20, 200)
WORKERS = 4
CLAIMS = 40


@pytest.fixture(scope="module")
def scraped(
    fast_cluster: Databases, worker_id: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Fleet]:
    """Two servers that answer scrapes, on one database of this file's own."""
    name = f"scraped_{worker_id}"
    url = fast_cluster.create(name)
    with opened(url) as db:
        fleet = Fleet(Fresh(url, db), tmp_path_factory.mktemp("scraped"))
        try:
            fleet.add_together(2, SWITCHBOARD_METRICS_TOKEN=METRICS_TOKEN)
            yield fleet
        finally:
            fleet.close()
    fast_cluster.drop(name)


def budgeted(make: Make, queue: str, todos: int) -> Endpoint:
    """An endpoint whose one queue has a daily budget that no test spends, and pending todos."""
    endpoint = make.endpoint(queues=(queue,))
    make.policy(make.queue_id(endpoint, queue), max_claims_per_window=100_000,
                **away_from_boundaries(make.now()))
    for _ in range(todos):
        make.todo(endpoint, queue)
    return endpoint


def claim(server: Server, make: Make, endpoint: Endpoint) -> int:
    """One claim on a connection of its own, so that any worker may get it; its status."""
    answer = agent(server.url, make.credential(endpoint)).request(
        "POST", "/claim_next", {}, headers={"Connection": "close"})
    return answer.status


def charged(make: Make, queue: str) -> int:
    """How many claims the database has charged to a queue's budget."""
    used = make.value("select coalesce(sum(w.used), 0) from admission_windows w"
                      " join admission_policies p on p.id = w.policy_id"
                      " join queues q on q.id = p.queue_id where q.name = %s", queue)
    return int(str(used))


@pytest.mark.timeout(600)
@pytest.mark.req("REQ-12", "Charges match claims")
@pytest.mark.rule("issue E: 40 claims over 4 workers that are recycled and killed are 40")
def test_forty_claims_over_workers_that_are_recycled_and_killed_are_forty(scraped: Fleet) -> None:
    make, server, queue = scraped.make, scraped[0], "forty"
    endpoint = budgeted(make, queue, CLAIMS)
    workers = Workers(server)
    workers.be(WORKERS)
    seen = [scrape(server.url)]
    turns = max(RECYCLES // 2, 10)
    each = itertools.chain(itertools.repeat(CLAIMS // 10, 10), itertools.repeat(0))
    done = 0

    for turn, number in zip(range(turns), each, strict=False):
        statuses = all_returned(together(max(number, 1), lambda _, n=number: (
            claim(server, make, endpoint) if n else 200)))
        assert set(statuses) == {200}
        done += number
        seen.append(scrape(server.url))
        assert seen[-1].value(CHARGED, queue=queue) == done
        assert seen[-1].value(CLAIMED, queue=queue) == done
        workers.end(random.sample(workers.living(), 2),
                    signal.SIGKILL if turn % 2 else signal.SIGTERM)
        seen.append(scrape(server.url))
        assert seen[-1].value(CHARGED, queue=queue) == done

    assert (done, charged(make, queue)) == (CLAIMS, CLAIMS)
    for earlier, later in itertools.pairwise(seen):
        never_fell(earlier, later)
    # At most twice the workers count at a time, however many there have been.
    assert len(list(workers.folder().glob("counter_w*.db"))) <= 2 * WORKERS
    assert flat(seen)
    assert promtool_finds(seen[-1].text) == ""


def flat(seen: list[Scrape]) -> bool:
    """Whether the last scrapes took about as long as the first: no file piles up."""
    third = len(seen) // 3
    first, last = (statistics.median(each.seconds for each in part)
                   for part in (seen[:third], seen[-third:]))
    assert last < 3 * first + 0.25, f"from {first:.3f} s to {last:.3f} s"
    return True


@pytest.mark.timeout(600)
@pytest.mark.rule("issue E: a kill costs the counters at most the one claim it strikes")
def test_a_kill_in_the_middle_of_a_claim_costs_that_one_at_most(scraped: Fleet) -> None:
    make, server, queue = scraped.make, scraped[0], "struck"
    endpoint = budgeted(make, queue, 0)
    workers, verify = Workers(server), Verify(make)
    stop = threading.Event()

    def claim_on_and_on() -> None:
        while not stop.is_set():
            make_one = Make(scraped.database_url)
            make_one.todo(endpoint, queue)
            make_one.close()
            persistently(lambda: claim(server, make, endpoint))

    claiming = threading.Thread(target=claim_on_and_on, daemon=True)
    claiming.start()
    seen, kills = [steady_scrape(server)], 0
    for _ in range(KILLS):
        threading.Event().wait(random.random() / 4)  # anywhere in a claim
        workers.end([random.choice(workers.living())], signal.SIGKILL)
        kills += 1
        seen.append(steady_scrape(server))
    stop.set()
    claiming.join(60)
    seen.append(steady_scrape(server))

    claims = charged(make, queue)
    assert kills == KILLS < claims
    assert claims - kills <= seen[-1].value(CHARGED, queue=queue) <= claims
    for earlier, later in itertools.pairwise(seen):
        never_fell(earlier, later)
    verify.all_well()


@pytest.mark.rule("issue E: counters of two servers sum, their gauges agree")
def test_two_servers_sum_and_agree(scraped: Fleet) -> None:
    make, queue = scraped.make, "summed"
    endpoint = budgeted(make, queue, 30)

    statuses = all_returned(together(20, lambda number: claim(
        scraped[number % 2], make, endpoint)))
    seen = [scrape(server.url) for server in scraped]

    assert statuses == [200] * 20
    for counter in (CHARGED, CLAIMED):
        shares = [each.value(counter, queue=queue) for each in seen]
        assert sum(shares) == 20
        assert all(shares)
    for gauge, labels, value in (
        ("switchboard_queue_todos", {"state": "pending"}, 10),
        ("switchboard_queue_todos", {"state": "claimed"}, 20),
        ("switchboard_admission_policies", {"status": "admitted"}, 1),
    ):
        assert [each.value(gauge, queue=queue, **labels) for each in seen] == [value, value]


@pytest.mark.rule("issue E: the jobs process is counted in")
def test_what_the_jobs_do_is_counted_in(scraped: Fleet) -> None:
    make, queue = scraped.make, "lapsed"
    endpoint = make.endpoint(queues=(queue,))
    lapsed = "switchboard_todo_leases_expired_total"
    make.todo(endpoint, queue, state="claimed", lease=-1)
    make.run("notify queue_changed, '{}'")

    def reaped() -> float:
        return sum(scrape(server.url).total(lapsed, queue=queue) for server in scraped)

    assert wait_for(reaped, 45) == 1
    processes = scrape(scraped[0].url).labels("process")
    assert {"w0", "w1", "jobs0"} <= processes
