"""Measure in how many answers of the stress test an attainable command is found or proven, and what this costs.

    python benchmarks/attainable_proofs.py [AGENT ...] [--answers 300]

The questions are those of the stress test: every command of the front, every step of its episode, every foil. If an
agent has more than `--answers` answers, a random sample of them is used. For each answer, the benchmark looks for an
attainable command by rollouts alone, and then with a proof. For each agent, it prints

- how many answers have a quoted command that is itself attainable;
- for how many answers rollouts find an attainable command, and for how many of these a command is proven to be the
  closest (to 1 %, before it is rounded or replaced by the return itself);
- for how many answers rollouts find none, and for how many of these the proof finds one, proves that there is none, or
  is undecided;
- the CPU seconds of an answer without attainable commands, of the rollouts, and of the proofs.
"""

import argparse
import time
from collections import Counter

import numpy as np

import paretofoil as pf
from paretofoil.agents.agent import rollouts
from paretofoil.core.answer import Attainable
from paretofoil.explanation.attainable import find_attainable

AGENTS = ["branch-path", "collect-two", "deep-sea-treasure", "reward-line", "fruit-tree", "minecart"]
COLUMNS = ["answers", "deliver", "had", "closest", "had none", "found", "none", "open"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("agents", nargs="*", default=AGENTS)
    parser.add_argument("--answers", type=int, default=300, help="answers per agent, at most")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    print(f"{'agent':18}", *(f"{column:>8}" for column in COLUMNS), "  CPU s: answer, rollouts, proof (mean, largest)")
    for name in options.agents:
        agent, rng = pf.load_agent(name), np.random.default_rng(options.seed)
        decisions = [decision for episode in rollouts(agent, agent.front) for decision in episode]
        questions = [(decision, foil) for decision in decisions for foil in decision.others]
        counts: Counter[str] = Counter()
        seconds = []
        for i in rng.permutation(len(questions)):
            decision, foil = questions[i]
            times = [time.process_time()]
            answer = pf.explain(agent, decision, foil, options=pf.Options(attainable=False))
            if answer.command is None or answer.live is None:
                continue
            times.append(time.process_time())
            before = find_attainable(agent, decision, answer.live.question, answer.command)
            times.append(time.process_time())
            after = find_attainable(agent, decision, answer.live.question, answer.command, prove=True)
            times.append(time.process_time())
            seconds.append(np.diff(times))
            counts.update(kinds(answer.command, before, after))
            if counts["answers"] == options.answers:
                break
        answered, searched, proved = np.array(seconds).T
        proved = proved - searched  # which searches again
        cost = f"{answered.mean():.3f}, {searched.mean():.3f}, {proved.mean():.3f}, {proved.max():.3f}"
        print(f"{name:18}", *(f"{counts[column]:8}" for column in COLUMNS), f"  {cost}", flush=True)


def kinds(command: np.ndarray, before: Attainable, after: Attainable) -> list[str]:
    """Return the columns in which an answer counts."""
    if before.command is not None and np.array_equal(before.command, command):
        return ["answers", "deliver", "had"]
    if before.found:
        return ["answers", "had", *(["closest"] if after.proven_closest else [])]
    return ["answers", "had none", "found" if after.found else "none" if after.proven_none else "open"]


if __name__ == "__main__":
    main()
