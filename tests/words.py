"""The words of `python3 tests`: which folders or commands they name, and what those need.

Standard library only: it is read before anything is installed.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COMMANDS = ("static",)
OWN_WORDS = ("bench", "mutants")  # these read what follows them by themselves
READER = "--screen-reader"
_NOT_TESTS = ("support",)

USAGE = """\
usage: python3 tests [WORD ...] [PYTEST OPTION ...]
       python3 tests a11y URL SIGN_IN_LINK
       python3 tests a11y --screen-reader [PYTEST OPTION ...]

Without a word: the static checks and every test that is not apart.
A word is `static` or one of: {folders}.
Apart, and never part of the default run: soak, bench, mutants, a11y --screen-reader.
Everything from the first option or test file on is passed to pytest.

a11y URL SIGN_IN_LINK   audits every page of a running Switchboard that can be reached from its
                        navigation. It signs in with the link and posts no other form.
a11y --screen-reader    a real screen reader, Orca, says the pages; its words are checked.
"""


@dataclass(frozen=True)
class Asked:
    """What a command line asks for: folders or commands, the rest for pytest, or an audit."""

    words: tuple[str, ...] = ()
    rest: tuple[str, ...] = ()
    audit: tuple[str, ...] = ()
    reader: bool = False

    @property
    def packages(self) -> tuple[str, ...]:
        """The groups of system_packages.py that this needs."""
        if self.audit:
            return ("pages",)
        if self.reader:
            return ("pages", "reader")
        return ("pages", "tests", *(["soak"] if "soak" in self.words else []))


class Unknown(Exception):
    """The words name nothing; the message is what to print before exiting with 2."""


def parse(words: list[str]) -> Asked:
    """Read the command line without the program's name; Unknown when a word names nothing."""
    if words[:1] == ["a11y"] and len(words) > 1 and words[1].startswith(("http://", "https://")):
        return _audit(words[1:])
    chosen, rest = split(words)
    if rest and not (_is_pytests(rest[0]) or set(OWN_WORDS) & set(chosen)):
        raise Unknown(f"There is no {rest[0]} in tests.\n\n{usage()}")
    if READER in rest:
        if chosen != ["a11y"]:
            raise Unknown(f"{READER} goes with a11y alone.\n\n{usage()}")
        rest.remove(READER)
        return Asked(words=("a11y",), rest=tuple(rest), reader=True)
    return Asked(words=tuple(chosen), rest=tuple(rest))


def split(words: list[str]) -> tuple[list[str], list[str]]:
    """The leading words that select folders, and the rest, which is pytest's."""
    for position, word in enumerate(words):
        if word not in COMMANDS and word not in folders():
            return words[:position], words[position:]
    return words, []


def folder(word: str) -> str:
    """Where the tests of a word are, below the root."""
    return word if word == "a11y" else f"tests/{word}"


def folders() -> list[str]:
    """The words that name a folder with tests."""
    inside = [path.name for path in (ROOT / "tests").iterdir() if (path / "__init__.py").exists()]
    return sorted({"a11y", *inside} - set(_NOT_TESTS))


def usage() -> str:
    """How the command is used, with the folders there are."""
    return USAGE.format(folders=", ".join(folders()))


def _audit(arguments: list[str]) -> Asked:
    if len(arguments) != 2 or not arguments[1].startswith(("http://", "https://")):
        raise Unknown(f"Give the address and a fresh sign-in link.\n\n{usage()}")
    return Asked(audit=tuple(arguments))


def _is_pytests(word: str) -> bool:
    """Whether a word is pytest's own: an option, a file or one test of a file."""
    return word.startswith("-") or ".py" in word or ("/" in word and Path(word).exists())
