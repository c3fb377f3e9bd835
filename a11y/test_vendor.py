"""What is vendored for the tests is what VENDOR.md says it is."""

from __future__ import annotations

import hashlib
from pathlib import Path

VENDOR = Path(__file__).parent / "vendor"


def test_each_vendored_file_has_the_hash_written_beside_it() -> None:
    written = (VENDOR / "VENDOR.md").read_text(encoding="utf-8")

    for script in VENDOR.glob("*.js"):
        digest = hashlib.sha256(script.read_bytes()).hexdigest()

        assert f"`{script.name}`" in written
        assert digest in written
