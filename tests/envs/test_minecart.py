"""The vectorised Minecart against MO-Gymnasium's."""

import numpy as np
import pytest

from paretofoil import envs
from paretofoil.core.errors import InvalidInput
from paretofoil.envs.minecart import BatchMinecart, Carts, locate_cart

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


def where_valid(action: int, mask: np.ndarray) -> int:
    """The action, or none where it cannot happen."""
    return action if mask[action] else NONE


@pytest.mark.parametrize("episodes", [60, pytest.param(300, marks=pytest.mark.long)])
def test_deterministic_carts_equal_mo_gymnasium_step_for_step(episodes):
    original = envs.make("minecart")
    plans = [restless_actions(np.random.default_rng(seed)) for seed in range(episodes)]
    env = BatchMinecart(stochastic=False)
    seen = env.reset(np.arange(len(plans)))
    running = np.arange(len(plans))
    trace: list[list[tuple]] = [[] for _ in plans]
    for t in range(max(len(plan) for plan in plans)):
        running = np.array([row for row in running if t < len(plans[row]) and not env.finished[row]], dtype=int)
        if not len(running):
            break
        actions = np.array([where_valid(plans[row][t], env.masks[row]) for row in running])
        stepped = env.step(running, actions)
        for i, row in enumerate(running):
            trace[row].append((actions[i], *(column[i] for column in stepped[:4])))

    compared, returned, with_ore, at_walls, mined = 0, 0, 0, 0, 0
    for row, steps in enumerate(trace):  # type: ignore[assignment]
        observation, info = original.reset(seed=row)
        np.testing.assert_allclose(seen.observations[row], observation, atol=1e-6)
        np.testing.assert_array_equal(seen.masks[row], info["action_mask"])
        for action, ours, mask, reward, ended in steps:
            observation, expected, terminated, _, info = original.step(action)
            np.testing.assert_allclose(ours, observation, rtol=0, atol=1e-6)
            np.testing.assert_allclose(reward, expected, rtol=0, atol=1e-7)
            np.testing.assert_array_equal(mask, info["action_mask"])
            assert ended == terminated
            compared += 1
            returned += bool(ended)
            with_ore += bool(ended and expected[:2].sum() > 0)
            at_walls += bool(np.isin(observation[:2], (0.0, 1.0)).any())
            mined += action == MINE
    assert compared >= 30 * episodes
    assert min(returned, with_ore, mined) >= episodes // 30  # the actions did reach what matters
    assert at_walls >= 3 * episodes


@pytest.mark.parametrize("stochastic", [False, True])
def test_a_cart_has_the_same_numbers_alone_and_among_many(stochastic):
    plans = [restless_actions(np.random.default_rng(seed)) for seed in range(40)]
    many, one = BatchMinecart(stochastic), BatchMinecart(stochastic)
    many.reset(np.arange(len(plans)))
    alone: list[list[tuple]] = [[] for _ in plans]  # the states of each cart
    for seed, plan in enumerate(plans):
        one.reset(np.array([seed]))
        for action in plan:
            step = one.step(np.zeros(1, dtype=int), np.array([where_valid(action, one.masks[0])]))
            alone[seed].append((one.snapshot(0), step.rewards[0].tolist(), bool(step.terminated[0])))
            if step.terminated[0]:
                break
    together: list[list[tuple]] = [[] for _ in plans]
    for t in range(max(map(len, plans))):
        rows = np.array([row for row in range(len(plans)) if t < len(plans[row]) and not many.finished[row]], dtype=int)
        actions = np.array([where_valid(plans[row][t], many.masks[row]) for row in rows])
        step = many.step(rows, actions)
        for i, row in enumerate(rows):
            together[row].append((many.snapshot(row), step.rewards[i].tolist(), bool(step.terminated[i])))
    assert sum(map(len, together)) > 1000
    assert any(states and states[-1][2] for states in together)  # some carts returned
    assert together == alone


def test_stochastic_carts_have_the_masks_of_mo_gymnasium_in_the_same_states():
    original, env = envs.make("minecart-stochastic"), BatchMinecart(stochastic=True)
    original.reset(seed=0)
    cart = original.unwrapped.cart
    env.reset(np.arange(1))
    rows, compared = np.arange(1), 0
    for seed in range(60):
        env.reset(np.array([seed]))
        for action in restless_actions(np.random.default_rng(seed)):
            step = env.step(rows, np.array([where_valid(action, env.masks[0])]))
            cart.pos, cart.speed, _, cart.content, _ = (column[0] for column in Carts.of(env.states.copy()))
            np.testing.assert_array_equal(step.masks[0], original.action_masks())
            compared += 1
            if env.finished[0]:
                break
    assert compared >= 1_000


def test_stochastic_ores_have_the_distribution_of_mo_gymnasium():
    """Content after mining twice at the middle mine: mean and deviation within five standard errors."""
    original = mo_gymnasium.make("minecart-v0").unwrapped
    snapshot = {"state": (0.84, 0.84, 0.0, 45, 0.0, 0.0, 1.0), "elapsed": 3}
    env = BatchMinecart(stochastic=True)
    env.restore(snapshot, np.arange(4000))
    env.step(np.arange(4000), np.zeros(4000, dtype=int))
    theirs = []
    np.random.seed(0)  # noqa: NPY002 (MO-Gymnasium's mines draw from NumPy's global state)
    for _ in range(500):
        original.reset()
        original.cart.pos, original.cart.departed = np.array([0.84, 0.84]), True
        original.step(MINE)
        theirs.append(original.cart.content.copy())
    ours, expected = Carts.of(env.states).content, np.array(theirs)
    error = 5 * expected.std(axis=0) / np.sqrt(len(expected))
    assert (np.abs(ours.mean(axis=0) - expected.mean(axis=0)) < error).all()
    assert (np.abs(ours.std(axis=0) / expected.std(axis=0) - 1) < 0.2).all()


@pytest.mark.parametrize("stochastic", [False, True])
@pytest.mark.parametrize("free", [0.0, -2e-16, 1e-9, 2e-8, 0.1, 1.5])
def test_a_cart_mines_until_it_is_full_and_then_no_more(stochastic, free):
    """Rounding may fill a cart by a little more or less than its capacity."""
    env = BatchMinecart(stochastic)
    state = (0.84, 0.84, 0.0, 45, 0.0, 1.5 - free, 1.0)
    masks = env.restore({"state": state, "elapsed": 0}, np.arange(50)).masks
    assert masks[:, MINE].all() == (free > 1e-8)
    steps = 0
    while masks[:, MINE].any():
        step = env.step(np.arange(50), np.where(masks[:, MINE], MINE, NONE))
        assert np.isfinite(step.observations).all()
        masks = step.masks
        steps += 1
    assert steps < 3
    np.testing.assert_allclose(Carts.of(env.states).content.sum(axis=1), 1.5, atol=1e-8)


def test_rows_depend_on_their_own_seed_alone():
    actions = restless_actions(np.random.default_rng(3))[:12]
    alone, together = BatchMinecart(stochastic=True), BatchMinecart(stochastic=True)
    alone.reset(np.array([7]))
    together.reset(np.array([5, 6, 7]))
    for planned in actions:
        action = where_valid(planned, alone.masks[0])
        one = alone.step(np.array([0]), np.array([action]))
        many = together.step(np.array([2, 0]), np.array([action, NONE]))
        np.testing.assert_array_equal(one.observations[0], many.observations[0])


def test_a_restored_snapshot_continues_the_episode():
    env = BatchMinecart(stochastic=False)
    env.reset(np.arange(1))
    plan = restless_actions(np.random.default_rng(1))[:30]
    for action in plan[:10]:
        env.step(np.array([0]), np.array([where_valid(action, env.masks[0])]))
    copies = BatchMinecart(stochastic=False)
    copies.restore(env.snapshot(0), np.arange(3))
    for planned in plan[10:]:
        if env.finished[0]:
            break
        action = where_valid(planned, env.masks[0])
        expected = env.step(np.array([0]), np.array([action]))
        stepped = copies.step(np.arange(3), np.full(3, action))
        for row in range(3):
            np.testing.assert_array_equal(stepped.observations[row], expected.observations[0])
            np.testing.assert_array_equal(stepped.rewards[row], expected.rewards[0])
            np.testing.assert_array_equal(stepped.masks[row], expected.masks[0])


def test_a_located_cart_is_the_cart_that_was_seen():
    env, twin = BatchMinecart(stochastic=False), BatchMinecart(stochastic=False)
    for seed in range(30):
        seen = env.reset(np.arange(1))
        for action in restless_actions(np.random.default_rng(seed)):
            located = locate_cart(seen.observations[0])
            again = twin.restore(located, np.arange(1))
            np.testing.assert_allclose(again.observations, seen.observations, rtol=0, atol=1e-6)
            np.testing.assert_array_equal(again.masks, seen.masks)
            assert located["state"][-1] == Carts.of(env.states).departed[0]
            seen = env.step(np.array([0]), np.array([where_valid(action, env.masks[0])]))  # type: ignore[assignment]
            if env.finished[0]:
                break


def test_the_step_limit_truncates():
    env = BatchMinecart(stochastic=False, max_steps=2)
    env.reset(np.arange(1))
    assert not env.step(np.array([0]), np.array([NONE])).truncated[0]
    assert env.step(np.array([0]), np.array([NONE])).truncated[0]
    with pytest.raises(InvalidInput, match="running episode"):
        env.step(np.array([0]), np.array([NONE]))


def test_bad_input_is_named():
    env = BatchMinecart(stochastic=False)
    env.reset(np.arange(2))
    with pytest.raises(InvalidInput, match="actions from 0 to 5"):
        env.step(np.arange(2), np.array([NONE, 6]))
    with pytest.raises(InvalidInput, match=r"one of the valid actions \[1, 2, 3, 5\] in row 0, got 0"):
        env.step(np.arange(2), np.array([MINE, NONE]))
    with pytest.raises(InvalidInput, match="one action per row"):
        env.step(np.arange(2), np.array([0]))
