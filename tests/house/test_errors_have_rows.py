"""Every refusal is a class in one module and has its row in the one table of status codes."""

from __future__ import annotations

import ast
from pathlib import Path

from tests.house.tree import Copy, holds, modules

ERRORS = "app/domain/errors.py"
PROBLEMS = "app/edge/problems.py"


def check(root: Path) -> list[str]:
    """Refusals without a row or a docstring, rows without a refusal, refusals made elsewhere."""
    found = {module.where: module for module in modules(root)}
    refusals = {"DomainError"}
    classes = [node for node in found[ERRORS].tree.body if isinstance(node, ast.ClassDef)]
    for node in classes:
        if _bases(node) & refusals:
            refusals.add(node.name)
    refusals.discard("DomainError")
    rows = _rows(found[PROBLEMS].tree)
    faults = [f"{PROBLEMS}: no row for {name}" for name in sorted(refusals - rows)]
    faults += [f"{PROBLEMS}: a row for {name}, which is no refusal" for name in rows - refusals]
    faults += [f"{ERRORS}: {node.name} has no sentence for a person" for node in classes
               if node.name in refusals and not ast.get_docstring(node)]
    return faults + [
        f"{module.where}: {node.name} is a refusal made outside {ERRORS}"
        for module in found.values() if module.where != ERRORS
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ClassDef) and _bases(node) & (refusals | {"DomainError"})
    ]


def _bases(node: ast.ClassDef) -> set[str]:
    return {base.id if isinstance(base, ast.Name) else getattr(base, "attr", "")
            for base in node.bases}


def _rows(tree: ast.Module) -> set[str]:
    for node in tree.body:
        if isinstance(node, ast.AnnAssign) and getattr(node.target, "id", "") == "STATUS":
            assert isinstance(node.value, ast.Dict)
            return {key.attr if isinstance(key, ast.Attribute) else getattr(key, "id", "")
                    for key in node.value.keys}
    return set()


def test_every_refusal_has_its_row() -> None:
    holds(check)


def test_a_refusal_without_a_row_is_found(copy: Copy) -> None:
    copy.append(ERRORS, '\n\nclass Tired(DomainError):\n    """The server is tired."""\n')
    copy.turns_red(check, "no row for Tired")


def test_a_refusal_without_a_sentence_is_found(copy: Copy) -> None:
    copy.append(ERRORS, "\n\nclass Tired(NotFound):\n    pass\n")
    copy.turns_red(check, "Tired has no sentence")


def test_a_refusal_made_elsewhere_is_found(copy: Copy) -> None:
    copy.append("app/web/board.py", '\n\nclass Tired(DomainError):\n    """No."""\n')
    copy.turns_red(check, "made outside")
