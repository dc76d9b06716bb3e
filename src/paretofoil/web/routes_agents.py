"""Routes about agents: who can be asked, and what they would do."""

from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Response
from fastapi import Path as InPath

from paretofoil.core.errors import InvalidInput
from paretofoil.web.document import agent_document, agent_summary
from paretofoil.web.house import Here
from paretofoil.web.models import (
    AgentShown,
    AgentWhole,
    FoldedAsked,
    FoldedShown,
    ProbabilitiesAsked,
    SearchShown,
    Upload,
)
from paretofoil.web.moment import checked
from paretofoil.web.network import folded_document, probabilities_of

router = APIRouter(tags=["agents"])
Name = Annotated[str, InPath(max_length=200, examples=["deep-sea-treasure"])]
PICTURE = {"Cache-Control": "private, max-age=600"}
"""The same address shows the same, unless an agent was trained anew."""
PNG: dict[int | str, dict[str, Any]] = {200: {"content": {"image/png": {}}, "description": "A picture"}}


@router.get("/agents", response_model=list[AgentShown])
async def list_agents(here: Here) -> Any:
    """Who can be asked."""
    return [agent_summary(here.shelf, name) for name in here.shelf.names()]


@router.get("/agents/{name}", response_model=AgentWhole)
async def show_agent(name: Name, here: Here) -> Any:
    """One agent: its command space, its front, what it achieves, where it comes from."""
    return agent_document(here.shelf, name)


@router.get("/agents/{name}/picture.png", response_class=Response, responses=PNG)
async def show_world(name: Name, here: Here) -> Response:
    """The agent's world at the start."""
    return Response(await here.desk.do(lambda: here.pictures.of_start(name)), media_type="image/png", headers=PICTURE)


@router.post("/agents", response_model=AgentWhole, status_code=201)
async def upload_agent(asked: Upload, here: Here) -> Any:
    """Bring an agent of your own, in the library's format; it lives as long as the server."""
    await here.desk.do(lambda: here.shelf.upload(asked.name, asked.description, asked.weights))
    return agent_document(here.shelf, asked.name)


@router.post("/folded", response_model=FoldedShown)
async def fold(asked: FoldedAsked, here: Here) -> Any:
    """The policy at a state, as a small network of the command alone, for the page to compute."""
    agent = here.shelf.agent(asked.agent)
    return await here.desk.do(lambda: folded_document(agent, asked.state))


@router.post("/probabilities", response_model=list[list[float]])
async def tell_probabilities(asked: ProbabilitiesAsked, here: Here) -> Any:
    """What the agent would do at a state under each command; for agents that the page cannot compute."""
    agent = here.shelf.agent(asked.agent)
    if max(asked.valid_actions) >= len(agent.actions):
        raise InvalidInput.expected(f"actions from 0 to {len(agent.actions) - 1}", max(asked.valid_actions))
    commands = np.stack([checked(agent, command) for command in asked.commands])
    return await here.desk.do(lambda: probabilities_of(agent, asked.state, asked.valid_actions, commands))


@router.get("/searches", response_model=list[SearchShown])
async def list_searches(here: Here) -> Any:
    """How answers can be looked for."""
    return await here.desk.do(_searches)


def _searches() -> list[dict[str, Any]]:
    from paretofoil.search.registry import methods

    shown = [(method, method.load()) for method in methods()]
    return [{"name": m.name, "about": m.summary, "needs": kind.access, "proves": kind.proves} for m, kind in shown]
