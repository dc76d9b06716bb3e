"""Routes about agents: who can be asked, and what they would do."""

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Response
from fastapi import Path as InPath

from paretofoil.web.document import agent_document, agent_summary, searches_document
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
from paretofoil.web.routes_episodes import PNG, picture

router = APIRouter(tags=["agents"])
Name = Annotated[str, InPath(max_length=200, examples=["deep-sea-treasure"])]


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
    return await picture(here, "world", {"agent": name})


@router.post("/agents", response_model=AgentWhole, status_code=201)
async def upload_agent(asked: Upload, here: Here) -> Any:
    """Bring an agent of your own, in the library's format; it lives as long as the server."""
    await asyncio.to_thread(here.shelf.upload, asked.name, asked.description, asked.weights)
    return agent_document(here.shelf, asked.name)


@router.post("/folded", response_class=Response, responses={200: {"model": FoldedShown}})
async def fold(asked: FoldedAsked, here: Here) -> Response:
    """The policy at a state, as a small network of the command alone, for the page to compute."""
    return Response(await here.quick("folded", asked.model_dump()), media_type="application/json")


@router.post("/probabilities", response_class=Response, responses={200: {"model": list[list[float]]}})
async def tell_probabilities(asked: ProbabilitiesAsked, here: Here) -> Response:
    """What the agent would do at a state under each command; for agents that the page cannot compute."""
    return Response(await here.quick("probabilities", asked.model_dump()), media_type="application/json")


@router.get("/searches", response_model=list[SearchShown])
async def list_searches() -> Any:
    """How answers can be looked for."""
    return await asyncio.to_thread(searches_document)
