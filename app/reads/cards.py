"""The todos a board shows as cards: the first of each queue, not all of them (board.md)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from app.db.database import Database, many
from app.db.statements import load

SQL = load("cards")

MOST_PENDING = 20
MOST_CLAIMED = 20
MOST_DEAD = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """A todo in brief. `rank` is 1 for pending, 2 for claimed, 3 for a dead letter.

    `owner` is the lease owner string, `holder` the slug of the endpoint that claimed it; both are
    None unless it was claimed.
    """

    queue_id: int
    rank: int
    id: str
    title: str
    source: str | None
    state: str
    attempt: int
    max_attempts: int
    created_at: datetime
    lease_expires_at: datetime | None
    owner: str | None
    holder: str | None


def cards_for(db: Database, human_id: UUID, queue_ids: Sequence[int]) -> dict[int, list[Card]]:
    """The cards of each of these queues that the human may see, in one statement.

    At most 20 pending, oldest first; 20 claimed, by the end of the lease; and the 3 newest dead
    letters. Raises Unavailable.
    """
    params = {
        "human_id": human_id,
        "queue_ids": [*queue_ids],
        "pending": MOST_PENDING,
        "claimed": MOST_CLAIMED,
        "dead": MOST_DEAD,
    }
    found: dict[int, list[Card]] = {}
    with db.reading() as conn:
        for card in many(conn, SQL["read_cards"], params, Card):
            found.setdefault(card.queue_id, []).append(card)
    return found
