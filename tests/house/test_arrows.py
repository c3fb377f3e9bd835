"""Arrows only point down: who may import what. The table is the law (README, the map)."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.house.tree import Copy, Module, holds, modules

PURE = frozenset({
    "__future__", "base64", "binascii", "bisect", "collections", "dataclasses", "datetime",
    "difflib", "enum", "functools", "hashlib", "hmac", "ipaddress", "json", "math", "re", "typing",
    "unicodedata", "urllib.parse", "uuid", "zoneinfo",
})
BELOW_VERBS = frozenset({"app.reads", "app.db", "app.domain"})
BELOW_DOORS = frozenset({"app.edge", "app.transactions", "app.reads", "app.domain"})
FLASK = frozenset({"flask", "flask_wtf", "wtforms", "werkzeug"})

# story: (which of our packages beside itself, which packages of others)
TABLE: dict[str, tuple[frozenset[str], frozenset[str]]] = {
    "app.domain": (frozenset(), frozenset({"tzdata"})),
    "app.db": (frozenset({"app.domain", "app.data"}),
               frozenset({"psycopg", "psycopg_pool", "cryptography", "uuid_utils"})),
    "app.reads": (frozenset({"app.db", "app.domain"}), frozenset({"psycopg"})),
    "app.transactions": (BELOW_VERBS, frozenset({"psycopg"})),
    # Sends what the verbs hand over; the roof starts it, and nobody else imports it.
    "app.outbound": (BELOW_VERBS | {"app.transactions"},
                     frozenset({"psycopg", "urllib3", "standardwebhooks"})),
    "app.edge": (BELOW_VERBS | {"app.transactions"},
                 FLASK | {"prometheus_client", "prometheus_flask_exporter", "structlog"}),
    # joserfc is Authlib's JOSE; urllib3 speaks to the sign-in provider, and to nobody else.
    "app.web": (BELOW_DOORS, FLASK | {"authlib", "joserfc", "urllib3"}),
    "app.api": (BELOW_DOORS, frozenset({"flask", "werkzeug", "pydantic", "authlib", "joserfc"})),
    "app.cli": (BELOW_VERBS | {"app.transactions"}, frozenset({"click", "urllib3"})),
    # psycopg: the jobs' leader holds its lock on a connection of its own, and an outage has a name.
    "jobs": (BELOW_VERBS | {"app.transactions"}, frozenset({"psycopg"})),
    # Modules on the ground, which need nothing of ours but each other.
    "app.data": (frozenset(), frozenset()),
    "app.parsing": (frozenset(), frozenset({"psycopg"})),
    "app.settings": (frozenset({"app.parsing"}), frozenset()),
}
ROOF = "the roof"


def check(root: Path) -> list[str]:
    """Every import that points up or aside, and every import that is not at the top."""
    faults = []
    for module in modules(root):
        story = story_of(module)
        if story is None:
            faults.append(f"{module.where}: a folder the table of arrows does not know")
        elif story != ROOF:
            faults += [f"{module.where}: {story} may not import {name}"
                       for name in imports(module, root) if not _allowed(story, name)]
        faults += [f"{module.where}:{line}: an import that is not at the top of the module"
                   for line in _buried(module)]
        faults += [f"{module.where}:{node.lineno}: a relative import"
                   for node in ast.walk(module.tree)
                   if isinstance(node, ast.ImportFrom) and node.level]
    return faults


def story_of(module: Module) -> str | None:
    """The story a module stands on; the roof for files directly in app/."""
    parts = module.name.split(".")
    if module.name in TABLE:
        return module.name
    if parts[0] == "jobs":
        return "jobs" if len(parts) <= 2 else None
    if len(parts) == 1 or (len(parts) == 2 and module.path.name != "__init__.py"):
        return ROOF
    story = ".".join(parts[:2])
    return story if story in TABLE else None


def imports(module: Module, root: Path) -> Iterator[str]:
    """Full names of what a module imports: of `from app import web`, that is `app.web`."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                path = root.joinpath(*full.split("."))
                is_module = path.with_suffix(".py").exists() or path.is_dir()
                yield full if is_module or full in PURE else node.module


def _allowed(story: str, name: str) -> bool:
    ours, others = TABLE[story]
    top = name.split(".")[0]
    if top in ("app", "jobs", "tests"):
        return any(name == door or name.startswith(f"{door}.") for door in {story} | ours)
    if top not in sys.stdlib_module_names:
        return top in others
    return story != "app.domain" or name in PURE or top in PURE


def _buried(module: Module) -> list[int]:
    top = {id(node) for node in module.tree.body}
    return [node.lineno for node in ast.walk(module.tree)
            if isinstance(node, ast.Import | ast.ImportFrom) and id(node) not in top]


def test_arrows_only_point_down() -> None:
    holds(check)


@pytest.mark.parametrize(("where", "line"), [
    ("app/domain/todos.py", "import flask"),
    ("app/domain/todos.py", "import pydantic"),
    ("app/domain/todos.py", "import os"),
    ("app/domain/todos.py", "import urllib.request"),
    ("app/domain/todos.py", "from app.db import database"),
    ("app/db/database.py", "from app.reads import todos"),
    ("app/reads/todos.py", "from app.transactions import claiming"),
    ("app/transactions/claiming.py", "from app.web import board"),
    ("app/transactions/claiming.py", "import flask"),
    ("app/transactions/claiming.py", "import app.server"),
    ("app/web/board.py", "from app.api import agent"),
    ("app/web/board.py", "from app.db import database"),
    ("app/api/agent.py", "from app import web"),
    ("app/api/agent.py", "import psycopg"),
    ("app/edge/deps.py", "from app.web import board"),
    ("app/cli/work.py", "import flask"),
    ("app/settings.py", "from app.domain import errors"),
    ("jobs/runner.py", "from app.edge import deps"),
    ("app/web/board.py", "import jobs.runner"),
    ("app/edge/deps.py", "from app.outbound import courier"),
    ("app/outbound/courier.py", "from app.edge import deps"),
    ("jobs/runner.py", "from app.outbound import courier"),
    ("app/web/board.py", "import tests"),
    ("app/web/board.py", "from .forms import x"),
])
def test_an_arrow_that_points_up_or_aside_is_found(copy: Copy, where: str, line: str) -> None:
    copy.append(where, f"\n{line}\n")
    copy.turns_red(check, where)


@pytest.mark.parametrize("where", ["app/utils/text.py", "app/core/__init__.py", "jobs/lib/x.py"])
def test_a_room_without_a_law_is_found(copy: Copy, where: str) -> None:
    copy.write(where, '"""A drawer."""\n')
    copy.turns_red(check, where)


@pytest.mark.parametrize("line", [
    "def f() -> None:\n    import json\n",
    "if True:\n    import json\n",
    "class A:\n    from app.domain import errors\n",
])
def test_an_import_below_the_top_is_found(copy: Copy, line: str) -> None:
    copy.append("app/transactions/claiming.py", f"\n{line}")
    copy.turns_red(check, "not at the top")
