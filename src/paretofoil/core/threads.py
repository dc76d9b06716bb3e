"""Computation in one thread, which is fastest for small matrices and makes results independent of the machine."""

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import lru_cache
from threading import Lock
from typing import Any

_lock = Lock()
_restore = ExitStack()
"""Restores the previous limits when the last caller is done."""
_num_callers = _num_modules = 0


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit BLAS, OpenMP and, if it is loaded, torch to one thread.

    The limit holds for the whole process until the last of several callers, which may be threads, is done.
    """
    global _num_callers, _num_modules
    with _lock:
        if not _num_callers or _num_modules != len(sys.modules):  # a module that was imported since may have a library
            _limit()
        _num_callers, _num_modules = _num_callers + 1, len(sys.modules)
    try:
        yield
    finally:
        with _lock:
            _num_callers -= 1
            if not _num_callers:
                _restore.close()


def _limit() -> None:
    _restore.enter_context(_controller(len(sys.modules)).limit(limits=1))
    torch = sys.modules.get("torch")
    if torch is not None:
        _restore.callback(torch.set_num_threads, torch.get_num_threads())
        torch.set_num_threads(1)


@lru_cache(maxsize=1)
def _controller(num_modules: int) -> Any:
    """Return the controller of the loaded libraries; it is cached, because finding libraries takes long."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
