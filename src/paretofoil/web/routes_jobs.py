"""Routes about questions that take time: they give a job, which is asked about until it is done."""

from typing import Annotated, Any

from fastapi import APIRouter, Response
from fastapi import Path as InPath

from paretofoil.core.errors import InvalidInput
from paretofoil.explanation.pose import find_action, paper_box, pose, restrict
from paretofoil.search.registry import choose_search
from paretofoil.web.house import Here, House
from paretofoil.web.jobs import Job
from paretofoil.web.models import AnswerAsked, EpisodeAsked, FlipMapAsked, JobShown
from paretofoil.web.moment import Course

router = APIRouter(tags=["questions"])
Key = Annotated[str, InPath(max_length=200)]
SHOWN: dict[int | str, dict[str, Any]] = {200: {"model": JobShown, "description": "Known already, or told so far"}}
ASKED: dict[int | str, dict[str, Any]] = {**SHOWN, 202: {"model": JobShown, "description": "Begun"}}


@router.post("/answers", response_class=Response, responses=ASKED)
async def ask(asked: AnswerAsked, here: Here) -> Response:
    """Why not the foil? The smallest change of the command under which the agent would have chosen it.

    The result has the library's `answer`, its `sentence` and `paragraph`, and the `python` lines that give the same.
    """
    fields = await here.desk.do(lambda: _checked_answer(here, asked))
    return _begun(here, here.jobs.ask("answer", here.shelf.place(asked.agent).address, fields))


@router.post("/flip-maps", response_class=Response, responses=ASKED)
async def map_flips(asked: FlipMapAsked, here: Here) -> Response:
    """Every moment of an episode and every foil; answers come in `partial` while the rest is searched for."""
    fields = await here.desk.do(lambda: _checked_moments(here, asked))
    return _begun(here, here.jobs.ask("flip-map", here.shelf.place(asked.agent).address, fields))


@router.get("/jobs/{key}", response_class=Response, responses=SHOWN)
async def show_job(key: Key, here: Here) -> Response:
    """What became of a question."""
    return _told(here, here.jobs.find(key))


@router.delete("/jobs/{key}", response_class=Response, responses=SHOWN)
async def give_up(key: Key, here: Here) -> Response:
    """Stop waiting for an answer; its search is stopped as soon as nobody waits for it any more."""
    return _told(here, here.jobs.give_up(key))


def _begun(here: House, job: Job) -> Response:
    return _told(here, job, 200 if job.state == "done" else 202)


def _told(here: House, job: Job, status: int = 200) -> Response:
    return Response(here.jobs.tell(job), status, media_type="application/json")


def _course(asked: EpisodeAsked) -> Course:
    return Course(asked.agent, tuple(asked.command), asked.seed)


def _checked_answer(here: House, asked: AnswerAsked) -> dict[str, Any]:
    """The fields of a question that can be asked; whatever is wrong with it is told now, not by a worker."""
    agent = here.shelf.agent(asked.agent)
    decision = here.moments.decision(_course(asked), asked.time)
    foil = find_action(asked.foil, agent.actions, decision.valid_actions)
    if foil == decision.action:
        raise InvalidInput.expected("a foil that the agent does not choose", agent.actions[foil])
    choose_search(asked.search, agent.policy, asked.seed)
    box = paper_box(agent, asked.box)
    question = pose(agent.policy, decision, foil, agent.space, agent.front, norm=asked.norm, box=box)
    restrict(question, asked.keep, asked.ranges)
    return {**asked.model_dump(mode="json"), "foil": foil}


def _checked_moments(here: House, asked: FlipMapAsked) -> dict[str, Any]:
    agent = here.shelf.agent(asked.agent)
    episode = here.moments.episode(_course(asked))
    for time in asked.times or ():
        if time >= len(episode):
            raise InvalidInput.expected(f"moments from 0 to {len(episode) - 1} of this episode", time)
    choose_search(asked.search, agent.policy, asked.seed)
    times = None if asked.times is None else sorted(set(asked.times))
    return {**asked.model_dump(mode="json"), "times": times}
