"""The transaction module: one function is one transaction; every door writes through here."""

from __future__ import annotations
