"""WalkRoom as the authors describe it: the random wall, the costs, and the size of its front."""

import numpy as np
import pytest

from paretofoil import envs
from paretofoil.core.errors import InvalidInput
from paretofoil.envs.front import known_front
from paretofoil.envs.walkroom import WalkRoom, walls


@pytest.mark.parametrize("dimensions", [2, 3, 5, 6])
def test_every_room_passes_the_checker(dimensions: int) -> None:
    envs.check_environment(f"walkroom-{dimensions}", steps=60)


def test_the_wall_is_drawn_with_the_first_dimension_slowest() -> None:
    noise = np.random.default_rng(0).normal(0.0, 2.0, 400).reshape(20, 20)  # (first, second dimension)
    first, second = np.meshgrid(np.arange(20), np.arange(20), indexing="ij")
    expected = np.round(np.clip(19 - first - second - noise, 0, 19))
    assert walls(3).tolist() == expected.ravel().tolist()
    assert len(walls(6)) == 10**5
    batch = envs.make_batch("walkroom-3")
    for place in ((3, 9), (9, 3)):  # the walls of these places differ
        snapshot = {"place": (*place, int(expected[place]) - 1), "elapsed": 0}
        batch.restore(snapshot, np.array([0]))
        assert batch.step(np.array([0]), np.array([2])).terminated[0]
    assert expected[3, 9] != expected[9, 3]


def test_the_front_in_two_dimensions_has_the_authors_eleven_points() -> None:
    front = known_front("walkroom-2")
    assert front is not None
    assert len(front) == 11
    assert (-front).sum(axis=1).min() >= 15


def test_a_step_costs_one_in_its_dimension_and_the_wall_ends_the_walk() -> None:
    env = WalkRoom(3)
    env.reset(seed=0)
    place, reward, ended, truncated, _ = env.step(1)
    assert (place.tolist(), reward.tolist(), ended, truncated) == ([0, 1, 0], [0.0, -1.0, 0.0], False, False)
    assert env.action_masks().tolist() == [True, True, True, False, True, False]
    for _ in range(int(walls(3)[1])):
        place, _, ended, _, _ = env.step(2)
    assert ended
    assert place[2] == walls(3)[1]


def test_other_numbers_of_dimensions_are_refused() -> None:
    with pytest.raises(InvalidInput, match="2 to 9 dimensions, got 10"):
        WalkRoom(10)
