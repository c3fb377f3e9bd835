"""Everything a command prints: tables, facts, JSON, and errors on standard error."""

from __future__ import annotations

import json
import sys
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import IO

import click

from app.cli.host import Host
from app.cli.jsontext import escape, reindent
from app.domain.values import Json

JSON_KEY = "switchboard.json"
STATE_COLOURS = {
    "pending": "yellow", "claimed": "cyan", "done": "green", "failed": "red",
    "active": "green", "revoked": "red",
    "admitted": "green", "paused": "yellow", "in_flight_full": "yellow",
    "window_exhausted": "red", "admission_unavailable": "red", "equal": "green",
    "ok": "green", "warn": "yellow", "fail": "red",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One JSON object the server answered: its status, its text as it came, and what it says.

    `at` is the server's own clock when it answered (the Date header, whole seconds).
    """

    status: int
    text: str
    body: dict[str, Json]
    retry_after: float | None = None
    at: datetime | None = None


class Failure(click.ClickException):
    """Refused, or out of reach: exit code 1, a sentence on standard error, with --json the body.

    `code` is the contract's code of the refusal, when there is one; without a body of a server's,
    --json prints both in the API's error shape.
    """

    exit_code = 1

    def __init__(self, sentence: str, *, body: str | None = None, code: str | None = None):
        super().__init__(sentence)
        self.body = body
        self.code = code
        self.as_json = wants_json()

    def show(self, file: IO[str] | None = None) -> None:
        """Print it to standard error (cli.md, "Rules for every command")."""
        if self.as_json:
            code = {} if self.code is None else {"code": self.code}
            told = self.body or to_json({"error": self.message, **code})
            click.echo(reindent(told), err=True)
            return
        label = "Error:"
        if colourful(sys.stderr):
            label = click.style(label, fg="red", bold=True)
        click.echo(f"{label} {escape(self.message)}", err=True)


def wants_json() -> bool:
    """Whether --json was given, before or after the command's name."""
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(JSON_KEY))


def show(answer: Answer, lines: Callable[[dict[str, Json]], Iterable[str]]) -> None:
    """Print an API answer: its own text re-indented with --json, otherwise `lines` of its body."""
    if wants_json():
        click.echo(reindent(answer.text))
        return
    for line in lines(answer.body):
        click.echo(line)


def show_value(value: Mapping[str, Json], lines: Iterable[str]) -> None:
    """Print what a host command found: `value` with --json, otherwise `lines`."""
    if wants_json():
        click.echo(reindent(to_json(dict(value))))
        return
    for line in lines:
        click.echo(line)


def to_json(value: Json) -> str:
    """`value` as compact JSON text, not ASCII only."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def note(sentence: str) -> None:
    """A remark for a person, on standard error so that it never joins the data."""
    click.echo(escape(sentence), err=True)


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], *, hint: str) -> list[str]:
    """Columns padded with two spaces, no borders; `hint` alone when there are no rows."""
    if not rows:
        return [hint]
    cells = [list(heads), *([escape(cell) for cell in row] for row in rows)]
    widths = [max(_width(row[column]) for row in cells) for column in range(len(heads))]
    return [_line(row, widths) for row in cells]


def facts(pairs: Iterable[tuple[str, str]]) -> list[str]:
    """One labelled value a line, the values aligned."""
    known = [(escape(label), escape(value)) for label, value in pairs]
    width = max((len(label) for label, _ in known), default=0)
    return [f"{label:<{width}}  {value}".rstrip() for label, value in known]


def listed(body: Mapping[str, Json], name: str) -> list[dict[str, Json]]:
    """The objects of the array `name`; anything else in it is not for us and is left out."""
    found = body.get(name)
    return [row for row in found if isinstance(row, dict)] if isinstance(found, list) else []


def inner(body: Mapping[str, Json], name: str) -> dict[str, Json]:
    """The object under `name`, or an empty one."""
    found = body.get(name)
    return found if isinstance(found, dict) else {}


def word(value: Json, absent: str = "-") -> str:
    """A JSON value as one cell: lists comma-joined, `absent` for null, "" or []."""
    if value is None or value in ("", []):
        return absent
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ",".join(word(one) for one in value)
    return to_json(value) if isinstance(value, dict) else str(value)


def colourful(stream: IO[str]) -> bool:
    """Whether colour may go to `stream`: a terminal, and no NO_COLOR or TERM=dumb."""
    context = click.get_current_context(silent=True)
    host = context.find_object(Host) if context else None
    if host is None or host.environment.get("NO_COLOR") or host.environment.get("TERM") == "dumb":
        return False
    return stream.isatty()


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    colours = STATE_COLOURS if colourful(sys.stdout) else {}
    padded = []
    for cell, width in zip(cells, widths, strict=True):
        space = " " * (width - _width(cell))
        padded.append((click.style(cell, fg=colours[cell]) if cell in colours else cell) + space)
    return "  ".join(padded).rstrip()


def _width(text: str) -> int:
    return sum(_columns(char) for char in text)


def _columns(char: str) -> int:
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1
