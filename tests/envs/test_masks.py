"""Masks against the environments' own steps: what is masked cannot happen, and what is allowed happens."""

from typing import Any

import numpy as np
import pytest

from paretofoil import envs
from paretofoil.envs.batch import clone, set_attributes, tabulate
from paretofoil.envs.catalogue import make_raw

FINITE = [name for name in envs.names() if envs.entry(name).finite]
CARTS = ["minecart", "minecart-stochastic"]
MINE, LEFT, RIGHT, ACCELERATE, BRAKE, NONE = range(6)
AT_REST = 1e-3


@pytest.mark.parametrize("name", FINITE)
def test_in_every_state_the_valid_actions_are_those_that_change_it(name: str) -> None:
    entry = envs.entry(name)
    table, env = tabulate(entry), make_raw(entry).unwrapped
    env.reset(seed=0)
    for state in np.flatnonzero(~table.final):
        for action, valid in enumerate(table.masks[state]):
            set_attributes(env, table.states[state])
            raw, reward, terminated, _, _ = env.step(action)
            same = np.array_equal(entry.encode(raw), table.observations[state])
            assert valid != (same and not (terminated and valid)), (table.states[state], entry.actions[action])
            if not valid:
                assert not any(np.asarray(reward)[[o.unit != "steps" for o in entry.objectives]])


def cart_at(name: str, **state: Any) -> Any:
    """The catalogued environment with its cart in a state: pos, speed, angle, content."""
    env = envs.make(name)
    env.reset(seed=0)
    cart = env.unwrapped.cart
    cart.departed = True
    for attribute, value in state.items():
        setattr(cart, attribute, value)
    return env


def after(env: Any, action: int) -> np.ndarray:
    """What the bare environment shows after an action in its state, which is left as it is."""
    return np.array(clone(env.unwrapped).step(action)[0], dtype=np.float64)


def place_at_random(env: Any, rng: np.random.Generator) -> None:
    """On the field or near a mine, moving or not, with some ore or full; headed away from corners, which stop it."""
    cart = env.unwrapped.cart
    mine = env.unwrapped.mines[rng.integers(5)].pos
    near = np.clip(mine + rng.uniform(-0.15, 0.15, 2), 0.05, 0.95)
    cart.pos = near if rng.random() < 0.7 else rng.uniform(0.2, 0.8, 2)
    cart.speed = rng.choice([0.0, 0.0005, 0.03, 0.1])
    inwards = np.degrees(np.arctan2(*(0.5 - cart.pos)[::-1]))
    cart.angle = (45 + 10 * round((inwards - 45) / 10)) % 360
    first = rng.uniform(0.0, 1.5)
    cart.content = np.array([first, 1.5 - first]) * rng.choice([0.0, 0.4, 1.0])


@pytest.mark.parametrize("count", [60, pytest.param(200, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", CARTS)
def test_a_masked_action_of_a_cart_does_no_more_than_waiting_and_a_valid_one_does(name: str, count: int) -> None:
    rng, env = np.random.default_rng(0), cart_at(name)
    allowed = np.zeros(6, dtype=int)
    for _ in range(count):
        place_at_random(env, rng)
        mask, waited = env.action_masks(), after(env, NONE)
        allowed += mask
        for action in (MINE, LEFT, RIGHT, ACCELERATE, BRAKE):
            happens = not np.allclose(after(env, action), waited, rtol=0, atol=AT_REST)
            assert happens == mask[action], (str(env.unwrapped), action)
    assert allowed[[LEFT, RIGHT, ACCELERATE, NONE]].tolist() == [count] * 4
    assert count / 20 < allowed[MINE] < count - count / 20
    assert count / 20 < allowed[BRAKE] < count - count / 20


@pytest.mark.parametrize("name", CARTS)
@pytest.mark.parametrize(("state", "valid"), [
    ({}, {LEFT, RIGHT, ACCELERATE, NONE}),
    ({"pos": np.array([0.5, 0.84])}, {MINE, LEFT, RIGHT, ACCELERATE, NONE}),
    ({"pos": np.array([0.5, 0.84 - 0.139])}, {MINE, LEFT, RIGHT, ACCELERATE, NONE}),
    ({"pos": np.array([0.5, 0.84 - 0.141])}, {LEFT, RIGHT, ACCELERATE, NONE}),
    ({"pos": np.array([0.5, 0.84]), "content": np.array([0.9, 0.6 - 1e-9])}, {LEFT, RIGHT, ACCELERATE, NONE}),
    ({"pos": np.array([0.5, 0.84]), "content": np.array([0.9, 0.6 - 1e-7])}, {MINE, LEFT, RIGHT, ACCELERATE, NONE}),
    ({"pos": np.array([0.5, 0.84]), "speed": 0.0009}, {MINE, LEFT, RIGHT, ACCELERATE, NONE}),
    ({"pos": np.array([0.5, 0.84]), "speed": 0.0011}, {LEFT, RIGHT, ACCELERATE, BRAKE, NONE}),
    ({"pos": np.array([0.5, 0.5]), "speed": 0.998}, {LEFT, RIGHT, ACCELERATE, BRAKE, NONE}),
    ({"pos": np.array([0.5, 0.5]), "speed": 1.0}, {LEFT, RIGHT, BRAKE, NONE}),
])  # fmt: skip
def test_a_cart_mines_at_rest_in_reach_with_room_and_brakes_in_motion(name: str, state: dict, valid: set) -> None:
    assert set(np.flatnonzero(cart_at(name, **state).action_masks()).tolist()) == valid
