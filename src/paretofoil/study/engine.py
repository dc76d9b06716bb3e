"""Where chunks are answered: joblib is the only interface, to local processes, Dask and Ray alike."""

import logging
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, Literal, TypeVar

from paretofoil.core.errors import InvalidInput
from paretofoil.core.threads import one_thread

log = logging.getLogger(__name__)

EngineName = Literal["local", "dask", "ray"]
ENGINES: tuple[EngineName, ...] = ("local", "dask", "ray")
MAX_LOSSES = 3
"""How often in a row workers may be lost without any chunk being finished in between."""

Item = TypeVar("Item")
Result = TypeVar("Result")


class WorkersLostError(ChildProcessError):
    """Workers kept dying, or never came up; what was finished before is safe."""


def count_workers(wanted: int | None) -> int:
    """So many as wanted, or one per core."""
    if wanted is None:
        from joblib import cpu_count

        return int(cpu_count())  # those that this process may use
    if wanted < 1:
        raise InvalidInput.expected("at least 1 worker", wanted)
    return wanted


def run_all(
    work: Callable[[Item], Result],
    items: Iterable[Item],
    *,
    engine: EngineName = "local",
    workers: int | None = None,
    address: str | None = None,
) -> Iterator[tuple[int, Result]]:
    """(number of the item, result) of each item, as they are finished, in any order; lost items are retried."""
    if engine not in ENGINES:
        raise InvalidInput.expected(f"an engine among {', '.join(ENGINES)}", repr(engine))
    if address is not None and engine == "local":
        raise InvalidInput.expected("an address with the engine dask or ray", "one with local processes")
    count = count_workers(workers)
    left, losses = dict(enumerate(items)), 0
    while left:
        try:
            with _backend(engine, count, address):  # made anew after a loss, so that nothing is left of it
                for number, result in _parallel(work, list(left.items()), engine, count):
                    del left[number]
                    losses = 0
                    yield number, result
        except _LossError as error:
            losses += 1
            log.warning("workers were lost (%s): %d items are asked again", error, len(left))
            if losses >= MAX_LOSSES:
                raise WorkersLostError(
                    f"workers were lost {losses} times in a row ({error}); "
                    "what was finished is safe, resume with fewer workers or more memory"
                ) from error


def _parallel(
    work: Callable[[Item], Result], items: list[tuple[int, Item]], engine: EngineName, workers: int
) -> Iterator[tuple[int, Result]]:
    """Results as they come; Ray's joblib backend only returns lists, so that its items go in waves."""
    from joblib import Parallel, delayed

    parent = os.getpid() if engine == "local" else None
    calls = [delayed(_numbered)(work, number, item, parent) for number, item in items]
    if engine != "ray":
        yield from Parallel(return_as="generator_unordered", batch_size=1, pre_dispatch="2*n_jobs")(calls)
        return
    with Parallel(batch_size=1) as parallel:  # its workers stay for all waves
        for first in range(0, len(calls), 4 * workers):
            yield from parallel(calls[first : first + 4 * workers])


def _numbered(work: Callable[[Item], Result], number: int, item: Item, parent: int | None) -> tuple[int, Result]:
    """In a worker."""
    if parent is not None and parent != os.getpid():
        _end_with(parent)
    with one_thread():  # workers are the parallelism, and rows must not depend on their number
        return number, work(item)


@cache
def _end_with(parent: int) -> None:
    """A study that is killed takes its local workers with it; they would wait for work for minutes."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


class _LossError(Exception):
    """Workers were lost; the text is the engine's name for it."""


@contextmanager
def _backend(engine: EngineName, workers: int, address: str | None) -> Iterator[None]:
    """Configure joblib for an engine; whatever it raises when workers are lost becomes one error."""
    backend = {"local": _local, "dask": _dask, "ray": _ray}[engine]
    with backend(workers, address) as lost:
        try:
            yield
        except lost as error:
            raise _LossError(type(error).__name__) from error


@contextmanager
def _local(workers: int, address: str | None) -> Iterator[tuple[type[Exception], ...]]:
    from joblib import parallel_config
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    with parallel_config(backend="loky", n_jobs=workers, inner_max_num_threads=1):
        yield (TerminatedWorkerError,)


@contextmanager
def _dask(workers: int, address: str | None) -> Iterator[tuple[type[Exception], ...]]:
    distributed = _require("distributed", "dask")
    from joblib import parallel_config, register_parallel_backend

    own = address is None
    cluster = None
    if own:
        cluster = distributed.LocalCluster(
            n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
        )
    client = distributed.Client(cluster if own else address)
    register_parallel_backend("paretofoil-dask", _dask_backend())
    try:
        with parallel_config(backend="paretofoil-dask", n_jobs=-1):
            yield (distributed.scheduler.KilledWorker, distributed.client.FutureCancelledError)
    finally:
        client.close()
        if cluster is not None:
            cluster.close()


def _dask_backend() -> type:
    """joblib's Dask backend with two repairs, without which a chunk that kills its workers would not be told of.

    It drops the error of a task whose workers died, and waits for the task for ever. And it computes in this very
    process when the cluster has a single core, as it has for a moment after a loss.
    """
    import asyncio

    from joblib._dask import DaskDistributedBackend

    class Backend(DaskDistributedBackend):  # type: ignore[misc]
        async def _collect(self) -> None:
            while self._continue:
                async for future, result in self.waiting_futures:
                    waiting, callback = self._results.pop(future), self._callbacks.pop(future)
                    if future.status == "error":
                        waiting.set_exception(result[1])
                        callback(_Failed(result[1]))
                    else:
                        waiting.set_result(result)
                        callback(result)
                await asyncio.sleep(0.01)

        def retrieve_result_callback(self, out: Any) -> Any:
            if isinstance(out, _Failed):
                raise out.error
            return super().retrieve_result_callback(out)

        def effective_n_jobs(self, n_jobs: int) -> int:
            return max(2, super().effective_n_jobs(n_jobs))

    return Backend


class _Failed:
    """A task's error on its way to joblib."""

    def __init__(self, error: BaseException) -> None:
        self.error = error


@contextmanager
def _ray(workers: int, address: str | None) -> Iterator[tuple[type[Exception], ...]]:
    ray = _require("ray", "ray")
    from joblib import parallel_config
    from ray.util.joblib import register_ray

    own = {"num_cpus": workers, "include_dashboard": False} if address is None else {}
    try:
        ray.init(address=address, log_to_driver=False, logging_level="error", **own)
    except Exception as error:  # Ray raises the plain class where its daemons do not come up within 30 s
        raise WorkersLostError(f"expected Ray to start, got: {error}") from error
    try:
        register_ray()  # type: ignore[no-untyped-call]
        with parallel_config(backend="ray", n_jobs=-1 if address else workers):
            errors = ray.exceptions  # not RayTaskError, which wraps an error of the work itself
            yield (errors.RayActorError, errors.WorkerCrashedError, errors.ObjectLostError)
    finally:
        ray.shutdown()


def _require(module: str, extra: str) -> Any:
    from importlib import import_module

    try:
        return import_module(module)
    except ImportError:
        raise InvalidInput.expected(
            f"the {extra} engine to be installed (pip install 'paretofoil[{extra}]')", "a Python without it"
        ) from None
