"""Branch-Path, Collect-Two and Reward-Line as Gymnasium environments."""

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import paretofoil.envs  # noqa: F401 (registers the environments)
from paretofoil.core.errors import InvalidInput

UP, DOWN, LEFT, RIGHT = range(4)
IDS = ["paretofoil/BranchPath-v0", "paretofoil/CollectTwo-v0", "paretofoil/RewardLine-v0"]


def walk(env: gymnasium.Env, actions: list[int]) -> list[tuple]:
    env.reset(seed=0)
    return [env.step(action) for action in actions]


# Gymnasium's checker knows scalar rewards only, and says so in a warning; everything else in it applies.
@pytest.mark.filterwarnings("ignore:.*The reward returned by `step\\(\\)` must be a float")
@pytest.mark.parametrize("gym_id", IDS)
def test_gymnasiums_own_checker_passes(gym_id):
    check_env(gymnasium.make(gym_id).unwrapped)


class Summed(gymnasium.Wrapper, gymnasium.utils.RecordConstructorArgs):
    """Scalar rewards, for what a checker wants to see of those."""

    def __init__(self, env):
        gymnasium.utils.RecordConstructorArgs.__init__(self)
        gymnasium.Wrapper.__init__(self, env)

    def step(self, action):
        observation, reward, *rest = self.env.step(action)
        return observation, float(reward.sum()), *rest


@pytest.mark.filterwarnings("ignore:.*is different from the unwrapped version")
@pytest.mark.parametrize("gym_id", IDS)
def test_gymnasiums_own_checker_passes_with_summed_rewards(gym_id):
    check_env(Summed(gymnasium.make(gym_id).unwrapped))


@pytest.mark.parametrize("gym_id", IDS)
def test_an_environment_can_be_made_again_from_its_spec_and_stays_strict(gym_id):
    again = gymnasium.make(gymnasium.make(gym_id).spec)
    again.reset(seed=0)
    with pytest.raises(InvalidInput, match="expected an action number"):
        again.step(4)
    assert str(again) == str(gymnasium.make(gym_id))


@pytest.mark.parametrize("gym_id", IDS)
def test_rewards_are_float32_vectors_inside_the_reward_space(gym_id):
    env = gymnasium.make(gym_id)
    rng = np.random.default_rng(0)
    space, size = env.unwrapped.reward_space, env.unwrapped.reward_dim
    _, info = env.reset(seed=0)
    for _ in range(200):
        _, reward, terminated, truncated, info = env.step(rng.choice(np.flatnonzero(info["action_mask"])))
        assert reward.dtype == np.float32
        assert reward.shape == (size,)
        assert space.contains(reward)
        if terminated or truncated:
            _, info = env.reset()


@pytest.mark.parametrize(("gym_id", "limit"), list(zip(IDS, [13, 50, 20], strict=True)))
def test_an_episode_is_cut_off_at_its_step_limit(gym_id, limit):
    env = gymnasium.make(gym_id)
    steps = walk(env, [UP, DOWN] * (limit // 2) + [UP] * (limit % 2))
    assert [truncated for *_, truncated, _ in steps] == [False] * (limit - 1) + [True]
    with pytest.raises(InvalidInput, match=r"expected a running episode, got .*reset"):
        env.step(UP)


def test_branch_path_allows_only_up_and_down_until_a_branch_is_reached():
    env = gymnasium.make("paretofoil/BranchPath-v0")
    _, info = env.reset(seed=0)
    assert info["action_mask"].tolist() == [True, True, False, False]
    steps = walk(env, [UP, UP])
    assert steps[0][4]["action_mask"].tolist() == [True, True, False, False]
    assert steps[1][4]["action_mask"].tolist() == [False, True, True, True]


def test_a_collectible_of_branch_path_pays_once():
    steps = walk(gymnasium.make("paretofoil/BranchPath-v0"), [UP, UP, LEFT, RIGHT, LEFT, RIGHT, RIGHT, RIGHT, RIGHT])
    rewards = [reward.tolist() for _, reward, *_ in steps]
    assert rewards == [[0, 0], [0, 0], [1, 0], [0, 0], [0, 0], [0, 0], [1, 0], [0, 0], [0, 1]]


def test_the_observation_of_branch_path_tells_what_was_taken():
    first, last = (walk(gymnasium.make("paretofoil/BranchPath-v0"), a)[-1][0] for a in ([UP, UP], [UP, UP, LEFT]))
    assert first.tolist() == [0, 3] + [0] * 8
    assert last.tolist() == [0, 2] + [0, 1] + [0] * 6


def test_branch_path_has_its_collectibles_where_the_authors_put_them():
    items = gymnasium.make("paretofoil/BranchPath-v0").unwrapped.layout.items
    found = {kind: {item.cell for item in items if item.objective == kind} for kind in (0, 1)}
    assert found == {0: {(0, 0), (0, 2), (0, 4), (4, 6)}, 1: {(0, 6), (4, 0), (4, 2), (4, 4)}}
    assert [item.cell for item in items] == [(row, column) for row in (0, 4) for column in (0, 2, 4, 6)]


def test_collect_two_leaves_the_rim_and_a_cross_free():
    layout = gymnasium.make("paretofoil/CollectTwo-v0").unwrapped.layout
    rows = ["".join(".#"[(row, column) in layout.walls] for column in range(7)) for row in range(7)]
    assert rows == [".......", ".##.##.", ".##.##.", ".......", ".##.##.", ".##.##.", "......."]


def test_collect_two_pays_the_first_more_than_the_second_and_then_ends():
    steps = walk(gymnasium.make("paretofoil/CollectTwo-v0"), [DOWN] * 3 + [RIGHT] * 3 + [UP] * 3)
    paid = [(t, reward.round(6).tolist()) for t, (_, reward, *_) in enumerate(steps) if reward.any()]
    assert paid == [(2, [0, 0, 0, 1]), (8, pytest.approx([0, 0, 0.8, 0]))]
    assert [terminated for _, _, terminated, _, _ in steps] == [False] * 8 + [True]


@pytest.mark.parametrize("column", range(11))
def test_each_column_of_reward_line_pays_its_share(column):
    sideways = [LEFT] * (5 - column) if column < 5 else [RIGHT] * (column - 5)
    *_, (_, reward, terminated, _, _) = walk(gymnasium.make("paretofoil/RewardLine-v0"), sideways + [UP] * 4)
    assert terminated
    assert reward == pytest.approx([1 - column / 10, column / 10])


@pytest.mark.parametrize("gym_id", IDS)
@pytest.mark.parametrize("action", [-1, 4, 1.5, "up", None])
def test_an_action_out_of_range_is_an_error_that_names_the_range(gym_id, action):
    env = gymnasium.make(gym_id)
    env.reset(seed=0)
    with pytest.raises(InvalidInput, match="expected an action number from 0 to 3, got"):
        env.step(action)
    with pytest.raises(InvalidInput, match="expected an action number from 0 to 3, got"):
        env.unwrapped.step(action)


def test_a_masked_move_is_an_error_that_lists_the_valid_ones():
    env = gymnasium.make("paretofoil/BranchPath-v0")
    env.reset(seed=0)
    with pytest.raises(InvalidInput, match=r"expected one of the valid actions up \(0\), down \(1\), got left \(2\)"):
        env.step(LEFT)


def test_stepping_before_reset_or_after_the_end_is_an_error():
    env = gymnasium.make("paretofoil/RewardLine-v0")
    with pytest.raises(gymnasium.error.ResetNeeded):
        gymnasium.make("paretofoil/RewardLine-v0").env.step(UP)
    with pytest.raises(InvalidInput, match="expected a running episode"):
        env.step(UP)
    walk(env, [UP] * 4)
    with pytest.raises(InvalidInput, match="expected a running episode"):
        env.step(DOWN)
    with pytest.raises(InvalidInput, match="expected a running episode"):
        env.unwrapped.step(DOWN)


def test_an_unknown_render_mode_is_an_error():
    from paretofoil.envs.gridworld import BranchPath

    with pytest.raises(InvalidInput, match="expected render_mode None or 'rgb_array', got 'ascii'"):
        BranchPath(render_mode="ascii")
