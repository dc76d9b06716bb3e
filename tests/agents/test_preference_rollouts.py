"""An agent of preferences holds them through its episode: they are no returns that rewards use up."""

from dataclasses import dataclass

import numpy as np
import pytest

import paretofoil as pf
from paretofoil import envs

SEA = envs.entry("deep-sea-treasure")
SPACE = pf.CommandSpace.preferences(["treasure", "time"])


@dataclass(frozen=True)
class Collector:
    """Goes right while it cares enough about treasure for the column that it is in, and down otherwise."""

    def log_probs(self, states: np.ndarray, commands: np.ndarray) -> np.ndarray:
        column = states[:, 11:].argmax(axis=1) / 10
        scores = np.full((len(states), 4), -9.0)
        scores[:, SEA.actions.index("down")] = 0.0
        scores[:, SEA.actions.index("right")] = 4.0 * (commands[:, 0] - 0.5) - 3.0 * column
        return scores


@pytest.fixture
def agent() -> pf.Agent:
    return pf.Agent("collector", Collector(), SEA, SPACE, np.zeros((0, 2)))


def test_preferences_stay_as_they_are_and_what_was_collected_are_the_rewards(agent: pf.Agent) -> None:
    episode = pf.rollout(agent, [0.7, 0.3])
    assert len(episode) > 2
    for time, decision in enumerate(episode):
        assert decision.command.tolist() == [0.7, 0.3]
        assert decision.collected.tolist() == [0.0, -time]
    assert episode.achieved[1] == -len(episode)


def test_weights_that_do_not_sum_to_one_are_refused(agent: pf.Agent) -> None:
    with pytest.raises(pf.InvalidInput, match="weights of at least 0 that sum to 1"):
        pf.rollout(agent, [8, -8])


def test_an_answer_tells_what_other_preferences_lead_to_here_and_from_the_start(agent: pf.Agent) -> None:
    episode = pf.rollout(agent, [0.7, 0.3])
    time = next(t for t, decision in enumerate(episode) if t > 0 and SEA.actions[decision.action] == "down")
    answer = pf.explain(agent, episode[time], foil="right", search="boundary")
    assert answer.command is not None
    assert answer.rollouts.quoted is not None
    assert answer.rollouts.start is not None
    assert answer.command.sum() == pytest.approx(1.0)
    assert answer.rollouts.start.issued.tolist() == [0.7, 0.3]
    assert answer.rollouts.start.command.tolist() == answer.command.tolist()
    whole = pf.rollout(agent, answer.command)
    passes = len(whole) > time and np.array_equal(whole[time].state, episode[time].state)
    assert answer.rollouts.start.leads_here == passes
    if passes:  # held all the time or from here on: the same end
        assert answer.rollouts.quoted.achieved.tolist() == whole.achieved.tolist()
    leads = "also lead to this state" if passes else "do not lead to this state"
    assert f"Held from the start, these preferences {leads}" in answer.paragraph()
