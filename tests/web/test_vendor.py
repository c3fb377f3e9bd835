"""What is served from elsewhere is, byte for byte, what VENDOR.md says it is."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from tests.house.tree import ROOT

VENDOR = ROOT / "static" / "vendor"
_ROW = re.compile(r"^\| `(\S+\.js)` \| \S+ \| (\S+) \| .*`(LICENSE-\S+)`.* \| `([0-9a-f]{64})` \|$",
                  re.MULTILINE)


def test_each_file_has_the_hash_the_version_and_the_licence_written_beside_it() -> None:
    rows = _ROW.findall((VENDOR / "VENDOR.md").read_text(encoding="utf-8"))

    assert sorted(name for name, _, _, _ in rows) == _names("*.js")
    assert sorted(licence for _, _, licence, _ in rows) == _names("LICENSE-*")
    for name, version, _, digest in rows:
        assert hashlib.sha256((VENDOR / name).read_bytes()).hexdigest() == digest
        assert f"-{version}.min.js" in name


def _names(pattern: str) -> list[str]:
    return sorted(Path(path).name for path in VENDOR.glob(pattern))
