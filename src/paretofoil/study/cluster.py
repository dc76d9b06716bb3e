"""Dask and Ray: items are handed out one by one, and come back as they are finished, or as lost."""

import logging
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from queue import Empty, SimpleQueue
from typing import Any, Protocol, TypeVar

from paretofoil.core.errors import InvalidInput
from paretofoil.study.address import connect, knock
from paretofoil.study.loss import LossError, Losses, WorkersLostError

PATIENCE = 30.0
"""Seconds until it is told that a cluster does not answer, or has no worker."""
LOOK = 2.0
"""Seconds between two looks at the workers of a cluster: they come and go."""

Item = TypeVar("Item")
Result = TypeVar("Result")


class Lost:
    """In the place of a result: the worker was lost."""

    def __init__(self, error: Exception) -> None:
        self.reason = type(error).__name__


class Cluster(Protocol):
    """What an engine must be able to do."""

    def threads(self) -> int:
        """How many items it can work on at this moment."""

    def start(self, work: Callable, number: int, item: object) -> None:
        """Hand an item out."""

    def wait(self, seconds: float) -> tuple[int, Any] | None:
        """The number of a finished item, and its result or that it is lost; None if nothing is finished by then."""


def answer_on(
    cluster: Cluster, work: Callable[[Item], Result], items: Mapping[int, Item], losses: Losses
) -> Iterator[tuple[int, Result]]:
    """Results as they come; a lost item is asked again, after all others."""
    waiting, under_way, watch = deque(items), dict[int, int](), _Watch(cluster)
    while waiting or under_way:
        room = max(2, 2 * watch.threads())  # so that a worker has its next item at hand
        while waiting and len(under_way) < room:
            number = waiting.popleft()
            under_way[number] = losses.total
            cluster.start(work, number, items[number])
        if (finished := cluster.wait(LOOK)) is None:
            continue
        number, result = finished
        losses_before = under_way.pop(number)
        if not isinstance(result, Lost):
            yield number, result
            continue
        waiting.append(number)
        if losses_before == losses.total:  # else it was under way when others were lost: that is one loss
            losses.add(result.reason)


class _Watch:
    """Looks at the workers of a cluster now and then."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster, self._threads = cluster, 0
        self._seen, self._looked = time.monotonic(), float("-inf")

    def threads(self) -> int:
        """As many as there were at the last look; an error if there were none for long."""
        now = time.monotonic()
        if now - self._looked >= LOOK:
            self._threads, self._looked = self._cluster.threads(), now
            if self._threads:
                self._seen = now
            elif now - self._seen > PATIENCE:
                raise WorkersLostError(
                    f"expected a worker in the cluster within {PATIENCE:.0f} s, got none; what was finished is safe"
                )
        return self._threads


@contextmanager
def dask_cluster(workers: int, address: str | None) -> Iterator["_Dask"]:
    """The one at the address, or one on this machine."""
    distributed = _require("distributed", "dask")
    with distributed.utils.silence_logging_cmgr(logging.CRITICAL):  # losses are told by us
        if address is None:
            with _own_dask(distributed, workers) as client:
                yield _Dask(client, own=workers)
        else:
            if address.startswith("tcp://") or "://" not in address:  # others encrypt, or are no sockets
                knock(address, PATIENCE, greets=True)
            with _told(f"a Dask scheduler that answers at {address}"):
                client = distributed.Client(address, timeout=PATIENCE, set_as_default=False)
            with client:
                yield _Dask(client)


@contextmanager
def _own_dask(distributed: Any, workers: int) -> Iterator[Any]:
    """The client of a cluster on this machine, which ends with the block."""
    with _lost("Dask did not start"):
        cluster = distributed.LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            silence_logs=logging.CRITICAL,  # those of its workers
            scheduler_kwargs={
                "allowed_failures": 0,  # a loss is told, not retried in silence
                "dashboard_address": "127.0.0.1:0",  # its web server starts all the same; two clusters want two ports
            },
        )
    # the scheduler is in this process: on a busy machine it is late, but it is there
    with cluster, distributed.Client(cluster, timeout=20 * PATIENCE, set_as_default=False) as client:
        for nanny in cluster.workers.values():
            nanny.close_gracefully()  # it starts no worker again, see below
        yield client


class _Dask:
    """Items as tasks of a Dask cluster.

    Dask's nannies start a lost worker again, but one that is killed before it has said that it is up is given up in
    silence, and a task that kills workers would wait for the next one for ever. So a cluster of our own, which has so
    many workers, ends with its first loss.
    """

    def __init__(self, client: Any, own: int | None = None) -> None:
        self._client, self._own = client, own
        self._finished: SimpleQueue = SimpleQueue()

    def threads(self) -> int:
        self._expect_scheduler()
        try:
            threads = sum(self._client.nthreads().values())
        except OSError as error:
            raise LossError(type(error).__name__) from error
        if self._own is not None and threads < self._own:
            raise LossError("a worker is gone")
        return threads

    def start(self, work: Callable, number: int, item: object) -> None:
        self._expect_scheduler()
        self._client.loop.add_callback(self._fetch, number, self._client.submit(work, item, pure=False))

    def _expect_scheduler(self) -> None:
        """A client that lost its scheduler would wait for it, and close itself after a while."""
        if self._client.status != "running":
            raise LossError("the scheduler is gone")

    async def _fetch(self, number: int, future: Any) -> None:
        """In Dask's thread: a result stays with its worker until it is fetched, and is computed again if that is lost.

        With no worker left that takes for ever, so that nothing else may wait for it.
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
        return number, result if error is None else self._lost(error, status)

    def _lost(self, error: Exception, status: str) -> Lost:
        """Unless it is an error of the work, which may be of any kind."""
        from distributed import CancelledError, KilledWorker

        killed = isinstance(error, KilledWorker)
        if killed and self._own is None:
            return Lost(error)
        if killed or (status != "error" and isinstance(error, (CancelledError, OSError))):
            raise LossError(type(error).__name__) from error  # results come through the scheduler
        raise error


@contextmanager
def ray_cluster(workers: int, address: str | None) -> Iterator["_Ray"]:
    """The one at the address, or one on this machine."""
    ray = _require("ray", "ray")
    quiet = {"log_to_driver": False, "logging_level": "error"}
    named = None if address == "auto" else address  # "auto": one that runs on this machine
    if named is not None:
        knock(named, PATIENCE)
    with _lost("Ray did not start") if address is None else _told(f"a Ray cluster that answers at {address}"):
        own = {"num_cpus": workers, "include_dashboard": False} if address is None else {}
        ray.init(address=address or "local", **own, **quiet)
    try:
        yield _Ray(ray, named or ray.get_runtime_context().gcs_address)
    finally:
        ray.shutdown()


class _Ray:
    """Items as tasks of a Ray cluster, which starts a lost worker again, whenever it was killed.

    Whoever asks a lost cluster for something waits for it, and Ray ends the whole process after a minute. So the
    cluster's address is looked at first.
    """

    def __init__(self, ray: Any, address: str) -> None:
        self._ray, self._address = ray, address
        self._call = ray.remote(_call).options(max_retries=0)  # a loss is told, not retried in silence
        self._numbers: dict[Any, int] = {}

    def threads(self) -> int:
        self._expect_cluster()
        return int(self._ray.cluster_resources().get("CPU", 0))

    def start(self, work: Callable, number: int, item: object) -> None:
        self._numbers[self._call.remote(work, item)] = number

    def _expect_cluster(self) -> None:
        try:
            connect(self._address, PATIENCE)
        except OSError as error:
            raise LossError(f"the cluster is gone: {error}") from error

    def wait(self, seconds: float) -> tuple[int, Any] | None:
        finished, _ = self._ray.wait(list(self._numbers), timeout=seconds)
        if not finished:
            return None
        number, errors = self._numbers.pop(finished[0]), self._ray.exceptions
        try:
            return number, self._ray.get(finished[0])
        except errors.RayTaskError:
            raise  # what the work raised, which may also be one of the errors below
        except (
            errors.WorkerCrashedError,
            errors.NodeDiedError,
            errors.LocalRayletDiedError,
            errors.OutOfMemoryError,
            errors.ObjectLostError,
        ) as lost:
            self._expect_cluster()  # else all are lost
            return number, Lost(lost)


def _call(work: Callable[[Item], Result], item: Item) -> Result:
    """Ray takes functions only, work may be any callable."""
    return work(item)


@contextmanager
def _told(expected: str) -> Iterator[None]:
    """Each library has its own errors for a cluster that cannot be used, plain Exception among them."""
    try:
        yield
    except Exception as error:
        raise WorkersLostError(f"expected {expected}, got: {error}") from error


@contextmanager
def _lost(reason: str) -> Iterator[None]:
    """A cluster of our own that does not start is tried again: Ray's daemons are given 30 s, however busy it is."""
    try:
        yield
    except Exception as error:
        raise LossError(f"{reason}: {' '.join(str(error).split())}") from error


def _require(module: str, extra: str) -> Any:
    try:
        return import_module(module)
    except ImportError:
        raise InvalidInput.expected(
            f"the {extra} engine to be installed (pip install 'paretofoil[{extra}]')", "a Python without it"
        ) from None
