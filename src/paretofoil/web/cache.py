"""A cache with a limit in bytes. The least recently used entry is dropped first."""

from collections import OrderedDict
from typing import Generic, TypeVar

Value = TypeVar("Value")

ENTRY_BYTES = 500
"""Memory of an entry in addition to its value: the key and the objects that hold it."""


class SizedCache(Generic[Value]):
    """Values by key, within a limit in bytes. It is not safe to use from several threads."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.used = 0
        self._entries: OrderedDict[str, tuple[Value, int]] = OrderedDict()

    def get(self, key: str) -> Value | None:
        if key not in self._entries:
            return None
        self._entries.move_to_end(key)
        return self._entries[key][0]

    def put(self, key: str, value: Value, size: int) -> None:
        """Store a value of `size` bytes. A value larger than the limit is not stored."""
        _, old_size = self._entries.pop(key, (None, 0))
        self.used -= old_size
        if size + ENTRY_BYTES > self.limit:
            return
        self._entries[key] = value, size + ENTRY_BYTES
        self.used += size + ENTRY_BYTES
        while self.used > self.limit:
            self.used -= self._entries.popitem(last=False)[1][1]
