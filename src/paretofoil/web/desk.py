"""Quick work beside the event loop: one thread, since environments and their drawings share tools."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from paretofoil.web.refusal import Busy

Value = TypeVar("Value")

MOST_WAITING = 256
"""Requests that may wait for the desk."""


class Desk:
    """Does one thing after another, and keeps the event loop free meanwhile."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="desk")
        self._waiting = 0

    async def do(self, work: Callable[[], Value]) -> Value:
        if self._waiting >= MOST_WAITING:
            raise Busy("expected fewer requests at once: please come again in a few seconds")
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work)
        finally:
            self._waiting -= 1

    def close(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)
