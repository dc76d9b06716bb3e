"""Routes of a user study: what it is about, taking part, and replies."""

import asyncio
from typing import Annotated, Any, Literal

from fastapi import APIRouter
from fastapi import Path as InPath
from pydantic import BaseModel, Field

from paretofoil.core.errors import InvalidInput
from paretofoil.web.house import Here, House
from paretofoil.web.models import Asked, Command
from paretofoil.web.study.running import RunningStudy

router = APIRouter(tags=["user study"])
MAX_SECONDS = 1e7

Key = Annotated[
    str, InPath(pattern=r"^[0-9a-f]{32}$", examples=["0" * 32], description="A random number that the page has made.")
]
Name = Annotated[str, Field(min_length=1, max_length=63)]


class Consent(Asked):
    """Somebody has read what the study is about."""

    agreed: Literal[True]


class ReplyAsked(Asked):
    """What a participant did at a step, and how long it took."""

    step: Name
    reply: Annotated[str, Field(max_length=200)] | Command | None = Field(
        default=None, description="An action, an agent or a command, as the step's kind asks for; null at the end."
    )
    ratings: dict[Name, Annotated[int, Field(strict=True)]] = Field(default={}, max_length=100)
    seconds: Annotated[float, Field(ge=0, le=MAX_SECONDS)]
    away: Annotated[float, Field(ge=0, le=MAX_SECONDS)] = 0.0
    loads: Annotated[int, Field(ge=1, le=1_000_000)] = 1


class StudyShown(BaseModel):
    title: str
    consent: list[str]
    introduction: list[str]
    thanks: list[str]
    steps: int


class ExplainedShown(BaseModel):
    time: int
    foil: str


class FilmShown(BaseModel):
    """An episode to watch."""

    agent: str
    command: list[float]
    seed: int
    until: int | None = Field(description="The moment at which it stops; its end if null.")
    explained: list[ExplainedShown]


class RatingShown(BaseModel):
    name: str
    text: str
    low: str
    high: str
    points: int
    asked: str


class StepShown(BaseModel):
    step: str
    kind: Literal["predict", "choose", "steer", "end"]
    text: str | None
    films: list[FilmShown]
    command: list[float] | None
    foil: str | None
    ratings: list[RatingShown]


class ParticipantShown(BaseModel):
    """A participant's way through the study."""

    shows: list[str]
    steps: list[StepShown]
    next: int = Field(description="The step that has no reply yet; behind the last one if all have.")


def _study(here: House) -> RunningStudy:
    if here.study is None:
        raise InvalidInput.expected("a server with a study", "one without")
    return here.study


@router.get("/study", response_model=StudyShown)
async def tell_study(here: Here) -> Any:
    """What the study is about, and what one agrees to."""
    return _study(here).about()


@router.put("/study/participants/{key}", response_model=ParticipantShown)
async def take_part(key: Key, asked: Consent, here: Here) -> Any:
    """Take part under a random number; who has it already goes on."""
    return await asyncio.to_thread(_study(here).join, key)


@router.get("/study/participants/{key}", response_model=ParticipantShown)
async def show_participant(key: Key, here: Here) -> Any:
    """How far a participant is, and what comes."""
    return await asyncio.to_thread(_study(here).show, key)


@router.post("/study/participants/{key}/replies", response_model=ParticipantShown)
async def take_reply(key: Key, asked: ReplyAsked, here: Here) -> Any:
    """Reply to the next step. The same reply may be sent again; a reply cannot be changed."""
    return await asyncio.to_thread(_study(here).take, key, asked.model_dump())
