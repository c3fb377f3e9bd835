"""`db dump` and `db load`: what was destroyed comes back whole, and nothing half comes back."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path

import psycopg
import pytest

from app.cli import outfile
from app.db import dumping, loading, migrate
from app.db.database import Database
from app.db.dumpfile import DumpRefused
from app.transactions import claiming, settling
from app.transactions.claims import Claimed, ClaimRequest
from tests.cli.conftest import Cli, Ran, ground_at
from tests.support.cluster import new_home
from tests.support.make import Make
from tests.support.pg import SEALING_KEY, Databases, Fresh
from tests.support.servers import Server

ROOT = Path(__file__).parents[2]
NASTY = "tab\t newline\n back\\slash \\. quote' \u2028 \U0001f600 \\N"
Rows = dict[str, list[str]]
Dump = Callable[..., Ran]


def rows_of(url: str) -> Rows:
    """Every row of every table, as text, in one order; not of the one that moves a test's clock."""
    with psycopg.connect(url) as conn:
        names = [str(name) for (name,) in conn.execute(
            "select tablename from pg_tables where schemaname = 'public'"
            " and tablename <> 'moved_clock'")]
        return {name: sorted(str(row) for (row,) in conn.execute(
            psycopg.sql.SQL("select t::text from {} t").format(psycopg.sql.Identifier(name))))
            for name in names}  # fmt: skip


@pytest.fixture
def command(cli: Cli) -> Dump:
    """Run `db ...` on the database at `url`."""

    def ran(url: str, *words: str, key: bytes | None = SEALING_KEY) -> Ran:
        ground = nullcontext(ground_at(url, key=key))
        return cli("db", *words, ground=lambda: ground, new_ground=lambda: ground)

    return ran


@pytest.fixture
def empty(fast_cluster: Databases, worker_id: str) -> Iterator[str]:
    """A database in which nothing was ever migrated."""
    name = f"empty_{worker_id}"
    yield fast_cluster.create(name, template="template1")
    fast_cluster.drop(name)


@pytest.fixture
def dumped(db: Database, make: Make, tmp_path: Path, db_url: str) -> Path:
    """A dump of a lived-in database: each kind of row, and texts that are hard to write down."""
    live_in(db, make)
    path = tmp_path / "switchboard.dump"
    with path.open("wb") as out:
        dumping.dump(db_url, out, release="1.2.3")
    return path


def live_in(db: Database, make: Make) -> None:
    """Claims under a budget, a settled and a failed one, secrets, bytes, a team, a deleted row."""
    owner, team = make.human("Ada", email="ada@sb.example"), make.team()
    make.member(team, owner, "owner")
    endpoint = make.endpoint(owner, queues=("a", "b/c"))
    make.grant(endpoint, make.team_queue(team))
    make.policy(make.queue_id(endpoint, "a"), max_claims_per_window=9, max_in_flight=5)
    hook = make.webhook(endpoint, target_queue="a")
    make.route(hook, make.endpoint(owner))
    for number in range(6):
        make.todo(endpoint, "a", payload={"n": number, "text": NASTY.replace("\\N", "")},
                  title=NASTY, rings=True)
    make.run("update events set payload = %s, source_ip = '2001:db8::1'",
             bytes(reversed(range(256))))
    for ending in (settling.complete, settling.fail, None):
        found = claiming.claim_next(db, endpoint, "a", ClaimRequest(), gone=lambda: False)
        assert isinstance(found, Claimed)
        if ending is not None:
            ending(db, endpoint, found.todo.id, settling.Settlement())
    make.run("delete from events where id = (select max(id) from events)")


def text_of(path: Path) -> bytes:
    """The dump's lines."""
    return gzip.decompress(path.read_bytes())


def resealed(path: Path, text: bytes) -> Path:
    """The same dump with other lines before its checksum, which is right again."""
    body = text[: text.rindex(b"sha256 ")]
    path.write_bytes(gzip.compress(body + f"sha256 {hashlib.sha256(body).hexdigest()}\n".encode()))
    return path


@pytest.mark.rule("cli.md: a full backup, and load only into an empty database")
def test_dumped_destroyed_and_loaded_every_row_and_every_used_is_back_and_a_server_runs_on_it(
    command: Dump, db: Database, db_url: str, make: Make, empty: str, tmp_path: Path
) -> None:
    live_in(db, make)
    before, newest = rows_of(db_url), make.value("select max(id) + 1 from events")
    file = str(tmp_path / "switchboard.dump")

    dump, load = command(db_url, "dump", file), command(empty, "load", file)

    assert (dump.code, load.code) == (0, 0), dump.err + load.err
    assert os.stat(file).st_mode & 0o777 == 0o600
    assert "The key that opens its secrets is not in it." in dump.err
    assert SEALING_KEY.hex().encode() not in text_of(Path(file))
    assert "THE_KEY, which no dump holds" in load.out
    assert rows_of(empty) == before
    assert sum(map(len, before.values())) == int(dump.out.split()[1])
    with psycopg.connect(empty) as conn:
        used = conn.execute("select used from admission_windows").fetchall()
        ahead = conn.execute("select nextval('events_id_seq')").fetchone()
        triggers = conn.execute("select count(*) from pg_trigger where tgenabled <> 'O'").fetchone()
    assert used == [(3,)]
    assert ahead == (int(str(newest)) + 1,)  # the deleted row's number is not given out again
    assert triggers == (0,)
    server = Server(empty, tmp_path, {})
    server.start()
    try:
        assert server.answers("/readyz") == 200
    finally:
        server.stop()


def test_every_table_of_the_migrations_is_in_a_dump_and_after_what_it_points_to(
    db_url: str, dumped: Path
) -> None:
    lines = text_of(dumped).splitlines()
    order = [json.loads(line)["table"] for line in lines if line.startswith(b'{"table"')]

    assert set(order) == set(rows_of(db_url))
    assert set(order) == dumping.our_tables(migrate.migrations())
    assert order.index("queues") > order.index("endpoints") > order.index("agents")
    assert order.index("todo_attempts") > order.index("todos") > order.index("events")


def test_a_migrated_database_without_rows_counts_as_empty(
    fresh_database: Fresh, db_url: str, dumped: Path, command: Dump
) -> None:
    ran = command(fresh_database.url, "load", str(dumped), "--json")

    assert ran.code == 0
    assert json.loads(ran.out)["migrated"] == []
    assert rows_of(fresh_database.url) == rows_of(db_url)


def test_a_database_that_holds_a_row_is_refused_and_left_alone(
    fresh_database: Fresh, dumped: Path, command: Dump
) -> None:
    made = Make(fresh_database.url)
    made.human("Grace")
    made.close()
    before = rows_of(fresh_database.url)

    ran = command(fresh_database.url, "load", str(dumped))

    assert (ran.code, ran.out) == (1, "")
    assert "The database is not empty: humans holds rows." in ran.err
    assert "Nothing was changed." in ran.err
    assert rows_of(fresh_database.url) == before


def test_another_programs_table_or_a_server_at_work_is_refused(
    fresh_database: Fresh, dumped: Path, command: Dump, monkeypatch: pytest.MonkeyPatch
) -> None:
    quickly = [psycopg.sql.SQL("set local lock_timeout = '100ms'")]
    monkeypatch.setattr(dumping, "_PLAINLY", quickly)
    with psycopg.connect(fresh_database.url) as conn:
        conn.execute("insert into teams (id, slug, display_name)"
                     " values (gen_random_uuid(), 'abc', 'x')")
        busy = command(fresh_database.url, "load", str(dumped))
        conn.rollback()
        conn.execute("create table invoices (id int)")
        conn.commit()
        foreign = command(fresh_database.url, "load", str(dumped))

    assert (busy.code, foreign.code) == (1, 1)
    assert "The database is in use; stop every server of it first." in busy.err
    assert "has a table that is not Switchboard's, invoices" in foreign.err


def cut(path: Path, text: bytes) -> None:
    path.write_bytes(path.read_bytes()[:-200])


def cut_between_rows(path: Path, text: bytes) -> None:
    path.write_bytes(gzip.compress(text[: text.index(b'{"table": "todos"')]))


def without_its_end(path: Path, text: bytes) -> None:
    path.write_bytes(gzip.compress(text[: text.rindex(b"sha256 ")]))


def flipped(path: Path, text: bytes) -> None:
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2] ^= 0x10
    path.write_bytes(raw)


def altered(path: Path, text: bytes) -> None:
    path.write_bytes(gzip.compress(text.replace(b"Ada", b"Eve")))


def short_of_a_row(path: Path, text: bytes) -> None:
    start = text.index(b"\n", text.index(b'{"table": "todo_attempts"')) + 1
    resealed(path, text[:start] + text[text.index(b"\n", start) + 1 :])


def with_a_value_that_will_not_do(path: Path, text: bytes) -> None:
    resealed(path, text.replace(b"ada@sb.example\t20", b"ada@sb.example\tsoon 20"))


def with_a_row_of_nobody(path: Path, text: bytes) -> None:
    start = text.index(b"\n", text.index(b'{"table": "agents"')) + 1
    resealed(path, text[:start] + text[text.index(b"\\.\n", start) :])


def with_more_behind(path: Path, text: bytes) -> None:
    path.write_bytes(gzip.compress(text + b"more\n"))


def with_a_strange_table(path: Path, text: bytes) -> None:
    resealed(path, text.replace(b'{"table": "teams"', b'{"table": "pg_class"'))


def of_a_newer_release(path: Path, text: bytes) -> None:
    resealed(path, text.replace(b'"migrations": {', b'"migrations": {"9999_later": "00", '))


def of_another_history(path: Path, text: bytes) -> None:
    resealed(path, text.replace(b'"migrations": {"0001_clock_and_people": "',
                                b'"migrations": {"0001_clock_and_people": "f'))  # fmt: skip


def in_a_newer_format(path: Path, text: bytes) -> None:
    resealed(path, text.replace(b"switchboard dump 1\n", b"switchboard dump 2\n"))


def nested_without_end(path: Path, text: bytes) -> None:
    """A head in which lists never stop."""
    first, _, rest = text.split(b"\n", 2)
    resealed(path, b"\n".join([first, b"[" * 200_000, rest]))


def something_else(path: Path, text: bytes) -> None:
    path.write_bytes(b"PGDMP\x01")


def something_else_packed(path: Path, text: bytes) -> None:
    path.write_bytes(gzip.compress(b"hello\n"))


def nothing(path: Path, text: bytes) -> None:
    path.write_bytes(b"")


@pytest.mark.parametrize(("harm", "says"), [
    (cut, "cannot be unpacked to its end"),
    (cut_between_rows, "ends too early"),
    (without_its_end, "ends too early"),
    (flipped, "dump"),  # unreadable from its first line on, or only further down
    (altered, "checksum"),
    (short_of_a_row, "as many rows as it says"),
    (with_a_value_that_will_not_do, "invalid input syntax"),
    (with_a_row_of_nobody, "violates foreign key"),
    (with_more_behind, "checksum"),
    (with_a_strange_table, "does not know: pg_class"),
    (of_a_newer_release, "does not know migration 9999_later"),
    (of_another_history, "another migration 0001_clock_and_people"),
    (in_a_newer_format, "format 2"),
    (nested_without_end, "a line of it cannot be read"),
    (something_else, "no dump of Switchboard"),
    (something_else_packed, "no dump of Switchboard"),
    (nothing, "no dump of Switchboard"),
], ids=lambda one: getattr(one, "__name__", ""))  # fmt: skip
def test_a_bad_dump_is_refused_in_a_sentence_and_nothing_is_changed(
    harm: Callable[[Path, bytes], None], says: str, dumped: Path, empty: str, command: Dump
) -> None:
    harm(dumped, text_of(dumped))

    ran = command(empty, "load", str(dumped))

    assert (ran.code, ran.out) == (1, "")
    assert says in ran.err
    assert ran.err.endswith("Nothing was changed.\n")
    assert rows_of(empty) == {}


def test_without_the_key_of_the_dumped_secrets_nothing_is_loaded(
    dumped: Path, empty: str, command: Dump
) -> None:
    other, none = (command(empty, "load", str(dumped), key=key) for key in (bytes(32), None))

    assert (other.code, none.code) == (1, 1)
    assert "1 of 1 stored secrets do not open with the key in THE_KEY." in other.err
    assert "THE_KEY is not set" in none.err
    assert rows_of(empty) == {}


def test_a_dump_of_the_previous_migration_level_loads_and_migrates(
    fast_cluster: Databases, worker_id: str, empty: str, fresh_database: Fresh, tmp_path: Path
) -> None:
    *older, newest = sorted((ROOT / "sql" / "migrations").glob("*.sql"))
    folder = tmp_path / "older"
    folder.mkdir()
    for file in older:
        shutil.copy(file, folder)
    migrate.migrate(empty, folder)
    make = Make(empty)
    make.todo(make.endpoint(), title=NASTY)
    make.run("update settings set value = '7' where key = 'retention_max_age_days'")
    make.close()
    out = io.BytesIO()
    dumping.dump(empty, out, release="1.0.0")

    target = fresh_database.url  # migrated further than the dump, and empty
    loaded = loading.load_dump(
        target, io.BytesIO(out.getvalue()), require_key=lambda conn: None)

    old, new = rows_of(empty), rows_of(target)
    assert loaded.migrated == [newest.stem]
    assert new["todos"][0].startswith(old["todos"][0].rstrip(")"))
    assert new["settings"] == old["settings"]
    assert new["schema_migrations"][:-1] == old["schema_migrations"]
    with psycopg.connect(target) as conn:
        assert migrate.pending(conn) == []


def test_a_database_never_migrated_or_newer_is_not_dumped(
    empty: str, fresh_database: Fresh
) -> None:
    with pytest.raises(DumpRefused, match="never migrated"):
        dumping.dump(empty, io.BytesIO(), release="1")
    with psycopg.connect(fresh_database.url) as conn:
        conn.execute("insert into schema_migrations values ('9999_later', '00', clock())")
    with pytest.raises(DumpRefused, match="9999_later"):
        dumping.dump(fresh_database.url, io.BytesIO(), release="1")


def test_a_dump_is_one_instant_however_long_it_takes(
    db: Database, db_url: str, make: Make, empty: str
) -> None:
    endpoint = make.endpoint()
    make.todo(endpoint)

    class Meddling(io.BytesIO):
        """A slow file: while the first bytes are written, the database goes on."""

        def write(self, piece: bytes | bytearray | memoryview) -> int:
            if not self.tell():
                make.todo(endpoint)
                make.human()
            return super().write(piece)

    out = Meddling()
    before = rows_of(db_url)
    dumping.dump(db_url, out, release="1")
    loading.load_dump(empty, io.BytesIO(out.getvalue()), require_key=lambda conn: None)

    assert rows_of(empty) == before
    assert rows_of(db_url) != before


def test_roles_with_other_habits_dump_and_load_the_same(
    db: Database, db_url: str, make: Make, dumped: Path, fresh_database: Fresh
) -> None:
    names = [fresh_database.url.rpartition("/")[2].partition("?")[0]]
    habits = ("datestyle = 'sql, dmy'", "timezone = 'Asia/Kathmandu'", "bytea_output = 'escape'",
              "intervalstyle = 'iso_8601'", "statement_timeout = '1s'")  # fmt: skip
    with psycopg.connect(fresh_database.url, autocommit=True) as conn:
        for habit in habits:
            conn.execute(f"alter database {names[0]} set {habit}")
    loading.load_dump(
        fresh_database.url, io.BytesIO(dumped.read_bytes()), require_key=lambda conn: None)
    again = io.BytesIO()
    dumping.dump(fresh_database.url, again, release="1.2.3")

    first, second = text_of(dumped), gzip.decompress(again.getvalue())
    assert second.splitlines()[2:-1] == first.splitlines()[2:-1]  # but for when, and its checksum


def test_a_place_that_cannot_be_written_or_read_is_a_sentence(
    command: Dump, db_url: str, empty: str, tmp_path: Path
) -> None:
    nowhere = str(tmp_path / "no" / "dump")

    dump, load = command(db_url, "dump", nowhere), command(empty, "load", nowhere)
    failed = command(empty, "dump", str(tmp_path / "none"))

    assert (dump.code, load.code, failed.code) == (1, 1, 1)
    assert "cannot be written: No such file or directory" in dump.err
    assert "cannot be read: No such file or directory" in load.err
    assert [*tmp_path.glob("none*")] == []  # a dump that failed leaves no file


def test_nobody_can_foresee_or_redirect_the_file_a_dump_is_written_to(
    command: Dump, db_url: str, tmp_path: Path
) -> None:
    theirs = tmp_path / "theirs"
    theirs.write_text("before")
    (tmp_path / "mine.part").symlink_to(theirs)  # the name it had
    seen: list[tuple[str, int]] = []

    with outfile.written(str(tmp_path / "mine")) as out:
        out.write(b"x")
        seen += [(one.name, one.stat().st_mode & 0o777) for one in tmp_path.glob(".switch*")]
    with pytest.raises(ZeroDivisionError), outfile.written(str(tmp_path / "none")):
        _ = 1 / 0
    ran = command(db_url, "dump", str(tmp_path / "mine"))

    assert ran.code == 0, ran.err
    assert [mode for _, mode in seen] == [0o600]
    assert theirs.read_text() == "before"
    assert {one.name for one in tmp_path.iterdir()} == {"theirs", "mine", "mine.part"}


def test_a_symbolic_link_stays_one_and_the_file_behind_it_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    link, file = tmp_path / "link", tmp_path / "there" / "file"
    link.symlink_to("there/file")

    for words in (b"first", b"second"):
        with outfile.written(str(link)) as out:
            out.write(words)
        assert (link.is_symlink(), file.read_bytes()) == (True, words)


def test_what_is_no_file_is_written_as_a_stream(tmp_path: Path) -> None:
    ours, theirs = os.pipe()
    kept = (tmp_path / "kept").open("ab")
    kept.write(b"before ")
    kept.flush()
    link = tmp_path / "link"
    link.symlink_to(f"/dev/fd/{kept.fileno()}")

    for place in (f"/dev/fd/{theirs}", f"/proc/self/fd/{theirs}", str(link)):
        with outfile.written(place) as out:
            out.write(b"word ")
    os.close(theirs)
    kept.close()

    assert os.read(ours, 100) == b"word word "
    os.close(ours)
    assert (tmp_path / "kept").read_bytes() == b"before word "
    assert link.is_symlink()


def test_standard_output_under_any_name_is_the_dump_alone_and_a_full_one_is_a_sentence(
    db_url: str, tmp_path: Path
) -> None:
    environment = {**os.environ, "SWITCHBOARD_DATABASE_URL": db_url,
                   "SWITCHBOARD_SECRET_ENCRYPTION_KEY": SEALING_KEY.hex()}  # fmt: skip

    def app(out: str, *words: str) -> tuple[int, str]:
        with open(out, "wb") as stream:
            done = subprocess.run(
                [sys.executable, "-m", "app", "db", "dump", *words], cwd=ROOT, env=environment,
                stdout=stream, stderr=subprocess.PIPE, check=False, text=True)
        return done.returncode, done.stderr

    to_file = app(str(tmp_path / "file"), "/dev/stdout")
    in_json = app(str(tmp_path / "json"), "-", "--json")
    full, full_json = app("/dev/full", "-"), app("/dev/full", "-", "--json")

    assert (to_file[0], in_json[0]) == (0, 0), to_file[1] + in_json[1]
    assert text_of(tmp_path / "file").startswith(b"switchboard dump 1\n")
    assert to_file[1].startswith("Dumped ")
    assert json.loads(in_json[1])["file"] == "-"
    sentence = "Standard output cannot be written: No space left on device."
    assert full == (1, f"Error: {sentence}\n")
    assert (full_json[0], json.loads(full_json[1])) == (1, {"error": sentence})


def test_an_empty_name_is_wrong_usage(command: Dump, db_url: str) -> None:
    for verb in ("dump", "load"):
        ran = command(db_url, verb, "")
        assert (ran.code, ran.out) == (2, "")
        assert "FILE is empty" in ran.err


def test_the_embedded_database_goes_through_a_pipe_and_into_a_new_folder() -> None:
    home = new_home()
    environment = {**os.environ, "SWITCHBOARD_DATA_DIR": str(home / "data")}

    def app(*words: str, stdin: bytes = b"") -> bytes:
        done = subprocess.run([sys.executable, "-m", "app", *words], cwd=ROOT, input=stdin,
                              env=environment, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    try:
        app("admin", "create-human", "--name", "Ada")
        dump = app("db", "dump", "-")
        key = (home / "data" / "secret.key").read_text()
        shutil.rmtree(home / "data")
        app("db", "load", "-", stdin=dump)
        assert key not in gzip.decompress(dump).decode()
        assert b"/auth/link/" in app("admin", "login-url", "--human", "Ada")
    finally:
        shutil.rmtree(home)


def test_when_is_said_in_utc(dumped: Path) -> None:
    head = json.loads(text_of(dumped).splitlines()[1])

    at = datetime.fromisoformat(head["taken_at"])
    assert abs((datetime.now(UTC) - at).total_seconds()) < 60
    assert head["release"] == "1.2.3"
