"""Routes about questions that take time: they give a job, which is asked about until it is done."""

import json
from typing import Annotated, Any

from fastapi import APIRouter, Response
from fastapi import Path as InPath

from paretofoil.web.house import Here, House
from paretofoil.web.jobs import Job
from paretofoil.web.models import AnswerAsked, EpisodeAsked, FlipMapAsked, InfluenceAsked, JobShown

router = APIRouter(tags=["questions"])
Key = Annotated[str, InPath(max_length=200)]
SHOWN: dict[int | str, dict[str, Any]] = {200: {"model": JobShown, "description": "Known already, or told so far"}}
ASKED: dict[int | str, dict[str, Any]] = {**SHOWN, 202: {"model": JobShown, "description": "Begun"}}


@router.post("/answers", response_class=Response, responses=ASKED)
async def ask(asked: AnswerAsked, here: Here) -> Response:
    """Why not the foil? The smallest change of the command under which the agent would have chosen it.

    The result has the library's `answer`, its `sentence` and `paragraph`, and the `python` lines that give the same.
    """
    return await _begin(here, "answer", "check-answer", asked)


@router.post("/flip-maps", response_class=Response, responses=ASKED)
async def map_flips(asked: FlipMapAsked, here: Here) -> Response:
    """Every moment of an episode and every foil; answers come in `partial` while the rest is searched for."""
    return await _begin(here, "flip-map", "check-times", asked)


@router.post("/influence", response_class=Response, responses=ASKED)
async def measure_influence(asked: InfluenceAsked, here: Here) -> Response:
    """Does my wish matter here? For each moment, the share of all commands under which each action is chosen.

    Moments come in `partial` while the others are proven; `seconds` are those of each.
    """
    return await _begin(here, "influence", "check-times", asked)


@router.get("/jobs/{key}", response_class=Response, responses=SHOWN)
async def show_job(key: Key, here: Here) -> Response:
    """What became of a question."""
    return _told(here, here.jobs.find(key))


@router.delete("/jobs/{key}", response_class=Response, responses=SHOWN)
async def give_up(key: Key, here: Here) -> Response:
    """Stop waiting for an answer; its search is stopped as soon as nobody waits for it any more."""
    return _told(here, here.jobs.give_up(key))


async def _begin(here: House, kind: str, check: str, asked: EpisodeAsked) -> Response:
    """A job for a question that can be asked; one that cannot is refused at once."""
    fields = json.loads(await here.quick(check, asked.model_dump(mode="json")))
    job = here.jobs.ask(kind, here.shelf.place(asked.agent).address, fields)
    return _told(here, job, 200 if job.state == "done" else 202)


def _told(here: House, job: Job, status: int = 200) -> Response:
    return Response(here.jobs.tell(job), status, media_type="application/json")
