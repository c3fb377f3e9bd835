"""What a stream sends: frames of server-sent events, painted with the templates of the pages."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TypeAlias

from app.domain.speech import Act, Event
from app.web.present_board import QueueSection
from app.web.present_headers import HeaderView

Render: TypeAlias = Callable[[str, Mapping[str, object]], str]
"""Renders the template of a name with some facts, outside of any request."""

RETRY_MS = 3_000
OFF_RETRY_MS = 60_000
KEEP_ALIVE = ": still here\n\n"
_LINES = re.compile(r"\r\n|\r|\n")


def frame(event: str, data: str) -> str:
    """One event; data of several lines is put together again by the browser."""
    lines = "".join(f"data: {line}\n" for line in _LINES.split(data))
    return f"event: {event}\n{lines}\n"


def retry(milliseconds: int) -> str:
    """How long a browser waits before it opens a lost stream again."""
    return f"retry: {milliseconds}\n\n"


class Paint:
    """Renders for one viewer, without a request: the templates get everything they need."""

    def __init__(self, render: Render, *, csrf_token: str, page: str) -> None:
        """`page` is the path the forms of cards lead back to."""
        self._render_with = render
        self._csrf_token = csrf_token
        self._page = page

    def visible(self, view: HeaderView) -> str:
        """The visible layer of a header and the figures of the link beside it."""
        return self._render("parts/live_counts.html", header=view)

    def speech(self, event: Event) -> str:
        """The frame of one event of the speech rule; the sentence is text, not markup."""
        if event.act is Act.SHOW:
            return frame(f"counts-{event.queue_id}", event.figures.visible)
        return frame(f"say-{event.queue_id}", event.figures.sentence)

    def cards(self, section: QueueSection) -> str:
        """Everything in a queue's section that lists its todos."""
        return self._render(
            "parts/live_cards.html",
            header=section.header,
            cards=section.cards,
            links=section.links,
            csrf_token=self._csrf_token,
            here=self._page,
        )

    def words(self, event: str) -> str:
        """An event of the stream itself: `not-live`, `paused` or `signed-out`, said by the page."""
        return frame(event, self._render(f"parts/live_{event.replace('-', '_')}.html"))

    def refusal(self, event: str) -> str:
        """All of a stream that ends as it begins: no status but 200 keeps a browser from asking
        again and again (dependencies.md 2.2).
        """
        return retry(OFF_RETRY_MS) + self.words(event)

    def _render(self, template: str, **facts: object) -> str:
        return self._render_with(template, facts).strip()
