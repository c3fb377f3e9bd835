"""The `switchboard` command: `run` does what the words say and answers an exit code."""

from __future__ import annotations

import io
import sys

import click

from app.cli import (
    admin,
    agent,
    backup,
    budget,
    completion,
    demo,
    doctor,
    endpoint,
    event,
    login,
    presence,
    serve,
    team,
    team_people,
    team_queues,
    todo,
    verify,
    webhook,
    work,
)  # fmt: skip
from app.cli.frame import Branch
from app.cli.host import Host
from app.cli.outfile import stop_writing

__all__ = ["Host", "run"]

EXAMPLES = """
\b
Examples:
  switchboard serve
  switchboard login https://board.example.org
  switchboard vend "lane m" --queue lane-m
  switchboard todo push lane-m-k3x9 "Look at issue 41"
  switchboard work --once -- cat
"""


@click.group(cls=Branch, epilog=EXAMPLES, context_settings={"help_option_names": ["-h", "--help"]})
def switchboard() -> None:
    """A work queue for agents: serve it, vend endpoints, push todos, and drain them."""


for command in (
    serve.serve, serve.migrate, serve.version, admin.admin, backup.db, doctor.doctor,
    completion.completion,
    login.login, login.status, login.logout,
    endpoint.endpoint, agent.agent, todo.todo, webhook.webhook, event.event, work.work,
    budget.queue, team.team, demo.demo,
):  # fmt: skip
    switchboard.add_command(command)

for command in presence.COMMANDS:
    endpoint.endpoint.add_command(command)

for group in (team_people.member, team_people.invite, team_people.group, team_queues.queue):
    team.team.add_command(group)

budget.budget.add_command(verify.verify)
switchboard.add_command(endpoint.vend, "vend")
switchboard.add_command(endpoint.list_endpoints, "endpoints")
switchboard.add_command(agent.list_agents, "agents")


def run(argv: list[str], host: Host) -> int:
    """Run one command. Answers 0 when it did its work, 1 when the server or the credentials refused
    or the server is out of reach, 2 for wrong usage (cli.md, "Rules for every command")."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        code = switchboard.main(argv, prog_name="switchboard", standalone_mode=False, obj=host)
        sys.stdout.flush()
    except click.ClickException as problem:
        problem.show()
        return problem.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("Interrupted.", err=True)
        return 1
    except BrokenPipeError:
        stop_writing()
        return 1
    return code if isinstance(code, int) else 0
