"""Whose turn it is among the queues of a lane."""

from __future__ import annotations


class Turns:
    """The queues of a lane; each look starts one further on, so that a full queue starves none."""

    def __init__(self, queues: tuple[str, ...], turn: int):
        self._queues = queues
        self._turn = self._waiting_turn = turn

    @property
    def several(self) -> bool:
        """Whether there is more than one."""
        return len(self._queues) > 1

    @property
    def only(self) -> str | None:
        """The one queue, or None for whatever the endpoint is granted."""
        return self._queues[0] if self._queues else None

    def round(self) -> list[str]:
        """All of them, from the one whose turn it is."""
        self._turn += 1
        return self._from(self._turn)

    def from_next(self) -> list[str]:
        """All of them, from the one whose turn it is to be waited for."""
        self._waiting_turn += 1
        return self._from(self._waiting_turn)

    def _from(self, turn: int) -> list[str]:
        start = turn % len(self._queues)
        return [*self._queues[start:], *self._queues[:start]]
