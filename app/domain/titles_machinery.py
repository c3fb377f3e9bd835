"""Titles of what a forge does by itself or to itself: checks, releases, forks, alerts, settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from app.domain.titles_forge import Recipe, numbered
from app.domain.titles_text import Line, Look, said

_SHORT_COMMIT: Final = 8


def _outcome(noun: str, key: str, *names: str) -> Recipe:
    """A check of some kind: its conclusion once it has one, else what just happened to it."""

    def recipe(look: Look) -> Line | None:
        item = look.at(key)
        outcome = item.words("conclusion") or look.words("action") or item.words("status")
        name = next((text for text in map(item.text, names) if text), "")
        if not outcome and not name:
            return None
        return Line(said(noun, item.number("run_number"), outcome), name)

    return recipe


def _workflow_run(look: Look) -> Line | None:
    line = _outcome("workflow run", "workflow_run", "name")(look)
    if line is None:
        return None
    run = look.at("workflow_run")
    name = line.detail or look.text("workflow", "name") or run.text("display_title")
    branch = run.text("head_branch")
    return Line(line.subject, said(name, f"on {branch}" if branch else ""))


def _status(look: Look) -> Line | None:
    state, context = look.words("state"), look.text("context")
    if not state and not context:
        return None
    return Line(said("status", state), context)


def _release(look: Look) -> Line | None:
    release = look.at("release")
    tag, name = release.text("tag_name"), release.text("name")
    if not tag and not name:
        return None
    return Line(said("release", tag, look.words("action")), name if name != tag else "")


def _commit_comment(look: Look) -> Line | None:
    commit = look.text("comment", "commit_id")[:_SHORT_COMMIT]
    if not commit:
        return None
    return Line(
        said("comment", look.words("action"), "on commit", commit), look.text("comment", "body")
    )


def _fork(look: Look) -> Line | None:
    new = look.text("forkee", "full_name")
    return Line("fork created", new) if new else None


def _gitea_fork(look: Look) -> Line | None:
    # GitHub's `forkee` is the new repository, Gitea's the one it came from.
    new, old = look.text("repository", "full_name"), look.text("forkee", "full_name")
    return Line("fork created", new, old) if new else None


def _by_sender(noun: str) -> Recipe:
    def recipe(look: Look) -> Line | None:
        who, action = look.text("sender", "login"), look.words("action")
        if not action:
            return None
        return Line(said(noun, action, f"by {who}" if who else ""))

    return recipe


def _deployment(look: Look) -> Line | None:
    environment = look.text("deployment", "environment")
    if not environment:
        return None
    state = look.words("deployment_status", "state") or look.words("action")
    return Line(said("deployment", state), environment)


def _named(noun: str, *path: str) -> Recipe:
    """`<noun> <action>: <name>`, the name at a path of its own."""

    def recipe(look: Look) -> Line | None:
        name = look.text(*path)
        return Line(said(noun, look.words("action")), name) if name else None

    return recipe


def _repository(look: Look) -> Line | None:
    name = look.text("repository", "full_name")
    return Line(said("repository", look.words("action")), name, "") if name else None


def _public(look: Look) -> Line | None:
    name = look.text("repository", "full_name")
    return Line("repository made public", name, "") if name else None


def _wiki(look: Look) -> Line | None:
    page = look.first("pages")
    name = page.text("page_name") or look.text("page")
    if not name:
        return None
    return Line(said("wiki page", page.words("action") or look.words("action")), name)


def _package(key: str) -> Recipe:
    def recipe(look: Look) -> Line | None:
        item = look.at(key)
        version = item.text("version") or item.text("package_version", "version")
        if not item.text("name"):
            return None
        return Line(said("package", look.words("action")), said(item.text("name"), version))

    return recipe


def _alert(noun: str, *path: str) -> Recipe:
    def recipe(look: Look) -> Line | None:
        number = look.number("alert", "number")
        if not number:
            return None
        return Line(said(noun, number, look.words("action")), look.text("alert", *path))

    return recipe


MACHINERY: Final[Mapping[str, Recipe]] = {
    "check_run": _outcome("check run", "check_run", "name"),
    "check_suite": _outcome("check suite", "check_suite", "head_branch"),
    "workflow_job": _outcome("workflow job", "workflow_job", "name"),
    "workflow_run": _workflow_run,
    "status": _status,
    "release": _release,
    "commit_comment": _commit_comment,
    "fork": _fork,
    "star": _by_sender("star"),
    "watch": _by_sender("watch"),
    "deployment": _deployment,
    "deployment_status": _deployment,
    "member": _named("member", "member", "login"),
    "membership": _named("team member", "member", "login"),
    "organization": _named("organization", "membership", "user", "login"),
    "team": _named("team", "team", "name"),
    "label": _named("label", "label", "name"),
    "milestone": numbered("milestone", "milestone"),
    "repository": _repository,
    "public": _public,
    "gollum": _wiki,
    "wiki": _wiki,
    "package": _package("package"),
    "registry_package": _package("registry_package"),
    "code_scanning_alert": _alert("code scanning alert", "rule", "description"),
    "dependabot_alert": _alert("dependabot alert", "security_advisory", "summary"),
    "secret_scanning_alert": _alert("secret scanning alert", "secret_type"),
}
GITEA_ONLY: Final[Mapping[str, Recipe]] = {"fork": _gitea_fork}
