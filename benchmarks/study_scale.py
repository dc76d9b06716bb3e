"""Measure the throughput and overhead of studies, for the figures in `docs/studies.md`.

Prints Markdown tables: questions per second of CPU time, overhead per chunk and engine, size of a row, and one worker
against two.
"""

import importlib.util
import tempfile
import time
import tracemalloc
from pathlib import Path

from paretofoil.agents import Agent, load_agent
from paretofoil.core.search import Search
from paretofoil.core.threads import one_thread
from paretofoil.search import Boundary, CFZoo, Exact
from paretofoil.study import make_study, run_study
from paretofoil.study.runner import Chunk, EngineName, answer_chunk, run_all
from paretofoil.study.store import Store
from paretofoil.study.study import fingerprint

AGENTS = ("branch-path", "minecart", "collect-two", "fruit-tree")
SEARCHES: dict[str, Search] = {"cf-zoo": CFZoo(), "boundary": Boundary(), "exact": Exact()}
CHUNKS = 64
ENGINES: tuple[tuple[EngineName, int], ...] = (("local", 1), ("local", 2), ("dask", 2), ("ray", 2))


def installed(engine: EngineName) -> bool:
    return engine == "local" or importlib.util.find_spec("distributed" if engine == "dask" else engine) is not None


def make_chunk(agent: Agent, search: Search) -> Chunk:
    """Return the first questions of an agent's stress test as a chunk."""
    study = make_study([agent], {search.name: search})
    cases, questions = zip(*list(study.questions(agent))[: search.questions_at_once], strict=True)
    return Chunk(search.name, search, cases, questions, agent.actions, fingerprint(agent))


def count(chunk: Chunk) -> int:
    """Do nothing, to measure the overhead of the engine."""
    return len(chunk)


def throughput() -> None:
    print("| agent | objectives | search | questions / core second | ms per question |\n|---|---:|---|---:|---:|")
    for name in AGENTS:
        agent = load_agent(name)
        for label, search in SEARCHES.items():
            chunk = make_chunk(agent, search)
            with one_thread():
                answer_chunk(chunk)  # warm
                started = time.process_time()
                answer_chunk(chunk)
                spent = (time.process_time() - started) / len(chunk)
            print(f"| {name} | {agent.space.dim} | {label} | {1 / spent:,.0f} | {1000 * spent:.1f} |", flush=True)


def overhead() -> None:
    print("\n| engine | workers | start (s) | ms per chunk of 64 |\n|---|---:|---:|---:|")
    chunk = make_chunk(load_agent("branch-path"), CFZoo())
    for engine, workers in ENGINES:
        if not installed(engine):
            print(f"| {engine} | {workers} | not installed | |")
            continue
        started, arrivals = time.perf_counter(), []
        for _ in run_all(count, [chunk] * CHUNKS, engine=engine, workers=workers):
            arrivals.append(time.perf_counter())
        each = 1000 * (arrivals[-1] - arrivals[0]) / (CHUNKS - 1)
        print(f"| {engine} | {workers} | {arrivals[0] - started:.2f} | {each:.1f} |", flush=True)


def disk() -> None:
    chunk = make_chunk(load_agent("branch-path"), CFZoo(100, 100))
    rows = answer_chunk(chunk)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s.sqlite"
        with Store(path, {}) as store:
            started = time.perf_counter()
            store.add(rows, store.begin_run("local", 1, len(rows), {}), 0.0)
            seconds = time.perf_counter() - started
        print(f"\nOne chunk of {len(rows)} rows is written in {1000 * seconds:.0f} ms; ", end="")
        print(f"{path.stat().st_size / len(rows) / 1024:.1f} KiB per row on disk.")


def scaling() -> None:
    """Run the whole stress test of Minecart, so that idle workers at the end matter little."""
    print("\n| engine | workers | seconds, start included | questions / s | against one worker |")
    print("|---|---:|---:|---:|---:|")
    alone = None
    for engine, workers in ENGINES:
        if not installed(engine):
            continue
        with tempfile.TemporaryDirectory() as folder:
            study = make_study(["minecart"], {"cf-zoo": CFZoo()})
            done = run_study(study, Path(folder) / "s.sqlite", workers=workers, engine=engine)
        alone = alone or done.seconds
        print(
            f"| {engine} | {workers} | {done.seconds:.1f} | {done.rate:.1f} | {alone / done.seconds:.2f} |", flush=True
        )


def memory() -> None:
    """Measure the memory of waiting questions."""
    agent = load_agent("minecart")
    tracemalloc.start()
    held = list(make_study([agent], {"cf-zoo": CFZoo()}).questions(agent))
    print(f"\nA question waits in {tracemalloc.get_traced_memory()[0] / len(held) / 1024:.1f} KiB of memory.")
    tracemalloc.stop()


if __name__ == "__main__":
    throughput()
    overhead()
    disk()
    memory()
    scaling()
