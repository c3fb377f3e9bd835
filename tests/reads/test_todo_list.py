"""The todos list is exact on every page, whichever way the rows are found, and looks at few."""

from __future__ import annotations

import random
import re
from datetime import timedelta

import psycopg
import pytest

from app.db.database import Database
from app.domain.callers import Human
from app.domain.todos import State
from app.reads import todo_list, todo_page
from app.reads.todo_list import ListFilters
from tests.support.make import Make, TodoId


def _world(make: Make, ana: Human, count: int) -> list[TodoId]:
    """Todos of two endpoints, a team and a stranger, many of one moment; Ana's are returned."""
    team = make.team()
    make.member(team, ana)
    lanes = [make.endpoint(ana, queues=("inbox", "lane")) for _ in range(2)]
    queues = [make.queue_id(lane, name) for lane in lanes for name in ("inbox", "lane")]
    queues.append(make.team_queue(team, "triage"))
    stranger = make.queue_id(make.endpoint())
    begin, dice = make.now() - timedelta(hours=1), random.Random(7)
    mine = []
    for number in range(count):
        queue = dice.choice([*queues, stranger])
        todo = make.todo(
            lanes[0], queue, state=dice.choice(["pending", "done", "failed"]),
            title=f"todo {number} {dice.choice(['Alpha', 'beta'])}",
            created_at=begin + timedelta(seconds=dice.randrange(count // 4)))
        if queue != stranger:
            mine.append(todo)
    return sorted(mine, key=lambda each: (make.row(each)["created_at"], each), reverse=True)


@pytest.mark.parametrize("few", [0, 10_000])
def test_every_page_of_every_filter_is_exact(
    db: Database, make: Make, monkeypatch: pytest.MonkeyPatch, few: int
) -> None:
    monkeypatch.setattr(todo_list, "PAGE_SIZE", 7)
    monkeypatch.setattr(todo_list, "FEW", few)
    ana = make.human()
    mine = _world(make, ana, 80)
    rows = {todo: make.row(todo) for todo in mine}
    for queue in (None, "inbox", str(rows[mine[0]]["queue_id"])):
        for state in (None, State.DONE):
            for text in (None, "ALPHA"):
                filters = ListFilters(queue=queue, state=state, text=text)
                expected = [
                    str(todo) for todo in mine
                    if (queue is None or _queue_matches(make, todo, queue))
                    and (state is None or rows[todo]["state"] == state)
                    and (text is None or "Alpha" in str(rows[todo]["title"]))]
                found: list[str] = []
                first = todo_list.list_todos(db, ana.id, filters, 1)
                for page in range(1, first.pages + 1):
                    listing = todo_list.list_todos(db, ana.id, filters, page)
                    found += [row.id for row in listing.todos]
                    assert listing.total == len(expected)
                assert found == expected, filters
                assert first.pages == max(1, -(-len(expected) // 7))


def _queue_matches(make: Make, todo: TodoId, queue: str) -> bool:
    if queue.isdigit():
        return int(todo.queue_id) == int(queue)
    return make.value("select name from queues where id = %s", int(todo.queue_id)) == queue


def test_the_first_and_the_last_page_look_at_one_page_of_rows(
    db: Database, make: Make, db_url: str
) -> None:
    ana = make.human()
    lane = make.endpoint(ana)
    make.run("""
        insert into todos (id, queue_id, endpoint_id, title, created_at)
        select 'td_' || md5(i::text), %s, %s, 'todo ' || i,
               clock() - make_interval(secs => 20001 - i)
          from generate_series(1, 20000) i""", int(make.queue_id(lane)), lane.id)
    make.run("analyze todos")
    params = {"human_id": ana.id, "queue_ids": None, "state": None, "pattern": None, "start": 0,
              "size": 50, "reach": 50}

    with psycopg.connect(db_url) as conn:
        for name in ("read_page", "read_page_from_end"):
            query = "explain (analyze, costs off, timing off) " + todo_list.SQL[name].as_string()
            plan = [row[0] for row in conn.execute(query, params).fetchall()]
            walks = [line for line in plan if " on todos" in line and "actual rows" in line]
            looked = [float(rows) * int(loops) for line in walks for rows, loops in
                      re.findall(r"actual rows=([\d.]+) loops=(\d+)", line)]
            assert walks, plan
            assert max(looked) <= 100, walks


@pytest.mark.parametrize(("text", "pattern"), [
    (None, None), ("", None), ("a", "%a%"), ("50%_\\", "%50\\%\\_\\\\%"),
])
def test_wildcards_are_taken_as_themselves(text: str | None, pattern: str | None) -> None:
    assert todo_list.like_pattern(text) == pattern


def test_a_place_counts_the_older_pending_todos_of_its_own_queue(
    db: Database, make: Make
) -> None:
    ana = make.human()
    lane = make.endpoint(ana, queues=("a", "b"))
    at = make.now()
    same = [make.todo(lane, "a", created_at=at) for _ in range(3)]
    make.todo(lane, "a", created_at=at + timedelta(seconds=1))
    make.todo(lane, "b", created_at=at - timedelta(seconds=1))
    make.todo(lane, "a", state="done", created_at=at - timedelta(seconds=1))
    claimed = make.todo(lane, "a", state="claimed")

    places = [todo_page.see_todo(db, ana, todo).place for todo in sorted(same)]

    assert [(place.place, place.pending) for place in places if place] == [(1, 4), (2, 4), (3, 4)]
    assert todo_page.see_todo(db, ana, claimed).place is None
