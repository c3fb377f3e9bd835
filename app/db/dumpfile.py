r"""The file of a dump: one gzip stream of lines, written and read piece by piece.

    switchboard dump 1                        the format's version
    {"release": ..., "migrations": [...]}     what made it, and of which level it is
    {"table": ..., "columns": [...]}          then its rows in Postgres's COPY text, then \.
    {"sequences": {...}, "rows": {...}}       where numbering goes on, and how many rows there are
    sha256 ...                                of every byte before this line

Tables stand in the order of their foreign keys. `zcat FILE` reads it.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import IO

from app.domain.values import Json

FORMAT = 1
_MAGIC = b"switchboard dump "
_END = b"\\.\n"
_PIECE = 1 << 18  # bytes read at once; a longer row comes in several pieces
_LONGEST_LINE = 1 << 22
_DAMAGED = "The dump is damaged or not complete"


class DumpRefused(Exception):
    """A dump that cannot be taken or loaded; the message is a sentence, and nothing was changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """Which release wrote the dump, when (RFC 3339), and the migrations its database had."""

    release: str
    taken_at: str
    migrations: dict[str, str]


class DumpWriter:
    """Writes one dump to a binary stream, which stays open."""

    def __init__(self, out: IO[bytes], header: Header) -> None:
        self._hash = hashlib.sha256()
        self._zip = gzip.GzipFile(filename="", mode="wb", fileobj=out, compresslevel=6, mtime=0)
        self.write(b"%b%d\n" % (_MAGIC, FORMAT))
        self._json({"release": header.release, "taken_at": header.taken_at,
                    "migrations": dict(header.migrations)})  # fmt: skip

    def begin_table(self, name: str, columns: list[str]) -> None:
        """Rows of this table follow, by write()."""
        self._json({"table": name, "columns": [*columns]})

    def end_table(self) -> None:
        """No more rows of it."""
        self.write(_END)

    def write(self, piece: bytes | bytearray | memoryview) -> None:
        """Add bytes of COPY text."""
        self._hash.update(piece)
        self._zip.write(piece)

    def close(self, *, sequences: Mapping[str, Json], rows: Mapping[str, int]) -> None:
        """Write the end, without which the dump counts as cut off."""
        self._json({"sequences": dict(sequences), "rows": dict(rows)})
        self._zip.write(f"sha256 {self._hash.hexdigest()}\n".encode())
        self._zip.close()

    def _json(self, value: dict[str, Json]) -> None:
        self.write(json.dumps(value, ensure_ascii=True).encode() + b"\n")


class DumpReader:
    """Reads one dump; every method raises DumpRefused for what is damaged, cut off or newer.

    Nothing read is to be trusted before end() has compared the checksum.
    """

    def __init__(self, source: IO[bytes]) -> None:
        self._zip = gzip.GzipFile(mode="rb", fileobj=source)
        self._hash = hashlib.sha256()
        self._last: dict[str, Json] = {}
        self._require_format()
        found = self._json()
        release, taken_at = found.get("release"), found.get("taken_at")
        if not (isinstance(release, str) and isinstance(taken_at, str)):
            raise DumpRefused(f"{_DAMAGED}: its head cannot be read.")
        self.header = Header(
            release=release, taken_at=taken_at, migrations=_texts(found.get("migrations"))
        )

    def tables(self) -> Iterator[tuple[str, list[str]]]:
        """Each table's name and columns in turn; read its rows() before the next."""
        while True:
            self._last = self._json()
            name, columns = self._last.get("table"), self._last.get("columns")
            if name is None:
                return
            if not isinstance(name, str) or not isinstance(columns, list):
                raise DumpRefused(f"{_DAMAGED}: a table's head cannot be read.")
            yield name, [str(column) for column in columns]

    def rows(self) -> Iterator[bytes]:
        """The COPY text of the current table, piece by piece."""
        begins_row = True
        while True:
            piece = self._read(_PIECE)
            if begins_row and piece == _END:
                return
            yield piece
            begins_row = piece.endswith(b"\n")

    def end(self) -> tuple[dict[str, Json], dict[str, Json]]:
        """After the last table: sequences and numbers of rows, once the checksum has agreed."""
        wanted = f"sha256 {self._hash.hexdigest()}\n".encode()
        if self._read(_LONGEST_LINE) != wanted or self._more():
            raise DumpRefused(f"{_DAMAGED}: its checksum is another.")
        sequences, rows = self._last.get("sequences"), self._last.get("rows")
        if not isinstance(sequences, dict) or not isinstance(rows, dict):
            raise DumpRefused(f"{_DAMAGED}: its end cannot be read.")
        return sequences, rows

    def _require_format(self) -> None:
        try:
            first = self._read(100)
        except DumpRefused as wrong:
            raise DumpRefused("This is no dump of Switchboard, or it is damaged.") from wrong
        number = first.removeprefix(_MAGIC).strip()
        if not first.startswith(_MAGIC) or not number.isdigit():
            raise DumpRefused("This is no dump of Switchboard.")
        if int(number) != FORMAT:
            raise DumpRefused(
                f"The dump has format {int(number)}, and this release reads format {FORMAT}: load"
                " it with the release that wrote it, or a newer one."
            )

    def _json(self) -> dict[str, Json]:
        try:
            found = json.loads(self._read(_LONGEST_LINE))
        except (ValueError, RecursionError) as wrong:
            raise DumpRefused(f"{_DAMAGED}: a line of it cannot be read.") from wrong
        if not isinstance(found, dict):
            raise DumpRefused(f"{_DAMAGED}: a line of it cannot be read.")
        return found

    def _read(self, most: int) -> bytes:
        piece = self._readline(most)
        if not piece:
            raise DumpRefused(f"{_DAMAGED}: it ends too early.")
        self._hash.update(piece)
        return piece

    def _more(self) -> bool:
        return bool(self._readline(1))

    def _readline(self, most: int) -> bytes:
        try:
            return self._zip.readline(most)
        except (EOFError, gzip.BadGzipFile, zlib.error) as wrong:
            raise DumpRefused(f"{_DAMAGED}: it cannot be unpacked to its end.") from wrong


def _texts(value: Json) -> dict[str, str]:
    if not isinstance(value, dict):
        raise DumpRefused(f"{_DAMAGED}: its head cannot be read.")
    return {key: str(text) for key, text in value.items()}
