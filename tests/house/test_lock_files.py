"""Lock files pin by hash and name no address, so that they work from any index."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.house.tree import Copy, holds

LOCKS = ("requirements.lock", "requirements-dev.lock")
_ADDRESS = re.compile(r"https?:|file:|git\+|--(extra-)?index|--find-links|--trusted-host|^-[ief] ",
                      re.IGNORECASE)
_PIN = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._-]*(\[[\w,]+\])?==[^\s;\\]+")


def check(root: Path) -> list[str]:
    """Lines with an address, and requirements that are not pinned by version and hash."""
    faults = []
    for lock in LOCKS:
        if not (root / lock).exists():
            faults.append(f"{lock}: is not there")
            continue
        text = (root / lock).read_text()
        faults += [f"{lock}:{number}: an address: {line.strip()[:60]}"
                   for number, line in enumerate(text.splitlines(), 1) if _ADDRESS.search(line)]
        faults += [f"{lock}: not pinned by version and hash: {line[:60]}"
                   for line in text.replace("\\\n", " ").splitlines()
                   if line.strip() and not line.lstrip().startswith("#")
                   and not (_PIN.match(line) and "--hash=sha256:" in line)]
    return faults


def test_lock_files_pin_and_name_no_address() -> None:
    holds(check)


@pytest.mark.parametrize("line", [
    "# from https://index.example/simple",
    "--index-url http://localhost/simple",
    "thing @ file:///elsewhere/thing.whl",
    "thing==1.0",
    "thing>=1.0 --hash=sha256:00",
])
def test_a_bad_line_is_found(copy: Copy, line: str) -> None:
    copy.append("requirements.lock", f"\n{line}\n")
    copy.turns_red(check, "requirements.lock")
