"""The notify verbs: where an endpoint wants to be called when work is ready (push.md)."""

from __future__ import annotations

from pydantic import Field

from app.api import hook_shapes
from app.api.arguments import Arguments, Text
from app.api.verb import Body, Call, verb
from app.edge.deps import database, state
from app.reads import hooks as hook_list
from app.transactions import hooks


class CreateNotifyHook(Arguments):
    """Arguments of create_notify_hook."""

    url: Text = Field(description="Where to post: https, at most 2048 bytes, no user name.")
    queues: list[Text] = Field(
        default=[], description="The granted queues to be told of; none named means all of them."
    )
    ignore_presence: bool = Field(
        default=False, description="Whether to call while the endpoint is clocked out, too."
    )


class HookId(Arguments):
    """A notify hook, by its id."""

    hook_id: Text = Field(description="The hook's id.")


def _create(call: Call, asked: CreateNotifyHook) -> Body:
    made = hooks.create(
        database(),
        call.endpoint,
        asked.url,
        queues=asked.queues,
        ignore_presence=asked.ignore_presence,
        rules=state().config.hooks,
    )
    return hook_shapes.minted_hook(made)


def _list(call: Call, asked: Arguments) -> Body:
    rows = hook_list.list_for_endpoint(database(), call.endpoint)
    return hook_shapes.hook_listing(rows, state().config.hooks.most)


def _rotate(call: Call, asked: HookId) -> Body:
    return hook_shapes.rotated_hook(hooks.rotate(database(), call.endpoint, asked.hook_id))


def _delete(call: Call, asked: HookId) -> Body:
    deleted = hooks.delete(database(), call.endpoint, asked.hook_id)
    return {"hook_id": str(deleted), "deleted": True}


VERBS = (
    verb("create_notify_hook", CreateNotifyHook, _create, family="notify",
         description="Register a URL that is called when work is ready; its signing secret is"
                     " shown once."),
    verb("list_notify_hooks", Arguments, _list, family="notify", read_only=True,
         description="List this endpoint's notify hooks, their health and the ceiling."),
    verb("rotate_notify_hook", HookId, _rotate, family="notify",
         description="Give a notify hook a new secret and enable it; the old one signs beside it"
                     " for 24 hours."),
    verb("delete_notify_hook", HookId, _delete, family="notify",
         description="Delete a notify hook; nothing is sent to it any more."),
)
