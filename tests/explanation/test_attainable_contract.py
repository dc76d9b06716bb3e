"""Attainable commands of every shipped agent: in a plain loop, the agent takes the foil and delivers the command."""

import numpy as np
import pytest
from discrete import DISCRETE
from test_consequence import plain_loop
from tiers import long_except

import paretofoil as pf
from paretofoil.agents.agent import rollouts
from paretofoil.core.answer import DELIVERED
from paretofoil.search import Boundary

QUICK = Boundary(max_queries=300)
NUM_DECISIONS = {"breakable-bottles-realised": 3, "breakable-bottles": 6, "minecart": 4, "minecart-early": 2}
RUNS = 150


def some_decisions(agent: pf.Agent, count: int) -> list[pf.Decision]:
    decisions = [d for episode in rollouts(agent, agent.front) for d in episode if len(d.valid_actions) > 1]
    return [decisions[i] for i in np.random.default_rng(7).permutation(len(decisions))[:count]]


def delivered(agent: pf.Agent, decision: pf.Decision, command: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The return of the whole episode by a plain loop, and its standard error: means, where chance plays."""
    runs = range(1000, 1000 + RUNS) if agent.environment.stochastic else [0]
    totals = np.array([plain_loop(agent, decision, command, seed)[0] for seed in runs])
    spread = totals.std(axis=0, ddof=1) if len(runs) > 1 else np.zeros(totals.shape[1])
    return totals.mean(axis=0), spread / len(runs) ** 0.5


def margin(agent: pf.Agent, decision: pf.Decision, command: np.ndarray, foil: int) -> float:
    scores = agent.policy.log_probs(decision.state[None], command[None])[0]
    return float(scores[foil] - max(scores[a] for a in decision.valid_actions if a != foil))


@pytest.mark.parametrize("name", long_except(sorted(DISCRETE), ("branch-path", "resource-gathering")))
def test_an_attainable_command_takes_the_foil_and_is_delivered_in_a_plain_loop(name: str) -> None:
    agent, num_known = pf.load_agent(name), 0
    for decision in some_decisions(agent, NUM_DECISIONS.get(name, 8)):
        for answer in pf.explain_decision(agent, decision, search=QUICK):
            had = None if answer.rollouts is None else answer.rollouts.attainable
            assert (had is not None) == answer.found
            if had is None or not had.found:
                continue
            num_known += 1
            assert margin(agent, decision, had.command, answer.question.foil) >= answer.question.kappa
            assert ((had.command >= answer.question.low) & (had.command <= answer.question.high)).all()
            assert had.total == pytest.approx(had.command + decision.collected)
            assert had.distance == pytest.approx(agent.space.distance(had.command, decision.command))
            total, error = delivered(agent, decision, had.command)
            chance = 2 * had.consequence.error + 4 * error  # of the runs that told it, and of these
            assert (np.abs(total - had.total) <= DELIVERED * agent.space.scale + chance + 1e-9).all()
            assert had.consequence.achieved == pytest.approx(total, abs=float(np.max(4 * error + chance)) + 1e-9)
    assert num_known > 0, "or nothing was looked at"
