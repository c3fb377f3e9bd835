"""The webhook verbs: an endpoint's own ways in, within its ceiling (agent-api.md)."""

from __future__ import annotations

from pydantic import Field

from app.api import shapes
from app.api.arguments import Arguments, Text
from app.api.verb import Body, Call, verb
from app.edge.deps import database, state
from app.reads import webhooks as webhook_list
from app.transactions import webhooks


class CreateWebhook(Arguments):
    """Arguments of create_webhook."""

    source_type: Text = Field(description="github, gitea, stripe, slack or generic.")
    target_queue: Text = Field(description="The granted queue that its deliveries go to.")


class WebhookId(Arguments):
    """A webhook, by its id."""

    webhook_id: Text = Field(description="The webhook's id.")


def _create(call: Call, asked: CreateWebhook) -> Body:
    made = webhooks.create(database(), call.endpoint, asked.source_type, asked.target_queue)
    return shapes.minted_webhook(made, state().config.base_url)


def _list(call: Call, asked: Arguments) -> Body:
    listing = webhook_list.list_for_endpoint(database(), call.endpoint)
    return shapes.webhook_listing(listing, state().config.base_url)


def _rotate(call: Call, asked: WebhookId) -> Body:
    made = webhooks.rotate(database(), call.endpoint, asked.webhook_id)
    return shapes.minted_webhook(made, state().config.base_url)


def _delete(call: Call, asked: WebhookId) -> Body:
    deleted = webhooks.delete(database(), call.endpoint, asked.webhook_id)
    return {"webhook_id": str(deleted), "deleted": True}


VERBS = (
    verb("create_webhook", CreateWebhook, _create, family="webhook",
         description="Make a webhook; its URL and, for signed types, its secret are shown once."),
    verb("list_webhooks", Arguments, _list, family="webhook", read_only=True,
         description="List this endpoint's webhooks and its ceiling."),
    verb("rotate_webhook", WebhookId, _rotate, family="webhook",
         description="Give a webhook a new URL and secret; the old ones stop at once."),
    verb("delete_webhook", WebhookId, _delete, family="webhook",
         description="Delete a webhook; its URL stops at once."),
)
