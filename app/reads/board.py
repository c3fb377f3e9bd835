"""What the board shows one human: their queues with what their budgets say, and the first todos."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from app.db.database import Database
from app.reads import cards, headers
from app.reads.cards import Card
from app.reads.headers import SeenHeader


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """Every queue in the human's reach by name, and its cards by queue id."""

    headers: list[SeenHeader]
    cards: dict[int, list[Card]]


def board(db: Database, human_id: UUID) -> Board:
    """The board of one human, every figure counted now; raises Unavailable.

    At most eight statements, however many queues and todos (issue of the board: 200 queues in
    under a second).
    """
    found = headers.headers_for(db, human_id)
    ids = [each.queue_id for each in found]
    return Board(headers=found, cards=cards.cards_for(db, human_id, ids) if ids else {})
