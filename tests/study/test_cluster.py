"""Items on a simulated cluster whose workers fail."""

import asyncio
import gc
import socket
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from studies import FAST, small_study

from paretofoil.core.errors import InvalidInput
from paretofoil.study import StudyProgress, cluster, run_study, runner
from paretofoil.study.cluster import MAX_FAILURES, EngineFailure, ItemFailure, WorkersFailed, _Dask, _Ray


class Pretended:
    """Items are finished in the order in which they were handed out; `dies(number, time)` says which are lost.

    A cluster of our own ends with the first loss, and is made anew.
    """

    def __init__(self, dies: Callable[[int, int], bool], threads: int = 1, *, own: bool = False) -> None:
        self.asked: list[int] = []
        self._dies, self._threads, self._own = dies, threads, own
        self._under_way = deque[tuple[int, Any]]()

    def threads(self) -> int:
        return self._threads

    def start(self, work: Callable, number: int, item: object) -> None:
        self.asked.append(number)
        lost = self._dies(number, self.asked.count(number))
        self._under_way.append((number, ItemFailure(OSError()) if lost else work(item)))

    def wait(self, seconds: float) -> tuple[int, Any] | None:
        if not self._threads:
            return None
        number, result = self._under_way.popleft()
        if isinstance(result, ItemFailure) and self._own:
            self._under_way.clear()
            raise EngineFailure(result.reason)
        return number, result


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Callable:
    """The numbers of the items that were finished on a pretended cluster, and the error, if it ended with one."""

    def run_on(pretended: Pretended, count: int) -> tuple[set[int], WorkersFailed | None]:
        monkeypatch.setattr(cluster, "dask_cluster", lambda workers, address: nullcontext(pretended))
        finished = set[int]()
        try:
            for number, result in runner.run_all(abs, range(count), engine="dask", workers=1):
                assert result == number
                finished.add(number)
        except WorkersFailed as error:
            return finished, error
        return finished, None

    return run_on


def test_an_item_of_a_failed_worker_is_retried_after_all_others(run: Callable) -> None:
    pretended = Pretended(lambda number, time: number == 1 and time == 1)
    assert run(pretended, 5) == (set(range(5)), None)
    assert pretended.asked == [0, 1, 2, 3, 4, 1]


@pytest.mark.parametrize("own", [False, True])
def test_an_item_that_always_fails_is_an_error_after_all_others(run: Callable, own: bool) -> None:
    pretended = Pretended(lambda number, time: number == 1, own=own)
    finished, error = run(pretended, 5)
    assert f"workers failed {MAX_FAILURES} times in a row" in str(error)
    assert finished == {0, 2, 3, 4}
    assert pretended.asked.count(1) == 1 + MAX_FAILURES


def test_workers_that_fail_together_are_one_failure(run: Callable) -> None:
    count = 4 * MAX_FAILURES
    assert run(Pretended(lambda number, time: time == 1, threads=count // 2), count) == (set(range(count)), None)


def test_failures_with_results_in_between_do_not_stop_a_run(run: Callable) -> None:
    assert run(Pretended(lambda number, time: time == 1 and number % 2 == 1), 20) == (set(range(20)), None)


def test_a_cluster_without_workers_is_an_error(run: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "PATIENCE", 0.0)
    monkeypatch.setattr(cluster, "LOOK", 0.0)
    finished, error = run(Pretended(lambda number, time: False, threads=0), 3)
    assert finished == set()
    assert "expected a worker in the cluster within 0 s, got none" in str(error)


class _StopError(Exception):
    pass


def test_a_study_that_is_stopped_leaves_no_cluster_open(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Also while someone still holds the error, and with it the frames in which it was raised."""
    ended = []

    @contextmanager
    def pretend(workers: int, address: str | None) -> Iterator[Pretended]:
        try:
            yield Pretended(lambda number, time: False)
        finally:
            ended.append(True)

    def stop(progress: StudyProgress) -> None:
        if progress.asked:
            raise _StopError

    monkeypatch.setattr(cluster, "dask_cluster", pretend)
    with pytest.raises(_StopError) as held:
        run_study(small_study(tmp_path, FAST), tmp_path / "study.sqlite", engine="dask", workers=1, chunk=4, show=stop)
    gc.collect()
    assert ended == [True]
    assert held.tb


class PretendedClient:
    """A client of Dask with one worker, all of whose futures end with this error and status."""

    def __init__(self, error: Exception, future: str = "finished", *, status: str = "running") -> None:
        self._error, self._future, self.status = error, future, status
        self.loop = SimpleNamespace(add_callback=lambda call, *arguments: asyncio.run(call(*arguments)))

    def nthreads(self) -> dict[str, int]:
        return {"worker": 1}

    def submit(self, work: Callable, item: object, *, pure: bool) -> "PretendedFuture":
        return PretendedFuture(self._error, self._future)


class PretendedFuture:
    def __init__(self, error: Exception, status: str) -> None:
        self._error, self.status = error, status

    def __await__(self) -> Iterator[None]:
        yield
        raise self._error


@pytest.mark.parametrize("status", ["connecting", "closing", "closed"])
def test_a_client_without_scheduler_is_an_engine_failure(status: str) -> None:
    dask = _Dask(PretendedClient(ValueError(), status=status))
    with pytest.raises(EngineFailure, match="the scheduler is gone"):
        dask.threads()
    with pytest.raises(EngineFailure, match="the scheduler is gone"):
        dask.start(abs, 0, 1)


def test_a_local_cluster_ends_with_its_first_failed_worker() -> None:
    assert _Dask(PretendedClient(ValueError())).threads() == 1
    assert _Dask(PretendedClient(ValueError()), local=1).threads() == 1
    with pytest.raises(EngineFailure, match="a worker is gone"):
        _Dask(PretendedClient(ValueError()), local=2).threads()


def ends(error: Exception, future: str, own: int | None = None) -> tuple[int, Any] | None:
    """What becomes of an item whose future ends with the error."""
    dask = _Dask(PretendedClient(error, future), own)
    dask.start(abs, 7, 1)
    return dask.wait(0.0)


@pytest.mark.parametrize("error", [OSError("of the work"), ValueError("of the work"), TimeoutError("of the work")])
def test_errors_of_the_work_are_raised(error: Exception) -> None:
    pytest.importorskip("distributed")
    with pytest.raises(type(error), match="of the work"):
        ends(error, "error")


def test_a_result_that_cannot_be_fetched_is_an_engine_failure() -> None:
    cancelled = pytest.importorskip("distributed").CancelledError()
    for error, status in ((OSError(), "finished"), (cancelled, "cancelled")):
        with pytest.raises(EngineFailure, match=type(error).__name__):
            ends(error, status)


def test_a_killed_worker_fails_its_item_and_a_local_cluster() -> None:
    killed = pytest.importorskip("distributed").KilledWorker("task", None, 0)
    number, result = ends(killed, "error") or (None, None)
    assert number == 7
    assert isinstance(result, ItemFailure)
    with pytest.raises(EngineFailure, match="KilledWorker"):
        ends(killed, "error", own=1)


class PretendedRay:
    """Ray with one worker, which is always lost."""

    exceptions = SimpleNamespace(
        **{
            name: type(name, (Exception,), {})
            for name in (
                "RayTaskError",
                "WorkerCrashedError",
                "NodeDiedError",
                "LocalRayletDiedError",
                "OutOfMemoryError",
                "ObjectLostError",
            )
        }
    )

    def remote(self, call: Callable) -> Any:
        task = SimpleNamespace(remote=lambda work, item: "reference")
        return SimpleNamespace(options=lambda max_retries: task)

    def cluster_resources(self) -> dict[str, float]:
        return {"CPU": 1.0}

    def wait(self, references: list[str], timeout: float) -> tuple[list[str], list[str]]:
        return references, []

    def get(self, reference: str) -> None:
        raise self.exceptions.NodeDiedError


def test_a_failed_worker_of_ray_fails_its_item() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        ray = _Ray(PretendedRay(), f"127.0.0.1:{server.getsockname()[1]}")
        ray.start(abs, 7, 1)
        assert ray.threads() == 1
        number, result = ray.wait(0.0) or (None, None)
        assert number == 7
        assert isinstance(result, ItemFailure)


def test_a_failed_cluster_of_ray_is_an_engine_failure() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        ray = _Ray(PretendedRay(), f"127.0.0.1:{server.getsockname()[1]}")
    ray.start(abs, 7, 1)
    with pytest.raises(EngineFailure, match="the cluster is gone"):
        ray.wait(0.0)
    with pytest.raises(EngineFailure, match="the cluster is gone"):
        ray.threads()


@pytest.mark.parametrize("address", ["nowhere", "tcp://nowhere", "tcp://nowhere:port"])
def test_an_address_needs_host_and_port(address: str) -> None:
    pytest.importorskip("distributed")
    with pytest.raises(InvalidInput, match="expected an address with a host and a port"):
        list(runner.run_all(abs, [1], engine="dask", address=address))
