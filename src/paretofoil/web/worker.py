"""A worker process: reads tasks from its input line by line, and tells on its output what becomes of each.

A line that it tells begins with its kind: "+" how far it is and what is known, "=" the result, "!" why there is none.
Both sides speak JSON; nothing is unpickled.
"""

import json
import os
import sys
import traceback
from collections.abc import Sequence
from typing import Any, BinaryIO

from paretofoil.core.document import brief_words, write_document
from paretofoil.core.errors import InvalidInput
from paretofoil.envs.permission import allow
from paretofoil.web.errors import status_of
from paretofoil.web.task import run_task

PROGRESS, RESULT, ERROR = b"+", b"=", b"!"


def main(step_back: int, modules: Sequence[str]) -> None:
    """Work until there is no more input. What anybody prints goes where errors go, not between the lines."""
    told = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    if hasattr(os, "nice"):
        os.nice(step_back)
    for module in modules:
        allow(module)
    for line in sys.stdin.buffer:
        _do(line, told)


def _do(line: bytes, told: BinaryIO) -> None:
    def tell(progress: float, known: Sequence[Any]) -> None:
        _say(told, PROGRESS, {"progress": progress, "known": list(known)})

    try:
        _say(told, RESULT, run_task(json.loads(line), tell))
    except InvalidInput as error:
        _say(told, ERROR, {"error": brief_words(error), "status": status_of(error)})
    except Exception as error:
        traceback.print_exc()
        told_error = f"it failed inside ({type(error).__name__}); the server's log has more"
        _say(told, ERROR, {"error": told_error, "status": 500})


def _say(told: BinaryIO, kind: bytes, values: Any) -> None:
    told.write(kind + write_document(values).encode() + b"\n")
    told.flush()
