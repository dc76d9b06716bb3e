"""Compare return-only with return-horizon PCNs (paper, appendix "Return-Only PCN Adjustment").

Prints a Markdown table. For each environment, it has the points of the front, the hypervolume and the fidelity of both
kinds of agents, and how often the horizon alone changes the greedy action.
"""

import sys
from dataclasses import replace

import numpy as np

from paretofoil import envs
from paretofoil.agents.agent import Agent, rollouts
from paretofoil.agents.training import make_agent, make_trainer, preset
from paretofoil.pcn.train import TrainResult
from paretofoil_paper.paper_tables import ENVIRONMENTS

PROBES = 16
"""Horizons per decision, evenly spread over those of the training."""


def train(name: str, *, horizon: bool) -> tuple[Agent, TrainResult]:
    entry = envs.entry(name)
    result = make_trainer(entry, replace(preset(entry), horizon=horizon)).run()
    return make_agent(name, entry, result), result


def horizon_flips(agent: Agent) -> tuple[int, int, int]:
    """Return (decisions that some horizon changes, decisions, changed probes) along greedy rollouts of the front."""
    horizons = np.linspace(agent.space.low[-1], agent.space.high[-1], PROBES)
    flipped = decisions = probes = 0
    for episode in rollouts(agent, agent.front):
        for decision in episode:
            commands = np.repeat(decision.command[None], PROBES, axis=0)
            commands[:, -1] = horizons
            scores = agent.discrete_policy.log_probs(np.repeat(decision.state[None], PROBES, axis=0), commands)
            valid = np.array(decision.valid_actions)
            changed = valid[scores[:, valid].argmax(axis=1)] != decision.action
            flipped, decisions, probes = flipped + bool(changed.any()), decisions + 1, probes + int(changed.sum())
    return flipped, decisions, probes


def row(name: str) -> str:
    (_, plain), (agent, timed) = train(name, horizon=False), train(name, horizon=True)
    flipped, decisions, probes = horizon_flips(agent)
    cells = [name]
    for result in (plain, timed):
        cells += [str(len(result.front)), f"{result.hypervolume:.5g}", f"{result.reached.mean():.0%}"]
    cells += [f"{flipped}/{decisions} ({flipped / decisions:.0%})", f"{probes / decisions / PROBES:.0%}"]
    return "| " + " | ".join(cells) + " |"


def main(names: list[str]) -> None:
    print("| | return-only | | | return-horizon | | | horizon flips | |")
    print("|---|---|---|---|---|---|---|---|---|")
    print("| environment | front | hypervolume | reached | front | hypervolume | reached | decisions | probes |")
    for name in names:
        print(row(name), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:] or list(ENVIRONMENTS))
