"""SQL is prose in files: named, explained, used, paired with its module, and with one clock."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.house.tree import Check, Copy, Module, files, holds, modules

VERBS = (
    "pick", "lock", "peek", "read", "claim", "mark", "charge", "append", "delete", "insert",
    "upsert", "close", "open", "count", "guard", "list", "create", "notify", "set", "prune",
    "look", "begin", "commit", "defer", "write",
)
# Everything by which SQL may ask the time, but ours.
_CLOCKS = re.compile(
    r"\bnow\s*\(|\bclock_timestamp\b|\bcurrent_(timestamp|date|time)\b|\blocaltime(stamp)?\b|"
    r"\b(statement|transaction)_timestamp\b|\btimeofday\b|'(now|today|tomorrow|yesterday)'",
    re.IGNORECASE,
)
_OURS = re.compile(r"create function clock\(\).*?\$\$.*?\$\$", re.IGNORECASE | re.DOTALL)
# Columns that stand in an index: a bare volatile call there is no index condition.
_COMPARED_BARE = re.compile(
    r"\b(next_retry_at|created_at|updated_at|received_at)\s*[<>]=?\s*clock\(\)", re.IGNORECASE)
_BY_KEY = re.compile(r"\b(id|todo_id|token_hash|credential_hash)\s*=\s*%\(")
_STAR = re.compile(r"(select|returning)\s+(distinct\s+)?(\w+\.)?\*|,\s*\w+\.\*", re.IGNORECASE)
_HOLE = re.compile(r"%(?!\(\w+\)s|%)")
_HEADER = re.compile(r"^-- name: (\S+)[ \t]*$")
_LOOKS_LIKE_SQL = re.compile(
    r"^\s*(select|insert into|update|delete from|with|create|alter|drop|begin|commit|rollback|"
    r"notify|listen|truncate|lock table|set local)\s", re.IGNORECASE)
_WRITES_SQL_ITSELF = ("app/db/", "app/embedded.py", "app/listening.py")


@dataclass(frozen=True, slots=True)
class Query:
    """One named statement: its file, name, line, the comment under the name, and its text."""

    file: str
    name: str
    line: int
    why: str
    text: str


def queries(root: Path) -> Iterator[Query]:
    """Every named statement of sql/queries."""
    for path in files(root, "sql/queries/*.sql"):
        name, start, body = "", 0, list[str]()
        for number, line in enumerate([*path.read_text().splitlines(), "-- name: end"], 1):
            header = _HEADER.match(line)
            if not header:
                body.append(line)
                continue
            if name or any(text.strip() and not text.startswith("--") for text in body):
                first = next((text for text in body if text.strip()), "")
                why = first if first.startswith("-- ") else ""
                text = "\n".join(text.split("--")[0] for text in body)
                yield Query(f"sql/queries/{path.name}", name, start, why, text)
            name, start, body = header[1], number, []


def badly_named(root: Path) -> list[str]:
    """Statements without a name that says what they do, or without a sentence of why."""
    faults = []
    for query in queries(root):
        where = f"{query.file}:{query.line}: {query.name or '(no name)'}"
        if not re.fullmatch(rf"({'|'.join(VERBS)})(_[a-z0-9_]+)?", query.name):
            faults.append(f"{where}: a name starts with one of {', '.join(VERBS)}")
        if not query.why:
            faults.append(f"{where}: no comment that says why")
        if query.text.strip().rstrip(";").count(";") and "$$" not in query.text:
            faults.append(f"{where}: more than one statement")
    return faults


def badly_written(root: Path) -> list[str]:
    """Stars, positional holes, comparisons with a bare clock() that no index can serve."""
    faults = []
    for query in queries(root):
        where = f"{query.file}:{query.line}: {query.name}"
        if _STAR.search(query.text):
            faults.append(f"{where}: a star instead of columns")
        if _HOLE.search(query.text):
            faults.append(f"{where}: a hole that is not %(name)s")
        if _COMPARED_BARE.search(query.text) and not _BY_KEY.search(query.text):
            faults.append(f"{where}: compares with clock(), not (select clock())")
    return faults


def other_clocks(root: Path) -> list[str]:
    """Any clock but clock(), in SQL files and in SQL text within Python."""
    faults = []
    for path in files(root, "sql/**/*.sql"):
        text = re.sub(r"--.*", "", path.read_text())
        text = _OURS.sub("", text, count=1) if path.parent.name == "migrations" else text
        faults += [f"{path.relative_to(root)}: {found[0]}" for found in _CLOCKS.finditer(text)]
    for module in modules(root):
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found = _LOOKS_LIKE_SQL.match(node.value) and _CLOCKS.search(node.value)
                faults += [f"{module.where}:{node.lineno}: {found[0]}"] if found else []
    return faults


def unpaired(root: Path) -> list[str]:
    """SQL files without their one module, names that do not exist, statements nobody runs."""
    faults = []
    named: dict[str, set[str]] = {}
    for query in queries(root):
        named.setdefault(Path(query.file).stem, set()).add(query.name)
    users = Counter[str]()
    for module in modules(root):
        for variable, stem in _loads(module):
            users[stem] += 1
            if stem not in named:
                faults.append(f"{module.where}: loads sql/queries/{stem}.sql, which is not there")
                continue
            if not _is_pair(module.path.stem, stem):
                faults.append(f"{module.where}: loads sql/queries/{stem}.sql of another module")
            faults += [f"{module.where}: {stem}.sql has no statement {name}"
                       for name in _asked(module, variable) - named[stem]]
            said = {node.value for node in ast.walk(module.tree) if isinstance(node, ast.Constant)}
            patterns = _patterns(module, variable)
            faults += [f"sql/queries/{stem}.sql: nobody runs {name}"
                       for name in sorted(named[stem] - said)
                       if not any(re.fullmatch(pattern, name) for pattern in patterns)]
    faults += [f"sql/queries/{stem}.sql: loaded by {users[stem]} modules"
               for stem in named if users[stem] != 1]
    return faults


def built(root: Path) -> list[str]:
    """SQL put together from strings, and SQL written outside sql/."""
    faults = []
    for module in modules(root):
        for node in ast.walk(module.tree):
            where = f"{module.where}:{getattr(node, 'lineno', 0)}"
            if _is_glued(node):
                faults.append(f"{where}: SQL built from strings")
            elif not module.where.startswith(_WRITES_SQL_ITSELF) and _is_executed_text(node):
                faults.append(f"{where}: SQL outside sql/")
    return faults


def _loads(module: Module) -> Iterator[tuple[str, str]]:
    for node in module.tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            called, target = node.value.func, node.targets[0]
            name = called.id if isinstance(called, ast.Name) else getattr(called, "attr", "")
            if name == "load" and isinstance(target, ast.Name):
                for argument in node.value.args:
                    if isinstance(argument, ast.Constant):
                        yield target.id, str(argument.value)


def _asked(module: Module, variable: str) -> set[str]:
    return {
        str(part.value)
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name)
        and node.value.id == variable
        for part in ([node.slice] if isinstance(node.slice, ast.Constant) else
                     [node.slice.body, node.slice.orelse] if isinstance(node.slice, ast.IfExp)
                     else [])
        if isinstance(part, ast.Constant)
    }


def _patterns(module: Module, variable: str) -> list[str]:
    """What SQL[f"claim_{kind}"] may ask for."""
    return [
        "".join(re.escape(str(part.value)) if isinstance(part, ast.Constant) else r"[a-z0-9_]+"
                for part in node.slice.values)
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name)
        and node.value.id == variable and isinstance(node.slice, ast.JoinedStr)
    ]


def _is_pair(module: str, stem: str) -> bool:
    """A module's file has its name; a look beside a verb of one name adds a word to it."""
    return stem == module or stem.startswith(f"{module.rstrip('s')}_")


def _is_glued(node: ast.AST) -> bool:
    if isinstance(node, ast.JoinedStr):
        first = node.values[0] if node.values else None
        holes = any(isinstance(part, ast.FormattedValue) for part in node.values)
        return holes and isinstance(first, ast.Constant) and _is_sql(first)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Mod):
        return isinstance(node.left, ast.Constant) and _is_sql(node.left)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        target = node.func.value
        return (node.func.attr in ("format", "join", "replace")
                and isinstance(target, ast.Constant) and _is_sql(target))
    return False


def _is_executed_text(node: ast.AST) -> bool:
    return (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
            and node.func.attr in ("execute", "executemany", "SQL")
            and bool(node.args) and isinstance(node.args[0], ast.Constant))


def _is_sql(node: ast.Constant) -> bool:
    return isinstance(node.value, str) and bool(_LOOKS_LIKE_SQL.match(node.value))


CHECKS = [badly_named, badly_written, other_clocks, unpaired, built]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_sql_keeps_its_rules(check: Check) -> None:
    holds(check)


@pytest.mark.parametrize(("check", "statement"), [
    (badly_named, "-- name: todo_fetcher\n-- Why.\nselect id from todos;\n"),
    (badly_named, "-- name: read_more\nselect id from todos;\n"),
    (badly_named, "-- name: read_two\n-- Why.\nselect 1; select 2;\n"),
    (badly_written, "-- name: read_all\n-- Why.\nselect * from todos;\n"),
    (badly_written, "-- name: read_all\n-- Why.\nselect t.* from todos t;\n"),
    (badly_written, "-- name: read_one\n-- Why.\nselect id from todos where id = %s;\n"),
    (badly_written, "-- name: read_it\n-- Why.\nselect id from todos where created_at<clock();\n"),
    (other_clocks, "-- name: read_due\n-- Why.\nselect now();\n"),
    (other_clocks, "-- name: read_due\n-- Why.\nselect current_timestamp;\n"),
    (other_clocks, "-- name: read_due\n-- Why.\nselect clock_timestamp();\n"),
    (other_clocks, "-- name: read_due\n-- Why.\nselect 'now'::timestamptz;\n"),
    (unpaired, "-- name: read_orphan\n-- Why.\nselect 1;\n"),
])
def test_a_bad_statement_is_found(copy: Copy, check: Check, statement: str) -> None:
    copy.append("sql/queries/claiming.sql", f"\n{statement}")
    copy.turns_red(check, "claiming.sql")


def test_a_renamed_statement_is_found(copy: Copy) -> None:
    copy.replace("sql/queries/searching.sql", "-- name: peek_heads", "-- name: peek_them")
    copy.turns_red(unpaired, "no statement peek_heads")


def test_a_file_of_nobody_is_found(copy: Copy) -> None:
    copy.write("sql/queries/stray.sql", "-- name: read_it\n-- Why.\nselect 1;\n")
    copy.turns_red(unpaired, "stray.sql")


@pytest.mark.parametrize("line", [
    'x = f"select id from todos where id = {id}"',
    'x = "select id from todos where id = " + id',
    'x = "select id from todos where id = %s" % id',
    'x = "update todos set state = {}".format(id)',
    'conn.execute("select id from todos")',
])
def test_sql_in_python_is_found(copy: Copy, line: str) -> None:
    copy.append("app/transactions/claiming.py", f"\n{line}\n")
    copy.turns_red(built, "claiming.py")


def test_another_clock_in_a_migration_or_in_python_is_found(copy: Copy) -> None:
    copy.append("sql/migrations/0004_work.sql", "alter table todos add x date default now();")
    copy.append("app/db/database.py", '\nX = "select now()"\n')
    copy.turns_red(other_clocks, "0004_work.sql")
    copy.turns_red(other_clocks, "database.py")
