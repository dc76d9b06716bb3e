"""The runner: asks what a study's file does not hold yet, in chunks, and writes each chunk as it is finished."""

import json
import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from paretofoil.core.answer import Answer
from paretofoil.core.errors import InvalidInput
from paretofoil.core.question import Question
from paretofoil.core.search import Search
from paretofoil.explanation.ask import ask
from paretofoil.study.case import Case
from paretofoil.study.engine import EngineName, check_engine, count_workers, run_all
from paretofoil.study.machine import describe_machine
from paretofoil.study.store import Row, Store, read_about
from paretofoil.study.study import Study, restore_study

log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class Chunk:
    """Questions on one agent for one search; it holds all that a worker needs: no files, no environment."""

    label: str
    search: Search
    cases: tuple[Case, ...]
    questions: tuple[Question, ...]
    actions: tuple[str, ...]
    agent_hash: str

    def __len__(self) -> int:
        return len(self.cases)


@dataclass(frozen=True)
class Progress:
    """How far a study is."""

    done: int
    """Finished questions, those of earlier runs included."""
    total: int
    found: int
    """Counterfactuals found in this run."""
    asked: int
    """Questions finished in this run."""
    seconds: float
    """Since this run began."""

    @property
    def rate(self) -> float:
        """Questions per second."""
        return self.asked / max(self.seconds, 1e-9)

    @property
    def left(self) -> float:
        """Seconds until the end, at this rate."""
        return (self.total - self.done) / self.rate if self.asked else float("inf")

    def __str__(self) -> str:
        """ "35.2/s, 78 % found, 0:42 left"."""
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
    show: Callable[[Progress], None] | None = None,
) -> Progress:
    """Ask all that the file does not hold yet. Stopped or killed at any moment, it goes on when called again.

    A crash costs the unfinished chunks; `chunk` is their size, by default what suits each search.
    """
    if chunk is not None and chunk < 1:
        raise InvalidInput.expected("chunks of at least 1 question", chunk)
    check_engine(engine, address)  # before there is a file
    count = None if address else count_workers(workers)
    configuration = study.configuration()
    with Store(path, configuration, {"sources": dict(study.sources or {})}) as store:
        total, chunks = _chunks(study, configuration["agents"], store.finished(), chunk)
        started = time.perf_counter()
        progress = Progress(total - sum(map(len, chunks)), total, 0, 0, 0.0)
        if show:
            show(progress)
        log.info("%s: %d of %d questions are answered; %s engine", path, progress.done, total, engine)
        run = store.begin_run(engine, count, total, describe_machine()) if chunks else 0
        with closing(run_all(answer_chunk, chunks, engine=engine, workers=workers, address=address)) as results:
            for number, rows in results:
                seconds = time.perf_counter() - started
                store.add(rows, run, seconds)
                size = len(chunks[number])
                progress = replace(
                    progress,
                    done=progress.done + size,
                    found=progress.found + sum(row.found for row in rows),
                    asked=progress.asked + size,
                    seconds=seconds,
                )
                asked = f"{chunks[number].label} on {chunks[number].cases[0].agent}"
                log.info("%s: %s, %d of %d; %s", path, asked, progress.done, total, progress)
                if show:
                    show(progress)
    return progress


def resume_study(path: str | Path, **options: Any) -> Progress:
    """Go on with the study of a file."""
    about = read_about(path)
    return run_study(restore_study(about["configuration"], about["sources"], path), path, **options)


def _chunks(
    study: Study, hashes: Mapping[str, str], finished: set[tuple[str, Case]], chunk: int | None
) -> tuple[int, list[Chunk]]:
    """The number of all questions of a study, and those that are left, in chunks."""
    total, chunks = 0, []
    for agent in study.agents:
        asked = list(study.questions(agent))
        for label, search in study.searches.items():
            total += len(asked)
            left = [(case, question) for case, question in asked if (label, case) not in finished]
            size = search.questions_at_once if chunk is None else chunk
            for first in range(0, len(left), size):
                cases, questions = zip(*left[first : first + size], strict=True)
                chunks.append(Chunk(label, search, cases, questions, agent.actions, hashes[agent.name]))
    return total, chunks


def answer_chunk(chunk: Chunk) -> list[Row]:
    """In a worker: answer the questions together."""
    answers = ask(chunk.questions, chunk.search, actions=chunk.actions)
    return list(_rows(chunk, answers))


def _rows(chunk: Chunk, answers: list[Answer]) -> Iterator[Row]:
    for case, found in zip(chunk.cases, answers, strict=True):
        yield Row(
            case,
            chunk.label,
            chunk.agent_hash,
            found.status,
            found.closest_distance,
            found.total_queries,
            json.dumps(_without_timings(found.to_dict()), allow_nan=False),
            found.seconds,
        )


def _without_timings(value: Any) -> Any:
    """The same JSON with every `seconds` 0: what is left is the same in every run."""
    if isinstance(value, dict):
        return {key: 0.0 if key == "seconds" else _without_timings(item) for key, item in value.items()}
    return [_without_timings(item) for item in value] if isinstance(value, list) else value
