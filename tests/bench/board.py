"""`python3 tests bench board`: seconds of server time of a board with 200 queues, and its parts."""

from __future__ import annotations

import logging
import re
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import click
import psycopg
from flask import Flask, render_template
from flask.testing import FlaskClient

from app import create_app
from app.db.database import Database
from app.db.listener import Listener
from app.domain.callers import Human
from app.edge.deps import EdgeConfig
from app.reads import board
from app.web import present_board
from tests.bench.ground import Ground, ground
from tests.support.client import COOKIE
from tests.support.make import Make
from tests.support.pg import opened

ENDPOINTS, QUEUES_EACH = 20, 10
QUEUES = ENDPOINTS * QUEUES_EACH
CLAIMED_EACH, DEAD_EACH, DONE_EACH = 2, 4, 50
SIZES = (10_000, 1_000_000)
ROUNDS = 9
WITHIN_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Filled:
    """A human whose board has 200 queues, and their ids in the order they were made."""

    human: Human
    queue_ids: list[int]


def fill(make: Make, url: str, pending: int) -> Filled:
    """Two hundred queues of one human, three of four with a budget, pending todos in all of them.

    A queue in ten is paused, one in ten used up, one in ten at its limit, one in ten broken.
    """
    human = make.human("Ana")
    names = [f"queue-{n}" for n in range(QUEUES_EACH)]
    lanes = [make.endpoint(human, queues=names) for _ in range(ENDPOINTS)]
    ids = [int(make.queue_id(lane, name)) for lane in lanes for name in names]
    for place, queue_id in enumerate(ids):
        _budget(make, queue_id, place % QUEUES_EACH)
    with psycopg.connect(url, autocommit=True) as conn:
        # Rows of queues that exist, by the million: no check per row.
        conn.execute("set session_replication_role = replica")
        for state, each in (("pending", pending // QUEUES), ("claimed", CLAIMED_EACH),
                            ("failed", DEAD_EACH), ("done", DONE_EACH)):
            conn.execute(_FILL, {"queue_ids": ids, "each": each, "state": state})
        conn.execute("vacuum (analyze)")
    return Filled(human, ids)


def shown(page: str) -> dict[int, str]:
    """What a board says of the todos of each queue, by queue id."""
    said = re.findall(r'<p class="q-todos" id="q-(\d+)-todos">([^<]*)</p>', page)
    return {int(queue_id): words for queue_id, words in said}


def counted(make: Make) -> dict[int, str]:
    """The same, from one count of the table."""
    return {int(str(queue_id)): str(words) for queue_id, words in make.rows(_COUNT)}


def main() -> int:
    """Measures both sizes and prints them; 1 when a page takes a second or more."""
    logging.disable(logging.ERROR)  # every look at a broken policy says so, and is no news here
    with ground() as here:
        kept = [measure(here, size) for size in SIZES]
    return 0 if all(kept) else 1


def measure(here: Ground, pending: int) -> bool:
    """One size: prints the page's time and what it is made of; says whether it is in time."""
    place = here.place(f"board_{pending}")
    make = Make(place.url)
    began_at = time.monotonic()
    filled = fill(make, place.url, pending)
    make.run("checkpoint")  # or the disk is still busy with what was filled in
    click.echo(f"\n{QUEUES} queues, {pending:,} pending (filled in "
               f"{time.monotonic() - began_at:.0f} s); medians of {ROUNDS}\n")
    with opened(place.url) as db:
        app = create_app(EdgeConfig(base_url="http://localhost"), db, Listener(place.url))
        client = app.test_client()
        client.set_cookie(COOKIE, make.session(filled.human), domain="localhost")
        kept = _print_parts(app, db, filled.human, client)
    make.close()
    return kept


def _print_parts(app: Flask, db: Database, human: Human, client: FlaskClient) -> bool:
    seen = board.board(db, human.id)
    view = present_board.board(seen, human, "Europe/Berlin")
    whole = seconds(lambda: client.get("/"))
    with app.test_request_context("/"):
        for name, part in (
            ("the page", whole),
            ("reading", seconds(lambda: board.board(db, human.id))),
            ("words", seconds(lambda: present_board.board(seen, human, "Europe/Berlin"))),
            ("markup", seconds(lambda: render_template("board.html", heading="Board", view=view))),
        ):
            click.echo(f"{name:<10} {part:>7.3f} s")
    kept = whole < WITHIN_SECONDS
    click.echo(f"{len(client.get('/').data):,} bytes; within {WITHIN_SECONDS:.0f} s: "
               f"{'yes' if kept else 'NO'}")
    return kept


def seconds(act: Callable[[], object]) -> float:
    """The median time of an act, after one that warms up."""
    act()
    times = []
    for _ in range(ROUNDS):
        began_at = time.perf_counter()
        act()
        times.append(time.perf_counter() - began_at)
    return statistics.median(times)


def _budget(make: Make, queue_id: int, kind: int) -> None:
    if kind == 0:
        make.policy(queue_id, max_in_flight=0)
    elif kind == 1:
        policy = make.policy(queue_id, max_claims_per_window=7)
        midnight = make.now().replace(hour=0, minute=0, second=0, microsecond=0)
        make.window(policy, midnight, used=7, limit=7)
    elif kind == 2:
        make.policy(queue_id, max_in_flight=CLAIMED_EACH)
    elif kind == 3:
        policy = make.policy(queue_id, max_claims_per_window=7)
        make.run("update admission_policies set window_tz = 'Mars/Olympus' where id = %s", policy)
    elif kind < 8:
        make.policy(queue_id, max_in_flight=50, max_claims_per_window=1000,
                    tz="America/Los_Angeles")


_FILL = """
insert into todos (id, queue_id, endpoint_id, source, title, state, attempt, lease_expires_at,
                   claimed_at, owner, created_at, updated_at)
select 'td_' || replace(gen_random_uuid()::text, '-', ''), q.id, q.endpoint_id, 'github',
       'Investigate the alert number ' || n, %(state)s,
       case when %(state)s = 'pending' then 0 else 1 end,
       case when %(state)s = 'claimed' then at + interval '1 day' end,
       case when %(state)s = 'claimed' then at end,
       case when %(state)s = 'claimed' then 'agent:' || q.endpoint_id end, at, at
  from (select n, clock() - interval '1 day' + n * interval '1 millisecond' as at
          from generate_series(1, %(each)s) n) rows
 cross join queues q
 where q.id = any (%(queue_ids)s::bigint[])
"""

_COUNT = """
select queue_id, concat_ws(', ', count(*) filter (where state = 'pending') || ' pending',
         nullif(count(*) filter (where state = 'claimed'), 0) || ' claimed',
         nullif(count(*) filter (where state = 'failed'), 0) || ' dead letters')
  from todos
 group by queue_id
"""
