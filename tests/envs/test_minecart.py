"""The vectorised Minecart against MO-Gymnasium's."""

import numpy as np
import pytest

from paretofoil.core.errors import InvalidInput
from paretofoil.envs.minecart import BatchMinecart

mo_gymnasium = pytest.importorskip("mo_gymnasium")

pytestmark = pytest.mark.filterwarnings("ignore:.*Box (low|high).s precision")

MINE, LEFT, RIGHT, ACCELERATE, BRAKE, NONE = range(6)


def restless_actions(rng: np.random.Generator) -> list[int]:
    """Drive off, turn a little, brake, mine, turn round, drive on: visits mines, walls and the base."""
    actions: list[int] = []
    for _ in range(8):
        actions += [int(rng.choice([LEFT, RIGHT]))] * int(rng.integers(0, 6))
        actions += [ACCELERATE] * int(rng.integers(1, 5)) + [NONE] * int(rng.integers(0, 6))
        actions += [BRAKE] * int(rng.integers(0, 2)) + [MINE] * int(rng.integers(0, 4))
        actions += rng.integers(0, 6, size=2).tolist()
    return actions


def test_deterministic_carts_equal_mo_gymnasium_step_for_step():
    original = mo_gymnasium.make("minecart-deterministic-v0")
    plans = [restless_actions(np.random.default_rng(seed)) for seed in range(300)]
    env = BatchMinecart(stochastic=False)
    seen = env.reset(np.arange(len(plans)))
    running = np.arange(len(plans))
    trace: list[list[tuple]] = [[] for _ in plans]
    for t in range(max(len(plan) for plan in plans)):
        running = np.array([row for row in running if t < len(plans[row]) and not env.finished[row]], dtype=int)
        if not len(running):
            break
        stepped = env.step(running, np.array([plans[row][t] for row in running]))
        for i, row in enumerate(running):
            trace[row].append((stepped.observations[i], stepped.rewards[i], bool(stepped.terminated[i])))

    compared, returned, with_ore, at_walls = 0, 0, 0, 0
    for row, plan in enumerate(plans):
        observation, _ = original.reset(seed=row)
        np.testing.assert_allclose(seen.observations[row], observation, atol=1e-6)
        for action, (ours, reward, ended) in zip(plan, trace[row], strict=False):
            observation, expected, terminated, _, _ = original.step(action)
            np.testing.assert_allclose(ours, observation, rtol=0, atol=1e-6)
            np.testing.assert_allclose(reward, expected, rtol=0, atol=1e-7)
            assert ended == terminated
            compared += 1
            returned += ended
            with_ore += bool(ended and expected[:2].sum() > 0)
            at_walls += bool(np.isin(observation[:2], (0.0, 1.0)).any())
    assert compared >= 10_000
    assert min(returned, with_ore) >= 10  # the actions did reach what matters
    assert at_walls >= 1_000


def test_stochastic_ores_have_the_distribution_of_mo_gymnasium():
    """Content after mining twice at the middle mine: mean and deviation within five standard errors."""
    original = mo_gymnasium.make("minecart-v0").unwrapped
    snapshot = {"position": [0.84, 0.84], "speed": 0.0, "angle": 45, "content": [0.0, 0.0], "departed": True}
    env = BatchMinecart(stochastic=True)
    env.restore({**snapshot, "elapsed": 3}, np.arange(4000))
    env.step(np.arange(4000), np.zeros(4000, dtype=int))
    theirs = []
    np.random.seed(0)  # noqa: NPY002 (MO-Gymnasium's mines draw from NumPy's global state)
    for _ in range(500):
        original.reset()
        original.cart.pos, original.cart.departed = np.array([0.84, 0.84]), True
        original.step(MINE)
        theirs.append(original.cart.content.copy())
    ours, expected = env.content, np.array(theirs)
    error = 5 * expected.std(axis=0) / np.sqrt(len(expected))
    assert (np.abs(ours.mean(axis=0) - expected.mean(axis=0)) < error).all()
    assert (np.abs(ours.std(axis=0) / expected.std(axis=0) - 1) < 0.2).all()


@pytest.mark.parametrize("stochastic", [False, True])
@pytest.mark.parametrize("position", [[0.84, 0.84], [0.3, 0.3]])
def test_a_full_cart_that_mines_stays_full(stochastic, position):
    content = [0.1, 1.4000000000000001 + 2e-16]  # rounding may fill a cart by a little more than its capacity
    env = BatchMinecart(stochastic)
    full = {"position": position, "speed": 0.0, "angle": 45, "content": content, "departed": True, "elapsed": 0}
    env.restore(full, np.arange(50))
    stepped = env.step(np.arange(50), np.full(50, MINE))
    assert np.isfinite(stepped.observations).all()
    np.testing.assert_allclose(env.content.sum(axis=1), 1.5, atol=1e-12)


def test_rows_depend_on_their_own_seed_alone():
    actions = restless_actions(np.random.default_rng(3))[:12]
    alone, together = BatchMinecart(stochastic=True), BatchMinecart(stochastic=True)
    alone.reset(np.array([7]))
    together.reset(np.array([5, 6, 7]))
    for action in actions:
        one = alone.step(np.array([0]), np.array([action]))
        many = together.step(np.array([2, 0]), np.array([action, NONE]))
        np.testing.assert_array_equal(one.observations[0], many.observations[0])


def test_a_restored_snapshot_continues_the_episode():
    env = BatchMinecart(stochastic=False)
    env.reset(np.arange(1))
    plan = restless_actions(np.random.default_rng(1))[:30]
    for action in plan[:10]:
        env.step(np.array([0]), np.array([action]))
    copies = BatchMinecart(stochastic=False)
    copies.restore(env.snapshot(0), np.arange(3))
    for action in plan[10:]:
        if env.finished[0]:
            break
        expected = env.step(np.array([0]), np.array([action]))
        stepped = copies.step(np.arange(3), np.full(3, action))
        for row in range(3):
            np.testing.assert_array_equal(stepped.observations[row], expected.observations[0])
            np.testing.assert_array_equal(stepped.rewards[row], expected.rewards[0])


def test_the_step_limit_truncates():
    env = BatchMinecart(stochastic=False, max_steps=2)
    env.reset(np.arange(1))
    assert not env.step(np.array([0]), np.array([NONE])).truncated[0]
    assert env.step(np.array([0]), np.array([NONE])).truncated[0]
    with pytest.raises(InvalidInput, match="episode runs"):
        env.step(np.array([0]), np.array([NONE]))


def test_bad_input_is_named():
    env = BatchMinecart(stochastic=False)
    env.reset(np.arange(2))
    with pytest.raises(InvalidInput, match="actions from 0 to 5"):
        env.step(np.arange(2), np.array([0, 6]))
    with pytest.raises(InvalidInput, match="one action per row"):
        env.step(np.arange(2), np.array([0]))
    with pytest.raises(InvalidInput, match="max_steps"):
        BatchMinecart(stochastic=False, max_steps=0)
