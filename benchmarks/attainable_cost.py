"""Measure the cost of the attainable command: explain the same decisions with and without it.

    python benchmarks/attainable_cost.py [AGENT ...]

Prints the median seconds of both, and their ratio.
"""

import statistics
import sys
import time

import numpy as np

import paretofoil as pf
from paretofoil.agents.agent import rollouts

NUM_DECISIONS, TIMES = 6, 3


def main(names: list[str]) -> None:
    print(f"{'agent':30} {'answers':>8} {'without, s':>11} {'with, s':>9} {'ratio':>6}")
    for name in names or [name for name in pf.list_agents() if "early" not in name]:
        agent = pf.load_agent(name)
        decisions = [d for episode in rollouts(agent, agent.front) for d in episode if len(d.valid_actions) > 1]
        chosen = [decisions[i] for i in np.random.default_rng(0).permutation(len(decisions))[:NUM_DECISIONS]]
        without, beside, answers = [], [], 0
        for decision in chosen:
            seconds: dict[bool, list[float]] = {False: [], True: []}
            for _ in range(TIMES):
                for sought in (False, True):
                    began = time.perf_counter()
                    found = pf.explain_decision(agent, decision, options=pf.Options(attainable=sought))
                    seconds[sought].append(time.perf_counter() - began)
            answers += sum(answer.found for answer in found)
            without.append(statistics.median(seconds[False]))
            beside.append(statistics.median(seconds[True]))
        ratio = sum(beside) / sum(without)
        print(f"{name:30} {answers:8} {sum(without):11.2f} {sum(beside):9.2f} {ratio:6.2f}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
