"""Worker processes as the server holds them. `worker.py` is the other side."""

import asyncio
import json
import logging
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Lock, Timer
from typing import IO, Any

from paretofoil.core.errors import InvalidInput
from paretofoil.core.json import write_document
from paretofoil.core.options import now
from paretofoil.web.errors import STATUSES, Busy, WorkerFailure
from paretofoil.web.settings import Settings
from paretofoil.web.worker import PROGRESS, RESULT

_START = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])  # find modules where the server finds them
from paretofoil.web.worker import main
main(int(sys.argv[2]), sys.argv[3:])
"""
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")

MAX_QUICK_TASKS = 256
"""Quick tasks that may wait at the same time."""
QUICK_TASKS_PER_PROCESS = 20_000
"""The process of quick tasks caches episodes and pictures: restart it rarely."""
QUICK_SECONDS = 60.0
"""Time limit of a quick task."""
FIRST_DELAY, LONGEST_DELAY = 1.0, 30.0
"""Seconds between attempts to start a process after more than one failure."""
LOG = logging.getLogger(__name__)


def encode_task(kind: str, address: str, request: Mapping[str, Any]) -> bytes:
    """Return the line of JSON that asks a worker for a task about the agent at that address."""
    return write_document({"kind": kind, "address": address, "request": dict(request)}).encode()


class WorkerProcess:
    """A process that runs one task at a time, and is replaced when it ends."""

    def __init__(self, modules: Sequence[str], *, niceness: int, tasks_per_process: int) -> None:
        """Prepare the process. `start` starts it.

        Args:
            modules: Modules that agents' environments may import.
            niceness: How much lower its priority is than the server's.
            tasks_per_process: Number of tasks after which a new process takes its place, which frees its memory.
        """
        self._modules, self._niceness, self._tasks_per_process = modules, niceness, tasks_per_process
        self._lock = Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._num_tasks = 0
        self._killed = False
        self._num_failures = 0
        """Processes in a row that could not be started, or ended by themselves before they finished a task."""
        self.problem: str | None = None
        """Why no task can be run now; None if nothing is wrong."""

    @property
    def pid(self) -> int:
        return self._process.pid if self._process else 0

    @property
    def is_ready(self) -> bool:
        return self._process is not None and not self._killed and self._process.poll() is None

    @property
    def delay(self) -> float:
        """Seconds to wait before the next start. They double with each failure after the first."""
        return 0.0 if self._num_failures < 2 else min(FIRST_DELAY * 2.0 ** (self._num_failures - 2), LONGEST_DELAY)

    def start(self) -> None:
        """Start a new process unless one is ready.

        Raises:
            WorkerFailure: If the system cannot start a process, for example because too many files are open.
        """
        if self.is_ready:
            return
        with self._lock:
            if self._process is not None and not self._killed:
                self._num_failures += 1
            self.close()
            try:
                self._process = self._start()
            except OSError as error:
                self._num_failures += 1
                self.problem = f"a worker process could not be started ({error.strerror or error})"
                LOG.warning("%s; the next attempt is in %g seconds", self.problem, self.delay)
                raise WorkerFailure(f"{self.problem}; please ask again") from None
            repeated = f"the last {self._num_failures} worker processes ended before they finished a task"
            self.problem = repeated if self._num_failures > 1 else None
            self._num_tasks, self._killed = 0, False

    def run(self, task: bytes, on_progress: Callable[[bytes], None], seconds: float) -> tuple[bytes, bytes]:
        """Run a task and return the kind and the content of its last line.

        Raises:
            WorkerFailure: If the process ends, is killed or exceeds the time limit. The next task gets a new process.
        """
        self.start()
        end = now() + seconds
        alarm = Timer(seconds, self.kill)
        alarm.daemon = True
        alarm.start()
        try:
            line = self._converse(task, on_progress)
        finally:
            alarm.cancel()
        if not line.endswith(b"\n"):
            if now() >= end:
                raise WorkerFailure(f"the task exceeded {seconds:g} seconds and was stopped; please ask again")
            raise WorkerFailure("the worker process ended; please ask again")
        self._num_tasks, self._num_failures, self.problem = self._num_tasks + 1, 0, None
        if self._num_tasks >= self._tasks_per_process:  # now, so that the next task does not wait for the start
            self.kill()
            with suppress(WorkerFailure):
                self.start()
        return line[:1], line[1:-1]

    def _converse(self, task: bytes, on_progress: Callable[[bytes], None]) -> bytes:
        """Return the last line of a task. It has no line end if the process ended before."""
        assert self._process is not None
        stdin, stdout = _pipes(self._process)
        try:
            stdin.write(task + b"\n")
            stdin.flush()
        except OSError:
            return b""
        while (line := stdout.readline()).startswith(PROGRESS) and line.endswith(b"\n"):
            on_progress(line[1:])
        return line

    def kill(self) -> None:
        """Stop the task. The process may still live for a short time, but gets no other task."""
        with self._lock:  # not while `start` starts a new process, which would then stay alive
            self._killed = True
            if self._process is not None:
                self._process.kill()

    def close(self) -> None:
        """End the process and wait until it has ended."""
        if self._process is None:
            return
        self._process.kill()
        for pipe in _pipes(self._process):
            with suppress(OSError):  # half of a task may be left in it
                pipe.close()
        self._process.wait()
        self._process = None

    def _start(self) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            [sys.executable, "-c", _START, json.dumps(sys.path), str(self._niceness), *self._modules],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **_ONE_THREAD},
            start_new_session=True,  # Ctrl+C is for the server, which then stops its workers
        )


def _pipes(process: "subprocess.Popen[bytes]") -> tuple[IO[bytes], IO[bytes]]:
    assert process.stdin is not None
    assert process.stdout is not None
    return process.stdin, process.stdout


class QuickWorker:
    """One process for quick tasks, which run one after another and leave the event loop free."""

    def __init__(self, settings: Settings) -> None:
        self.process = WorkerProcess(settings.allowed_modules, niceness=0, tasks_per_process=QUICK_TASKS_PER_PROCESS)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="quick")
        self._waiting = 0

    def start(self) -> None:
        with suppress(WorkerFailure):  # the next task tries again
            self.process.start()

    async def run(self, kind: str, address: str, request: Mapping[str, Any]) -> bytes:
        """Return the result of a task as JSON, or raise the error that the task raised."""
        if self._waiting >= MAX_QUICK_TASKS:
            raise Busy(f"the server has {MAX_QUICK_TASKS} requests waiting; please try again in a few seconds")
        self._waiting += 1
        try:
            task = encode_task(kind, address, request)
            return await asyncio.get_running_loop().run_in_executor(self._thread, self._run, task)
        finally:
            self._waiting -= 1

    def _run(self, task: bytes) -> bytes:
        try:
            kind, line = self.process.run(task, lambda progress: None, QUICK_SECONDS)
        except WorkerFailure as error:
            raise Busy(str(error)) from None
        if kind == RESULT:
            return line
        failure = json.loads(line)
        if failure["status"] >= 500:
            raise RuntimeError(failure["error"])
        kinds = {status: kind for kind, status in STATUSES.items()}
        raise kinds.get(failure["status"], InvalidInput)(failure["error"])

    def close(self) -> None:
        self.process.kill()
        self._thread.shutdown(wait=True, cancel_futures=True)
        self.process.close()
