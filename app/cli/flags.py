"""Which flag of the command that runs stands for a field of the API."""

from __future__ import annotations

import click

# By the last part of the field's name, where the flag is called otherwise.
_FLAGS = {
    "display_name": ("--name",),
    "default_lease_ttl_seconds": ("--default-lease",),
    "max_claims_per_window": ("--per-hour", "--per-day", "--per-week"),
    "queues": ("--queue",),
    "source_type": ("--source-type", "--webhook-source"),
    "target_queue": ("--queue",),
    "verbs": ("--verb",),
    "webhook_source_type": ("--webhook-source",),
}


def beside(sentence: str, field: str | None) -> str:
    """The sentence of a refusal with the flag its field came from; else with the field's name,
    where the sentence does not say it."""
    if field is None:
        return sentence
    flag = _flag(field)
    if flag is not None:
        return sentence if flag in sentence else f"{sentence} ({flag})"
    return sentence if field in sentence else f"{sentence} (field {field})"


def _flag(field: str) -> str | None:
    """The flag, one that was given before one that was not; None where no flag sets the field."""
    context = click.get_current_context(silent=True)
    if context is None:
        return None
    last = field.rpartition(".")[2]
    wanted = _FLAGS.get(last, (f"--{last.replace('_', '-')}",))
    found = [
        (context.params.get(option.name or "") in (None, ()), flag)
        for option in context.command.params
        if isinstance(option, click.Option)
        for flag in option.opts
        if flag in wanted
    ]
    return min(found)[1] if found else None
