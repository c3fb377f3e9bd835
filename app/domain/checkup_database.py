"""What `doctor` thinks of the database, and of the ways to it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from app.domain.checks import Check, Server, Site, Way, fail, ok, warn
from app.domain.zones import zone_names

OLDEST_POSTGRES = 14
_SKEW_WARNS, _SKEW_FAILS = 2.0, 30.0  # seconds
_ZONE_YEARS = 2
# Ours, in ms (app/db/database.py); a role's shorter one cuts what is done outside transactions.
_ROLE_TIMEOUTS = {
    "statement_timeout": 20_000,
    "lock_timeout": 5_000,
    "idle_in_transaction_session_timeout": 30_000,
    "transaction_timeout": 60_000,
    "idle_session_timeout": 3_600_000,
}


def database(server: Server) -> Check:
    """Its version, encoding, and that it takes writes."""
    says = f"Postgres {server.version}, {server.encoding}"
    if server.version_number < OLDEST_POSTGRES * 10_000:
        return fail("database", says, f"Use Postgres {OLDEST_POSTGRES} or newer.")
    if server.encoding != "UTF8":
        return fail("database", says, "Create the database anew with encoding UTF8.")
    if server.is_standby:
        return fail("database", f"{says}, a standby", "Name the primary in the database URL.")
    if server.settings.get("default_transaction_read_only") == "on":
        return fail("database", f"{says}, read-only for {server.role}",
                     _reset(server, "default_transaction_read_only"))
    return ok("database", says)


def isolation(server: Server) -> Check:
    """READ COMMITTED: claims that commit by themselves take the role's default (R2)."""
    level = server.settings.get("default_transaction_isolation", "")
    if level != "read committed":
        return fail("isolation", f"default_transaction_isolation is {level}",
                     _reset(server, "default_transaction_isolation"))
    return ok("isolation", level)


def durability(server: Server) -> Check:
    """A commit that was answered survives a crash."""
    for name in ("fsync", "full_page_writes"):
        if server.settings.get(name) == "off":
            return fail("durability", f"{name} is off: a crash may destroy the database",
                         f"Turn {name} on in postgresql.conf.")
    if server.settings.get("synchronous_commit") == "off":
        return fail(
            "durability", "synchronous_commit is off: a crash forgets claims that were answered",
            f"Run: alter role {server.role} set synchronous_commit = on",
        )
    return ok("durability", f"synchronous_commit is {server.settings.get('synchronous_commit')}")


def timeouts(server: Server) -> Check:
    """Our transactions set their own; a role's shorter one cuts migrations, LISTEN and reads."""
    given = {name: int(server.settings.get(name, "0")) for name in _ROLE_TIMEOUTS}
    short = [name for name, least in _ROLE_TIMEOUTS.items() if 0 < given[name] < least]
    if short:
        says = ", ".join(f"{name} is {given[name]} ms" for name in short)
        least = "; ".join(f"{name} = {_ROLE_TIMEOUTS[name]}" for name in short)
        return warn("role timeouts", says,
                     f"Set for {server.role}: at least {least}, or 0.")
    return ok("role timeouts", "none is shorter than ours; each transaction sets its own")


def migrations(pending: Sequence[str], newer: Sequence[str], total: int) -> Check:
    """The database has exactly the migrations of this release."""
    if newer:
        return fail("migrations", f"the database is newer: it has {newer[-1]}",
                     "Run the release that migrated it, or a newer one.")
    if pending:
        return fail("migrations", f"{len(pending)} pending or edited, first {pending[0]}",
                     "Run `switchboard migrate`, or start the server.")
    return ok("migrations", f"all {total} applied")


def clock(seconds: float) -> Check:
    """`seconds` the database is ahead of this host. Only the database's clock decides anything."""
    ahead = "ahead of" if seconds > 0 else "behind"
    says = f"the database is {abs(seconds):.1f} s {ahead} this host"
    do = "Set both clocks by NTP; windows, leases and sessions follow the database's."
    if abs(seconds) >= _SKEW_FAILS:
        return fail("clock", says, do)
    return warn("clock", says, do) if abs(seconds) >= _SKEW_WARNS else ok("clock", says)


def zones(version: str, used: Sequence[str], now: datetime) -> Check:
    """The zone database we carry is recent, and knows every zone a live policy names."""
    unknown = sorted(set(used) - zone_names())
    if unknown:
        return fail("zones", f"{version}; policies name unknown zones: {', '.join(unknown)}",
                     "Their queues admit nothing: update tzdata, or edit the policies.")
    if int(version[:4]) <= now.year - _ZONE_YEARS:
        return warn("zones", f"version {version} is old", "Update the package tzdata.")
    return ok("zones", f"version {version}")


def listening(arrives: bool | None) -> Check:  # noqa: FBT001 - the fact itself
    """A NOTIFY of one connection reaches the LISTEN of another; None when it cannot be tried."""
    if arrives:
        return ok("listen", "wake-ups arrive")
    says = "no wake-up arrives" if arrives is False else "it cannot be tried"
    return fail("listen", says, "Set SWITCHBOARD_DATABASE_DIRECT_URL to a way past the pooler.")


def ways(pooled: Way, direct: Way, *, names_direct: bool) -> Check:
    """Both URLs lead to one database, and the direct one past any pooler."""
    if pooled.identity != direct.identity:
        return fail("urls", "the two database URLs lead to two databases",
                     "Point SWITCHBOARD_DATABASE_DIRECT_URL to the database of the other.")
    if direct.is_pooled:
        says = "the direct URL leads" if names_direct else "the database URL leads"
        return fail("urls", f"{says} through a pooler",
                     "Set SWITCHBOARD_DATABASE_DIRECT_URL to Postgres itself.")
    if names_direct and not pooled.is_pooled:
        return warn("urls", "a direct URL is set, but no pooler was found on the other",
                     "Without a pooler leave SWITCHBOARD_DATABASE_DIRECT_URL out.")
    return ok("urls", "a pooler, and a way past it" if names_direct else "direct, no pooler")


def connections(server: Server, site: Site, *, names_direct: bool) -> Check:
    """What one server opens at most, against what the role may open."""
    needs = site.direct_connections if names_direct else site.connections
    fit = server.most_connections // needs
    says = f"one server opens up to {needs} of {server.most_connections}"
    if fit == 0:
        return fail("connections", says, "Raise max_connections, or the limit of the role.")
    if fit == 1:
        return warn("connections", f"{says}: a second server does not fit beside it",
                     "Raise max_connections before you start another server.")
    return ok("connections", f"{says}: room for {fit} servers")


def unreachable(name: str, reason: str) -> Check:
    """No connection is to be had there."""
    return fail("database", f"{name}: {reason}", "Check the URL, the network and the password.")


def _reset(server: Server, setting: str) -> str:
    return f"Run: alter role {server.role} reset {setting} (or alter database)"
