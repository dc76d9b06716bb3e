"""Ctrl-C as a request that is heard between two iterations."""

import signal
import threading
from types import FrameType
from typing import Any


class Interruption:
    """While it is entered, the first Ctrl-C only sets `requested`; a second one interrupts as usual."""

    def __init__(self) -> None:
        self.requested = False
        self._before: Any = None

    def __enter__(self) -> "Interruption":
        if threading.current_thread() is threading.main_thread():  # only there can signals be handled
            self._before = signal.signal(signal.SIGINT, self._request)
        return self

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def _request(self, number: int, frame: FrameType | None) -> None:
        self.requested = True
        signal.signal(signal.SIGINT, self._before)
