"""Routes about episodes: what happens, what is seen, and what would happen."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from paretofoil.core.document import MAX_NUMBER
from paretofoil.core.errors import InvalidInput
from paretofoil.explanation.consequence import consequence
from paretofoil.web.document import episode_document
from paretofoil.web.house import Here, House
from paretofoil.web.models import MAX_COMMAND, ConsequenceAsked, EpisodeAsked, Seed, Time
from paretofoil.web.moment import Course, checked
from paretofoil.web.routes_agents import PICTURE, PNG

router = APIRouter(tags=["episodes"])
Listed = Annotated[str, Query(max_length=2000, examples=["8,-8"], description="Numbers with commas between them.")]


@router.post("/episodes")
async def roll_out(asked: EpisodeAsked, here: Here) -> dict[str, Any]:
    """The agent's greedy episode under a command, with probabilities, words and pictures."""
    course = Course(asked.agent, tuple(asked.command), asked.seed)
    return await here.desk.do(lambda: _episode(here, course))


@router.post("/consequences")
async def follow(asked: ConsequenceAsked, here: Here) -> dict[str, Any]:
    """What happens from a moment on if another command is issued there: an episode's rest, and what it achieves.

    Where chance plays, `consequence` tells means over many runs, and the rest of the episode is one of them.
    """
    course = Course(asked.agent, tuple(asked.command), asked.seed, asked.time, tuple(asked.issued))
    return await here.desk.do(lambda: _consequence(here, course))


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


def _episode(here: House, course: Course) -> dict[str, Any]:
    return episode_document(here.shelf.agent(course.agent), course, here.moments.episode(course))


def _consequence(here: House, course: Course) -> dict[str, Any]:
    agent, issued = here.shelf.agent(course.agent), course.issued or ()
    decision = here.moments.decision(course.original, course.since or 0)
    after = consequence(agent, decision, checked(agent, issued), seed=course.seed)
    return {"episode": _episode(here, course), "consequence": after.to_dict()}


def _numbers(listed: str) -> tuple[float, ...]:
    """ "8,-8" -> (8.0, -8.0)."""
    try:
        numbers = tuple(map(float, listed.split(",")[: MAX_COMMAND + 1]))
    except ValueError:
        raise InvalidInput.expected("numbers with commas between them, such as 8,-8", repr(listed)) from None
    if not all(abs(number) <= MAX_NUMBER for number in numbers):
        raise InvalidInput.expected("finite numbers", repr(listed))
    return numbers
