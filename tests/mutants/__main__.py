"""`python3 tests mutants [WORD]`: plant every fault, or those whose name holds the word."""

from __future__ import annotations

import sys

from tests.mutants import harness
from tests.mutants.planted import ALL
from tests.mutants.planted_metrics import METRICS
from tests.mutants.planted_oauth import OAUTH
from tests.mutants.planted_web import WEB


def main(words: list[str]) -> int:
    """Plant one after the other; 1 when any of them was not caught."""
    chosen = [m for m in (*ALL, *WEB, *METRICS, *OAUTH) if all(word in m.name for word in words)]
    missed = 0
    for mutant in chosen:
        verdict = harness.check(mutant)
        missed += verdict is not None
        sys.stdout.write(f"{'caught' if verdict is None else 'MISSED':<8}{mutant.name}"
                         f"{'' if verdict is None else ': ' + verdict}\n")
        sys.stdout.flush()
    sys.stdout.write(f"{len(chosen) - missed} passed, {missed} failed\n")
    return 1 if missed or not chosen else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
