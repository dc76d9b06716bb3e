"""The main loop of a worker process, which reads tasks from stdin and writes progress and results to stdout.

Each task is one line. The first character of each line of output is its kind: "+" for progress, "=" for a result, "!"
for an error. The rest of the line is JSON.
"""

import json
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import Any

from paretofoil.core.errors import InvalidInput
from paretofoil.core.json import brief_words, write_document
from paretofoil.envs.catalogue import allow
from paretofoil.web.agent_store import Shown
from paretofoil.web.errors import STATUSES
from paretofoil.web.tasks import load_cached, run_task

PROGRESS, RESULT, ERROR = b"+", b"=", b"!"


def main(niceness: int, modules: Sequence[str]) -> None:
    """Run tasks until stdin ends. What other code prints to stdout is redirected to stderr."""
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    if hasattr(os, "nice"):
        os.nice(niceness)
    for module in modules:
        allow(module)

    def write(line: bytes) -> None:
        output.write(line + b"\n")
        output.flush()

    for task in sys.stdin.buffer:
        run_line(task, write)


def run_line(task: bytes, write: Callable[[bytes], None], load: Callable[[str], Shown] = load_cached) -> None:
    """Run a task given as JSON, and write its progress and its result as lines."""

    def report(progress: float, partial: Sequence[Any]) -> None:
        write(_line(PROGRESS, {"progress": progress, "partial": list(partial)}))

    try:
        write(_line(RESULT, run_task(json.loads(task), report, load)))
    except InvalidInput as error:
        write(_line(ERROR, {"error": brief_words(error), "status": STATUSES.get(type(error), 422)}))
    except Exception as error:
        traceback.print_exc()
        message = f"the task failed ({type(error).__name__}); the server's log has the details"
        write(_line(ERROR, {"error": message, "status": 500}))


def _line(kind: bytes, document: Any) -> bytes:
    return kind + write_document(document).encode()
