"""`completion`: the script that teaches a shell the words of this command."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from app.cli.frame import Leaf
from app.cli.output import Failure, show_value

VARIABLE = "_SWITCHBOARD_COMPLETE"


@click.command(cls=Leaf)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the completion script of a shell.

    \b
    bash:  eval "$(switchboard completion bash)"
    zsh:   eval "$(switchboard completion zsh)"
    fish:  switchboard completion fish | source
    """
    maker = get_completion_class(shell)
    if maker is None:
        raise Failure(f"No completion is known for {shell}.")
    script = maker(ctx.find_root().command, {}, "switchboard", VARIABLE).source()
    show_value({"shell": shell, "script": script}, [script])
