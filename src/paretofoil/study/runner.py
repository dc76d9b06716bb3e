"""The runner: answers the open questions of a study in chunks, locally or on a cluster, and writes each chunk."""

import json
import logging
import os
import platform
import threading
import time
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

from paretofoil.core import installed_versions
from paretofoil.core.errors import InvalidInput
from paretofoil.core.question import Question
from paretofoil.core.search import Search
from paretofoil.core.threads import one_thread
from paretofoil.explanation.ask import ask
from paretofoil.study.case import Case
from paretofoil.study.cluster import EngineFailure, FailureCounter, run_on_cluster
from paretofoil.study.store import Row, Store, read_about
from paretofoil.study.study import Study, restore_study

log = logging.getLogger(__name__)

MAX_WORKERS = 10_000
EngineName = Literal["local", "dask", "ray"]
Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True, eq=False)
class Chunk:
    """Questions about one agent for one search, with everything that a worker needs to answer them."""

    label: str
    search: Search
    cases: tuple[Case, ...]
    questions: tuple[Question, ...]
    actions: tuple[str, ...]
    agent_hash: str

    def __len__(self) -> int:
        return len(self.cases)


@dataclass(frozen=True)
class StudyProgress:
    """Progress of a study."""

    done: int
    """Number of finished questions, earlier runs included."""
    total: int
    found: int
    """Number of counterfactuals found in this run."""
    asked: int
    """Number of questions finished in this run."""
    seconds: float
    """Wall time of this run."""

    @property
    def rate(self) -> float:
        """Questions per second."""
        return self.asked / max(self.seconds, 1e-9)

    @property
    def left(self) -> float:
        """Estimated seconds until the end."""
        return (self.total - self.done) / self.rate if self.asked else float("inf")

    def __str__(self) -> str:
        """Return text such as "35.2/s, 78% found, 0:42 left"."""
        if not self.asked:
            return ""
        minutes, seconds = divmod(round(self.left), 60)
        return f"{self.rate:.1f}/s, {self.found / self.asked:.0%} found, {minutes}:{seconds:02d} left"


def run_study(
    study: Study,
    path: str | Path,
    *,
    workers: int | None = None,
    engine: EngineName = "local",
    address: str | None = None,
    chunk: int | None = None,
    show: Callable[[StudyProgress], None] | None = None,
) -> StudyProgress:
    """Answer the questions that have no row in the file yet. A study that was stopped or killed is continued.

    A crash loses only the running chunks, of `chunk` questions each; the default size depends on the search.
    """
    if chunk is not None and chunk < 1:
        raise InvalidInput.expected("chunks of at least 1 question", chunk)
    count = _check_engine(engine, workers, address)  # before the file is created
    configuration = study.configuration()
    with Store(path, configuration, {"sources": dict(study.sources or {})}) as store:
        total, chunks = _open_chunks(study, configuration["agents"], store.finished(), chunk)
        started = time.perf_counter()
        progress = StudyProgress(total - sum(map(len, chunks)), total, 0, 0, 0.0)
        if show:
            show(progress)
        log.info("%s: %d of %d questions are answered; %s engine", path, progress.done, total, engine)
        run = store.begin_run(engine, None if address else count, total, describe_machine()) if chunks else 0
        with closing(run_all(answer_chunk, chunks, engine=engine, workers=workers, address=address)) as results:
            for number, rows in results:
                answered, seconds = chunks[number], time.perf_counter() - started
                store.add(rows, run, seconds)
                progress = replace(
                    progress,
                    done=progress.done + len(answered),
                    found=progress.found + sum(row.found for row in rows),
                    asked=progress.asked + len(answered),
                    seconds=seconds,
                )
                source = f"{answered.label} on {answered.cases[0].agent}"
                log.info("%s: %s, %d of %d; %s", path, source, progress.done, total, progress)
                if show:
                    show(progress)
    return progress


def resume_study(path: str | Path, **options: Any) -> StudyProgress:
    """Continue the study of a file; the options are those of `run_study`."""
    about = read_about(path)
    return run_study(restore_study(about["configuration"], about["sources"], path), path, **options)


def _open_chunks(
    study: Study, hashes: Mapping[str, str], finished: set[tuple[str, Case]], chunk: int | None
) -> tuple[int, list[Chunk]]:
    """Return the number of all questions of a study, and the chunks of unanswered ones."""
    total, chunks = 0, []
    for agent in study.agents:
        pairs = list(study.questions(agent))
        for label, search in study.searches.items():
            total += len(pairs)
            left = [(case, question) for case, question in pairs if (label, case) not in finished]
            size = search.questions_at_once if chunk is None else chunk
            for first in range(0, len(left), size):
                cases, questions = zip(*left[first : first + size], strict=True)
                chunks.append(Chunk(label, search, cases, questions, agent.actions, hashes[agent.name]))
    return total, chunks


def answer_chunk(chunk: Chunk) -> list[Row]:
    """Answer the questions of a chunk together, in a worker."""
    answers = ask(chunk.questions, chunk.search, actions=chunk.actions)
    return [
        Row(
            case,
            chunk.label,
            chunk.agent_hash,
            answer.status,
            None if answer.closest is None else answer.closest.distance,
            answer.total_queries,
            json.dumps(_without_timings(answer.to_dict()), allow_nan=False),
            answer.search.seconds,
        )
        for case, answer in zip(chunk.cases, answers, strict=True)
    ]


def _without_timings(value: Any) -> Any:
    """Return the JSON value with every `seconds` set to 0, so that it is the same in every run."""
    if isinstance(value, dict):
        return {key: 0.0 if key == "seconds" else _without_timings(item) for key, item in value.items()}
    return [_without_timings(item) for item in value] if isinstance(value, list) else value


def _check_engine(engine: str, workers: int | None, address: str | None) -> int:
    """Return the number of workers: by default one per core that this process may use. Refuse wrong settings."""
    if engine not in get_args(EngineName):
        raise InvalidInput.expected(f"an engine among {', '.join(get_args(EngineName))}", repr(engine))
    if address is not None and engine == "local":
        raise InvalidInput.expected("an address with the engine dask or ray only", f"{address!r} with local")
    if workers is None:
        from joblib import cpu_count

        return int(cpu_count())
    if not 1 <= workers <= MAX_WORKERS:
        raise InvalidInput.expected(f"1 to {MAX_WORKERS:,} workers", workers)
    return workers


def run_all(
    work: Callable[[Item], Result],
    items: Iterable[Item],
    *,
    engine: EngineName = "local",
    workers: int | None = None,
    address: str | None = None,
) -> Generator[tuple[int, Result], None, None]:
    """Yield (index, result) of each item when it is finished, in any order. Items of failed workers are retried.

    To stop early, close the generator: this stops the workers.
    """
    count = _check_engine(engine, workers, address)
    left, failures = dict(enumerate(items)), FailureCounter()
    while left:
        try:
            started, pending = partial(_on_one_thread, work), dict(left)
            if engine == "local":
                running = _run_locally(started, pending, min(count, max(2, len(pending))))
            else:
                running = run_on_cluster(engine, started, pending, count, address, failures)
            with closing(running) as results:
                for number, result in results:
                    del left[number]
                    failures.reset()
                    yield number, result
        except EngineFailure as error:
            failures.add(str(error))
            left = _suspects_last(left, 2 * count)


def _suspects_last(left: Mapping[int, Item], count: int) -> dict[int, Item]:
    """Move the first `count` items, one of which may have killed its worker, to the end in reverse order."""
    numbers = list(left)
    return {number: left[number] for number in (*numbers[count:], *reversed(numbers[:count]))}


def _on_one_thread(work: Callable[[Item], Result], item: Item) -> Result:
    """Do the work of a worker on one thread, because rows must not depend on the number of threads."""
    with one_thread():
        return work(item)


def _run_locally(
    work: Callable[[Item], Result], items: Mapping[int, Item], workers: int
) -> Generator[tuple[int, Result], None, None]:
    """Yield results of joblib's processes; a single worker is this process itself."""
    from joblib import Parallel, delayed, parallel_config
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    watched = {"initializer": _end_with, "initargs": (os.getpid(),)}
    with parallel_config(backend="loky", n_jobs=workers, inner_max_num_threads=1, **watched):
        parallel = Parallel(return_as="generator_unordered", batch_size=1, pre_dispatch="2*n_jobs")
    try:
        yield from parallel(delayed(_numbered)(work, *pair) for pair in items.items())
    except TerminatedWorkerError as error:
        raise EngineFailure(type(error).__name__) from error


def _numbered(work: Callable[[Item], Result], number: int, item: Item) -> tuple[int, Result]:
    return number, work(item)


def _end_with(parent: int) -> None:
    """End this worker when its parent is gone. Otherwise workers of a killed study would wait for minutes."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


PACKAGES = ("numpy", "scipy", "torch", "gymnasium", "mo-gymnasium", "joblib", "adversarial-robustness-toolbox")


def describe_machine() -> dict[str, Any]:
    """Return versions and hardware, without names of people or hosts."""
    return {
        "versions": installed_versions(*PACKAGES),
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "cores": os.cpu_count(),
    }


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            names = [line.partition(":")[2].strip() for line in file if line.startswith("model name")]
    except OSError:
        names = []
    return names[0] if names else platform.processor() or "unknown"
