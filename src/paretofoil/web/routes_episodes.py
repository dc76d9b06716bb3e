"""Routes about episodes: what happens, what is seen, and what would happen."""

import base64
import json
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from paretofoil.core.document import MAX_NUMBER
from paretofoil.core.errors import InvalidInput
from paretofoil.web.house import Here, House
from paretofoil.web.models import MAX_COMMAND, ConsequenceAsked, EpisodeAsked, Seed, Time

router = APIRouter(tags=["episodes"])
PNG: dict[int | str, dict[str, Any]] = {200: {"content": {"image/png": {}}, "description": "A picture"}}
JSON: dict[int | str, dict[str, Any]] = {
    200: {
        "content": {"application/json": {}},
        "description": "The library's JSON, with words and addresses of pictures",
    }
}
Listed = Annotated[str, Query(max_length=2000, examples=["8,-8"], description="Numbers with commas between them.")]


@router.post("/episodes", response_class=Response, responses=JSON)
async def roll_out(asked: EpisodeAsked, here: Here) -> Response:
    """The agent's greedy episode under a command, with probabilities, words and pictures."""
    return Response(await here.quick("episode", asked.model_dump()), media_type="application/json")


@router.post("/consequences", response_class=Response, responses=JSON)
async def follow(asked: ConsequenceAsked, here: Here) -> Response:
    """What happens from a moment on if another command is issued there: an episode's rest, and what it achieves.

    Where chance plays, `consequence` tells means over many runs, and the rest of the episode is one of them.
    """
    told = await here.quick("consequence", {**asked.model_dump(), "since": asked.time})
    return Response(told, media_type="application/json")


@router.get("/pictures", response_class=Response, responses=PNG)
async def show_moment(
    here: Here,
    agent: Annotated[str, Query(max_length=200)],
    command: Listed,
    time: Annotated[Time, Query()],
    seed: Annotated[Seed, Query()] = 0,
    since: Annotated[Time | None, Query()] = None,
    issued: Listed | None = None,
) -> Response:
    """What is seen at a moment; with `since` and `issued`, after another command was issued at that moment."""
    if (since is None) != (issued is None):
        raise InvalidInput.expected("both since and issued, or neither", "one of them")
    other = {"since": since, "issued": None if issued is None else _numbers(issued)}
    return await picture(
        here, "picture", {"agent": agent, "command": _numbers(command), "seed": seed, "time": time, **other}
    )


async def picture(here: House, kind: str, asked: dict[str, Any]) -> Response:
    """A picture; the same address shows the same, unless an agent was trained anew."""
    png = base64.b64decode(json.loads(await here.quick(kind, asked)))
    return Response(png, media_type="image/png", headers={"Cache-Control": "private, max-age=600"})


def _numbers(listed: str) -> list[float]:
    """ "8,-8" -> [8.0, -8.0]."""
    try:
        numbers = [float(number) for number in listed.split(",")[: MAX_COMMAND + 1]]
    except ValueError:
        raise InvalidInput.expected("numbers with commas between them, such as 8,-8", repr(listed)) from None
    if not all(abs(number) <= MAX_NUMBER for number in numbers):
        raise InvalidInput.expected("finite numbers", repr(listed))
    return numbers
