"""The tests of the claim can fail: five faults are planted in it, and each is noticed."""

from __future__ import annotations

import pytest

from tests.mutants import harness
from tests.mutants.planted import CLAIM, Mutant

pytestmark = pytest.mark.race


@pytest.mark.timeout(180)
@pytest.mark.rule("issue B: a fault planted in the claim turns a named test red")
@pytest.mark.parametrize("mutant", CLAIM, ids=lambda mutant: mutant.name)
def test_a_fault_in_the_claim_is_noticed(mutant: Mutant) -> None:
    assert harness.check(mutant) is None
