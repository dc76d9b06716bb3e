"""How items are handed out to a cluster and what becomes of lost ones, with a cluster that exists in the test only."""

from collections import deque
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import pytest

from paretofoil.core.errors import InvalidInput
from paretofoil.study import cluster, engine
from paretofoil.study.cluster import Lost
from paretofoil.study.loss import MAX_LOSSES, LossError, WorkersLostError


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
        self._under_way.append((number, Lost(OSError()) if lost else work(item)))

    def wait(self, seconds: float) -> tuple[int, Any] | None:
        if not self._threads:
            return None
        number, result = self._under_way.popleft()
        if isinstance(result, Lost) and self._own:
            self._under_way.clear()
            raise LossError(result.reason)
        return number, result


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Callable:
    """The numbers of the items that were finished on a pretended cluster, and the error, if it ended with one."""

    def run_on(pretended: Pretended, count: int) -> tuple[set[int], WorkersLostError | None]:
        monkeypatch.setattr(engine, "dask_cluster", lambda workers, address: nullcontext(pretended))
        finished = set[int]()
        try:
            for number, result in engine.run_all(abs, range(count), engine="dask", workers=1):
                assert result == number
                finished.add(number)
        except WorkersLostError as error:
            return finished, error
        return finished, None

    return run_on


def test_a_lost_item_is_asked_again_after_all_others(run: Callable) -> None:
    pretended = Pretended(lambda number, time: number == 1 and time == 1)
    assert run(pretended, 5) == (set(range(5)), None)
    assert pretended.asked == [0, 1, 2, 3, 4, 1]


@pytest.mark.parametrize("own", [False, True])
def test_an_item_that_is_always_lost_is_told_when_all_others_are_finished(run: Callable, own: bool) -> None:
    pretended = Pretended(lambda number, time: number == 1, own=own)
    finished, error = run(pretended, 5)
    assert f"lost {MAX_LOSSES} times in a row" in str(error)
    assert finished == {0, 2, 3, 4}
    assert pretended.asked.count(1) == 1 + MAX_LOSSES


def test_workers_that_are_lost_together_are_one_loss(run: Callable) -> None:
    count = 4 * MAX_LOSSES
    assert run(Pretended(lambda number, time: time == 1, threads=count // 2), count) == (set(range(count)), None)


def test_losses_with_results_in_between_are_no_reason_to_stop(run: Callable) -> None:
    assert run(Pretended(lambda number, time: time == 1 and number % 2 == 1), 20) == (set(range(20)), None)


def test_a_cluster_without_workers_is_told(run: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "PATIENCE", 0.0)
    monkeypatch.setattr(cluster, "LOOK", 0.0)
    finished, error = run(Pretended(lambda number, time: False, threads=0), 3)
    assert finished == set()
    assert "expected a worker in the cluster within 0 s, got none" in str(error)


@pytest.mark.parametrize("address", ["nowhere", "tcp://nowhere", "tcp://nowhere:port"])
def test_an_address_needs_host_and_port(address: str) -> None:
    pytest.importorskip("distributed")
    with pytest.raises(InvalidInput, match="expected an address with a host and a port"):
        list(engine.run_all(abs, [1], engine="dask", address=address))
