"""Calls to the outside: notify hooks. Started and stopped by the roof, imported by nobody else."""

from __future__ import annotations
