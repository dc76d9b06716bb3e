"""The desk: where quick work is done, one thing after another, by a process that keeps the event loop free."""

import asyncio
import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from paretofoil.core.document import write_document
from paretofoil.web.errors import Busy, retold
from paretofoil.web.settings import Settings
from paretofoil.web.worker import RESULT
from paretofoil.web.worker_process import Lost, WorkerProcess

MOST_WAITING = 256
"""Requests that may wait for the desk."""
TASKS_EACH = 20_000
"""Of the desk's process, which keeps episodes and pictures from one to the next."""
HARD_SECONDS = 60.0
"""What takes longer is no quick work, and is stopped."""


class Desk:
    """One process, and the thread that talks with it."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="desk")
        self._process: WorkerProcess | None = None
        self._waiting = 0

    def start(self) -> None:
        self._process = WorkerProcess(self._settings.allowed_modules, step_back=0, tasks_each=TASKS_EACH)

    async def do(self, kind: str, address: str, asked: Mapping[str, Any]) -> bytes:
        """The JSON of what was asked for; what was refused there is refused here."""
        if self._waiting >= MOST_WAITING:
            raise Busy("expected fewer requests at once: please come again in a few seconds")
        self._waiting += 1
        try:
            task = write_document({"kind": kind, "address": address, "asked": dict(asked)}).encode()
            return await asyncio.get_running_loop().run_in_executor(self._thread, self._do, task)
        finally:
            self._waiting -= 1

    def _do(self, task: bytes) -> bytes:
        assert self._process is not None, "the desk is open as long as the server runs"
        try:
            kind, line = self._process.run(task, lambda told: None, HARD_SECONDS)
        except Lost as error:
            raise Busy(f"expected it to be done at once, but {error}") from None
        if kind == RESULT:
            return line
        told = json.loads(line)
        if told["status"] >= 500:
            raise RuntimeError(told["error"])
        raise retold(told["error"], told["status"])

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
        self._thread.shutdown(wait=True, cancel_futures=True)
        if self._process is not None:
            self._process.close()
