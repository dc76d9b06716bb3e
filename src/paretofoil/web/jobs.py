"""The job queue: questions that take time. Each is computed once, by one worker, for everybody who asks it."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from threading import Condition, Thread
from typing import Any, Literal

from paretofoil.core.json import write_document
from paretofoil.web.cache import SizedCache
from paretofoil.web.errors import Busy, NotFound, WorkerFailure
from paretofoil.web.pool import WorkerProcess, encode_task
from paretofoil.web.settings import Settings
from paretofoil.web.tasks import LONG_TASKS
from paretofoil.web.worker import RESULT

State = Literal["waiting", "running", "done", "cancelled", "failed"]
NICENESS = 5
"""Workers have a lower priority than the server, which must respond at once."""
TASKS_PER_PROCESS = 200
JOB_SECONDS = 600.0
"""Time limit of a job, whatever its request says."""


@dataclass(eq=False)
class Job:
    """One question. Its fields change only under the lock of its queue."""

    key: str
    kind: str
    task: bytes
    num_clients: int = 1
    """Clients that wait for it. The job stops when the last one cancels."""
    state: State = "waiting"
    progress: float | None = None
    partial: list[Any] = field(default_factory=list)
    """Results so far."""
    partial_bytes: int = 0
    result: bytes | None = None
    """JSON, as the worker wrote it."""
    error: str | None = None
    worker: WorkerProcess | None = None

    @property
    def is_long(self) -> bool:
        return self.kind in LONG_TASKS

    @property
    def num_bytes(self) -> int:
        return len(self.task) + len(self.result or b"") + 4 * self.partial_bytes  # objects take more than their JSON

    def to_json(self) -> bytes:
        """Return the job as JSON. The result is copied, not parsed."""
        names = ("kind", "state", "progress", "partial", "error")
        document = write_document({"job": self.key, **{name: getattr(self, name) for name in names}})
        return f'{document[:-1]}, "result": '.encode() + (self.result or b"null") + b"}"


class JobQueue:
    """Jobs that wait, jobs that run, the workers that run them, and recent results."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._changed = Condition()
        self._open: dict[str, Job] = {}
        """Waiting and running jobs, first come, first served."""
        self._finished: SizedCache[Job] = SizedCache(settings.memory)
        self._closed = False
        self._workers: list[WorkerProcess] = []
        self._threads: list[Thread] = []

    def start(self) -> None:
        """Start the workers, each with a thread that waits for it."""
        for number in range(self._settings.num_workers):
            worker = WorkerProcess(
                self._settings.allowed_modules, niceness=NICENESS, tasks_per_process=TASKS_PER_PROCESS
            )
            self._workers.append(worker)
            self._threads.append(Thread(target=self._serve, args=(worker,), name=f"jobs {number}", daemon=True))
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        with self._changed:
            self._closed = True
            for worker in self._workers:
                worker.kill()
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()

    def submit(self, kind: str, address: str, request: Mapping[str, Any]) -> Job:
        """Return the job of a request. A request that was made before has the same job."""
        task = encode_task(kind, address, request)
        key = hashlib.sha256(task).hexdigest()[:32]
        with self._changed:
            if key in self._open:
                self._open[key].num_clients += 1
                return self._open[key]
            finished = self._finished.get(key)
            if finished is not None and finished.state == "done":
                return finished
            if self.count("waiting") >= self._settings.queue:
                raise Busy(f"{self.count('waiting')} questions are waiting; please ask again in a few seconds")
            self._open[key] = Job(key, kind, task)
            self._changed.notify_all()
            return self._open[key]

    def find(self, key: str) -> Job:
        with self._changed:
            job = self._open.get(key) or self._finished.get(key)
        if job is None:
            raise NotFound.expected("the key of a recent job (ask its question again)", repr(key[:80]))
        return job

    def to_json(self, job: Job) -> bytes:
        with self._changed:
            return job.to_json()

    def cancel(self, key: str) -> Job:
        """Stop waiting for a job. It is stopped if no other client waits for it."""
        job = self.find(key)
        with self._changed:
            job.num_clients -= 1
            if job.key in self._open and job.num_clients <= 0:
                if job.worker is not None:
                    job.worker.kill()
                self._finish(job, "cancelled")
        return job

    def count(self, state: State) -> int:
        """Return how many jobs are waiting, or running."""
        return sum(job.state == state for job in list(self._open.values()))

    def _serve(self, worker: WorkerProcess) -> None:
        """Give a worker one job after another until the queue closes."""
        while (job := self._next(worker)) is not None:
            try:
                kind, line = worker.run(job.task, partial(self._update, job), JOB_SECONDS)
            except WorkerFailure as error:
                self._finish(job, "failed", error=str(error))
                if not self._closed:
                    worker.replace()
                continue
            if kind == RESULT:
                self._finish(job, "done", result=line)
            else:
                self._finish(job, "failed", error=json.loads(line)["error"])
        worker.close()

    def _next(self, worker: WorkerProcess) -> Job | None:
        """Wait for a job. Long jobs leave one worker to short ones."""
        with self._changed:
            while not self._closed:
                num_long = sum(job.state == "running" and job.is_long for job in self._open.values())
                takes_long = num_long < max(1, self._settings.num_workers - 1)
                for job in self._open.values():
                    if job.state == "waiting" and (takes_long or not job.is_long):
                        job.state, job.worker = "running", worker
                        return job
                self._changed.wait()
        return None

    def _update(self, job: Job, line: bytes) -> None:
        update = json.loads(line)
        with self._changed:
            job.progress = update["progress"]
            job.partial += update["partial"]
            job.partial_bytes += len(line)

    def _finish(self, job: Job, state: State, *, result: bytes | None = None, error: str | None = None) -> None:
        """End a job. Only the first call has an effect."""
        with self._changed:
            if self._open.get(job.key) is not job:
                return
            del self._open[job.key]
            limit = self._settings.memory // 2
            if result is not None and len(result) > limit:
                error = f"expected a result of at most {limit:,} bytes, got {len(result):,}: ask about fewer steps"
                state, result = "failed", None
            job.state, job.result, job.error, job.worker = state, result, error, None
            if state == "done":
                job.progress, job.partial, job.partial_bytes = 1.0, [], 0
            self._finished.put(job.key, job, job.num_bytes)
            self._changed.notify_all()
