"""The web application: the server's state, its routes and the page."""

import asyncio
import base64
import json
import mimetypes
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Depends, FastAPI, Query, Request, Response
from fastapi import Path as InPath
from fastapi.exceptions import RequestValidationError
from fastapi.responses import RedirectResponse
from fastapi.staticfiles import StaticFiles
from pydantic import BeforeValidator
from starlette.exceptions import HTTPException

from paretofoil.core import __version__
from paretofoil.core.errors import InvalidInput
from paretofoil.core.options import OptionInfo, describe_options
from paretofoil.web import models
from paretofoil.web.agent_store import AgentStore
from paretofoil.web.documents import agent_document, agent_summary, searches_document
from paretofoil.web.errors import STATUSES, Busy, WorkerFailure
from paretofoil.web.guard import Guard, respond
from paretofoil.web.jobs import JobQueue
from paretofoil.web.models import Command, Seed, Step
from paretofoil.web.pool import NICENESS, QUICK_TASKS_PER_PROCESS, TASKS_PER_PROCESS, Worker, WorkerProcess, encode_task
from paretofoil.web.settings import Settings
from paretofoil.web.user_study.plan import read_user_study
from paretofoil.web.user_study.session import UserStudySession, study_router
from paretofoil.web.worker import RESULT

ABOUT = """
Questions to command-conditioned agents: why this action, and not that one? Responses contain the library's JSON.

Errors have the form `{"error": "one sentence"}`.
"""
Responses = dict[int | str, dict[str, Any]]
ERRORS: Responses = {
    status: {"model": models.ErrorMessage, "description": description}
    for status, description in {404: "Not found", 422: "Invalid request", 503: "Too many requests; retry"}.items()
}
PNG: Responses = {200: {"content": {"image/png": {}}, "description": "A picture"}}
LIBRARY_JSON: Responses = {
    200: {"content": {"application/json": {}}, "description": "The library's JSON, with texts and links to pictures"}
}
FINISHED_JOB: Responses = {200: {"model": models.JobStatus, "description": "The job"}}
NEW_JOB: Responses = {**FINISHED_JOB, 202: {"model": models.JobStatus, "description": "The job has started"}}
MAX_QUICK_TASKS = 256
"""Largest number of waiting quick tasks."""
QUICK_SECONDS = 60.0
"""Time limit of a quick task."""
MIME_TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
"""Set here because some machines define other types, with which browsers refuse to run the scripts."""


class Server:
    """The settings, agents, workers and user study that all routes share."""

    def __init__(self, settings: Settings, agents: AgentStore, quick: Worker, workers: Sequence[Worker]) -> None:
        """Load the user study."""
        study = None if settings.study is None else read_user_study(settings.study)
        self.settings, self.agents = settings, agents
        self.quick, self.jobs = quick, JobQueue(settings, workers)
        self._turn, self._waiting = asyncio.Lock(), 0
        """The turn of a quick task, and the number of quick tasks that wait or run."""
        self.study = None if study is None else UserStudySession(study, self.agents.agent, settings.replies_path)

    @classmethod
    def of_processes(cls, settings: Settings) -> "Server":
        """Return a server that has loaded its agents and has a process for each worker."""
        quick = WorkerProcess(settings, niceness=0, tasks_per_process=QUICK_TASKS_PER_PROCESS)
        workers = [
            WorkerProcess(settings, niceness=NICENESS, tasks_per_process=TASKS_PER_PROCESS)
            for _ in range(settings.num_workers)
        ]
        return cls(settings, AgentStore(settings), quick, workers)

    async def start(self) -> None:
        with suppress(WorkerFailure):  # the first task tries again
            await self.quick.start()
        await self.jobs.start()

    async def run_quick(self, kind: str, request: dict[str, Any]) -> bytes:
        """Run a quick task about the agent of a request, and return its result as JSON, or raise its error.

        Quick tasks run one after another, without blocking the event loop.
        """
        task = encode_task(kind, self.agents.address(request["agent"]), request)
        if self._waiting >= MAX_QUICK_TASKS:
            raise Busy(f"the server has {MAX_QUICK_TASKS} requests waiting; please try again in a few seconds")
        self._waiting += 1
        try:
            async with self._turn:
                outcome, line = await self.quick.run(task, lambda progress: None, QUICK_SECONDS)
        except WorkerFailure as error:
            raise Busy(str(error)) from None
        finally:
            self._waiting -= 1
        if outcome == RESULT:
            return line
        failure = json.loads(line)
        if failure["status"] >= 500:
            raise RuntimeError(failure["error"])
        kinds = {status: error for error, status in STATUSES.items()}
        raise kinds.get(failure["status"], InvalidInput)(failure["error"])

    async def close(self) -> None:
        await self.jobs.close()
        await self.quick.close()
        self.agents.close()
        if self.study is not None:
            self.study.close()


def create_app(settings: Settings | None = None) -> FastAPI:
    """Return the application with its agents loaded. Its workers start and stop with its lifespan."""
    return app_of(Server.of_processes(settings or Settings()))


def app_of(server: Server) -> FastAPI:
    """Return the application of a server. The server starts and stops with the lifespan of the application."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        await server.start()
        try:
            yield
        finally:
            await server.close()

    app = FastAPI(
        title="Paretofoil",
        version=__version__,
        description=ABOUT,
        openapi_url="/api/openapi.json",
        docs_url=None,  # its page would load scripts from another site
        redoc_url=None,
        redirect_slashes=False,
        lifespan=lifespan,
    )
    app.state.server = server
    app.include_router(router, prefix="/api", responses=ERRORS)
    if server.study is not None:
        app.include_router(study_router(server.study), prefix="/api", responses=ERRORS)
    for suffix, mime_type in MIME_TYPES.items():
        mimetypes.add_type(mime_type, suffix)
    app.mount("/page", StaticFiles(directory=page_folder(), html=True))
    start_page = "/page/" if server.study is None else "/page/study.html"

    @app.get("/", include_in_schema=False)
    async def redirect_to_page(request: Request) -> RedirectResponse:
        return RedirectResponse(f"{start_page}?{request.url.query}" if request.url.query else start_page)

    for kind in (HTTPException, RequestValidationError):
        app.add_exception_handler(kind, respond)
    app.add_middleware(Guard, settings=server.settings)
    return app


def page_folder() -> Path:
    """Return the folder of the page's files."""
    return Path(str(files("paretofoil.web"))) / "page"


def _server(request: Request) -> Server:
    server: Server = request.app.state.server
    return server


router = APIRouter()
ServerDep = Annotated[Server, Depends(_server)]
Name = Annotated[str, InPath(max_length=200, examples=["deep-sea-treasure"])]
JobKey = Annotated[str, InPath(max_length=200)]
_SPLIT = BeforeValidator(lambda values: [number for value in values for number in value.split(",")])
_COMMAND = Query(examples=[["8,-8"]], description="Numbers, separated by commas.")


@router.get("/health", tags=["server"])
async def health(server: ServerDep, response: Response) -> models.Health:
    """Return the version, the number of jobs, and the problems of the workers."""
    problems, quick = server.jobs.problems, server.quick.problem
    failing = quick is not None or len(problems) == len(server.jobs.workers)
    response.status_code = 503 if failing else 200
    return models.Health(
        status="failing" if failing else "degraded" if problems else "ok",
        problems=problems if quick is None else [*problems, f"quick tasks: {quick}"],
        version=__version__,
        waiting=server.jobs.count("waiting"),
        running=server.jobs.count("running"),
    )


@router.get("/agents", tags=["agents"])
async def list_agents(server: ServerDep) -> list[dict[str, Any]]:
    """List the agents."""
    return [agent_summary(server.agents, name) for name in server.agents.names()]


@router.get("/agents/{name}", tags=["agents"])
async def show_agent(name: Name, server: ServerDep) -> dict[str, Any]:
    """Return an agent with its command space, its front and its provenance."""
    return agent_document(server.agents, name)


@router.get("/agents/{name}/picture.png", response_class=Response, responses=PNG, tags=["agents"])
async def show_environment(name: Name, server: ServerDep) -> Response:
    """Return a picture of the agent's environment before the first step."""
    return await _picture(server, "start-picture", {"agent": name})


@router.post("/agents", status_code=201, tags=["agents"])
async def upload_agent(request: models.Upload, server: ServerDep) -> dict[str, Any]:
    """Upload an agent in the library's format. It exists until the server stops."""
    await asyncio.to_thread(server.agents.upload, request.name, request.description, request.weights)
    return agent_document(server.agents, request.name)


@router.delete("/agents/{name}", tags=["agents"])
async def delete_agent(name: Name, server: ServerDep) -> dict[str, str]:
    """Delete an uploaded agent. Its name is not used again while the server runs."""
    server.agents.delete(name)
    return {"deleted": name}


@router.get("/searches", tags=["agents"])
async def list_searches() -> list[dict[str, Any]]:
    """List the searches."""
    return await asyncio.to_thread(searches_document)


@router.get("/options", tags=["questions"])
async def list_options() -> list[OptionInfo]:
    """List the options of a question. The page's form is derived from this list."""
    return list(describe_options())


@router.post("/folded", response_class=Response, responses=LIBRARY_JSON, tags=["agents"])
async def fold(request: models.FoldedRequest, server: ServerDep) -> Response:
    """Return the policy at a state as a small network of the command, which the page evaluates."""
    return _json(await server.run_quick("folded", request.model_dump()))


@router.post("/probabilities", response_class=Response, responses=LIBRARY_JSON, tags=["agents"])
async def list_probabilities(request: models.ProbabilitiesRequest, server: ServerDep) -> Response:
    """Return the probabilities of the actions at a state under each command. The page needs them for black boxes."""
    return _json(await server.run_quick("probabilities", request.model_dump()))


@router.post("/episodes", response_class=Response, responses=LIBRARY_JSON, tags=["episodes"])
async def roll_out(request: models.EpisodeRequest, server: ServerDep) -> Response:
    """Return the greedy episode under a command."""
    return _json(await server.run_quick("episode", request.model_dump()))


@router.post("/consequences", response_class=Response, responses=LIBRARY_JSON, tags=["episodes"])
async def roll_on(request: models.ConsequenceRequest, server: ServerDep) -> Response:
    """Return the rest of an episode after another command is issued, and what that command achieves.

    In a stochastic environment, `consequence` has means over many runs, and `episode` is one of these runs.
    """
    return _json(await server.run_quick("consequence", request.model_dump()))


@router.get("/pictures", response_class=Response, responses=PNG, tags=["episodes"])
async def show_step(
    server: ServerDep,
    agent: Annotated[str, Query(max_length=200)],
    command: Annotated[Command, _SPLIT, _COMMAND],
    step: Annotated[Step, Query()],
    seed: Annotated[Seed, Query()] = 0,
    since: Annotated[Step | None, Query()] = None,
    issued: Annotated[Command | None, _SPLIT, _COMMAND] = None,
) -> Response:
    """Return the picture of a step. The command `issued`, if there is one, replaces `command` from step `since` on."""
    if (since is None) != (issued is None):
        raise InvalidInput.expected("both since and issued, or neither", f"since={since} and issued={issued}")
    fields = {"agent": agent, "command": command, "seed": seed, "step": step, "since": since, "issued": issued}
    return await _picture(server, "picture", fields)


@router.post("/answers", response_class=Response, responses=NEW_JOB, tags=["questions"])
async def ask(request: models.AnswerRequest, server: ServerDep) -> Response:
    """Ask for the smallest change of the command that makes the agent choose the foil.

    The result has the library's `answer`, its `sentence` and `paragraph`, and `python`, lines that compute the answer.
    """
    return await _submit(server, "answer", "check-answer", request)


@router.post("/flip-maps", response_class=Response, responses=NEW_JOB, tags=["questions"])
async def map_flips(request: models.FlipMapRequest, server: ServerDep) -> Response:
    """Ask about every step of an episode and every foil. Finished answers are in `partial` while the job runs."""
    return await _submit(server, "flip-map", "check-steps", request)


@router.post("/influence", response_class=Response, responses=NEW_JOB, tags=["questions"])
async def measure_influence(request: models.InfluenceRequest, server: ServerDep) -> Response:
    """Measure how much the command matters: for each step, the share of commands under which each action is chosen.

    Finished steps are in `partial` while the job runs. `seconds` is the time limit per step.
    """
    return await _submit(server, "influence", "check-steps", request)


@router.post("/atlases", response_class=Response, responses=NEW_JOB, tags=["questions"])
async def map_outcomes(request: models.AtlasRequest, server: ServerDep) -> Response:
    """Return the proven outcome of every command as a map, for an agent with two objectives.

    `winners` has the number of the outcome of each pixel in base64, row by row from the top; 255 means undecided.
    """
    return await _submit(server, "atlas", "check-atlas", request)


@router.get("/jobs/{key}", response_class=Response, responses=FINISHED_JOB, tags=["questions"])
async def show_job(key: JobKey, server: ServerDep) -> Response:
    """Return a job."""
    return _json(server.jobs.find(key).to_json())


@router.delete("/jobs/{key}", response_class=Response, responses=FINISHED_JOB, tags=["questions"])
async def cancel_job(key: JobKey, ticket: Annotated[str, Query(max_length=200)], server: ServerDep) -> Response:
    """Give back the ticket that came with a job. The job is stopped if no other client waits for it."""
    return _json(server.jobs.cancel(key, ticket).to_json())


async def _submit(
    server: Server, kind: str, check: str, request: models.EpisodeRequest | models.AtlasRequest
) -> Response:
    """Check a question in a quick task, and return its job."""
    fields = json.loads(await server.run_quick(check, request.model_dump(mode="json")))
    job, ticket = server.jobs.submit(kind, server.agents.address(request.agent), fields)
    return _json(job.to_json(ticket), 200 if ticket is None else 202)


def _json(content: bytes, status: int = 200) -> Response:
    return Response(content, status, media_type="application/json")


async def _picture(server: Server, kind: str, request: dict[str, Any]) -> Response:
    """Return a picture that browsers may cache for ten minutes."""
    png = base64.b64decode(json.loads(await server.run_quick(kind, request)))
    return Response(png, media_type="image/png", headers={"Cache-Control": "private, max-age=600"})
