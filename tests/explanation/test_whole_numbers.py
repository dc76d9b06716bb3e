"""Seeds, foils and counts are whole numbers: others are refused, not rounded, before anything is asked."""

from typing import Any

import numpy as np
import pytest
from arguments import arguments

import paretofoil as pf
from paretofoil.agents.agent import rollouts
from paretofoil.core.errors import MAX_SEED
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
    [(-1, "a seed of at least 0, got -1"), (MAX_SEED + 1, "at most 9223372036854775807"), (1.5, "whole number")],
)
def test_a_seed_that_no_generator_takes_is_refused(agent: pf.Agent, door: str, seed: Any, words: str) -> None:
    with pytest.raises(pf.InvalidInput, match=words):
        with_seed(agent, seed)[door]()


@pytest.mark.parametrize("door", ["rollout", "explain", "influence", "never", "training"])
@pytest.mark.parametrize("seed", [MAX_SEED, np.int64(3)], ids=str)
def test_every_other_seed_is_taken(agent: pf.Agent, door: str, seed: Any) -> None:
    with_seed(agent, seed)[door]()


@pytest.mark.parametrize("foil", [1.7, None])
def test_a_foil_that_is_no_whole_number_is_refused(agent: pf.Agent, foil: Any) -> None:
    with pytest.raises(pf.InvalidInput, match=f"an action by name or number(, or an outcome)?, got (none|{foil})"):
        pf.explain(agent, pf.rollout(agent, agent.front[0])[0], foil=foil)


def test_a_part_of_an_answer_is_refused() -> None:
    with pytest.raises(pf.InvalidInput, match=r"k to be a whole number, got 1\.5"):
        pf.Options(k=1.5)  # type: ignore[arg-type]


def test_no_commands_have_no_episodes_and_no_states(agent: pf.Agent) -> None:
    assert rollouts(agent, []) == []
    empty = pf.Agent("empty", agent.policy, agent.environment, agent.space, np.zeros((0, 2)))
    with pytest.raises(pf.InvalidInput, match="at least one state, got none"):
        pf.never(empty, 0)


def asked(agent: pf.Agent, **options: Any) -> dict[str, Any]:
    decision, start = pf.rollout(agent, agent.front[0])[0], agent.front[0]
    where = {"state": decision.state, "command": decision.command, "space": agent.space, "foil": 1}
    return {
        "influence": lambda: pf.influence(agent, decision, **options),
        "influence of an episode": lambda: pf.influence_episode(agent, start, **options),
        "episode": lambda: pf.explain_episode(agent, start, search="nearest-front", **arguments(**options)),
        "never": lambda: pf.never(agent, 0, **options),
        "policy": lambda: pf.explain(agent.policy, search="nearest-front", **where, **arguments(**options)),
        "limits": lambda: pf.Limits(**options),
    }


SECONDS = "a limit of more than 0 seconds, got"
REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("influence", {"samples": 1.5}, r"samples to be a whole number, got 1\.5"),
    ("influence", {"seconds": "1"}, f"{SECONDS} '1'"),
    ("influence of an episode", {"samples": "all"}, "samples to be a whole number, got 'all'"),
    ("influence of an episode", {"undecided": 1.0}, "undecided of at least 0 and below 1"),
    ("episode", {"steps": [1.5]}, r"steps from 0 to \d+ of this episode, got 1\.5"),
    ("influence of an episode", {"steps": ["1"]}, r"steps from 0 to \d+ of this episode, got '1'"),
    ("never", {"seconds": None}, f"{SECONDS} None"),
    ("never", {"seconds": "1"}, f"{SECONDS} '1'"),
    ("never", {"seconds": np.inf}, f"{SECONDS} inf"),
    ("never", {"max_boxes": -1}, "max_boxes of at least 1, got -1"),
    ("never", {"max_boxes": "a"}, "max_boxes to be a whole number, got 'a'"),
    ("policy", {"valid_actions": [0.5, 1]}, r"valid actions as whole numbers, got 0\.5"),
    ("limits", {"seconds": "a"}, f"{SECONDS} 'a'"),
    ("limits", {"queries": 1.5}, r"queries that is a whole number, got 1\.5"),
]


@pytest.mark.parametrize(("door", "options", "words"), REFUSED)
def test_a_count_a_moment_or_a_time_that_is_none_is_refused(
    agent: pf.Agent, door: str, options: dict[str, Any], words: str
) -> None:
    with pytest.raises(pf.InvalidInput, match=words):
        asked(agent, **options)[door]()


@pytest.mark.parametrize(
    ("door", "options"),
    [
        ("influence of an episode", {"samples": 1.5}),
        ("influence of an episode", {"seconds": 0}),
        ("never", {"seconds": None}),
        ("never", {"max_boxes": 0}),
    ],
)
def test_it_is_refused_before_anything_is_rolled_out(
    agent: pf.Agent, door: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    call = asked(agent, **options)[door]
    for place in ("influence.rollout", "never.rollouts"):
        monkeypatch.setattr(f"paretofoil.explanation.{place}", lambda *_, **__: pytest.fail("rolled out"))
    with pytest.raises(pf.InvalidInput):
        call()


def test_a_question_with_a_valid_action_that_is_no_number_is_refused(agent: pf.Agent) -> None:
    with pytest.raises(pf.InvalidInput, match=r"valid actions as whole numbers, got 0\.5"):
        pf.Question(agent.policy, np.zeros(2), agent.front[0], 1, (0.5, 1), agent.space)  # type: ignore[arg-type]


def test_numbers_of_numpy_are_taken(agent: pf.Agent) -> None:
    one = np.int64(1)
    asked(agent, samples=5 * one, seconds=np.float32(0.5))["influence"]()
    assert asked(agent, steps=np.array([1, 0, 1]))["episode"]().steps[0] == 0
    assert asked(agent, valid_actions=np.array([0, 1]))["policy"]().question.valid_actions == (0, 1)
    assert pf.Limits(np.float64(2.0), one).deadline() > 0
