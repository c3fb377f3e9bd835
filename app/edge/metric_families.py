"""The counters we serve: names, labels and help, word for word what contract/metrics.md lists."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Family:
    """One counter: its name as scraped, what it counts, and its labels in order."""

    name: str
    help: str
    labels: tuple[str, ...]


QUEUES, ADMISSION = "queues", "admission"
COLLECTORS = (QUEUES, ADMISSION)
"""What a scrape reads from the database, each by itself (app/edge/gauges.py)."""

COLLECTION_ERRORS = "switchboard_metrics_collection_errors_total"

COUNTERS = (
    Family("switchboard_todos_created_total", "Todos created.", ("queue", "source")),
    Family("switchboard_todos_claimed_total", "Claims committed.", ("queue",)),
    Family(
        "switchboard_todos_completed_total",
        "Claims their claimant ended, by complete or fail.",
        ("queue", "outcome"),
    ),
    Family(
        "switchboard_todo_leases_expired_total",
        "Leases that ran out, reaped or taken over.",
        ("queue",),
    ),
    Family(
        "switchboard_todo_attempts_total",
        "Attempts begun, by how many their todo has had.",
        ("queue", "attempt_bucket"),
    ),
    Family(
        "switchboard_todo_attempts_closed_total",
        "Attempts ended, by how.",
        ("queue", "outcome"),
    ),
    Family(
        "switchboard_webhook_deliveries_total",
        "Webhook deliveries judged.",
        ("provider", "trust_mode", "verdict"),
    ),
    Family(
        "switchboard_webhook_verify_failures_total",
        "Webhook deliveries refused, by why.",
        ("provider", "reason"),
    ),
    Family(
        "switchboard_notify_hook_notifications_total",
        "Notifications to hooks that came to an end.",
        ("type", "outcome"),
    ),
    Family(
        "switchboard_notify_hook_attempts_total",
        "Requests made to hooks, by what came of them.",
        ("result",),
    ),
    Family("switchboard_notify_hooks_disabled_total", "Hooks switched off.", ("reason",)),
    Family(
        COLLECTION_ERRORS,
        "Collectors that failed in a scrape and left their families out.",
        ("collector",),
    ),
    Family(
        "switchboard_admission_charged_total",
        "Claims charged to a window limit.",
        ("queue",),
    ),
    Family(
        "switchboard_admission_refusals_total",
        "Calls that a queue with claimable work refused.",
        ("queue", "reason"),
    ),
)
