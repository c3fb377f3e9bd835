"""Child processes that cannot outlive us, run as another account when we are root."""

from __future__ import annotations

import ctypes
import grp
import os
import pwd
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """An existing account of this host that a child runs as."""

    name: str
    uid: int
    gid: int


def account_named(name: str) -> Account | None:
    """The account of that name, or None when the host has no such entry."""
    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        return None
    return Account(name=name, uid=entry.pw_uid, gid=entry.pw_gid)


def has_own_entry() -> bool:
    """Whether the account we run as has a passwd entry; initdb refuses to run without one."""
    try:
        pwd.getpwuid(os.geteuid())
    except KeyError:
        return False
    return True


def spawn(
    argv: Sequence[str],
    *,
    account: Account | None = None,
    env: Mapping[str, str] | None = None,
    death_signal: signal.Signals = signal.SIGTERM,
    output: int | IO[bytes] | None = None,
    cwd: Path | None = None,
    pass_fds: Sequence[int] = (),
) -> subprocess.Popen[bytes]:
    """Start argv in a session of its own; the kernel sends death_signal when our thread ends.

    Call it from the main thread: on Linux the signal follows the thread that made the child.
    Elsewhere nothing ends the child for us, and the next start stops what it finds.
    """
    return subprocess.Popen(
        list(argv),
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT if output is not None else None,
        env=dict(env) if env is not None else None,
        cwd=cwd,
        start_new_session=True,
        pass_fds=tuple(pass_fds),
        user=account.uid if account else None,
        group=account.gid if account else None,
        extra_groups=_groups(account),
        # Runs after the change of account, which would have cleared the death signal.
        preexec_fn=_tied_to_parent(death_signal),
    )


def run(
    argv: Sequence[str], *, account: Account | None, env: Mapping[str, str], cwd: Path
) -> subprocess.CompletedProcess[str]:
    """Run argv to its end as account; the answer holds its return code and both outputs as text."""
    return subprocess.run(
        list(argv),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        env=dict(env),
        cwd=cwd,
        start_new_session=True,  # a Ctrl-C for us must not tear it
        user=account.uid if account else None,
        group=account.gid if account else None,
        extra_groups=_groups(account),
        preexec_fn=_tied_to_parent(signal.SIGKILL),
    )


def _groups(account: Account | None) -> list[int] | None:
    if account is None:
        return None
    return [entry.gr_gid for entry in grp.getgrall() if account.name in entry.gr_mem]


def die_with_parent(death_signal: signal.Signals) -> None:
    """Ask the kernel to send us the signal when our parent ends; nothing happens off Linux."""
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, int(death_signal), 0, 0, 0)


def _tied_to_parent(death_signal: signal.Signals) -> Callable[[], None] | None:
    if not sys.platform.startswith("linux"):
        return None
    prctl = ctypes.CDLL(None, use_errno=True).prctl  # looked up before the fork
    parent, number = os.getpid(), int(death_signal)

    def tie() -> None:
        prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0)
        if os.getppid() != parent:  # the parent ended before the line above
            os._exit(1)

    return tie
