"""Worker processes, seen from the server. `worker.py` runs in the processes."""

import asyncio
import json
import logging
import os
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Protocol

from paretofoil.core.json import write_document
from paretofoil.web.errors import WorkerFailure
from paretofoil.web.settings import Settings
from paretofoil.web.worker import PROGRESS

_START = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])  # find modules where the server finds them
from paretofoil.web.worker import main
main(int(sys.argv[2]), sys.argv[3:])
"""
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")

NICENESS = 5
"""The niceness of workers, so that the server, with a higher priority, responds without delay."""
TASKS_PER_PROCESS = 200
"""Number of tasks after which a new process replaces the old one."""
QUICK_TASKS_PER_PROCESS = 20_000
"""Number of quick tasks after which their process is replaced. It is large, because the process caches episodes."""
FIRST_DELAY, LONGEST_DELAY = 1.0, 30.0
"""First and longest delay in seconds before another attempt to start a process that has failed more than once."""
LOG = logging.getLogger(__name__)


def encode_task(kind: str, address: str, request: Mapping[str, Any]) -> bytes:
    """Return a task for a worker as a line of JSON; the address says where the agent is stored."""
    return write_document({"kind": kind, "address": address, "request": dict(request)}).encode()


class Worker(Protocol):
    """What the job queue needs of a worker, which is a process or, in notebooks, a thread."""

    @property
    def is_ready(self) -> bool: ...
    @property
    def problem(self) -> str | None: ...
    @property
    def delay(self) -> float: ...
    async def start(self) -> None: ...
    async def run(self, task: bytes, on_progress: Callable[[bytes], None], seconds: float) -> tuple[bytes, bytes]: ...
    def kill(self) -> None: ...
    async def close(self) -> None: ...


class WorkerProcess:
    """A process that runs one task at a time, and is replaced when it ends."""

    def __init__(self, settings: Settings, *, niceness: int, tasks_per_process: int) -> None:
        """Prepare a process without starting it. After `tasks_per_process` tasks, a new one frees the memory."""
        self._settings, self._niceness, self._tasks_per_process = settings, niceness, tasks_per_process
        self._limit = settings.memory // 2
        """Largest length of a result, in bytes."""
        self._process: Process | None = None
        self._num_tasks = 0
        self._killed = False
        self._num_failures = 0
        """Number of consecutive processes that could not be started, or ended before they finished a task."""
        self._problem: str | None = None

    @property
    def is_ready(self) -> bool:
        return self._process is not None and not self._killed and self._process.returncode is None

    @property
    def problem(self) -> str | None:
        """Why no task can run now; None if tasks can run."""
        return None if self.is_ready else self._problem

    @property
    def delay(self) -> float:
        """Seconds to wait before the next start. The delay doubles with each failure after the first."""
        return 0.0 if self._num_failures < 2 else min(FIRST_DELAY * 2.0 ** (self._num_failures - 2), LONGEST_DELAY)

    async def start(self) -> None:
        """Start a new process unless one is ready.

        Raises:
            WorkerFailure: If the system cannot start a process, for example because too many files are open.
        """
        if self.is_ready:
            return
        if self._process is not None and not self._killed:
            self._num_failures += 1
        await self.close()
        self._num_tasks, self._killed = 0, False
        try:
            self._process = await self._start()
        except OSError as error:
            self._num_failures += 1
            self._problem = f"a worker process could not be started ({error.strerror or error})"
            LOG.warning("%s; the next attempt is in %g seconds", self._problem, self.delay)
            raise WorkerFailure(f"{self._problem}; please ask again") from None
        repeated = f"the last {self._num_failures} worker processes ended before they finished a task"
        self._problem = repeated if self._num_failures > 1 else None
        if self._killed:  # it was killed while it started
            self.kill()

    async def run(self, task: bytes, on_progress: Callable[[bytes], None], seconds: float) -> tuple[bytes, bytes]:
        """Run a task and return the kind and the content of its last line.

        Raises:
            WorkerFailure: If the process ends, is killed or exceeds a limit. The next task gets a new process.
        """
        await self.start()
        try:
            async with asyncio.timeout(seconds):
                line = await self._converse(task, on_progress)
        except TimeoutError:
            self.kill()
            raise WorkerFailure(f"the task exceeded {seconds:g} seconds and was stopped; please ask again") from None
        except asyncio.IncompleteReadError:
            raise WorkerFailure("the worker process ended; please ask again") from None
        except asyncio.LimitOverrunError:
            self.kill()
            raise WorkerFailure(f"the result exceeded {self._limit:,} bytes; please ask about fewer steps") from None
        except BaseException:  # the rest of the output must not be read as the result of the next task
            self.kill()
            raise
        self._num_tasks, self._num_failures = self._num_tasks + 1, 0
        if self._num_tasks >= self._tasks_per_process:  # restart now, so that the next task does not wait for it
            self.kill()
            with suppress(WorkerFailure):
                await self.start()
        return line[:1], line[1:-1]

    async def _converse(self, task: bytes, on_progress: Callable[[bytes], None]) -> bytes:
        """Send a task to the process, report its progress, and return the line of its result."""
        assert self._process is not None
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with suppress(ConnectionError):
            self._process.stdin.write(task + b"\n")
            await self._process.stdin.drain()
        while (line := await self._process.stdout.readuntil(b"\n")).startswith(PROGRESS):
            on_progress(line[1:])
        return line

    def kill(self) -> None:
        """Stop the task. The process may live for a short time, but gets no other task."""
        self._killed = True
        if self._process is not None:
            with suppress(ProcessLookupError):
                self._process.kill()

    async def close(self) -> None:
        """End the process and wait until it has ended."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                self._process.kill()
            await self._process.communicate()  # `wait` would not return if output is left
            self._process = None

    async def _start(self) -> Process:
        arguments = [json.dumps(sys.path), str(self._niceness), *self._settings.allowed_modules]
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", _START, *arguments),
            stdin=PIPE,
            stdout=PIPE,
            limit=self._limit,
            env={**os.environ, **_ONE_THREAD},
            start_new_session=True,  # so that Ctrl+C reaches only the server, which then stops its workers
        )
