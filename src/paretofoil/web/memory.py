"""Memory with a limit: what was not asked for longest is forgotten first."""

from collections import OrderedDict
from threading import Lock
from typing import Generic, TypeVar

Value = TypeVar("Value")

ENTRY_BYTES = 500
"""What an entry takes beside its content: its key, and the objects around it."""


class Memory(Generic[Value]):
    """Values by key, of at most so many bytes together. It may be used from several threads."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.used = 0
        self._lock = Lock()
        self._kept: OrderedDict[str, tuple[Value, int]] = OrderedDict()

    def get(self, key: str) -> Value | None:
        with self._lock:
            if key not in self._kept:
                return None
            self._kept.move_to_end(key)
            return self._kept[key][0]

    def put(self, key: str, value: Value, size: int) -> None:
        """Keep a value of so many bytes; one that is larger than the whole memory is not kept."""
        size += ENTRY_BYTES
        with self._lock:
            self._drop(key)
            if size > self.limit:
                return
            self._kept[key] = value, size
            self.used += size
            while self.used > self.limit:
                self._drop(next(iter(self._kept)))

    def _drop(self, key: str) -> None:
        _, size = self._kept.pop(key, (None, 0))
        self.used -= size
