"""The test support itself: databases are empty and separate, and the clock goes back."""

from __future__ import annotations

from app.embedded import Cluster
from tests.support.clock import Clock
from tests.support.make import Make
from tests.support.pg import Fresh


def test_a_test_leaves_rows_and_a_moved_clock_behind(db: object, make: Make, clock: Clock) -> None:
    make.todo(make.endpoint())
    clock.set("2031-01-01T00:00:00Z")
    assert clock.now().year == 2031


def test_the_next_one_finds_neither(db: object, make: Make, clock: Clock) -> None:
    assert make.value("select count(*) from todos") == 0
    assert make.value("select count(*) from settings") == 3
    assert clock.now().year < 2031


def test_a_fresh_database_is_another_one(make: Make, fresh_database: Fresh) -> None:
    make.todo(make.endpoint())
    with fresh_database.db.reading() as conn:
        assert conn.execute("select count(*) from todos").fetchone()[0] == 0


def test_the_durable_database_keeps_commits_through_a_crash(
    durable_cluster: Cluster, durable_database: Fresh
) -> None:
    first = Make(durable_database.url)
    first.human("kept")
    first.close()
    durable_cluster.stop("immediate")
    durable_cluster.start()
    second = Make(durable_database.url)
    assert second.value("select display_name from humans") == "kept"
    second.close()


def test_todos_come_in_every_state(make: Make) -> None:
    endpoint = make.endpoint()
    team = make.team()
    queue = make.team_queue(team, "lane")
    made = [make.todo(endpoint, state=state) for state in ("pending", "claimed", "done", "failed")]
    make.todo(endpoint, state="failed", next_retry_at=make.now())
    make.todo(endpoint, state="claimed", attempt=5, lease=-1)
    make.todo(queue=queue)
    assert [make.row(todo)["state"] for todo in made] == ["pending", "claimed", "done", "failed"]
    assert sorted(made) == made
