"""A worker process as the server holds it: given one task at a time, stopped for good when nobody waits for it."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from threading import Lock, Timer
from typing import IO

from paretofoil.core.limit import now
from paretofoil.web.worker import PROGRESS

_START = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])  # it finds modules where the server does
from paretofoil.web.worker import main
main(int(sys.argv[2]), sys.argv[3:])
"""
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


class Lost(Exception):
    """The process ended in the middle of a task; the message says why."""


class WorkerProcess:
    """One process after another, each of which does one task at a time."""

    def __init__(self, modules: Sequence[str], *, step_back: int, tasks_each: int) -> None:
        """Say which modules it may import, and by how much it is nicer than the server.

        After so many tasks each, a fresh process takes its place, and whatever memory has gathered is given back.
        """
        self._modules, self._step_back, self._tasks_each = modules, step_back, tasks_each
        self._lock = Lock()
        self._process = self._start()
        self._done = 0
        self._killed = False

    @property
    def pid(self) -> int:
        return self._process.pid

    def run(self, task: bytes, hear: Callable[[bytes], None], seconds: float) -> tuple[bytes, bytes]:
        """The kind and the content of a task's last line; `hear` is called with what is told before.

        Whoever calls `kill` meanwhile, or a time that runs out, makes it `Lost`; the next task has a new process.
        """
        if self._killed or self._process.poll() is not None:
            self.replace()
        end = now() + seconds
        alarm = Timer(seconds, self.kill)
        alarm.daemon = True
        alarm.start()
        try:
            line = self._converse(task, hear)
        finally:
            alarm.cancel()
        if not line.endswith(b"\n"):
            stopped = f"it took longer than {seconds:g} seconds and was stopped"
            raise Lost(f"{stopped if now() >= end else 'its process was lost'}; please ask again")
        self._done += 1
        if self._done >= self._tasks_each:  # now, so that the next task does not wait for the start
            self.replace()
        return line[:1], line[1:-1]

    def _converse(self, task: bytes, hear: Callable[[bytes], None]) -> bytes:
        """Hand over a task; its last line, which is not whole if the process ended before."""
        given, told = _pipes(self._process)
        try:
            given.write(task + b"\n")
            given.flush()
        except OSError:
            return b""
        while (line := told.readline()).startswith(PROGRESS) and line.endswith(b"\n"):
            hear(line[1:])
        return line

    def kill(self) -> None:
        """Stop what it does. The process may take a moment to die, in which it must not be given another task."""
        with self._lock:  # not while a new process takes its place, which would then work on
            self._killed = True
            self._process.kill()

    def replace(self) -> None:
        with self._lock:
            self.close()
            self._process, self._done, self._killed = self._start(), 0, False

    def close(self) -> None:
        self._process.kill()
        for pipe in _pipes(self._process):
            with suppress(OSError):  # there may be half of a task in it that nobody reads any more
                pipe.close()
        self._process.wait()

    def _start(self) -> "subprocess.Popen[bytes]":
        command = [sys.executable, "-c", _START, json.dumps(sys.path), str(self._step_back), *self._modules]
        environment = {**os.environ, **_ONE_THREAD}
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            start_new_session=True,  # Ctrl+C is for the server, which then stops its workers
        )


def _pipes(process: "subprocess.Popen[bytes]") -> tuple[IO[bytes], IO[bytes]]:
    assert process.stdin is not None
    assert process.stdout is not None
    return process.stdin, process.stdout
