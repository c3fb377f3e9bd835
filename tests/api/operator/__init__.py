"""Tests of /api/v1."""

from __future__ import annotations
