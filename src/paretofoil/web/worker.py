"""The main loop of a worker process: read tasks from stdin, line by line, and write progress and results to stdout.

The first character of a line that it writes is its kind: "+" progress, "=" result, "!" error. The rest is JSON.
"""

import json
import os
import sys
import traceback
from collections.abc import Sequence
from typing import Any, BinaryIO

from paretofoil.core.errors import InvalidInput
from paretofoil.core.json import brief_words, write_document
from paretofoil.envs.catalogue import allow
from paretofoil.web.errors import STATUSES
from paretofoil.web.tasks import run_task

PROGRESS, RESULT, ERROR = b"+", b"=", b"!"


def main(niceness: int, modules: Sequence[str]) -> None:
    """Run tasks until stdin ends. Output of other code to stdout is redirected to stderr."""
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    if hasattr(os, "nice"):
        os.nice(niceness)
    for module in modules:
        allow(module)
    for line in sys.stdin.buffer:
        _run(line, output)


def _run(line: bytes, output: BinaryIO) -> None:
    def report(progress: float, partial: Sequence[Any]) -> None:
        _write(output, PROGRESS, {"progress": progress, "partial": list(partial)})

    try:
        _write(output, RESULT, run_task(json.loads(line), report))
    except InvalidInput as error:
        _write(output, ERROR, {"error": brief_words(error), "status": STATUSES.get(type(error), 422)})
    except Exception as error:
        traceback.print_exc()
        message = f"the task failed ({type(error).__name__}); the server's log has the details"
        _write(output, ERROR, {"error": message, "status": 500})


def _write(output: BinaryIO, kind: bytes, document: Any) -> None:
    output.write(kind + write_document(document).encode() + b"\n")
    output.flush()
