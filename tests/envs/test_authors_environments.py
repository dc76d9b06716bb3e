"""The authors' other environments: their facts, and what they have in common with MO-Gymnasium's."""

import numpy as np
import pytest

from paretofoil import envs
from paretofoil.core.errors import InvalidInput
from paretofoil.envs import catalogue
from paretofoil.envs.front import known_front
from paretofoil.envs.three_tree import ThreeTree

NAMES = ["three-tree", "four-room", "mountain-car", "lunar-lander", "reacher"]


def installed(name: str) -> None:
    if not envs.entry(name).installed:
        pytest.skip(f"needs paretofoil[{envs.entry(name).requires}]")


@pytest.mark.parametrize("name", NAMES)
def test_each_passes_the_checker(name: str) -> None:
    installed(name)
    envs.check_environment(name, steps=250)


def test_three_tree_has_the_authors_front_of_14_points() -> None:
    front = known_front("three-tree")
    assert front is not None
    assert front.tolist() == [
        [0.35, 0.3, 3.8], [0.35, 1.05, 3.15], [0.35, 1.2, 2.9], [0.35, 2.25, 1.95], [0.35, 3.15, 1.05],
        [0.35, 3.8, 0.3], [1.15, 2.55, 1.7], [1.15, 2.6, 1.65], [1.65, 0.4, 3.25], [1.65, 3.25, 0.4],
        [1.7, 2.4, 1.6], [3.4, 2.95, 1.45], [3.45, 2.1, 2.65], [4.3, 2.05, 1.45],
    ]  # fmt: skip


def test_three_tree_recovers_from_two_p_by_s_alone() -> None:
    def walk(*actions: int) -> tuple[list[float], list[float]]:
        env = ThreeTree()
        env.reset(seed=0)
        for action in actions:
            observation, reward, *_ = env.step(action)
        return observation.tolist(), reward.round(6).tolist()

    assert walk(0, 0)[0] == [0.5, 0.5, 0.0, 0.0, 1.0]
    assert walk(0, 0, 2)[0] == [0.75, 0.5, 0.0, 0.25, 1.0]
    assert walk(0, 2, 0)[0] == [0.75, 0.5, 0.0, 0.25, 0.0]  # the same choices in another order
    assert walk(0, 0, 1) == ([0.75, 0.5, 0.25, 0.0, 0.0], pytest.approx([1.2, 1.8, 1.2]))
    assert walk(0, 0, 0, 1)[1] == pytest.approx([1.2, 1.2, 1.2])
    assert walk(0, 0, 0, 0)[1] == pytest.approx([0.05, 0.05, 0.05])


def test_four_room_masks_walls_and_the_border_and_pays_each_shape_once() -> None:
    batch = envs.make_batch("four-room")
    assert batch.max_steps == 40
    [mask] = batch.reset(np.array([0])).masks
    assert mask.tolist() == [False, True, True, False]  # left, up, right, down in the lower left corner
    collected = np.zeros(3)
    for action in (2, 2, 1, 1, 1, 1, 1, 1, 3, 1):  # to the circle between the left rooms, away and back
        collected += batch.step(np.array([0]), np.array([action])).rewards[0]
    assert collected.tolist() == [0.0, 0.0, 1.0]
    assert batch.snapshot(0)["state"][:2] == (6, 2)


@pytest.mark.parametrize("name", ["mountain-car", "lunar-lander", "reacher"])
def test_a_random_start_is_that_of_seed_0_in_every_episode(name: str) -> None:
    installed(name)
    starts = envs.make_batch(name).reset(np.array([0, 5])).observations
    assert (starts[0] == starts[1]).all()
    assert (envs.make(name).reset(seed=9)[0] == starts[0]).all()
    assert not envs.make_batch(name).stochastic


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue, "find_spec", lambda name: None)
    with pytest.raises(
        InvalidInput, match=r'box2d is not installed. Install it with: pip install "paretofoil\[box2d\]"'
    ):
        envs.make("lunar-lander")
    assert envs.entry("four-room").installed


def test_an_environment_that_cannot_be_copied_is_replayed_from_its_actions() -> None:
    installed("lunar-lander")
    batch = envs.make_batch("lunar-lander")
    batch.reset(np.array([0]))
    for action in (2, 1, 2, 0, 3):
        batch.step(np.array([0]), np.array([action]))
    snapshot, rest = batch.snapshot(0), (2, 2, 1, 0)
    expected = [batch.step(np.array([0]), np.array([action])).observations[0] for action in rest]
    batch.restore(snapshot, np.array([7, 8]))
    again = [batch.step(np.array([1]), np.array([action])).observations[0] for action in rest]
    assert np.array_equal(expected, again)
