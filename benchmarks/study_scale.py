"""Measure the throughput and overhead of studies, for the figures in `docs/studies.md`.

    python benchmarks/study_scale.py
    python benchmarks/study_scale.py --parts large --questions 1000000 --engines local --search nearest-front

Prints Markdown tables for three parts. `throughput` measures the questions per second of CPU time. `overhead` measures
the overhead of a chunk with each engine. `large` runs a study of many similar agents, kills it (kill -9) after half of
the questions, and resumes it. CPU seconds are those of all processes of the run. The memory is the peak of the process
that starts the study.
"""

import argparse
import importlib.util
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from paretofoil.agents import Agent, load_agent
from paretofoil.core.search import Search
from paretofoil.core.threads import one_thread
from paretofoil.pcn.policy import Layer, PCNPolicy
from paretofoil.search import Boundary, CFZoo, Exact, NearestFront
from paretofoil.study import StudyProgress, enumerate_cases, make_study, read_runs, run_study
from paretofoil.study.runner import Chunk, EngineName, answer_chunk, run_all
from paretofoil.study.study import fingerprint

AGENTS = ("branch-path", "minecart", "collect-two", "fruit-tree")
SEARCHES: dict[str, Search] = {"cf-zoo": CFZoo(), "boundary": Boundary(), "exact": Exact()}
CHUNKS = 64
ENGINES: tuple[tuple[EngineName, int], ...] = (("local", 1), ("local", 2), ("dask", 2), ("ray", 2))
FLEET_FRONT = 100
"""Commands per agent of the fleet."""


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


def make_fleet(questions: int) -> list[Agent]:
    """Return copies of the Deep Sea Treasure agent with at least this many questions, each with slightly other weights.

    The commands of their fronts lie between neighbouring points of its front.
    """
    agent, rng, fleet, count = load_agent("deep-sea-treasure"), np.random.default_rng(0), list[Agent](), 0
    front, places = agent.front[np.argsort(agent.front[:, 0])], np.linspace(0, len(agent.front) - 1, FLEET_FRONT)
    commands = np.stack([np.interp(places, np.arange(len(front)), column) for column in front.T], axis=1)
    policy = agent.policy
    assert isinstance(policy, PCNPolicy)

    def vary(layers: tuple[Layer, ...]) -> tuple[Layer, ...]:
        return tuple((w * (1 + 0.01 * rng.standard_normal(w.shape)).astype(w.dtype), b) for w, b in layers)

    while count < questions:
        other = PCNPolicy(vary(policy.state), vary(policy.command), vary(policy.head))
        fleet.append(Agent(f"fleet-{len(fleet):05}", other, agent.environment, agent.space, commands))
        count += sum(1 for _ in enumerate_cases(fleet[-1]))
    return fleet


def run_child(path: Path, options: argparse.Namespace) -> None:
    """Run the study, and print what it took; kill this process when `kill_at` questions are answered."""
    search: Search = {**SEARCHES, "nearest-front": NearestFront()}[options.search]
    study, first = make_study(make_fleet(options.questions), {options.search: search}), [0.0]
    before, began = session_seconds(), time.perf_counter()

    def show(progress: StudyProgress) -> None:
        first[0] = first[0] or (time.perf_counter() - began if progress.asked else 0.0)
        killed = options.kill_at and progress.done >= options.kill_at
        if killed or progress.done == progress.total:
            seconds, status = session_seconds() - before, Path("/proc/self/status").read_text()
            peak = int(status.partition("VmHWM:")[2].split()[0]) / 1024
            told = {"asked": progress.asked, "done": progress.done, "total": progress.total, "peak": peak}
            wall = time.perf_counter() - began
            print(json.dumps({**told, "seconds": seconds, "first": first[0], "wall": wall}), flush=True)
            if killed:
                os.kill(os.getpid(), signal.SIGKILL)

    run_study(study, path, workers=2, engine=options.engines[0], show=show)


def session_seconds() -> float:
    """Return the CPU seconds of all processes of this session."""
    session, ticks = os.getsid(0), 0
    for process in Path("/proc").glob("[0-9]*"):
        try:
            fields = (process / "stat").read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        if int(fields[3]) == session:
            ticks += sum(map(int, fields[11:15]))  # also the children that ended
    return ticks / os.sysconf("SC_CLK_TCK")


def large(options: argparse.Namespace) -> None:
    """Run a large study with each engine, killed in the middle and resumed."""
    print(f"\n| engine | run | {options.search}: questions | per core second | starting process (MB) |", end="")
    print(" first answer after (s) | wall time (s) | file (KiB per row) |\n|---|---|---:|---:|---:|---:|---:|---:|")
    for engine in options.engines:
        if not installed(engine):
            print(f"| {engine} | not installed | | | | | | |")
            continue
        with tempfile.TemporaryDirectory() as folder:
            path, asked, told = Path(folder) / "s.sqlite", 0, dict[str, Any]()
            for run, kill_at in (("killed", options.questions // 2), ("resumed", 0)):
                command = [sys.executable, __file__, "--child", str(path), "--engines", engine]
                command += [
                    "--questions",
                    str(options.questions),
                    "--search",
                    options.search,
                    "--kill-at",
                    str(kill_at),
                ]
                with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as child:
                    told = json.loads(child.communicate()[0].splitlines()[-1])
                asked += told["asked"]
                size = path.stat().st_size / told["done"] / 1024
                rate = told["asked"] / told["seconds"]
                print(f"| {engine} | {run} | {told['asked']:,} | {rate:,.0f} | {told['peak']:,.0f} |", end="")
                print(f" {told['first']:.1f} | {told['wall']:,.0f} | {size:.2f} |", flush=True)
            stored = sum(run.asked for run in read_runs(path))
            print(f"{stored:,} answers are stored, {asked:,} were given, {told['total']:,} are all.", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parts = {"throughput": throughput, "overhead": overhead}
    parser.add_argument("--parts", nargs="+", choices=(*parts, "large"), default=(*parts, "large"))
    parser.add_argument("--questions", type=int, default=20_000)
    parser.add_argument("--search", choices=("nearest-front", *SEARCHES), default="nearest-front")
    parser.add_argument("--engines", nargs="+", default=("local", "dask", "ray"))
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--kill-at", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        run_child(options.child, options)
        return
    for part in options.parts:
        large(options) if part == "large" else parts[part]()


if __name__ == "__main__":
    main()
