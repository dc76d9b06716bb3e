"""Engines that run the work of studies: processes of this machine, Dask or Ray.

Items are started one by one. Items of failed workers are started again, until workers fail several times in a row.
"""

import logging
import os
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module
from itertools import chain, islice
from queue import Empty, SimpleQueue
from typing import Any, Generic, Protocol, TypeVar
from urllib.parse import urlsplit

from paretofoil.core.errors import InvalidInput

log = logging.getLogger(__name__)

PATIENCE = 30.0
"""Seconds after which a cluster without an answer or without workers is an error."""
LOOK = 2.0
"""Seconds between two counts of the workers, whose number may change."""
MAX_FAILURES = 3
"""Largest number of worker failures without a finished item in between."""

Item = TypeVar("Item")
Result = TypeVar("Result")


class WorkersFailed(ChildProcessError):
    """Workers kept failing, or never started; finished items are safe."""


class EngineFailure(Exception):
    """A failure that loses all running items, so that the engine must be started again. The text is the reason."""


class ItemFailure:
    """Stands for the result of an item whose worker failed."""

    def __init__(self, error: Exception) -> None:
        self.reason = type(error).__name__


class FailureCounter:
    """Counts worker failures."""

    def __init__(self) -> None:
        self.total = self._in_a_row = 0

    def add(self, reason: str) -> None:
        """Count a failure; raise an error after too many in a row."""
        self.total += 1
        self._in_a_row += 1
        log.warning("workers failed (%s): their items are started again", reason)
        if self._in_a_row >= MAX_FAILURES:
            raise WorkersFailed(
                f"workers failed {self._in_a_row} times in a row ({reason}); "
                "finished questions are safe, resume with fewer workers or more memory"
            )

    def reset(self) -> None:
        """Count failures in a row from 0 again, because an item was finished."""
        self._in_a_row = 0


class _Engine(Protocol):
    """Runs items: `threads` is how many at a time, `start` starts one, and `wait` returns a result or a failure."""

    def threads(self) -> int: ...

    def start(self, work: Callable, number: int, item: object) -> None: ...

    def wait(self, seconds: float) -> tuple[int, Any] | None: ...


class Pending(Generic[Item]):
    """Items without a result, to be taken one by one. Items of failed workers are taken again after all others."""

    def __init__(self, items: Iterable[Item]) -> None:
        self._new, self._failed = enumerate(items), deque[tuple[int, Item]]()
        self.running: dict[int, Item] = {}

    def take(self) -> tuple[int, Item] | None:
        """Return the next item and its number, or None if all items run or are finished."""
        pair = next(self._new, None) or (self._failed.popleft() if self._failed else None)
        if pair is not None:
            self.running[pair[0]] = pair[1]
        return pair

    def retry(self, *numbers: int) -> None:
        """Queue running items again, in this order, behind all others."""
        self._failed.extend((number, self.running.pop(number)) for number in numbers)


def run_items(
    engine: str, work: Callable[[Item], Result], items: Iterable[Item], workers: int, address: str | None
) -> Generator[tuple[int, Result], None, None]:
    """Yield the index and the result of each item when it is finished. An item is taken when a worker needs it.

    A single local worker is this process itself.
    """
    if engine == "local" and workers == 1:
        yield from ((number, work(item)) for number, item in enumerate(items))
        return
    first = list(islice(items := iter(items), workers))
    if not first:
        return
    pending, failures = Pending(chain(first, items)), FailureCounter()
    while True:
        try:
            with _open_engine(engine, min(workers, max(2, len(first))), address) as cluster:
                yield from _run_pending(cluster, work, pending, failures)
                return
        except EngineFailure as error:
            failures.add(str(error))
            pending.retry(*reversed(pending.running))  # the oldest, which probably killed its worker, comes last


def _open_engine(engine: str, workers: int, address: str | None) -> AbstractContextManager[_Engine]:
    if engine == "local":
        return local_processes(workers)
    return (dask_cluster if engine == "dask" else ray_cluster)(workers, address)


def _run_pending(
    cluster: _Engine, work: Callable[[Item], Result], pending: Pending[Item], failures: FailureCounter
) -> Generator[tuple[int, Result], None, None]:
    """Yield results as they are finished.

    The workers are counted every `LOOK` seconds. It is an error if there are none for `PATIENCE` seconds.
    """
    failures_before = dict[int, int]()  # when an item was started
    threads, last_worker, last_look = 0, time.monotonic(), float("-inf")
    while True:
        if (now := time.monotonic()) - last_look >= LOOK:
            threads, last_look = cluster.threads(), now
            last_worker = now if threads else last_worker
            if now - last_worker > PATIENCE:
                raise WorkersFailed(
                    f"expected a worker in the cluster within {PATIENCE:.0f} s, got none; finished questions are safe"
                )
        most = max(2, 2 * threads)  # each worker has its next item at hand
        while len(pending.running) < most and (pair := pending.take()):
            failures_before[pair[0]] = failures.total
            cluster.start(work, *pair)
        if not pending.running:
            return
        if (finished := cluster.wait(LOOK)) is None:
            continue
        number, result = finished
        before = failures_before.pop(number)
        if not isinstance(result, ItemFailure):
            del pending.running[number]
            failures.reset()
            yield number, result
            continue
        pending.retry(number)
        if before == failures.total:  # items that fail together count as one failure
            failures.add(result.reason)


@contextmanager
def local_processes(workers: int) -> Iterator["_Processes"]:
    """Yield processes of this machine, which end if the study is stopped."""
    from joblib.externals.loky import get_reusable_executor

    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    watched = {"initializer": _end_with, "initargs": (os.getpid(),)}
    executor = get_reusable_executor(workers, timeout=300, env=threads, **watched)
    try:
        yield _Processes(executor, workers)
    except BaseException:
        executor.shutdown(kill_workers=True)
        raise


class _Processes:
    """Runs items in processes of this machine. The first failure ends all of them."""

    def __init__(self, executor: Any, workers: int) -> None:
        self._executor, self._workers = executor, workers
        self._finished: SimpleQueue = SimpleQueue()

    def threads(self) -> int:
        return self._workers

    def start(self, work: Callable, number: int, item: object) -> None:
        with _raise_terminated():
            future = self._executor.submit(work, item)
        future.add_done_callback(lambda done: self._finished.put((number, done)))

    def wait(self, seconds: float) -> tuple[int, Any] | None:
        try:
            number, future = self._finished.get(timeout=seconds)
        except Empty:
            return None
        with _raise_terminated():
            return number, future.result()


@contextmanager
def _raise_terminated() -> Iterator[None]:
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    try:
        yield
    except TerminatedWorkerError as error:
        raise EngineFailure(type(error).__name__) from error


def _end_with(parent: int) -> None:
    """End this worker when its parent is gone, because workers of a killed study would wait for minutes."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def dask_cluster(workers: int, address: str | None) -> Iterator["_Dask"]:
    """Yield the Dask cluster at an address, or a new one on this machine."""
    distributed = _require("distributed", "dask")
    with distributed.utils.silence_logging_cmgr(logging.CRITICAL):  # we report failures ourselves
        if address is None:
            with _local_dask(distributed, workers) as client:
                yield _Dask(client, local=workers)
        else:
            if address.startswith("tcp://") or "://" not in address:  # other protocols encrypt, or use no socket
                wait_for_cluster(address, PATIENCE, greets=True)
            with _raise_as(WorkersFailed, f"expected a Dask scheduler that answers at {address}, got"):
                client = distributed.Client(address, timeout=PATIENCE, set_as_default=False)
            with client:
                yield _Dask(client)


@contextmanager
def _local_dask(distributed: Any, workers: int) -> Iterator[Any]:
    """Yield the client of a new cluster on this machine, and stop the cluster afterwards."""
    with _raise_as(EngineFailure, "Dask did not start"):
        cluster = distributed.LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            silence_logs=logging.CRITICAL,
            scheduler_kwargs={
                "allowed_failures": 0,  # report a failure instead of retrying silently
                "dashboard_address": "127.0.0.1:0",  # its web server starts anyway; two clusters need two ports
            },
        )
    # the scheduler runs in this process: on a busy machine it answers late, but it does answer
    with cluster, distributed.Client(cluster, timeout=20 * PATIENCE, set_as_default=False) as client:
        for nanny in cluster.workers.values():
            nanny.close_gracefully()  # do not restart workers, see _Dask
        yield client


class _Dask:
    """Runs items as tasks of a Dask cluster.

    Dask's nannies restart a failed worker, but silently give up on one that is killed before it reports that it runs. A
    task that kills workers would then wait for ever. A local cluster therefore ends with its first failure.
    """

    def __init__(self, client: Any, local: int | None = None) -> None:
        self._client, self._local = client, local
        self._finished: SimpleQueue = SimpleQueue()

    def threads(self) -> int:
        self._check_scheduler()
        try:
            threads = sum(self._client.nthreads().values())
        except OSError as error:
            raise EngineFailure(type(error).__name__) from error
        if self._local is not None and threads < self._local:
            raise EngineFailure("a worker is gone")
        return threads

    def start(self, work: Callable, number: int, item: object) -> None:
        self._check_scheduler()
        self._client.loop.add_callback(self._fetch, number, self._client.submit(work, item, pure=False))

    def _check_scheduler(self) -> None:
        """Raise an error if the scheduler is gone; the client would wait for it."""
        if self._client.status != "running":
            raise EngineFailure("the scheduler is gone")

    async def _fetch(self, number: int, future: Any) -> None:
        """Fetch a result in Dask's thread.

        If a worker fails before its result is fetched, Dask waits for another worker to compute it again. Without
        workers, it waits forever, and must not block anything else.
        """
        try:
            self._finished.put((number, await future, None, "finished"))
        except Exception as error:
            self._finished.put((number, None, error, future.status))

    def wait(self, seconds: float) -> tuple[int, Any] | None:
        try:
            number, result, error, status = self._finished.get(timeout=seconds)
        except Empty:
            return None
        return number, result if error is None else self._failure(error, status)

    def _failure(self, error: Exception, status: str) -> ItemFailure:
        """Return the failure of a worker, or raise that of the engine or the error of the work itself."""
        from distributed import CancelledError, KilledWorker

        killed = isinstance(error, KilledWorker)
        if killed and self._local is None:
            return ItemFailure(error)
        if killed or (status != "error" and isinstance(error, (CancelledError, OSError))):
            raise EngineFailure(type(error).__name__) from error  # results come through the scheduler
        raise error


@contextmanager
def ray_cluster(workers: int, address: str | None) -> Iterator["_Ray"]:
    """Yield the Ray cluster at an address ("auto": the one that runs on this machine), or a new one."""
    ray = _require("ray", "ray")
    quiet = {"log_to_driver": False, "logging_level": "error"}
    host = None if address == "auto" else address
    if host is not None:
        wait_for_cluster(host, PATIENCE)
    answers = f"expected a Ray cluster that answers at {address}, got"
    with _raise_as(EngineFailure, "Ray did not start") if address is None else _raise_as(WorkersFailed, answers):
        local = {"num_cpus": workers, "include_dashboard": False} if address is None else {}
        ray.init(address=address or "local", **local, **quiet)
    try:
        yield _Ray(ray, host or ray.get_runtime_context().gcs_address)
    finally:
        ray.shutdown()


class _Ray:
    """Runs items as tasks of a Ray cluster, which restarts failed workers.

    If the cluster is gone, a call waits, and after a minute Ray ends the whole process. The address of the cluster is
    therefore tried before each call.
    """

    def __init__(self, ray: Any, address: str) -> None:
        self._ray, self._address = ray, address
        self._call = ray.remote(_call).options(max_retries=0)  # report a failure instead of retrying silently
        self._numbers: dict[Any, int] = {}

    def threads(self) -> int:
        self._check_cluster()
        return int(self._ray.cluster_resources().get("CPU", 0))

    def start(self, work: Callable, number: int, item: object) -> None:
        self._numbers[self._call.remote(work, item)] = number

    def _check_cluster(self) -> None:
        try:
            connect(self._address, PATIENCE)
        except OSError as error:
            raise EngineFailure(f"the cluster is gone: {error}") from error

    def wait(self, seconds: float) -> tuple[int, Any] | None:
        finished, _ = self._ray.wait(list(self._numbers), timeout=seconds)
        if not finished:
            return None
        number, errors = self._numbers.pop(finished[0]), self._ray.exceptions
        try:
            return number, self._ray.get(finished[0])
        except errors.RayTaskError:
            raise  # an error of the work itself, which may also be one of the classes below
        except (
            errors.WorkerCrashedError,
            errors.NodeDiedError,
            errors.LocalRayletDiedError,
            errors.OutOfMemoryError,
            errors.ObjectLostError,
        ) as error:
            self._check_cluster()
            return number, ItemFailure(error)


def _call(work: Callable[[Item], Result], item: Item) -> Result:
    """Call the work: Ray accepts only functions, but the work may be any callable."""
    return work(item)


@contextmanager
def _raise_as(kind: type[Exception], prefix: str) -> Iterator[None]:
    """Turn any error into one of this kind, because the libraries raise many kinds, even a plain Exception.

    If a local cluster does not start, this is an `EngineFailure`, and it is tried again: Ray gives its daemons only 30
    s.
    """
    try:
        yield
    except Exception as error:
        raise kind(f"{prefix}: {' '.join(str(error).split())}") from error


def _require(module: str, extra: str) -> Any:
    try:
        return import_module(module)
    except ImportError:
        raise InvalidInput.missing(extra.capitalize(), extra) from None


def wait_for_cluster(address: str, seconds: float, *, greets: bool = False) -> None:
    """Wait until a cluster answers: it may refuse connections for a while after its start.

    Ray itself would wait for minutes, and Dask for ever for a scheduler that hangs.
    """
    until = time.monotonic() + seconds
    while True:
        try:
            return connect(address, seconds, greets=greets)
        except OSError as error:
            if time.monotonic() >= until:
                raise WorkersFailed(
                    f"expected a cluster that answers at {address} within {seconds:.0f} s, got: {error}"
                ) from error
        time.sleep(0.2)


def connect(address: str, seconds: float, *, greets: bool = False) -> None:
    """Raise an OSError if nothing listens at the address or, with `greets`, if the server does not send data first."""
    with socket.create_connection(_host_and_port(address), timeout=seconds) as connection:
        if greets and not connection.recv(1):
            raise ConnectionError("the connection was closed")


def _host_and_port(address: str) -> tuple[str, int]:
    try:
        parts = urlsplit(address if "://" in address else f"//{address}")
        if parts.hostname and parts.port:
            return parts.hostname, parts.port
    except ValueError:  # the port is not a number
        pass
    raise InvalidInput.expected("an address with a host and a port, as in tcp://scheduler:8786", repr(address))
