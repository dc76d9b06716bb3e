"""Routes about episodes: what happens, what is seen, and what would happen."""

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from paretofoil.core.document import MAX_NUMBER, write_document
from paretofoil.core.errors import InvalidInput
from paretofoil.web.document import consequence_document, course_document
from paretofoil.web.house import Here, House
from paretofoil.web.models import MAX_COMMAND, ConsequenceAsked, EpisodeAsked, Seed, Time
from paretofoil.web.moment import Course
from paretofoil.web.routes_agents import PICTURE, PNG

router = APIRouter(tags=["episodes"])
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
    course = Course(asked.agent, tuple(asked.command), asked.seed)
    return await _told(here, lambda: course_document(here.shelf, here.moments, course))


@router.post("/consequences", response_class=Response, responses=JSON)
async def follow(asked: ConsequenceAsked, here: Here) -> Response:
    """What happens from a moment on if another command is issued there: an episode's rest, and what it achieves.

    Where chance plays, `consequence` tells means over many runs, and the rest of the episode is one of them.
    """
    course = Course(asked.agent, tuple(asked.command), asked.seed, asked.time, tuple(asked.issued))
    return await _told(here, lambda: consequence_document(here.shelf, here.moments, course))


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
    other = None if issued is None else _numbers(issued)
    course = Course(agent, _numbers(command), seed, since, other)
    png = await here.desk.do(lambda: here.pictures.of_moment(course, time))
    return Response(png, media_type="image/png", headers=PICTURE)


async def _told(here: House, made: Callable[[], dict[str, Any]]) -> Response:
    """Written at the desk as well: an episode may be long, and the event loop must not wait for it."""
    return Response(await here.desk.do(lambda: write_document(made())), media_type="application/json")


def _numbers(listed: str) -> tuple[float, ...]:
    """ "8,-8" -> (8.0, -8.0)."""
    try:
        numbers = tuple(map(float, listed.split(",")[: MAX_COMMAND + 1]))
    except ValueError:
        raise InvalidInput.expected("numbers with commas between them, such as 8,-8", repr(listed)) from None
    if not all(abs(number) <= MAX_NUMBER for number in numbers):
        raise InvalidInput.expected("finite numbers", repr(listed))
    return numbers
