"""Train a PCN with MORL-Baselines (extra [morl]), import it and explain it.

    python benchmarks/morl_import.py [STEPS] [QUESTIONS] [SEED]

Asks the questions of the stress test, or QUESTIONS evenly spread ones. Counts the questions that `Exact` proves
feasible, and those of them that `Boundary` and CF-ZOO answer. Also counts the questions that are feasible if the
horizon must not change, and if only the horizon may change.
"""

import contextlib
import io
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

os.environ.setdefault("WANDB_MODE", "disabled")

import paretofoil as pf
from paretofoil.core.decision import Decision
from paretofoil.core.threads import one_thread
from paretofoil.envs.front import known_front
from paretofoil.search import Boundary, CFZoo, Exact, Search
from paretofoil.study.case import Case, enumerate_cases, evenly

ENVIRONMENT = "deep-sea-treasure"
Asked = Sequence[tuple[Case, Decision]]


def main(steps: int, count: int, seed: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        started = time.process_time()
        model = train(Path(folder), steps, seed)
        seconds = time.process_time() - started
        agent = pf.import_agent(model, ENVIRONMENT)
    print(f"{agent.provenance['imported']}, {steps:,} steps in {seconds:.0f} CPU s, seed {seed}: {agent.policy!r}")
    print(f"It reaches {len(agent.front)} of the {len(np.asarray(known_front(ENVIRONMENT)))} points of the front.\n")
    cases = list(enumerate_cases(agent))
    picked = [cases[i] for i in evenly(len(cases), count)]
    with one_thread():
        compare(agent, picked)


def train(folder: Path, steps: int, seed: int) -> Path:
    """Train with MORL-Baselines and return the checkpoint file."""
    import torch
    from mo_gymnasium.utils import make
    from morl_baselines.multi_policy.pcn.pcn import PCN

    torch.set_num_threads(1)
    torch.manual_seed(seed)
    env = make("deep-sea-treasure-concave-v0")
    env.action_space.seed(seed)
    scaling = np.array([0.1, 0.1, 0.01])
    pcn = PCN(env, scaling_factor=scaling, learning_rate=1e-3, batch_size=256, log=False, seed=seed)
    with contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()):
        pcn.train(steps, env, np.array([0.0, -50.0]), max_return=np.array([124.0, -1.0]), max_buffer_size=200)
        pcn.save("final", ".")
    return folder / "final.pt"


def compare(agent: pf.Agent, picked: Asked) -> None:
    proven, seconds = ask(agent, picked, Exact())
    feasible = np.array([answer.found for answer in proven])
    opened = sum(answer.proof is None or answer.proof.status == "gap" for answer in proven)
    print(f"{len(picked)} questions: {feasible.sum()} proven feasible, {(~feasible).sum()} infeasible, {opened} open")
    print("\n| search | found of the feasible questions | share | distance to Exact's, mean | CPU s per question |")
    print("|---|---:|---:|---:|---:|")
    print(f"| exact | {feasible.sum()} | 100 % | 1.000 | {seconds:.3f} |", flush=True)
    for search in (Boundary(), CFZoo()):
        answers, seconds = ask(agent, picked, search)
        found = np.array([answer.found for answer in answers]) & feasible
        sizes = [
            (a.quoted.distance, p.quoted.distance)
            for a, p in zip(answers, proven, strict=True)
            if a.quoted and p.quoted
        ]
        ratio = np.mean([theirs / least for theirs, least in np.array(sizes, dtype=float)])
        share = f"{found.sum() / feasible.sum():.2%}"
        print(f"| {search.name} | {found.sum()} | {share} | {ratio:.3f} | {seconds:.3f} |", flush=True)
    fixed, _ = ask(agent, picked, Exact(), ["horizon"])
    alone, _ = ask(agent, picked, Exact(), [name for name in agent.space.names if name != "horizon"])
    counts = [f"{sum(answer.found for answer in answers)} of {len(picked)}" for answers in (proven, fixed, alone)]
    print(
        f"\nA counterfactual command exists: {counts[0]} times with all free, {counts[1]} with the horizon fixed, ",
        end="",
    )
    print(f"{counts[2]} with only the horizon free.")
    decisions = {(case.front, case.step) for case, _ in picked}
    changed = {(case.front, case.step) for (case, _), answer in zip(picked, alone, strict=True) if answer.found}
    print(f"In {len(changed)} of {len(decisions)} decisions some horizon alone changes the action.")


def ask(agent: pf.Agent, picked: Asked, search: Search, keep: Sequence[str] = ()) -> tuple[list[pf.Answer], float]:
    """Ask each question alone; return the answers and the mean CPU seconds."""
    started = time.process_time()
    answers = [
        pf.explain(agent, decision, foil=case.foil, search=search, options=pf.Options(keep=keep))
        for case, decision in picked
    ]
    return answers, (time.process_time() - started) / len(picked)


if __name__ == "__main__":
    arguments = [int(text) for text in sys.argv[1:]]
    main(*arguments, *(20_000, 100_000, 0)[len(arguments) :])
