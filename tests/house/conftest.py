"""The copy of the tree that every house test may plant a fault in."""

from __future__ import annotations

from tests.house.tree import copy, pristine

__all__ = ["copy", "pristine"]
