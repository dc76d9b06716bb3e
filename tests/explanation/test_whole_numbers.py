"""Seeds, foils and counts are whole numbers: others are refused, not rounded, before anything is asked."""

from typing import Any

import numpy as np
import pytest

import paretofoil as pf
from paretofoil.core.whole_number import MOST_SEED
from paretofoil.pcn.config import TrainConfig


@pytest.fixture(scope="module")
def agent() -> pf.Agent:
    return pf.load_agent("reward-line")


def with_seed(agent: pf.Agent, seed: Any) -> dict[str, Any]:
    decision = pf.rollout(agent, agent.front[0])[0]
    return {
        "rollout": lambda: pf.rollout(agent, agent.front[0], seed=seed),
        "explain": lambda: pf.explain_decision(agent, decision, search="nearest-front", seed=seed),
        "influence": lambda: pf.influence(agent, decision, samples=5, seed=seed),
        "never": lambda: pf.never(agent, 0, states=[decision], seed=seed),
        "training": lambda: TrainConfig(seed=seed),
    }


@pytest.mark.parametrize("door", ["rollout", "explain", "influence", "never", "training"])
@pytest.mark.parametrize(
    ("seed", "words"),
    [(-1, "a seed of at least 0, got -1"), (MOST_SEED + 1, "at most 9223372036854775807"), (1.5, "whole number")],
)
def test_a_seed_that_no_generator_takes_is_refused(agent: pf.Agent, door: str, seed: Any, words: str) -> None:
    with pytest.raises(pf.InvalidInput, match=words):
        with_seed(agent, seed)[door]()


@pytest.mark.parametrize("door", ["rollout", "explain", "influence", "never", "training"])
@pytest.mark.parametrize("seed", [MOST_SEED, np.int64(3)], ids=str)
def test_every_other_seed_is_taken(agent: pf.Agent, door: str, seed: Any) -> None:
    with_seed(agent, seed)[door]()


@pytest.mark.parametrize("foil", [1.7, None])
def test_a_foil_that_is_no_whole_number_is_refused(agent: pf.Agent, foil: Any) -> None:
    with pytest.raises(pf.InvalidInput, match=f"an action by name or number, got {foil}"):
        pf.explain(agent, pf.rollout(agent, agent.front[0])[0], foil=foil)


def test_a_part_of_an_answer_is_refused() -> None:
    with pytest.raises(pf.InvalidInput, match=r"k to be a whole number, got 1\.5"):
        pf.Wishes(k=1.5)  # type: ignore[arg-type]


def test_no_commands_have_no_episodes_and_no_states(agent: pf.Agent) -> None:
    assert pf.rollouts(agent, []) == []
    empty = pf.Agent("empty", agent.policy, agent.environment, agent.space, np.zeros((0, 2)))
    with pytest.raises(pf.InvalidInput, match="at least one state, got none"):
        pf.never(empty, 0)
