"""Notes that a browser keeps for us: sealed with the server's key, so nobody reads or makes one."""

from __future__ import annotations

from app.db.sealing import SealBroken
from app.edge.deps import database


def seal(text: str, purpose: str) -> str:
    """A note only this deployment can open, and only for the same purpose."""
    return database().sealer.seal(text, purpose)


def open_sealed(note: str, purpose: str) -> str | None:
    """The text of a note we sealed; None for anything else."""
    try:
        return database().sealer.open(note, purpose)
    except SealBroken:
        return None
