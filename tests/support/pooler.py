"""pgbouncer in transaction mode before a cluster, and whether anything stays on its sessions.

With TESTS_POOLER=1 the whole run goes this way: the fast cluster gets a pooler, `db` fixtures and
servers reach Postgres through it, and each database is searched for leaks before it is dropped.
Builders, clocks and checks of the tests stay direct: they are not the product.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from app.children import Account, spawn
from tests.support.wait import wait_for

SWITCH = "TESTS_POOLER"
POOL_SIZE = 8
_PORT = 6432
_FOLDER = "pooler"
_HOME = "TESTS_CLUSTER_HOME"

# Every account may come, as at the cluster itself; auth_query finds those that a test makes. No
# startup parameter is let through, as a pooler nobody configured for us does it.
_CONFIG = """
[databases]
* = host={upstream} port=5432

[pgbouncer]
listen_addr =
listen_port = {port}
unix_socket_dir = {folder}
auth_type = trust
auth_file = {folder}/users
auth_user = switchboard
auth_query = select usename, passwd from pg_catalog.pg_shadow where usename = $1
pool_mode = transaction
default_pool_size = {size}
max_client_conn = 2000
log_connections = 0
log_disconnections = 0
"""

# What a session still has when its transaction is over. The pooler itself carries the parameters
# that Postgres reports to clients, and sets them for whom it serves.
_LEFT = """
select 'setting ' || name || ' = ' || setting from pg_settings
 where source = 'session'
   and name not in ('application_name', 'client_encoding', 'DateStyle', 'IntervalStyle',
                    'TimeZone', 'standard_conforming_strings')
union all select 'prepared statement ' || name from pg_prepared_statements
union all select 'channel ' || channel from pg_listening_channels() as channel
union all select 'advisory lock ' || classid || '/' || objid from pg_locks
 where locktype = 'advisory' and pid = pg_backend_pid()
union all select 'temporary table ' || relname from pg_class
 where relpersistence = 't' and pg_table_is_visible(oid) and relkind = 'r'
order by 1
"""



def is_asked() -> bool:
    """Whether this run goes through a pooler."""
    return os.environ.get(SWITCH) == "1"


def pooled(url: str) -> str:
    """The way to a database that the product takes: through the pooler in a run that has one.

    Only the fast cluster has one; the URL of another stays as it is.
    """
    if not is_asked():
        return url
    home = Path(os.environ[_HOME])
    upstream = _host((home / "url").read_text())
    return through(home / _FOLDER, url) if _host(url) == upstream else url


def through(folder: Path, url: str) -> str:
    """The same database and account by the pooler in `folder`; `url` may be a DSN."""
    if "://" not in url:
        return make_conninfo(url, host=str(folder), port=_PORT)
    parts = urlsplit(url)
    return parts._replace(query=f"host={quote(str(folder), safe='')}&port={_PORT}").geturl()


def before(
    home: Path, upstream_url: str, *, account: Account | None
) -> contextlib.AbstractContextManager[Path | None]:
    """A pooler before the fast cluster while the block runs, when the run is to have one."""
    return running(home, upstream_url, account) if is_asked() else contextlib.nullcontext()


@contextlib.contextmanager
def running(home: Path, upstream_url: str, account: Account | None) -> Iterator[Path]:
    """A pooler before a cluster; gives its folder, made below `home`. It ends with the block.

    `account` runs it (None: we do): like Postgres, pgbouncer refuses to run as root.
    """
    folder = home / _FOLDER
    folder.mkdir(mode=0o755)
    (folder / "users").write_text('"switchboard" ""\n')
    config = folder / "pgbouncer.ini"
    config.write_text(_CONFIG.format(
        upstream=_host(upstream_url), port=_PORT, folder=folder, size=POOL_SIZE))
    if account:
        os.chown(folder, account.uid, account.gid)
    with (folder / "log").open("wb") as log:
        process = spawn(["pgbouncer", str(config)], account=account, output=log, cwd=Path("/"),
                        env={"PATH": f"{os.environ.get('PATH', os.defpath)}:/usr/sbin"})
    try:
        wait_for(lambda: _listens(process, folder), 20, what="pgbouncer listens")
        yield folder
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(20)


def assert_nothing_leaked(url: str) -> None:
    """Fails when a session behind the pooler keeps anything; `url` leads through the pooler.

    As many transactions at once as the pool has sessions: each of them is looked at.
    """
    with contextlib.ExitStack() as stack:
        seen: dict[int, list[str]] = {}
        for _ in range(POOL_SIZE):
            conn = stack.enter_context(
                psycopg.connect(url, prepare_threshold=None, connect_timeout=10))
            row = conn.execute("select pg_backend_pid()").fetchone()
            assert row is not None
            seen[int(row[0])] = [str(what) for (what,) in conn.execute(_LEFT)]
        assert len(seen) == POOL_SIZE
        assert not any(seen.values()), seen


def _listens(process: subprocess.Popen[bytes], folder: Path) -> bool:
    assert process.poll() is None, (folder / "log").read_text(errors="replace")
    return (folder / f".s.PGSQL.{_PORT}").exists()


def _host(url: str) -> str:
    return unquote(str(conninfo_to_dict(url)["host"]))

