"""Pictures: drawn for all, different in different states, the same for the same state."""

from dataclasses import replace

import gymnasium
import numpy as np
import pytest

from paretofoil import envs
from paretofoil.core.errors import InvalidInput
from paretofoil.envs.batch import GymnasiumBatch
from paretofoil.envs.pictures import AGENT, GREEN, PURPLE, RED, WALL, YELLOW, picture_of, place_of

INSTALLED = [name for name in envs.names() if envs.entry(name).installed]


def snapshots(name: str, steps: int = 3) -> list:
    batch = envs.make_batch(name)
    masks = batch.reset(np.array([0])).masks
    kept = [batch.snapshot(0)]
    for _ in range(steps):
        actions = (
            np.array([3]) if name in ("deep-sea-treasure", "minecart", "minecart-stochastic") else masks.argmax(axis=1)
        )
        if batch.action_space is not None:
            actions = batch.action_space.high[None] / 2
        masks = batch.step(np.array([0]), actions).masks
        kept.append(batch.snapshot(0))
    return kept


def colours(pixels: np.ndarray) -> set[tuple[int, ...]]:
    return {tuple(colour) for colour in np.unique(pixels.reshape(-1, 3), axis=0).tolist()}


@pytest.mark.parametrize("name", INSTALLED)
def test_every_environment_is_drawn_in_any_state(name):
    start, _, _, later = snapshots(name)
    pixels = picture_of(name)
    assert pixels.dtype == np.uint8
    assert pixels.shape[2] == 3
    assert min(pixels.shape[:2]) >= 120
    assert np.array_equal(pixels, picture_of(name, start))
    assert not np.array_equal(pixels, picture_of(name, later))
    assert np.array_equal(pixels, picture_of(name))


@pytest.mark.parametrize(("gym_id", "expected"), [
    ("BranchPath", {RED, GREEN, WALL, AGENT}), ("CollectTwo", {RED, GREEN, YELLOW, PURPLE, WALL, AGENT}),
    ("RewardLine", {RED, GREEN, AGENT}),
])  # fmt: skip
def test_our_grids_show_the_papers_colours(gym_id, expected):
    env = gymnasium.make(f"paretofoil/{gym_id}-v0", render_mode="rgb_array")
    env.reset(seed=0)
    assert expected <= colours(env.render())


def test_a_snapshot_of_copies_stepped_one_by_one_is_drawn_too():
    entry = envs.entry("deep-sea-treasure")
    batch = GymnasiumBatch(entry, 10)
    batch.reset(np.array([0]))
    batch.step(np.array([0]), np.array([3]))
    table_batch = envs.make_batch(entry)
    table_batch.reset(np.array([0]))
    table_batch.step(np.array([0]), np.array([3]))
    assert np.array_equal(picture_of(entry, batch.snapshot(0)), picture_of(entry, table_batch.snapshot(0)))


def test_an_environment_that_does_not_draw_is_an_error():
    class Blind(gymnasium.Env):
        metadata = {"render_modes": ["rgb_array"]}  # noqa: RUF012
        observation_space = action_space = gymnasium.spaces.Discrete(2)
        reward_space = gymnasium.spaces.Box(0.0, 1.0, (2,))

        def __init__(self, render_mode=None):
            self.render_mode = render_mode

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            return 0, {}

        def step(self, action):
            return 0, np.zeros(2), False, False, {}

        def render(self):
            return None

    gymnasium.register("Blind-v0", entry_point=Blind, max_episode_steps=5)
    with pytest.raises(InvalidInput, match="expected Blind-v0 to draw an rgb_array"):
        picture_of(envs.describe("Blind-v0"))
    with pytest.raises(InvalidInput, match="expected a snapshot of a batch of Blind-v0"):
        picture_of(envs.describe("Blind-v0"), {"state": 0})
    del gymnasium.registry["Blind-v0"]


def test_an_environment_that_cannot_draw_shows_its_observation():
    class Counter(gymnasium.Env):
        observation_space = gymnasium.spaces.Box(0.0, 5.0, (20,))
        action_space = gymnasium.spaces.Discrete(2)
        reward_space = gymnasium.spaces.Box(0.0, 1.0, (2,))

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            self.count = 0
            return np.zeros(20, dtype=np.float32), {}

        def step(self, action):
            self.count += 1
            return np.full(20, self.count, dtype=np.float32), np.zeros(2), self.count == 5, False, {}

    gymnasium.register("Counter-v0", entry_point=Counter, max_episode_steps=5)
    entry = envs.describe("Counter-v0")
    batch = envs.make_batch(entry)
    batch.reset(np.array([0]))
    start = batch.snapshot(0)
    batch.step(np.array([0]), np.array([0]))
    pixels = picture_of(entry)
    assert pixels.shape == (480, 480, 3)
    assert np.array_equal(pixels, picture_of(entry, start))
    assert not np.array_equal(pixels, picture_of(entry, batch.snapshot(0)))
    del gymnasium.registry["Counter-v0"]


def test_reward_line_shows_its_exits_on_top_and_the_agent_at_the_bottom():
    pixels = picture_of("reward-line")

    def rows(colour: tuple[int, ...]) -> np.ndarray:
        return np.flatnonzero((pixels == colour).all(axis=2).any(axis=1))

    legend = int(pixels.shape[0] * 0.9)  # it shows the objectives' colours, too
    assert rows(RED)[rows(RED) < legend].max() < pixels.shape[0] / 5
    assert rows(AGENT).min() > pixels.shape[0] / 2


@pytest.mark.parametrize("name", [name for name in INSTALLED if envs.entry(name).draw])
def test_the_agent_is_where_its_place_says(name):
    kept = snapshots(name, 20 if name == "mountain-car" else 3)  # a car starts slowly
    before, after = kept[0], next(s for s in reversed(kept) if place_of(name, s) != place_of(name, kept[0]))
    pictures = [picture_of(name, snapshot).astype(int) for snapshot in (before, after)]
    changed = np.abs(pictures[0] - pictures[1]).sum(axis=2) > 30
    for place in (place_of(name, before), place_of(name, after)):
        assert place is not None
        row, column = round(place[1] * changed.shape[0]), round(place[0] * changed.shape[1])
        assert changed[row - 3 : row + 4, column - 3 : column + 4].any(axis=1).all()


def test_an_environment_that_draws_itself_has_no_place():
    entry = replace(envs.entry("deep-sea-treasure"), draw=None)
    assert place_of(entry, None) is None
