"""Outcome questions: the answer's rollout meets the goal, and nothing closer does."""

import itertools

import numpy as np
import pytest

import paretofoil as pf
from paretofoil.core.answer import Status
from paretofoil.core.command import Objective
from paretofoil.core.errors import InvalidInput
from paretofoil.envs.episode import greedy, run_episodes
from paretofoil.explanation.outcome import read_goal
from paretofoil.explanation.outcome_search import GAP

SEA = (Objective("treasure"), Objective("time", "steps", cost=True))


def returns_under(agent: pf.Agent, commands: np.ndarray) -> np.ndarray:
    return run_episodes(
        agent.batch_env(), greedy(agent.policy), commands, np.zeros(len(commands), dtype=np.uint64)
    ).returns


def closer_commands(agent: pf.Agent, original: np.ndarray, bound: float, count: int) -> np.ndarray:
    """Return random commands of the command space that are closer than a scaled distance, half of them just so."""
    rng = np.random.default_rng(0)
    directions = rng.normal(size=(count, agent.space.dim))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    sizes = bound * np.where(np.arange(count) % 2, 1.0 - 1e-9, rng.random(count))
    commands = original + directions * sizes[:, None] * agent.space.scale
    inside = ((commands >= agent.space.low) & (commands <= agent.space.high)).all(axis=1)
    return commands[inside]


@pytest.mark.parametrize("name", ["reward-line", "branch-path"])
def test_every_point_of_the_front_is_reached_by_the_closest_command_and_no_closer_one(name: str) -> None:
    agent = pf.load_agent(name)
    for i, j in itertools.islice(itertools.permutations(range(len(agent.front)), 2), 6):
        names = [objective.name for objective in agent.environment.objectives]
        goal = ", ".join(f"{n} = {v:.9g}" for n, v in zip(names, agent.achieved[j], strict=True))
        answer = pf.explain_outcome(agent, agent.front[i], goal, seconds=60)
        assert answer.status is Status.PROVEN_CLOSEST
        for command in (answer.command, answer.closest):
            assert returns_under(agent, command[None])[0] == pytest.approx(agent.achieved[j])
        assert answer.lower_bound >= (1 - GAP) * answer.distance
        closer = closer_commands(agent, agent.front[i], answer.lower_bound, 2000)
        assert len(closer) > 200
        assert np.abs(returns_under(agent, closer) - agent.achieved[j]).max(axis=1).min() > 1e-3


def test_an_outcome_that_no_command_leads_to_is_proven_impossible() -> None:
    agent = pf.load_agent("branch-path")
    answer = pf.explain_outcome(agent, [3, 1], "A >= 2, B >= 3", seconds=60)
    assert answer.status is Status.PROVEN_INFEASIBLE
    assert answer.command is None
    assert answer.lower_bound == np.inf
    assert "No command in the search region leads to A >= 2, B >= 3 (proven)." in str(answer)
    rng = np.random.default_rng(0)
    returns = returns_under(agent, rng.uniform(agent.space.low, agent.space.high, (5000, 2)))
    assert not ((returns[:, 0] >= 2) & (returns[:, 1] >= 3)).any()


def test_a_time_limit_leaves_a_bound_that_holds_and_claims_no_proof() -> None:
    agent = pf.load_agent("deep-sea-treasure")
    answer = pf.explain_outcome(agent, [124, -19], "treasure = 2, time = 3", seconds=1e-6)
    assert answer.status in (Status.FOUND, Status.NOT_FOUND)
    assert answer.lower_bound == 0.0
    assert "not proven" in str(answer) or "No command was found" in str(answer)


def test_without_a_finite_environment_the_answer_is_what_rollouts_found() -> None:
    agent = pf.load_agent("minecart")
    answer = pf.explain_outcome(agent, [0.3, 0.3, -1.0], "ore 0 >= 1", seconds=1)
    assert answer.status is Status.FOUND
    assert answer.lower_bound is None
    assert returns_under(agent, answer.command[None])[0, 0] >= 1 - 1e-3 * agent.space.scale[0]


def test_a_goal_is_read_with_positive_costs() -> None:
    goal = read_goal("treasure >= 50, time <= 10", SEA)
    assert goal.low.tolist() == [50.0, -10.0]
    assert goal.high.tolist() == [np.inf, np.inf]
    goal = read_goal("treasure = 5,time >= 3", SEA)
    assert goal.low.tolist() == [5.0, -np.inf]
    assert goal.high.tolist() == [5.0, -3.0]


@pytest.mark.parametrize("text", ["", "treasure", "gold >= 3", "treasure > 3", "treasure >= many", "treasure >= 1e"])
def test_a_goal_that_cannot_be_read_is_named(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"expected a (goal such as|number in a goal)"):
        read_goal(text, SEA)


def test_a_goal_that_is_met_already_is_an_error() -> None:
    with pytest.raises(InvalidInput, match="which it meets with"):
        pf.explain_outcome(pf.load_agent("branch-path"), [3, 1], "A >= 2")


def test_the_sentence_says_what_to_ask_for_and_what_it_then_brings() -> None:
    text = str(pf.explain_outcome(pf.load_agent("branch-path"), [3, 1], "A = 2", seconds=60))
    assert text.startswith("Asked for 3 A and 1 B, the agent brings 3 A and 1 B. For A = 2, ask for ")
    assert "it then brings 2 A and 2 B" in text
    assert text.endswith("more than 1 % smaller than the closest one found does it (proven).")
