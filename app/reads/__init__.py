"""Looks: one function is one unlocked question; scope is always an argument."""

from __future__ import annotations
