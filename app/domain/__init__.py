"""Rules without I/O: instants and facts go in as arguments, decisions come out as values."""

from __future__ import annotations
