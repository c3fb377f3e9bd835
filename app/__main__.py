"""`python3 app [ARGS]`: the product on a bare machine; without arguments it serves."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

HERE = Path(__file__).resolve()


def load_bootstrap() -> ModuleType:
    """Load app/bootstrap.py by its path: nothing of ours is importable yet."""
    spec = importlib.util.spec_from_file_location("bootstrap", HERE.with_name("bootstrap.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main(argv: list[str]) -> int:
    """Enter the .venv, then be `switchboard ARGV`."""
    if not __package__:  # `python -m app`: whoever can import us has chosen an environment
        bootstrap = load_bootstrap()
        bootstrap.enter(bootstrap.RUN_LOCK, HERE, argv)
        sys.path[:] = [str(bootstrap.ROOT), *(p for p in sys.path if p != str(HERE.parent))]
    code: int = importlib.import_module("app.server").main(argv or ["serve"])
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
