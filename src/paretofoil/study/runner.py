"""Run studies: answer the open questions in chunks, on this machine or on a cluster, and write each chunk."""

import logging
import os
import platform
import re
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

from paretofoil.core import installed_versions
from paretofoil.core.answer import Answer
from paretofoil.core.errors import InvalidInput
from paretofoil.core.question import Question
from paretofoil.core.search import Search
from paretofoil.core.threads import one_thread
from paretofoil.explanation.ask import ask
from paretofoil.search.exact import Exact
from paretofoil.study.case import Case, OutcomeQuestion
from paretofoil.study.cluster import run_items
from paretofoil.study.store import Row, Store, read_about
from paretofoil.study.study import Study, restore_study

log = logging.getLogger(__name__)

MAX_WORKERS = 10_000
CASES_AT_ONCE = 4_096
"""Number of cases whose questions are in memory at a time."""
_TIMINGS = re.compile(r'(?<!\\)("seconds": )[-+.\w]+')
"""Timings in the JSON of an answer. They are set to 0, so that rows are equal in every run."""
EngineName = Literal["local", "dask", "ray"]
Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True, eq=False)
class Chunk:
    """Questions about one agent for one search, with all that a worker needs to answer them."""

    label: str
    search: Search
    cases: tuple[Case, ...]
    questions: tuple[Question | OutcomeQuestion, ...]
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
    """Answer the questions of a study that have no row in the file yet. This also continues a stopped study.

    A crash loses only the running chunks, of `chunk` questions each; the default size depends on the search.
    """
    if chunk is not None and chunk < 1:
        raise InvalidInput.expected("chunks of at least 1 question", chunk)
    count = _check_engine(engine, workers, address)  # before the file is created
    configuration = study.configuration()
    with Store(path, configuration, {"sources": dict(study.sources or {})}) as store:
        done, total = store.count(), len(study.searches) * sum(study.count(agent) for agent in study.agents)
        started, progress = time.perf_counter(), StudyProgress(done, total, 0, 0, 0.0)
        if show:
            show(progress)
        log.info("%s: %d of %d questions are answered; %s engine", path, done, total, engine)
        if done == total:
            return progress
        run = store.begin_run(engine, None if address else count, total, describe_machine())
        chunks = _open_chunks(study, configuration["agents"], store, chunk)
        with closing(run_all(answer_chunk, chunks, engine=engine, workers=workers, address=address)) as results:
            for _, rows in results:
                seconds = time.perf_counter() - started
                store.add(rows, run, seconds)
                progress = replace(
                    progress,
                    done=progress.done + len(rows),
                    found=progress.found + sum(row.found for row in rows),
                    asked=progress.asked + len(rows),
                    seconds=seconds,
                )
                source = f"{rows[0].search} on {rows[0].case.agent}"
                log.info("%s: %s, %d of %d; %s", path, source, progress.done, total, progress)
                if show:
                    show(progress)
    return progress


def resume_study(path: str | Path, **options: Any) -> StudyProgress:
    """Continue the study of a file; the options are those of `run_study`."""
    about = read_about(path)
    return run_study(restore_study(about["configuration"], about["sources"], path), path, **options)


def _open_chunks(study: Study, hashes: Mapping[str, str], store: Store, chunk: int | None) -> Iterator[Chunk]:
    """Yield the open questions of a study in chunks. At most `CASES_AT_ONCE` cases are in memory."""
    for agent in study.agents:
        cases = study.cases(agent)
        while part := list(islice(cases, CASES_AT_ONCE)):
            first, last = part[0][0].front, part[-1][0].front
            finished = {label: store.finished(agent.name, label, first, last) for label in study.searches}
            in_all = set.intersection(*finished.values())
            questions = list(study.questions(agent, (pair for pair in part if pair[0] not in in_all)))
            for label, search in study.searches.items():
                left = [pair for pair in questions if pair[0] not in finished[label]]
                default = 1 if study.rule.outcomes else search.questions_at_once
                size = default if chunk is None else chunk
                for start in range(0, len(left), size):
                    numbered, some = zip(*left[start : start + size], strict=True)
                    yield Chunk(label, search, numbered, some, agent.actions, hashes[agent.name])


def answer_chunk(chunk: Chunk) -> list[Row]:
    """Answer the questions of a chunk together, in a worker."""
    answers = _answers(chunk)
    return [
        Row(
            case,
            chunk.label,
            chunk.agent_hash,
            answer.status,
            None if answer.closest is None else answer.closest.distance,
            answer.total_queries,
            _TIMINGS.sub(r"\g<1>0.0", answer.to_json()),
            answer.search.seconds,
        )
        for case, answer in zip(chunk.cases, answers, strict=True)
    ]


def _answers(chunk: Chunk) -> list[Answer]:
    questions, search = chunk.questions, chunk.search
    outcomes = [question for question in questions if isinstance(question, OutcomeQuestion)]
    if outcomes and isinstance(search, Exact):
        return [question.answer(search) for question in outcomes]
    return ask([question for question in questions if isinstance(question, Question)], search, actions=chunk.actions)


def _check_engine(engine: str, workers: int | None, address: str | None) -> int:
    """Check the settings, and return the number of workers: by default one per core that this process may use."""
    if engine not in get_args(EngineName):
        raise InvalidInput.expected(f"an engine among {', '.join(get_args(EngineName))}", repr(engine))
    if address is not None and engine == "local":
        raise InvalidInput.expected("the engine dask or ray for an address", f"{address!r} with the engine local")
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

    An item is taken when a worker needs it. To stop early, close the generator: this stops the workers.
    """
    count = _check_engine(engine, workers, address)
    yield from run_items(engine, partial(_on_one_thread, work), items, count, address)


def _on_one_thread(work: Callable[[Item], Result], item: Item) -> Result:
    """Do the work in one thread, because rows must not depend on the number of threads."""
    with one_thread():
        return work(item)


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
