"""Dask and Ray: items are handed out one by one, and come back as they are finished, or as lost."""

import logging
import socket
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from queue import Empty, SimpleQueue
from typing import Any, Protocol, TypeVar
from urllib.parse import urlsplit

from paretofoil.core.errors import InvalidInput
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
    if address is not None:
        if address.startswith("tcp://") or "://" not in address:  # others encrypt, or are no sockets
            _knock(address, greets=True)
        with _told(f"a Dask scheduler that answers at {address}"):
            client = distributed.Client(address, timeout=PATIENCE, set_as_default=False)
        with client:
            yield _Dask(client, own=False)
        return
    with _lost("Dask did not start"):
        cluster = distributed.LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            silence_logs=logging.CRITICAL,
            scheduler_kwargs={
                "allowed_failures": 0,  # a loss is told, not retried in silence
                "dashboard_address": "127.0.0.1:0",  # its web server starts all the same; two clusters want two ports
            },
        )
    # the scheduler is in this process: on a busy machine it is late, but it is there
    with cluster, distributed.Client(cluster, timeout=20 * PATIENCE, set_as_default=False) as client:
        for nanny in cluster.workers.values():
            nanny.close_gracefully()  # it starts no worker again, see below
        yield _Dask(client, own=True)


class _Dask:
    """Items as tasks of a Dask cluster.

    Dask's nannies start a lost worker again, but one that is killed before it has said that it is up is given up in
    silence, and a task that kills workers would wait for the next one for ever. So a cluster of our own ends with
    its first loss.
    """

    def __init__(self, client: Any, *, own: bool) -> None:
        self._client, self._own = client, own
        self._numbers: dict[Any, int] = {}
        self._finished: SimpleQueue = SimpleQueue()

    def threads(self) -> int:
        try:
            return sum(self._client.nthreads().values())
        except OSError as error:  # the scheduler is gone
            raise LossError(type(error).__name__) from error

    def start(self, work: Callable, number: int, item: object) -> None:
        future = self._client.submit(work, item, pure=False)
        self._numbers[future] = number
        future.add_done_callback(self._finished.put)

    def wait(self, seconds: float) -> tuple[int, Any] | None:
        try:
            future = self._finished.get(timeout=seconds)
        except Empty:
            return None
        result = self._result(future)
        if isinstance(result, Lost) and self._own:
            raise LossError(result.reason)
        return self._numbers.pop(future), result

    def _result(self, future: Any) -> Any:
        from distributed import CancelledError, KilledWorker

        if future.status == "error" and not isinstance(future.exception(), KilledWorker):
            return future.result()  # raises what the work raised
        try:
            return future.result(timeout=PATIENCE)
        except CancelledError as error:  # the scheduler is gone
            raise LossError(type(error).__name__) from error
        except (KilledWorker, OSError) as error:  # an OSError: it was finished, but its worker cannot be reached
            return Lost(error)


@contextmanager
def ray_cluster(workers: int, address: str | None) -> Iterator["_Ray"]:
    """The one at the address, or one on this machine."""
    ray = _require("ray", "ray")
    quiet = {"log_to_driver": False, "logging_level": "error"}
    if address is None:
        with _lost("Ray did not start"):
            ray.init(address="local", num_cpus=workers, include_dashboard=False, **quiet)
    else:
        if address != "auto":
            _knock(address, greets=False)
        with _told(f"a Ray cluster that answers at {address}"):
            ray.init(address=address, **quiet)
    try:
        yield _Ray(ray)
    finally:
        ray.shutdown()


class _Ray:
    """Items as tasks of a Ray cluster, which starts a lost worker again, whenever it was killed."""

    def __init__(self, ray: Any) -> None:
        self._ray = ray
        self._call = ray.remote(_call).options(max_retries=0)  # a loss is told, not retried in silence
        self._numbers: dict[Any, int] = {}

    def threads(self) -> int:
        return int(self._ray.cluster_resources().get("CPU", 0))

    def start(self, work: Callable, number: int, item: object) -> None:
        self._numbers[self._call.remote(work, item)] = number

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
            errors.OutOfMemoryError,
            errors.ObjectLostError,
        ) as lost:
            return number, Lost(lost)


def _call(work: Callable[[Item], Result], item: Item) -> Result:
    """Ray takes functions only, work may be any callable."""
    return work(item)


def _knock(address: str, *, greets: bool) -> None:
    """Wait until something listens at the address, and says something if it is of the kind that greets.

    Ray alone would wait for minutes, Dask for ever for a scheduler that hangs. A cluster that is only just started may
    refuse for a while.
    """
    place, until = _host_and_port(address), time.monotonic() + PATIENCE
    while True:
        try:
            with socket.create_connection(place, timeout=PATIENCE) as connection:
                if not greets or connection.recv(1):
                    return
                raise ConnectionError("the connection was closed")
        except OSError as error:
            if time.monotonic() >= until:
                raise WorkersLostError(
                    f"expected a cluster that answers at {address} within {PATIENCE:.0f} s, got: {error}"
                ) from error
        time.sleep(0.2)


def _host_and_port(address: str) -> tuple[str, int]:
    try:
        parts = urlsplit(address if "://" in address else f"//{address}")
        if parts.hostname and parts.port:
            return parts.hostname, parts.port
    except ValueError:  # a port that is no number
        pass
    raise InvalidInput.expected("an address with a host and a port, as in tcp://scheduler:8786", repr(address))


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
        raise LossError(f"{reason}: {error}") from error


def _require(module: str, extra: str) -> Any:
    try:
        return import_module(module)
    except ImportError:
        raise InvalidInput.expected(
            f"the {extra} engine to be installed (pip install 'paretofoil[{extra}]')", "a Python without it"
        ) from None
