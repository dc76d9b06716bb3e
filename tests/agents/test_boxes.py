"""No shipped agent is asked for, or about, what cannot happen."""

from dataclasses import replace

import numpy as np
import pytest
from discrete import DISCRETE
from tiers import long_except

from paretofoil import envs
from paretofoil.agents import load_agent
from paretofoil.agents.agent import Agent, rollouts
from paretofoil.agents.store import shipped_folder
from paretofoil.agents.training import HORIZON, make_agent, make_trainer, preset
from paretofoil.core.command import CommandSpace
from paretofoil.core.decision import Decision
from paretofoil.core.errors import InvalidInput
from paretofoil.envs.batch import TransitionTable, tabulate
from paretofoil.envs.front import known_front
from paretofoil.explanation.questions import make_questions

SHIPPED = sorted(path.name for path in shipped_folder().iterdir())
FINITE = [name for name in SHIPPED if load_agent(name).environment.finite]
LONG_EPISODES = ("minecart-early", "mountain-car", "minecart")
QUICK_EPISODES = long_except(DISCRETE, set(DISCRETE).difference(LONG_EPISODES))
ROUNDING = 1e-9


def extreme_returns(table: TransitionTable, steps: int, sign: int, lucky: bool) -> np.ndarray:
    """(states, d): the best (or worst, for sign -1) expected return of each objective from each running state.

    With `lucky`, the best that an episode can realise. Each objective is pursued by itself, for every number of steps
    left, and the best of these is taken.
    """
    value = np.zeros((len(table.states), table.num_objectives))  # sign times the return
    best = np.full_like(value, -np.inf)
    rare = table.rare[:, :, None, None]
    chances = np.concatenate([1.0 - rare, rare], axis=2)  # (S, A, 2, 1)
    for _ in range(steps):
        outcomes = sign * table.rewards + value[table.next_states]  # (S, A, 2, d)
        action_values = outcomes.max(axis=2) if lucky else (chances * outcomes).sum(axis=2)  # (S, A, d)
        value = np.where(table.masks[:, :, None], action_values, -np.inf).max(axis=1, initial=-np.inf)
        value[table.final] = 0.0
        best = np.maximum(best, value)
    return sign * best[~table.final]


def decisions_of_front(agent: Agent) -> list[Decision]:
    return [decision for episode in rollouts(agent, agent.front) for decision in episode.decisions]


@pytest.mark.parametrize("name", SHIPPED)
def test_every_box_lies_within_the_natural_limits(name: str) -> None:
    agent = load_agent(name)
    low, high = agent.space.limits
    assert agent.space.objectives == agent.environment.objectives
    assert np.isfinite([low, high]).all()
    assert (low <= agent.space.low).all()
    assert (agent.space.high <= high).all()
    assert (agent.front >= low).all()
    assert (agent.front <= high).all()


def test_training_cuts_the_box_of_what_it_relabelled_to_the_natural_limits() -> None:
    """A run of bad luck takes longer than was promised, so that relabelled commands ask for less than no time."""
    entry = envs.entry("breakable-bottles")
    result = make_trainer(entry, replace(preset(entry), steps=30_000, polish_rounds=0)).run()
    space = make_agent("cut", entry, result).space
    assert result.high[0] > 0
    assert space.high.tolist() == [-1.0, 50.0, 0.0]
    assert (space.low >= [-100.0, 0.0, -1.0]).all()


def test_an_agent_keeps_its_front_in_order_with_what_was_achieved_beside_it() -> None:
    entry = envs.entry("reward-line")
    result = make_trainer(entry, replace(preset(entry), steps=1, polish_rounds=0)).run()
    result = replace(result, front=result.front[::-1], achieved=result.achieved[::-1])
    agent = make_agent("ordered", entry, result)
    assert agent.front.tolist() == sorted(result.front.tolist()) != result.front.tolist()
    pairs = [
        tuple(zip(a.tolist(), b.tolist(), strict=True)) for a, b in zip(result.front, result.achieved, strict=True)
    ]
    assert sorted(pairs) == sorted(
        tuple(zip(a.tolist(), b.tolist(), strict=True)) for a, b in zip(agent.front, agent.achieved, strict=True)
    )


@pytest.mark.parametrize("name", FINITE)
def test_every_box_holds_only_what_some_state_can_still_return(name: str) -> None:
    agent = load_agent(name)
    table, steps = tabulate(agent.environment), agent.environment.max_steps
    lucky = agent.provenance["config"]["returns"] == "realised"
    least = extreme_returns(table, steps, -1, lucky).min(axis=0)
    most = extreme_returns(table, steps, 1, lucky).max(axis=0)
    assert (agent.space.low >= least - ROUNDING).all()
    assert (agent.space.high <= most + ROUNDING).all()
    low, high = agent.space.limits
    assert (low <= least + ROUNDING).all()  # natural limits cut off nothing that can happen
    assert (most <= high + ROUNDING).all()


@pytest.mark.parametrize("name", QUICK_EPISODES)
def test_no_valid_foil_is_an_action_that_the_environment_ignores(name: str) -> None:
    agent, env = load_agent(name), load_agent(name).batch_env()
    for decision in decisions_of_front(agent):
        actions = np.array([a for a in decision.valid_actions if a != agent.environment.idle])
        env.restore(decision.snapshot, np.zeros(len(actions), dtype=np.int64))
        step = env.step(np.arange(len(actions)), actions)
        changed = (step.observations != decision.state).any(axis=1)
        assert (changed | step.terminated).all(), decision


@pytest.mark.parametrize("name", QUICK_EPISODES)
def test_no_question_about_a_front_searches_what_can_no_longer_be_returned(name: str) -> None:
    agent = load_agent(name)
    low, high = agent.space.limits
    for decision in decisions_of_front(agent):
        [question] = make_questions(agent, decision, [decision.valid_actions[0]])
        for region in (question.low, question.high):
            whole, asked_for = decision.collected + region, decision.collected + decision.command
            assert (region >= np.minimum(low, decision.command)).all()
            assert (region <= np.maximum(high, decision.command)).all()
            assert (whole >= np.minimum(low, asked_for) - ROUNDING).all()
            assert (whole <= np.maximum(high, asked_for) + ROUNDING).all()


@pytest.mark.parametrize("name", SHIPPED)
def test_a_state_of_ones_own_has_the_valid_actions_of_the_environment(name: str) -> None:
    agent = load_agent(name)
    decisions = decisions_of_front(agent)
    for decision in decisions[:: 1 + len(decisions) // 300]:
        own = agent.decision_at(decision.state, decision.command)
        assert own.valid_actions == decision.valid_actions
        assert own.action == decision.action


PAPER_BOXES = {
    "branch-path": ([0, 0], [3, 3]),
    "collect-two": ([0, 0, 0, 0], [1, 1, 1, 1]),
    "reward-line": ([0, 0], [1, 1]),
    "deep-sea-treasure": ([0, -200], [124, -1]),
    "breakable-bottles": ([-101, -0.1, -1.1], [-1, 50, 0]),
    "resource-gathering": ([-1.1, -0.1, -0.1], [0, 1, 1]),
    "minecart": ([0, 0, -200], [1.5, 1.5, 0]),
}


@pytest.mark.parametrize(("name", "box"), PAPER_BOXES.items())
def test_the_papers_boxes_are_those_of_the_authors_code(name: str, box: tuple[list[float], list[float]]) -> None:
    agent = load_agent(name)
    assert (agent.paper_space.low.tolist(), agent.paper_space.high.tolist()) == box
    assert agent.paper_space.objectives == agent.space.objectives
    assert not agent.paper_space.outside(agent.front.min(axis=0)).any()
    assert not agent.paper_space.outside(agent.front.max(axis=0)).any()


@pytest.mark.parametrize("name", ["fruit-tree", "fruit-tree-6"])
def test_the_papers_box_of_the_fruit_tree_ends_at_the_best_of_its_front(name: str) -> None:
    low, high = envs.entry(name).paper_box  # type: ignore[misc]
    assert low == (0,) * 6
    assert np.array(high) == pytest.approx(known_front(name).max(axis=0))


def test_an_agent_for_which_the_paper_has_no_box_says_so() -> None:
    agent = load_agent("minecart")
    with pytest.raises(InvalidInput, match="with a box in the paper, got minecart in minecart-stochastic"):
        _ = replace(agent, environment=envs.entry("minecart-stochastic")).paper_space
    tall = CommandSpace([*agent.space.low, 1], [*agent.space.high, 30], [*agent.space.objectives, HORIZON])
    with pytest.raises(InvalidInput, match="with a box in the paper, got minecart with a horizon"):
        _ = replace(agent, space=tall, front=np.zeros((0, 4)), achieved=None, error=None).paper_space


def test_a_box_of_another_size_than_the_reward_is_an_error() -> None:
    with pytest.raises(InvalidInput, match="expected a paper_box of two commands with 2 numbers, got"):
        replace(envs.entry("reward-line"), paper_box=((0.0, 0.0), (1.0, 1.0, 1.0)))
