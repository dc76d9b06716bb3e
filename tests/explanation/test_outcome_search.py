"""The search for outcomes: no command of a dense grid is closer than what is proven."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from policies import random_pcn

import paretofoil as pf
from paretofoil.core.answer import Status
from paretofoil.envs.batch import tabulate
from paretofoil.envs.episode import greedy, run_episodes
from paretofoil.explanation import outcome_search
from paretofoil.explanation.outcome_search import GAP, future_returns

STATUSES = Status.PROVEN_CLOSEST, Status.PROVEN_INFEASIBLE


def returns_under(agent: pf.Agent, commands: np.ndarray) -> np.ndarray:
    seeds = np.zeros(len(commands), dtype=np.uint64)
    return run_episodes(agent.batch_env(), greedy(agent.policy), commands, seeds).returns


def check(agent: pf.Agent, answer: pf.Answer, commands: np.ndarray, met: np.ndarray) -> None:
    """Assert that no command that meets the goal is closer than the bound, and that the answer is nearly as close."""
    distances = agent.space.distance(commands, answer.question.command)
    nearest = distances[met].min(initial=np.inf)
    assert answer.status in STATUSES
    assert answer.lower_bound <= nearest
    if answer.status is Status.PROVEN_CLOSEST:
        assert answer.closest is not None
        assert (1 - GAP) * answer.closest.distance <= answer.lower_bound


@pytest.mark.parametrize("seed", [3, 4, 7, 8])  # with three returns or more
def test_no_command_of_a_grid_is_closer_than_what_is_proven_of_an_untrained_policy(seed: int) -> None:
    trained = pf.load_agent("reward-line")
    policy = random_pcn(seed, trained.policy.state_size, 2, len(trained.actions))  # type: ignore[attr-defined]
    agent = replace(trained, policy=policy, achieved=None)
    line = np.linspace(0.0, 1.0, 81)
    grid = np.stack(np.meshgrid(line, line), axis=-1).reshape(-1, 2)
    returns = returns_under(agent, grid)
    command = np.array([0.2, 0.7])
    [before] = returns_under(agent, command[None])
    others = np.unique(np.round(returns[np.abs(returns - before).max(axis=1) > 0.01], 6), axis=0)
    assert len(others) > 1
    for first, second in [*others[:2], (0.95, 0.95)]:  # the last is impossible
        answer = pf.explain(agent, command, pf.outcome(f"A = {first}, B = {second}"), limits=pf.Limits(30))
        check(agent, answer, grid, (np.abs(returns - [first, second]) <= 1e-3).all(axis=1))
    assert answer.status is Status.PROVEN_INFEASIBLE


def test_the_closest_command_of_four_objectives_is_proven() -> None:
    agent = pf.load_agent("collect-two")
    answer = pf.explain(agent, [1, 0, 0, 0.8], pf.outcome("C = 0.8, D = 1"), limits=pf.Limits(60))
    assert answer.status is Status.PROVEN_CLOSEST
    rng = np.random.default_rng(0)
    commands = rng.uniform(agent.space.low, agent.space.high, (8000, 4))
    returns = returns_under(agent, commands)
    check(agent, answer, commands, (np.abs(returns[:, 2:] - [0.8, 1.0]) <= 1e-3).all(axis=1))


@dataclass
class NoisyAlone:
    """A policy whose first action scores higher by some noise if it is queried alone."""

    policy: Any
    noise: float

    def log_probs(self, states: np.ndarray, commands: np.ndarray) -> np.ndarray:
        scores = self.policy.log_probs(states, commands)
        scores[:, 0] += self.noise if len(commands) == 1 else 0.0
        return scores

    def fold(self, state: np.ndarray) -> Any:
        return self.policy.fold(state)


def test_proofs_assume_more_than_the_noise_of_batches() -> None:
    agent = pf.load_agent("branch-path")
    noisy = replace(agent, policy=NoisyAlone(agent.policy, 1e-3))
    foil, command = pf.outcome("A = 2, B = 2"), agent.front[0]
    assert pf.explain(agent, command, foil).proof.slack == 0.0
    answer = pf.explain(noisy, command, foil, limits=pf.Limits(10))
    assert answer.proof.slack >= 4e-3
    assert "assuming rounding errors below" in answer.paragraph()


def test_future_returns_of_large_tables_are_kept_for_blocks_of_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    table = tabulate(pf.load_agent("deep-sea-treasure").environment)
    least, most = future_returns(table, table.masks, 40)(np.arange(41)[:, None], np.arange(len(table.final)))
    monkeypatch.setattr(outcome_search, "_NUMBERS", 10 * table.num_objectives * len(table.final))
    blocks = future_returns(table, table.masks, 40)
    assert len(blocks.least) == 9  # of 5 steps each
    lower, upper = blocks(np.arange(41)[:, None], np.arange(len(table.final)))
    assert ((lower <= least) & (upper >= most)).all()
    assert (lower[4] == least[:5].min(axis=0)).all()
