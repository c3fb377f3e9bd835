"""Deliberate faults, planted one at a time: each must turn a named test red."""

from __future__ import annotations
