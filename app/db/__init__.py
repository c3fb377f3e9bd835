"""Plumbing: connections, named SQL, rows, the change feed. Knows no rule."""

from __future__ import annotations
