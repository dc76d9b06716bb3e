"""The water reservoir steps as MO-Gymnasium's does, and environments with continuous actions run in the one loop."""

from typing import Any

import numpy as np
import pytest

from paretofoil import envs
from paretofoil.core.errors import InvalidInput
from paretofoil.envs.batch import GymnasiumBatch
from paretofoil.envs.catalogue import with_names
from paretofoil.envs.episode import run_episodes
from paretofoil.envs.water_reservoir import BatchReservoir, bounds

pytest.importorskip("mo_gymnasium")


class Replayed:
    """A random generator that returns given inflows."""

    def __init__(self, inflows: list[float]) -> None:
        self.inflows = inflows

    def normal(self, mean: float, deviation: float, size: int) -> np.ndarray:
        return np.array([self.inflows.pop(0)])


def test_a_batch_steps_as_mo_gymnasium_does_under_the_same_inflow(monkeypatch: pytest.MonkeyPatch) -> None:
    rng, seeds = np.random.default_rng(0), np.arange(3)
    inflows, releases = rng.normal(40, 10, size=(12, 3)), rng.uniform(0, 150, size=(12, 3, 1))
    batch = BatchReservoir(stochastic=True, max_steps=12)
    batch.reset(seeds)
    steps = []
    for inflow, release in zip(inflows, releases, strict=True):
        monkeypatch.setattr(batch, "_inflow", lambda rows, inflow=inflow: inflow[rows][:, None])
        steps.append(batch.step(seeds, release))
    for row in seeds:
        env: Any = envs.make("water-reservoir-stochastic")
        env.reset(seed=0)
        env.unwrapped.np_random = Replayed(inflows[:, row].tolist())
        for step, release in zip(steps, releases[:, row], strict=True):
            observation, reward, terminated, truncated, _ = env.step(release)
            assert np.allclose(step.observations[row], observation, rtol=0, atol=1e-5)
            assert np.allclose(step.rewards[row], reward, rtol=0, atol=1e-4)
            assert (terminated, truncated) == (step.terminated[row], step.truncated[row])


@pytest.mark.parametrize("name", ["water-reservoir", "water-reservoir-stochastic"])
def test_the_reservoirs_pass_the_checker(name: str) -> None:
    envs.check_environment(name, steps=200)
    assert envs.make_batch(name).stochastic == (name != "water-reservoir")


def test_episodes_hold_the_amounts_that_are_carried_out() -> None:
    batch = envs.make_batch("water-reservoir")
    episodes = run_episodes(
        batch, lambda *state: np.full((len(state[1]), 1), 150.0), np.zeros((1, 2)), np.zeros(1, int)
    )
    assert episodes.actions[0, :, 0].tolist() == [100.0] + [40.0] * 11  # all the water there is
    low, high = bounds(np.array([[130.0], [20.0]]))
    assert (low.tolist(), high.tolist()) == ([[30.0], [0.0]], [[130.0], [20.0]])


def test_amounts_outside_the_range_are_refused() -> None:
    batch, rows = envs.make_batch("water-reservoir"), np.array([0])
    batch.reset(rows)
    for wrong in ([[151.0]], [[np.nan]]):
        with pytest.raises(InvalidInput, match="an amount of release from 0 to 150"):
            batch.step(rows, np.array(wrong))
    with pytest.raises(InvalidInput, match="floats as actions"):
        batch.step(rows, np.array([[1]]))


def test_an_environment_of_gymnasium_with_bounded_actions_is_described_and_steps() -> None:
    entry = with_names(envs.describe("mo-mountaincarcontinuous-v0"), None, ["force (N)=pushed with"])
    assert entry.action_space is not None
    assert (entry.action_space.names, entry.action_space.units) == (("force",), ("N",))
    assert entry.phrases == ("pushed with",)
    batch = GymnasiumBatch(entry, 5)
    episodes = run_episodes(batch, lambda *state: np.ones((2, 1)), np.zeros((2, 2)), np.arange(2))
    assert episodes.actions.shape == (2, 5, 1)
    assert (episodes.observations[:, 1:, 1] > 0).all()  # pushed to the right


def test_unbounded_actions_are_refused_with_the_name_in_the_catalogue() -> None:
    with pytest.raises(InvalidInput, match=r"a bounded vector .* use water-reservoir, its version with bounds"):
        envs.describe("water-reservoir-v0", max_steps=5)
