"""Compare the time that answers take in two checkouts of the repository, in one run.

    python benchmarks/floor.py BEFORE [AFTER] [--questions 40] [--rounds 3] [--agents NAME ...] [--parts PART ...]
        [--compiled] [--held-out]

BEFORE and AFTER are folders of checkouts; AFTER is this checkout by default. Processes of the two checkouts take turns,
with one thread each, and report CPU seconds. Parts:

- `answer`: one warm proven answer.
- `together`: many proven answers in one batch, as a study asks them.
- `explain`: one warm explanation, with rollouts and the proven range.
- `influence`: the influence at all steps of an episode, with at most 5 seconds for each proof. There is one episode for
  ten questions, under evenly spaced commands of the front.
- `train`: a training of at most 40,000 steps.
- `cold`: one process of `paretofoil explain`.

With `--compiled`, AFTER uses compiled proofs (extra `[fast]`). With `--held-out`, other questions are asked. Prints the
least seconds of all rounds, how many statuses differ, and the ratios of the distances. For a training, the share of the
front that is reached is printed in place of the status, and the hypervolume in place of the distance. For an influence,
they are the verdict and the proven share of each step.
"""

import argparse
import itertools
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

AGENTS = ("deep-sea-treasure", "branch-path", "reward-line", "minecart", "collect-two")
PARTS = ("answer", "together", "explain", "influence", "train", "cold")
COLD = ("deep-sea-treasure", "--command", "treasure=8,time=8", "--foil", "down")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path, nargs="?", default=Path(__file__).parents[1])
    parser.add_argument("--questions", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--agents", nargs="+", default=AGENTS)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--compiled", action="store_true")
    parser.add_argument("--held-out", action="store_true")
    parser.add_argument("--child", choices=PARTS[:-1], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(measure(options.child, options.agents[0], options.questions, options)))
        return
    print(
        f"{'part':9} {'agent':20} {'before, ms':>11} {'after, ms':>10} {'times faster':>13} {'statuses':>9} distances"
    )
    for part in options.parts:
        for agent in options.agents if part != "cold" else COLD[:1]:
            compare(part, agent, options)


def compare(part: str, agent: str, options: argparse.Namespace) -> None:
    """Print one row of the table."""
    checkouts, runs = (options.before, options.after), ([], [])  # type: tuple[Path, Path], tuple[list, list]
    for _ in range(options.rounds):
        for checkout, results in zip(checkouts, runs, strict=True):
            flags = ["--held-out"] * options.held_out + ["--compiled"] * (options.compiled and results is runs[1])
            cold = part == "cold"
            results.append(run_cold(checkout) if cold else run_child(checkout, part, agent, options.questions, flags))
    before, after = (min(run["seconds"] for run in results) for results in runs)
    old, new = (results[0]["answers"] for results in runs)
    changed = sum(one[0] != other[0] for one, other in zip(old, new, strict=True))
    ratios = [b[1] / a[1] for a, b in zip(old, new, strict=True) if a[1] and b[1]]
    spread = f"{min(ratios):.5f} to {max(ratios):.5f}" if ratios else "none"
    times = f"{1e3 * before:11.1f} {1e3 * after:10.1f} {before / after:13.2f}"
    print(f"{part:9} {agent:20} {times} {changed:3} of {len(old):3} {spread}", flush=True)


def environment(checkout: Path) -> dict[str, str]:
    """Return the environment of a process that imports a checkout, whose modules are compiled once."""
    cache = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(Path(tempfile.gettempdir()) / "floor-pycache")}
    return {**os.environ, **cache, "PYTHONPATH": str(checkout / "src"), "OMP_NUM_THREADS": "1"}


def run_child(checkout: Path, part: str, agent: str, questions: int, flags: list[str]) -> dict[str, Any]:
    """Return the seconds and the answers of a process that imports a checkout."""
    settings = ["--child", part, "--agents", agent, "--questions", str(questions), *flags]
    command = [sys.executable, __file__, str(checkout), *settings]
    done = subprocess.run(command, env=environment(checkout), stdout=subprocess.PIPE, check=True)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def run_cold(checkout: Path) -> dict[str, Any]:
    """Return the CPU seconds of `paretofoil explain` in a new process."""

    def spent() -> float:
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    command, before = [sys.executable, "-m", "paretofoil", "explain", *COLD, "--json"], spent()
    done = subprocess.run(command, env=environment(checkout), stdout=subprocess.PIPE, check=True)
    answers = json.loads(done.stdout)["answers"]
    return {"seconds": spent() - before, "answers": [(a["status"], a["closest"]["distance"]) for a in answers]}


def measure(part: str, name: str, count: int, options: argparse.Namespace) -> dict[str, Any]:
    """Return the CPU seconds of one answer, and the status and distance of each."""
    from paretofoil.agents import load_agent
    from paretofoil.explanation.ask import ask
    from paretofoil.explanation.explain import explain
    from paretofoil.search import Exact
    from paretofoil.study.case import enumerate_cases, evenly, make_case_question

    if part == "train":
        return measure_training(name)
    if options.compiled:
        from paretofoil.proof.compiled import enable

        assert enable(), "install the extra [fast]"
    agent = load_agent(name)
    if part == "influence":
        return measure_influence(agent, max(1, count // 10))
    cases = list(enumerate_cases(agent))
    numbers = evenly(len(cases), count)
    if options.held_out:
        numbers = sorted({(i + j) // 2 for i, j in itertools.pairwise(numbers)} - set(numbers))
    picked = [cases[i] for i in numbers]
    questions = [make_case_question(agent, case, decision) for case, decision in picked]
    foils = [(decision, question.foil) for (_, decision), question in zip(picked, questions, strict=True)]

    def answer_all() -> list:
        if part == "together":
            return ask(questions, Exact())
        if part == "explain":
            return [explain(agent, decision, foil) for decision, foil in foils]
        return [ask([question], Exact())[0] for question in questions]

    ask(questions[:1], Exact())
    began = time.process_time()
    answers = answer_all()
    seconds = (time.process_time() - began) / len(answers)
    return {"seconds": seconds, "answers": [(a.status.value, a.closest and a.closest.distance) for a in answers]}


def measure_influence(agent: Any, count: int) -> dict[str, Any]:
    """Return the CPU seconds of an episode, and the verdict and the decided share of each step."""
    from paretofoil.explanation.influence import influence_episode
    from paretofoil.study.case import evenly

    influence_episode(agent, agent.front[0], steps=[0])
    began = time.process_time()
    profiles = [influence_episode(agent, agent.front[i], seconds=5) for i in evenly(len(agent.front), count)]
    seconds = (time.process_time() - began) / len(profiles)
    steps = [step for profile in profiles for step in profile.steps]
    return {"seconds": seconds, "answers": [(step.verdict, 1.0 - step.undecided) for step in steps]}


def measure_training(environment: str) -> dict[str, Any]:
    """Return the CPU seconds of a short training, the share of the front that it reaches, and its hypervolume."""
    from paretofoil import envs
    from paretofoil.agents.training import make_trainer, preset

    config = preset(envs.entry(environment))
    trainer = make_trainer(envs.entry(environment), replace(config, steps=min(config.steps, 40_000)))
    began = time.process_time()
    result = trainer.run()
    seconds = time.process_time() - began
    return {"seconds": seconds, "answers": [(float(result.reached.mean()), result.hypervolume)]}


if __name__ == "__main__":
    main()
