"""Where chunks are answered: processes on this machine, a Dask cluster or a Ray cluster."""

import os
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import closing
from functools import cache, partial
from typing import Literal, TypeVar

from paretofoil.core.errors import InvalidInput
from paretofoil.core.threads import one_thread
from paretofoil.study.cluster import answer_on, dask_cluster, ray_cluster
from paretofoil.study.loss import LossError, Losses

EngineName = Literal["local", "dask", "ray"]
ENGINES: tuple[EngineName, ...] = ("local", "dask", "ray")

Item = TypeVar("Item")
Result = TypeVar("Result")


def count_workers(wanted: int | None) -> int:
    """So many as wanted, or one per core."""
    if wanted is None:
        from joblib import cpu_count

        return int(cpu_count())  # those that this process may use
    if wanted < 1:
        raise InvalidInput.expected("at least 1 worker", wanted)
    return wanted


def check_engine(engine: str, address: str | None) -> None:
    if engine not in ENGINES:
        raise InvalidInput.expected(f"an engine among {', '.join(ENGINES)}", repr(engine))
    if address is not None and engine == "local":
        raise InvalidInput.expected("an address with the engine dask or ray", "one with local processes")


def run_all(
    work: Callable[[Item], Result],
    items: Iterable[Item],
    *,
    engine: EngineName = "local",
    workers: int | None = None,
    address: str | None = None,
) -> Generator[tuple[int, Result], None, None]:
    """(number of the item, result) of each item, as they are finished, in any order; lost items are retried.

    To be closed by who leaves it early: until then the workers stay.
    """
    check_engine(engine, address)
    count = count_workers(workers)
    left, losses = dict(enumerate(items)), Losses()
    while left:
        try:
            with closing(_answers(partial(_alone, work), dict(left), engine, count, address, losses)) as answers:
                for number, result in answers:
                    del left[number]
                    losses.end_row()
                    yield number, result
        except LossError as error:  # everything is made anew, so that nothing is left of the loss
            losses.add(str(error))
            left = _suspects_last(left, 2 * count)


def _answers(
    work: Callable[[Item], Result],
    items: Mapping[int, Item],
    engine: EngineName,
    workers: int,
    address: str | None,
    losses: Losses,
) -> Generator[tuple[int, Result], None, None]:
    """Results, until all items are finished or a loss ends it."""
    if engine == "local":
        yield from _local(work, items, workers)
    else:
        with (dask_cluster if engine == "dask" else ray_cluster)(workers, address) as cluster:
            yield from answer_on(cluster, work, items, losses)


def _suspects_last(left: Mapping[int, Item], count: int) -> dict[int, Item]:
    """Those that were under way go last, the longest of all: one of them may kill the next worker, too."""
    numbers = list(left)
    return {number: left[number] for number in (*numbers[count:], *reversed(numbers[:count]))}


def _alone(work: Callable[[Item], Result], item: Item) -> Result:
    """In a worker: workers are the parallelism, and rows must not depend on their number."""
    with one_thread():
        return work(item)


def _local(work: Callable[[Item], Result], items: Mapping[int, Item], workers: int) -> Iterator[tuple[int, Result]]:
    """In processes of joblib; a single worker is this process itself."""
    from joblib import Parallel, delayed, parallel_config
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    with parallel_config(backend="loky", n_jobs=workers, inner_max_num_threads=1):
        parallel = Parallel(return_as="generator_unordered", batch_size=1, pre_dispatch="2*n_jobs")
    try:
        yield from parallel(delayed(_numbered)(work, *pair, os.getpid()) for pair in items.items())
    except TerminatedWorkerError as error:
        raise LossError(type(error).__name__) from error


def _numbered(work: Callable[[Item], Result], number: int, item: Item, parent: int) -> tuple[int, Result]:
    if parent != os.getpid():
        _end_with(parent)
    return number, work(item)


@cache
def _end_with(parent: int) -> None:
    """A study that is killed takes its local workers with it; they would wait for work for minutes."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
