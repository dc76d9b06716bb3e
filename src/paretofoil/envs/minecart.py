"""Minecart vectorised in NumPy, equal to MO-Gymnasium's `minecart-deterministic-v0` and `minecart-v0`.

The physical constants and the mines are read from the installed MO-Gymnasium. Angles are multiples of ten degrees; a
table of their sines and cosines is faster than computing them, and has the values of `math.sin` and `math.cos`.
"""

import json
import math
import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypedDict

import numpy as np
from scipy.special import ndtri

from paretofoil.core.errors import InvalidInput
from paretofoil.envs.batch import Observed, Stepped, check_seeds, check_step, uniforms

os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")  # MO-Gymnasium imports pygame, which prints a greeting
from mo_gymnasium.envs.minecart import minecart as source

START_ANGLE = 45
"""Degrees: towards the middle of the field."""
FULL = 1e-8
"""A cart with at most this much free capacity is full: sums of fractions rarely equal the capacity."""
FRAME_SKIP = 4
"""Frames per step, the default of both registered environments."""
FUEL = np.array(source.FUEL_LIST) * FRAME_SKIP
"""(num_actions,): the reward of one step."""
BASE_REACH = source.BASE_RADIUS * source.BASE_SCALE
MINE_REACH = source.MINE_RADIUS * source.MINE_SCALE * source.CART_SCALE


@dataclass(frozen=True, eq=False)
class Field:
    """The capacity of the cart and the mines of one configuration."""

    capacity: float
    mine_positions: np.ndarray  # (mines, 2)
    ore_means: np.ndarray  # (mines, ores)
    ore_deviations: np.ndarray  # (mines, ores)


@cache
def read_field(stochastic: bool) -> Field:
    """Read one of the two configurations of the installed MO-Gymnasium."""
    file = "mine_config.json" if stochastic else "mine_config_det.json"
    config = json.loads((Path(source.__file__).parent / file).read_text())
    positions = np.array([(mine["x"], mine["y"]) for mine in config["mines"]])
    ores = np.array([mine["distributions"] for mine in config["mines"]], dtype=np.float64)  # (mines, ores, 2)
    return Field(config["capacity"], positions, ores[:, :, 0], ores[:, :, 1])


def valid_actions(field: Field, position: np.ndarray, speed: np.ndarray, content: np.ndarray) -> np.ndarray:
    """Return the valid actions (n, num_actions) of carts with positions (n, 2), speeds (n,) and contents (n, ores).

    A cart can always turn and wait. It can accelerate below the top speed, and brake while it moves. It can mine at
    rest, within reach of a mine, if it is not full.
    """
    valid = np.ones((len(speed), len(FUEL)), dtype=bool)
    valid[:, source.ACT_ACCEL] = speed < source.MAX_SPEED - source.EPS_SPEED
    valid[:, source.ACT_BRAKE] = speed > source.EPS_SPEED
    valid[:, source.ACT_MINE] = False
    resting = np.flatnonzero(speed < source.EPS_SPEED)
    room = field.capacity - content[resting].sum(axis=1) > FULL
    valid[resting, source.ACT_MINE] = room & (distances(field, position[resting]).min(axis=1) <= MINE_REACH)
    return valid


def distances(field: Field, position: np.ndarray) -> np.ndarray:
    """Return the distances (n, mines) of carts at positions (n, 2) from the mines."""
    offset = position[:, None, :] - field.mine_positions
    return np.sqrt(np.square(offset).sum(axis=2))


class CartSnapshot(TypedDict):
    """The state of one cart."""

    position: list[float]
    speed: float
    angle: int
    content: list[float]
    departed: bool
    elapsed: int


def locate_cart(stochastic: bool, observation: np.ndarray) -> CartSnapshot:
    """Return the state of a cart with this observation. A cart in the base has not departed yet."""
    field = read_field(stochastic)
    x, y, speed, sine, cosine, *filled = observation.astype(np.float64).tolist()
    content = np.array(filled) * field.capacity
    if abs(content.sum() - field.capacity) < 1e-6:  # full, to the precision of float32
        content *= field.capacity / content.sum()
    turns = round((math.degrees(math.atan2(sine, cosine)) - START_ANGLE) / source.ROTATION)
    angle = (START_ANGLE + turns * source.ROTATION) % 360
    departed = math.hypot(x, y) >= BASE_REACH
    return CartSnapshot(
        position=[x, y], speed=speed, angle=angle, content=content.tolist(), departed=departed, elapsed=0
    )


def mask_cart(stochastic: bool, env: Any) -> np.ndarray:
    """Return the valid actions of MO-Gymnasium's unwrapped environment."""
    cart = env.cart
    return valid_actions(read_field(stochastic), cart.pos[None], np.array([cart.speed]), cart.content[None])[0]


def share_generator(env: Any) -> None:
    """Make the mines draw from the environment's generator; SciPy's distributions use NumPy's global one by default."""
    for mine in env.mines:
        for distribution in mine.distributions:
            distribution.random_state = env.np_random


def set_cart(env: Any, snapshot: CartSnapshot) -> None:
    """Put MO-Gymnasium's unwrapped environment into the state of a snapshot."""
    cart = env.cart
    cart.pos, cart.content = np.array(snapshot["position"]), np.array(snapshot["content"])
    cart.speed, cart.angle, cart.departed = snapshot["speed"], snapshot["angle"], snapshot["departed"]


class BatchMinecart:
    """Carts that collect two ores and return to the base (implements `BatchEnv`).

    An observation is (x, y, speed, sin, cos, content / capacity); a reward is (ore 1, ore 2, -fuel).
    """

    def __init__(self, stochastic: bool, max_steps: int = 1000) -> None:
        if max_steps < 1:
            raise InvalidInput.expected("max_steps to be at least 1", max_steps)
        self.field = read_field(stochastic)
        self.stochastic = stochastic
        self.max_steps = max_steps
        self.num_actions = len(FUEL)
        self.num_ores = self.field.ore_means.shape[1]
        self.num_objectives = self.num_ores + 1
        self.observation_size = 5 + self.num_ores
        # Sliding along walls can increase the angle beyond a full turn, by at most one rotation per frame.
        turns = max_steps * FRAME_SKIP + 36
        radians = [degrees * math.pi / 180 for degrees in self._degrees(turns)]
        self._sin = np.array([math.sin(a) for a in radians])
        self._cos = np.array([math.cos(a) for a in radians])
        self._angle_offset = turns * source.ROTATION - START_ANGLE
        self._allocate(np.zeros(0, dtype=np.int64))

    def _degrees(self, turns: int) -> range:
        step = source.ROTATION
        return range(START_ANGLE - turns * step, START_ANGLE + turns * step + 1, step)

    def _allocate(self, seeds: np.ndarray) -> None:
        self.seeds = check_seeds(seeds)
        n = len(self.seeds)
        self.position = np.zeros((n, 2))
        self.speed = np.zeros(n)
        self.angle = np.full(n, START_ANGLE, dtype=np.int64)
        self.content = np.zeros((n, self.num_ores))
        self.departed = np.zeros(n, dtype=bool)
        self.finished = np.zeros(n, dtype=bool)
        self.elapsed = np.zeros(n, dtype=np.int64)
        self.masks = np.zeros((n, self.num_actions), dtype=bool)

    def reset(self, seeds: np.ndarray) -> Observed:
        """Start one episode per seed, at the base."""
        self._allocate(seeds)
        return self._observe(np.arange(len(self.seeds)))

    def step(self, rows: np.ndarray, actions: np.ndarray) -> Stepped:
        """Repeat one action per row for the frames of a step. The end of an episode skips the remaining frames."""
        rows, actions = check_step(rows, actions, self.finished, self.masks)
        rewards = np.zeros((len(rows), self.num_objectives))
        rewards[:, -1] = FUEL[actions]
        draws = self._draw(rows, actions)  # (rows, frames, ores), or nothing

        going = np.arange(len(rows))  # indices into `rows` of running episodes
        for frame in range(FRAME_SKIP):
            carts = rows[going]
            self._act(carts, actions[going], None if draws is None else draws[going, frame])
            still_running = ~self.finished[
                carts
            ]  # as in MO-Gymnasium, a finished episode still acts, but does not move
            carts, going = carts[still_running], going[still_running]
            self._move(carts)
            home = np.sqrt(np.square(self.position[carts]).sum(axis=1)) < BASE_REACH
            back = home & self.departed[carts]
            self.departed[carts[~home]] = True
            if back.any():
                returned = carts[back]
                rewards[going[back], :-1] += self.content[returned]
                self.content[returned] = 0.0
                self.finished[returned] = True

        self.elapsed[rows] += 1
        terminated = self.finished[rows]
        truncated = (self.elapsed[rows] >= self.max_steps) & ~terminated
        self.finished[rows] |= truncated
        return Stepped(*self._observe(rows), rewards, terminated, truncated)

    def snapshot(self, row: int) -> CartSnapshot:
        """Return the state of one cart, without its seed."""
        return CartSnapshot(
            position=self.position[row].tolist(),
            speed=float(self.speed[row]),
            angle=int(self.angle[row]),
            content=self.content[row].tolist(),
            departed=bool(self.departed[row]),
            elapsed=int(self.elapsed[row]),
        )

    def restore(self, snapshot: CartSnapshot, seeds: np.ndarray) -> Observed:
        """Start one episode per seed from a snapshot."""
        self._allocate(seeds)
        self.position[:] = snapshot["position"]
        self.speed[:] = snapshot["speed"]
        self.angle[:] = snapshot["angle"]
        self.content[:] = snapshot["content"]
        self.departed[:] = snapshot["departed"]
        self.elapsed[:] = snapshot["elapsed"]
        return self._observe(np.arange(len(self.seeds)))

    def _draw(self, rows: np.ndarray, actions: np.ndarray) -> np.ndarray | None:
        """Return standard normal numbers for the mines; they depend only on (seed, elapsed steps)."""
        if not self.stochastic or not (actions == source.ACT_MINE).any():
            return None
        frames = FRAME_SKIP
        numbers = uniforms(self.seeds[rows], self.elapsed[rows], frames * self.num_ores)
        return ndtri(numbers).reshape(len(rows), frames, self.num_ores)

    def _act(self, carts: np.ndarray, actions: np.ndarray, draws: np.ndarray | None) -> None:
        """Apply one frame of the actions, before the carts move."""
        turn = source.ROTATION * ((actions == source.ACT_RIGHT).astype(np.int64) - (actions == source.ACT_LEFT))
        turning = turn != 0
        turned = carts[turning]
        self.angle[turned] = (self.angle[turned] + turn[turning]) % 360
        push = source.ACCELERATION * (actions == source.ACT_ACCEL) - source.DECELERATION * (actions == source.ACT_BRAKE)
        self.speed[carts] = np.minimum(np.maximum(self.speed[carts] + push, 0.0), source.MAX_SPEED)
        mining = (actions == source.ACT_MINE) & (self.speed[carts] < source.EPS_SPEED)
        if mining.any():
            self._mine(carts[mining], None if draws is None else draws[mining])

    def _mine(self, carts: np.ndarray, draws: np.ndarray | None) -> None:
        """Fill the carts at a mine, up to their capacity."""
        distance = distances(self.field, self.position[carts])
        nearest = distance.argmin(axis=1)
        mined = self.field.ore_means[nearest]
        if draws is not None:
            mined = mined + self.field.ore_deviations[nearest] * draws
        mined = np.maximum(mined, 0.0) * (distance.min(axis=1) <= MINE_REACH)[:, None]
        free = self.field.capacity - self.content[carts].sum(axis=1)
        total = mined.sum(axis=1)
        overfull = (total > free) & (total > 0)  # the free capacity of a full cart may be -1e-16
        mined[overfull] *= (free[overfull] / total[overfull])[:, None]
        self.content[carts] += mined

    def _move(self, carts: np.ndarray) -> None:
        """Move the carts that are fast enough. At a wall they turn along it ("slide") and lose speed."""
        carts = carts[self.speed[carts] >= source.EPS_SPEED]
        before = self.position[carts]
        heading = (self.angle[carts] + self._angle_offset) // source.ROTATION
        speed = self.speed[carts]
        velocity = np.stack([speed * self._cos[heading], speed * self._sin[heading]], axis=1)
        at_wall = (before == 0.0) | (before == 1.0)  # (carts, 2)
        if at_wall.any():
            self._slide(carts, before, velocity, at_wall)
        after = np.minimum(np.maximum(before + velocity, 0.0), 1.0)
        self.position[carts] = after
        self.speed[carts] = np.sqrt(np.square(before - after).sum(axis=1))

    def _slide(self, carts: np.ndarray, before: np.ndarray, velocity: np.ndarray, at_wall: np.ndarray) -> None:
        """Turn carts that press against a wall along it. Carts in a corner do not turn."""
        pressing = ((before == 1.0) & (velocity > 0)) | ((before == 0.0) & (velocity < 0))
        along = velocity[:, ::-1]  # the speed along the wall of each axis
        slides = pressing & ~at_wall[:, ::-1] & (np.abs(along) > source.EPS_SPEED)
        # A wall at 1 turns towards +y on the x axis and away from +x on the y axis; a wall at 0 does the opposite.
        sign = np.where(before == 1.0, 1, -1) * np.array([1, -1]) * np.where(along > 0, 1, -1)
        self.angle[carts] += (source.ROTATION * sign * slides).sum(axis=1)

    def _observe(self, rows: np.ndarray) -> Observed:
        """Return the observations and valid actions of carts."""
        position, speed, content = self.position[rows], self.speed[rows], self.content[rows]
        heading = (self.angle[rows] + self._angle_offset) // source.ROTATION
        observations = np.empty((len(rows), self.observation_size), dtype=np.float32)
        observations[:, 0:2] = position
        observations[:, 2] = speed
        observations[:, 3] = self._sin[heading]
        observations[:, 4] = self._cos[heading]
        observations[:, 5:] = content / self.field.capacity
        masks = valid_actions(self.field, position, speed, content)
        self.masks[rows] = masks
        return Observed(observations, masks)
