"""Titles of what people do on a forge: issues, pull requests, reviews, discussions, pushes.

One short recipe per event, on the fields GitHub and Gitea document. A recipe answers None when
the fields it lives on are missing; the caller then says it plainly.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from app.domain.titles_text import Line, Look, said

Recipe = Callable[[Look], Line | None]


def numbered(noun: str, key: str) -> Recipe:
    """A recipe for `<noun> #<number> <action>: <title>`, all inside the object at `key`."""

    def recipe(look: Look) -> Line | None:
        item = look.at(key)
        number, title = _number(look, item), item.text("title")
        if not number and not title:
            return None
        return Line(said(noun, number, _action(look, item)), title)

    return recipe


def _on(what: str, noun: str, key: str) -> Recipe:
    def recipe(look: Look) -> Line | None:
        item = look.at(key)
        number, title = _number(look, item), item.text("title")
        if not number and not title:
            return None
        return Line(said(what, _action(look, item), "on", noun, number), title)

    return recipe


def _number(look: Look, item: Look) -> str:
    # Gitea numbers a pull request beside it as well as inside it.
    return item.number("number") or look.number("number")


def _action(look: Look, item: Look) -> str:
    action = look.words("action")
    if action == "closed" and item.is_true("merged"):
        return "merged"
    if action in ("labeled", "unlabeled"):
        return said(action, look.text("label", "name"))
    if action in ("assigned", "unassigned"):
        return said(action, look.text("assignee", "login"))
    return action


def _issue_comment(look: Look) -> Line | None:
    issue = look.at("issue")
    is_pull = isinstance(issue.at("pull_request").value, dict) or look.is_true("is_pull")
    noun = "pull request" if is_pull else "issue"
    return _on("comment", noun, "issue")(look)


def _review(word: str) -> Recipe:
    def recipe(look: Look) -> Line | None:
        pull = look.at("pull_request")
        number, title = _number(look, pull), pull.text("title")
        if not number and not title:
            return None
        verdict = word or look.words("review", "state") or look.words("action")
        if look.text("action") in ("dismissed", "edited"):
            verdict = look.text("action")
        return Line(said("review", verdict.lower(), "on pull request", number), title)

    return recipe


def _push(look: Look) -> Line | None:
    ref = look.text("ref")
    if not ref:
        return None
    kind, name = _split_ref(ref, "branch")
    if look.is_true("deleted") or (look.text("after") and not look.text("after").strip("0")):
        return Line(said("push deleted", kind, name))
    if kind == "tag":
        return Line(said("push of tag", name))
    push = "forced push" if look.is_true("forced") else "push"
    head = look.text("head_commit", "message") or look.first("commits").text("message")
    return Line(said(push, _commits(look), "to", name), head)


def _commits(look: Look) -> str:
    total = look.number("total_commits").removeprefix("#")
    count = int(total) if total else look.count("commits")
    if not count:
        return ""
    return f"of {count} commit{'s' if count != 1 else ''}"


def _split_ref(ref: str, kind: str) -> tuple[str, str]:
    if ref.startswith("refs/tags/"):
        return "tag", ref.removeprefix("refs/tags/")
    return kind, ref.removeprefix("refs/heads/")


def _ref(done: str) -> Recipe:
    def recipe(look: Look) -> Line | None:
        ref, kind = look.text("ref"), look.words("ref_type")
        if not ref and not kind:
            return None
        kind, name = _split_ref(ref, kind)
        return Line(said(kind, name, done))

    return recipe


PEOPLE: Final[Mapping[str, Recipe]] = {
    "issues": numbered("issue", "issue"),
    "issue_comment": _issue_comment,
    "pull_request": numbered("pull request", "pull_request"),
    "pull_request_review": _review(""),
    "pull_request_approved": _review("approved"),
    "pull_request_rejected": _review("rejected"),
    "pull_request_comment": _review("commented"),
    "pull_request_review_comment": _on("review comment", "pull request", "pull_request"),
    "pull_request_review_thread": _on("review thread", "pull request", "pull_request"),
    "discussion": numbered("discussion", "discussion"),
    "discussion_comment": _on("comment", "discussion", "discussion"),
    "push": _push,
    "create": _ref("created"),
    "delete": _ref("deleted"),
}
