"""The agents a human may configure."""

from __future__ import annotations

from flask import jsonify
from flask.typing import ResponseReturnValue

from app.api.operator.door import bp
from app.edge.deps import database, human
from app.reads import endpoints
from app.reads.endpoints import AgentRow


@bp.get("/agents")
def list_agents() -> ResponseReturnValue:
    """Every agent, by name."""
    return jsonify(agents=[_row(agent) for agent in endpoints.list_agents(database(), human())])


def _row(agent: AgentRow) -> dict[str, str]:
    row = {"id": str(agent.id), "name": agent.name}
    return row if agent.description is None else row | {"description": agent.description}
