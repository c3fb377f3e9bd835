"""What a worker tells the person watching: one line per event, or one JSON object per line."""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping

import click

from app.cli.jsontext import escape
from app.cli.output import colourful, to_json
from app.domain.values import Json

COLOURS = {
    "claimed": "cyan", "done": "green", "failed": "red", "released": "yellow", "lost": "red",
}  # fmt: skip


class Speaker:
    """Speaks for all lanes at once, a whole line at a time. Made inside the command's context."""

    def __init__(self, *, as_json: bool):
        self._as_json = as_json
        self._colourful = colourful(sys.stdout)
        self._lock = threading.Lock()
        self._trouble = ""
        self._deferred: dict[str, tuple[str, str]] = {}

    def event(self, name: str, todo: Mapping[str, Json], more: str = "") -> None:
        """Something happened to a todo: claimed, done, failed, released or lost."""
        id_, queue = str(todo.get("id")), str(todo.get("queue"))
        if self._as_json:
            about: dict[str, Json] = {"event": name, "id": id_, "queue": queue}
            self._line(to_json({**about, **({"more": more} if more else {})}))
            return
        shown = click.style(name, fg=COLOURS.get(name)) if self._colourful else name
        self._line(f"{shown}  {escape(id_)}  {escape(queue)}" + (f"  {escape(more)}" * bool(more)))

    def say(self, sentence: str) -> None:
        """A remark on the worker itself."""
        self._line(to_json({"event": "note", "more": sentence}) if self._as_json else sentence)

    def trouble(self, sentence: str) -> None:
        """The server is out of reach: said once, however many lanes and tries find it so."""
        with self._lock:
            is_news, self._trouble = sentence != self._trouble, sentence
        if is_news:
            self.say(f"{escape(sentence)} Trying again.")

    def recovered(self) -> None:
        """The server answers again."""
        with self._lock:
            was_troubled, self._trouble = bool(self._trouble), ""
        if was_troubled:
            self.say("The server answers again.")

    def deferred(self, queue: str, reason: str, until: str, sentence: str) -> None:
        """A queue admits no claim: said once for each reason and exact time, whichever lane heard
        it. It is no failure."""
        with self._lock:
            is_news = self._deferred.get(queue) != (reason, until)
            self._deferred[queue] = (reason, until)
        if not is_news:
            return
        if self._as_json:
            about: dict[str, Json] = {"event": "deferred", "queue": queue, "reason": reason}
            self._line(to_json({**about, "next_eligible_at": until or None, "more": sentence}))
            return
        self._line(escape(sentence))

    def admitted(self, queue: str) -> None:
        """A todo of the queue was claimed. A full cap comes and goes with every todo, so that it
        is not told again; the other reasons are."""
        with self._lock:
            if self._deferred.get(queue, ("", ""))[0] != "in_flight_full":
                self._deferred.pop(queue, None)

    def _line(self, text: str) -> None:
        with self._lock:
            click.echo(text)
