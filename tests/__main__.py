"""`python3 tests [WORDS]`: every check and test on a bare machine; words select some of them.

tests/words.py says what the words are; `python3 tests --help` prints it.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

HERE = Path(__file__).resolve()
ROOT = HERE.parent.parent


def load(path: Path) -> ModuleType:
    """Load a module by its path: nothing of ours is importable yet."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def main(argv: list[str]) -> int:
    """Name or install what is missing, enter the .venv, run the phases; 0 only when all passed.

    2 when the words name nothing, or something is missing that we may not install.
    """
    words = load(HERE.with_name("words.py"))
    if argv[:1] in (["-h"], ["--help"]):
        sys.stdout.write(words.usage())
        return 0
    try:
        asked = words.parse(argv)
    except words.Unknown as unknown:
        sys.stderr.write(str(unknown))
        return 2
    bootstrap = load(ROOT / "app" / "bootstrap.py")
    missing = load(HERE.with_name("system_packages.py")).missing(asked.packages)
    if bootstrap.lacks_venv():
        missing.append(bootstrap.VENV_PACKAGE)
    try:
        bootstrap.install_packages(missing)
    except bootstrap.Refused as refused:
        sys.stderr.write(f"{refused}\n")
        return 2
    bootstrap.enter(bootstrap.DEV_LOCK, HERE, argv)
    sys.path[:] = [str(ROOT), *(p for p in sys.path if p != str(HERE.parent))]
    code: int = importlib.import_module("tests.phases").main(argv)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
