"""The job queue for questions that take time. Equal questions of several clients are one job of one worker."""

import asyncio
import hashlib
import json
import logging
import secrets
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from paretofoil.core.json import brief, write_document
from paretofoil.web.cache import SizedCache
from paretofoil.web.errors import Busy, NotFound, WorkerFailure
from paretofoil.web.pool import Worker, encode_task
from paretofoil.web.settings import Settings
from paretofoil.web.tasks import LONG_TASKS
from paretofoil.web.worker import RESULT

State = Literal["waiting", "running", "done", "cancelled", "failed"]
JOB_SECONDS = 600.0
"""Time limit of a job, whatever its request says."""
IDLE_SECONDS = 1.0
"""Seconds between checks of an idle worker."""
MAX_CLIENTS = 1000
"""Largest number of clients that may wait for one job."""
LOG = logging.getLogger(__name__)


@dataclass(eq=False)
class Job:
    """A question, its state and its result."""

    key: str
    kind: str
    task: bytes
    tickets: set[str] = field(default_factory=set)
    """One for each client that waits for the job. The job stops when the last one is given back."""
    state: State = "waiting"
    progress: float | None = None
    partial: list[Any] = field(default_factory=list)
    """The results so far."""
    partial_bytes: int = 0
    """Length of the JSON of these results."""
    result: bytes | None = None
    """The JSON that the worker wrote."""
    error: str | None = None
    worker: Worker | None = None

    def to_json(self, ticket: str | None = None) -> bytes:
        """Return the job as JSON with the ticket of one client. The result is inserted without parsing it."""
        names = ("kind", "state", "progress", "partial", "error")
        fields = {"job": self.key, "ticket": ticket, **{name: getattr(self, name) for name in names}}
        return f'{write_document(fields)[:-1]}, "result": '.encode() + (self.result or b"null") + b"}"


class JobQueue:
    """Waiting and running jobs, the workers that run them, and recent results. Use it in one event loop."""

    def __init__(self, settings: Settings, workers: Sequence[Worker]) -> None:
        self._settings, self.workers = settings, workers
        self._changed = asyncio.Event()
        self._open: dict[str, Job] = {}
        """Waiting and running jobs by key, in the order in which they were submitted."""
        self._finished: SizedCache[Job] = SizedCache(settings.memory)
        self._serving: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        for number, worker in enumerate(self.workers):
            with suppress(WorkerFailure):  # `_serve` tries again
                await worker.start()
            self._serving.append(asyncio.create_task(self._serve(worker), name=f"jobs {number}"))

    @property
    def problems(self) -> list[str]:
        """The problem of each worker that cannot run jobs."""
        return [worker.problem for worker in self.workers if worker.problem is not None]

    async def close(self) -> None:
        for task in self._serving:
            task.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)
        await asyncio.gather(*(worker.close() for worker in self.workers))

    def submit(self, kind: str, address: str, request: Mapping[str, Any]) -> tuple[Job, str | None]:
        """Return the job of a request, and the ticket that cancels the job (None if the job is done).

        Equal requests share one job, but each gets a ticket of its own.
        """
        task = encode_task(kind, address, request)
        key = hashlib.sha256(task).hexdigest()[:32]
        if key not in self._open:
            finished = self._finished.get(key)
            if finished is not None and finished.state == "done":
                return finished, None
            if self.count("waiting") >= self._settings.queue:
                raise Busy(f"{self.count('waiting')} questions are waiting; please ask again in a few seconds")
            self._open[key] = Job(key, kind, task)
            self._changed.set()
        job = self._open[key]
        if len(job.tickets) >= MAX_CLIENTS:
            raise Busy(f"{MAX_CLIENTS:,} clients wait for this question; please ask again in a few seconds")
        ticket = secrets.token_hex(16)
        job.tickets.add(ticket)
        return job, ticket

    def find(self, key: str) -> Job:
        job = self._open.get(key) or self._finished.get(key)
        if job is None:
            expected = "the key of a recent job (ask the question again to start a new one)"
            raise NotFound.expected(expected, repr(key[:80]))
        return job

    def cancel(self, key: str, ticket: str) -> Job:
        """Give a ticket back. The job is stopped if no other client has one."""
        job = self.find(key)
        if key in self._open:
            if ticket not in job.tickets:
                raise NotFound.expected("the ticket that came with the job", brief(ticket))
            job.tickets.remove(ticket)
            if not job.tickets:
                if job.worker is not None:
                    job.worker.kill()
                self._finish(job, "cancelled")
        return job

    def count(self, state: State) -> int:
        """Return the number of waiting or running jobs."""
        return sum(job.state == state for job in self._open.values())

    async def _serve(self, worker: Worker) -> None:
        """Give a worker one job after another, and restart its process whenever it has ended."""
        while True:
            if not worker.is_ready:
                await asyncio.sleep(worker.delay)
            with suppress(WorkerFailure):
                await worker.start()
                if (job := await self._next(worker)) is not None:
                    await self._run(worker, job)

    async def _run(self, worker: Worker, job: Job) -> None:
        try:
            kind, line = await worker.run(job.task, partial(self._update, job), JOB_SECONDS)
            if kind == RESULT:
                self._finish(job, "done", result=line)
            else:
                self._finish(job, "failed", error=json.loads(line)["error"])
        except WorkerFailure as error:
            self._finish(job, "failed", error=str(error))
        except Exception:  # the worker must continue with the next job
            LOG.exception("a job failed")
            self._finish(job, "failed", error="internal error; the server's log has the details")

    async def _next(self, worker: Worker) -> Job | None:
        """Wait for a job. Return None after IDLE_SECONDS, so that the caller can check the worker's process."""
        if self._choose() is None:
            self._changed.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), IDLE_SECONDS)
        job = self._choose()
        if job is not None:
            job.state, job.worker = "running", worker
        return job

    def _choose(self) -> Job | None:
        """Return the first job that can run. Long jobs leave one worker to short ones."""
        num_long = sum(job.state == "running" and job.kind in LONG_TASKS for job in self._open.values())
        takes_long = num_long < max(1, len(self.workers) - 1)
        waiting = (job for job in self._open.values() if job.state == "waiting")
        return next((job for job in waiting if takes_long or job.kind not in LONG_TASKS), None)

    def _update(self, job: Job, line: bytes) -> None:
        update = json.loads(line)
        job.progress = update["progress"]
        job.partial += update["partial"]
        job.partial_bytes += len(line)

    def _finish(self, job: Job, state: State, *, result: bytes | None = None, error: str | None = None) -> None:
        """End a job. Only the first call has an effect."""
        if self._open.get(job.key) is not job:
            return
        del self._open[job.key]
        job.state, job.result, job.error, job.worker = state, result, error, None
        if state == "done":
            job.progress, job.partial, job.partial_bytes = 1.0, [], 0
        num_bytes = len(job.task) + len(result or b"") + 4 * job.partial_bytes  # objects take more than their JSON
        self._finished.put(job.key, job, num_bytes)
        self._changed.set()
