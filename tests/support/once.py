"""Routes and templates compiled once per test process, though each test has its own application.

A server compiles both once in its life; here they were a third of the processor's time in tests of
pages. Nothing else is shared: an application's limits, caches and database stay its own.
"""

from __future__ import annotations

from collections.abc import Callable

from flask import Flask
from jinja2 import BytecodeCache
from jinja2.bccache import Bucket
from werkzeug.routing import Rule

Builder = Callable[..., tuple[str, str]]


def pytest_configure() -> None:
    """From here on, for every application this process makes."""
    Flask.jinja_options = {**Flask.jinja_options, "bytecode_cache": Templates()}
    # werkzeug has no door for it. What it makes looks everything up on the rule it is bound to.
    Rule._compile_builder = _shared(Rule._compile_builder)  # type: ignore[method-assign]


class Templates(BytecodeCache):
    """Compiled templates in memory; jinja asks with a checksum of the source."""

    def __init__(self) -> None:
        """Empty."""
        self._known: dict[str, bytes] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        """Fill the bucket if this source was compiled before."""
        known = self._known.get(bucket.key)
        if known is not None:
            bucket.bytecode_from_string(known)

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Remember what was compiled."""
        self._known[bucket.key] = bucket.bytecode_to_string()


def _shared(compiled: Callable[[Rule, bool], Builder]) -> Callable[..., Builder]:
    known: dict[object, Builder] = {}

    def once(rule: Rule, append_unknown: bool = True) -> Builder:  # noqa: FBT001, FBT002
        alike = (rule.rule, tuple(rule._trace), repr(rule.defaults), append_unknown)
        if alike not in known:
            known[alike] = compiled(rule, append_unknown)
        return known[alike]

    return once
