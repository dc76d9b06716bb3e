"""Jobs: questions that take time. Each is computed once, by one worker, for all who ask; all may give it up."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from threading import Condition, Thread
from typing import Any, Literal

from paretofoil.core.document import write_document
from paretofoil.web.errors import Busy, Unknown
from paretofoil.web.memory import Memory
from paretofoil.web.settings import Settings
from paretofoil.web.task import LONG
from paretofoil.web.worker import RESULT
from paretofoil.web.worker_process import Lost, WorkerProcess

State = Literal["waiting", "running", "done", "cancelled", "failed"]
STEP_BACK = 5
"""How much nicer a worker is than the server, which must answer at once."""
TASKS_EACH = 200
"""Of a worker's process."""
HARD_SECONDS = 600.0
"""A worker that takes longer is stopped, whatever it does."""


@dataclass(eq=False)
class Job:
    """One question. Its fields change under the lock of its jobs alone."""

    key: str
    kind: str
    task: bytes
    askers: int = 1
    """How many want to know; when the last one gives up, it is stopped."""
    state: State = "waiting"
    progress: float | None = None
    partial: list[Any] = field(default_factory=list)
    """What became known before the end."""
    heard: int = 0
    """Bytes of that."""
    result: bytes | None = None
    """JSON, as the worker wrote it."""
    error: str | None = None
    worker: WorkerProcess | None = None

    @property
    def long(self) -> bool:
        return self.kind in LONG

    @property
    def size(self) -> int:
        return len(self.task) + len(self.result or b"") + 4 * self.heard  # as objects, text takes more room

    def to_json(self) -> bytes:
        """What the page is told; the result is not parsed on its way."""
        names = ("kind", "state", "progress", "partial", "error")
        told = write_document({"job": self.key, **{name: getattr(self, name) for name in names}})
        return f'{told[:-1]}, "result": '.encode() + (self.result or b"null") + b"}"


class Jobs:
    """The queue, the workers, and what they found."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._changed = Condition()
        self._open: dict[str, Job] = {}
        """Waiting and running, in the order of asking."""
        self._kept: Memory[Job] = Memory(settings.memory)
        self._closed = False
        self._workers: list[WorkerProcess] = []
        self._threads: list[Thread] = []

    def start(self) -> None:
        """Start the workers, each with a thread that waits for it."""
        for number in range(self._settings.num_workers):
            worker = WorkerProcess(self._settings.allowed_modules, step_back=STEP_BACK, tasks_each=TASKS_EACH)
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

    def ask(self, kind: str, address: str, asked: Mapping[str, Any]) -> Job:
        """The job of a question: one that is known already, or a new one that waits for its turn."""
        task = write_document({"kind": kind, "address": address, "asked": dict(asked)}).encode()
        key = hashlib.sha256(task).hexdigest()[:32]
        with self._changed:
            if key in self._open:
                self._open[key].askers += 1
                return self._open[key]
            kept = self._kept.get(key)
            if kept is not None and kept.state == "done":
                return kept
            if self.waiting >= self._settings.queue:
                raise Busy("expected fewer questions at once: please ask again in a few seconds")
            self._open[key] = Job(key, kind, task)
            self._changed.notify_all()
            return self._open[key]

    def find(self, key: str) -> Job:
        with self._changed:
            found = self._open.get(key) or self._kept.get(key)
        if found is None:
            raise Unknown.expected("a job that is still known; ask its question again", repr(key[:80]))
        return found

    def tell(self, job: Job) -> bytes:
        with self._changed:
            return job.to_json()

    def give_up(self, key: str) -> Job:
        """One who asked does not want to know any more; if nobody else does, the work stops at once."""
        job = self.find(key)
        with self._changed:
            job.askers -= 1
            if job.key in self._open and job.askers <= 0:
                if job.worker is not None:
                    job.worker.kill()
                self._finish(job, "cancelled")
        return job

    @property
    def waiting(self) -> int:
        return sum(job.state == "waiting" for job in list(self._open.values()))

    @property
    def running(self) -> int:
        return sum(job.state == "running" for job in list(self._open.values()))

    def _serve(self, worker: WorkerProcess) -> None:
        """Give a worker one job after the other."""
        while (job := self._next(worker)) is not None:
            try:
                kind, line = worker.run(job.task, partial(self._hear, job), HARD_SECONDS)
            except Lost as error:
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
        with self._changed:
            while True:
                if self._closed:
                    return None
                job = self._first()
                if job is not None:
                    job.state, job.worker = "running", worker
                    return job
                self._changed.wait()

    def _first(self) -> Job | None:
        """The first that waits; long ones leave a worker to those who ask something short."""
        long = sum(job.state == "running" and job.long for job in self._open.values())
        room = long < max(1, self._settings.num_workers - 1)
        waiting = (job for job in self._open.values() if job.state == "waiting" and (room or not job.long))
        return next(waiting, None)

    def _hear(self, job: Job, line: bytes) -> None:
        told = json.loads(line)
        with self._changed:
            job.progress = told["progress"]
            job.partial += told["known"]
            job.heard += len(line)

    def _finish(self, job: Job, state: State, *, result: bytes | None = None, error: str | None = None) -> None:
        """The first end of a job is its only one."""
        with self._changed:
            if self._open.get(job.key) is not job:
                return
            del self._open[job.key]
            if result is not None and len(result) > self._settings.memory // 2:
                state, result, error = "failed", None, "expected a smaller result: ask about fewer moments"
            job.state, job.result, job.error, job.worker = state, result, error, None
            if state == "done":
                job.progress, job.partial, job.heard = 1.0, [], 0
            self._kept.put(job.key, job, job.size)
            self._changed.notify_all()
