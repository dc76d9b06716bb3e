"""Minecart vectorised in NumPy, equal to MO-Gymnasium's `minecart-deterministic-v0` and `minecart-v0`.

Angles differ from the start by multiples of ten degrees. Their sines and cosines come from a table, which is faster.
"""

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from paretofoil.envs.batch import ArrayBatch, Transition

MINE, LEFT, RIGHT, ACCELERATE, BRAKE = range(5)
"""The actions; the sixth does nothing."""
FRAME_SKIP = 4
"""Frames per step."""
FUEL = -FRAME_SKIP * np.array([0.05 + 0.005, 0.005, 0.005, 0.025 + 0.005, 0.005, 0.005])
"""(num_actions,): the reward for the fuel of one step, by action."""
START_ANGLE, ROTATION = 45, 10
"""Degrees: the heading at the start, and the turn of one frame."""
ACCELERATION, DECELERATION = 0.0075, 1.0
"""The change of speed in one frame."""
TOP_SPEED, AT_REST = 1.0, 0.001
"""The largest speed, and the speed below which a cart stands still."""
BASE_RADIUS, MINE_RADIUS = 0.15, 0.14
"""The distance within which a cart is at the base, in the corner (0, 0), or at a mine."""
CAPACITY = 1.5
"""The largest content of a cart."""
FULL = 1e-8
"""A cart with at most this much free capacity is full: sums of fractions rarely equal the capacity."""
MINES = np.array([(0.16, 0.84), (0.5, 0.84), (0.84, 0.84), (0.84, 0.5), (0.84, 0.16)])
"""(mines, 2): the positions."""
YIELDS = np.array([(0.2, 0.0), (0.15, 0.1), (0.2, 0.2), (0.1, 0.15), (0.0, 0.2)])
"""(mines, ores): the mean amount that one frame of mining yields."""
DEVIATION = 0.05
"""The standard deviation of the yields of the stochastic environment."""


def valid_actions(position: np.ndarray, speed: np.ndarray, content: np.ndarray) -> np.ndarray:
    """Return the valid actions (n, num_actions) of carts with positions (n, 2), speeds (n,) and contents (n, ores).

    A cart can always turn and wait. It can accelerate below the top speed, and brake while it moves. It can mine at
    rest, within reach of a mine, if it is not full.
    """
    valid = np.ones((len(speed), len(FUEL)), dtype=bool)
    valid[:, ACCELERATE] = speed < TOP_SPEED - AT_REST
    valid[:, BRAKE] = speed > AT_REST
    valid[:, MINE] = False
    resting = np.flatnonzero(speed < AT_REST)
    room = CAPACITY - content[resting].sum(axis=1) > FULL
    valid[resting, MINE] = room & (distances(position[resting]).min(axis=1) <= MINE_RADIUS)
    return valid


def distances(position: np.ndarray) -> np.ndarray:
    """Return the distances (n, mines) of carts at positions (n, 2) from the mines."""
    offset = position[:, None, :] - MINES
    return np.sqrt(np.square(offset).sum(axis=2))


def locate_cart(observation: np.ndarray) -> dict[str, Any]:
    """Return a snapshot with this observation. A cart in the base has not departed yet."""
    x, y, speed, sine, cosine, *filled = observation.astype(np.float64).tolist()
    content = np.array(filled) * CAPACITY
    if abs(content.sum() - CAPACITY) < 1e-6:  # full, to the precision of float32
        content *= CAPACITY / content.sum()
    turns = round((math.degrees(math.atan2(sine, cosine)) - START_ANGLE) / ROTATION)
    angle = (START_ANGLE + turns * ROTATION) % 360
    departed = float(math.hypot(x, y) >= BASE_RADIUS)
    return {"state": (x, y, speed, angle, *content.tolist(), departed), "elapsed": 0, "ended": False}


def mask_cart(env: Any) -> np.ndarray:
    """Return the valid actions of MO-Gymnasium's unwrapped environment."""
    cart = env.cart
    return valid_actions(cart.pos[None], np.array([cart.speed]), cart.content[None])[0]


def share_generator(env: Any) -> None:
    """Make the mines draw from the environment's generator; SciPy's distributions use NumPy's global one by default."""
    for mine in env.mines:
        for distribution in mine.distributions:
            distribution.random_state = env.np_random


@lru_cache(maxsize=8)
def _headings(turns: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the sines and cosines of all headings within this many turns to either side of the start."""
    radians = [(START_ANGLE + turn * ROTATION) * math.pi / 180 for turn in range(-turns, turns + 1)]
    return np.array([math.sin(a) for a in radians]), np.array([math.cos(a) for a in radians])


class Carts(NamedTuple):
    """The columns of states (n, 7), as views: writing to them changes the states."""

    place: np.ndarray  # (n, 2)
    speed: np.ndarray
    angle: np.ndarray
    content: np.ndarray  # (n, ores)
    departed: np.ndarray  # 1 if the cart has left the base

    @classmethod
    def of(cls, states: np.ndarray) -> "Carts":
        return cls(states[:, :2], states[:, 2], states[:, 3], states[:, 4:6], states[:, 6])


class BatchMinecart(ArrayBatch):
    """Carts that collect two ores and return to the base.

    A state is (x, y, speed, angle, ore 0, ore 1, 1 if the cart has departed). An observation is (x, y, speed, sin, cos,
    content / capacity); a reward is (ore 0, ore 1, -fuel).
    """

    observation_size, num_actions, num_objectives = 7, len(FUEL), 3

    def __init__(self, stochastic: bool, max_steps: int = 1000) -> None:
        self.stochastic = stochastic
        # Sliding along walls can increase the angle beyond a full turn, by at most one rotation per frame.
        turns = max_steps * FRAME_SKIP + 36
        self._sin, self._cos = _headings(turns)
        self._angle_offset = turns * ROTATION - START_ANGLE
        super().__init__((0.0, 0.0, 0.0, float(START_ANGLE), 0.0, 0.0, 0.0), max_steps)

    def valid(self, states: np.ndarray) -> np.ndarray:
        carts = Carts.of(states)
        return valid_actions(carts.place, carts.speed, carts.content)

    def observe(self, states: np.ndarray) -> np.ndarray:
        carts = Carts.of(states)
        heading = self._heading(carts.angle)
        columns = [carts.place, carts.speed, self._sin[heading], self._cos[heading], carts.content / CAPACITY]
        return np.column_stack(columns).astype(np.float32)

    def _heading(self, angles: np.ndarray) -> np.ndarray:
        """Return the indices of angles (n,) in the tables of sines and cosines."""
        return (angles.astype(np.int64) + self._angle_offset) // ROTATION

    def move(self, states: np.ndarray, actions: np.ndarray, rows: np.ndarray) -> Transition:
        """Repeat the action of each row for the frames of a step, or until its episode ends."""
        rewards, ended = np.zeros((len(rows), self.num_objectives)), np.zeros(len(rows), dtype=bool)
        rewards[:, -1] = FUEL[actions]
        draws, carts, going = self._draw(rows, actions), Carts.of(states), np.arange(len(actions))
        for frame in range(FRAME_SKIP):
            self._act(carts, going, actions[going], draws[going, frame])
            going = going[~ended[going]]  # as in MO-Gymnasium, a finished episode still acts, but does not move
            self._drive(carts, going)
            home = np.sqrt(np.square(carts.place[going]).sum(axis=1)) < BASE_RADIUS
            back = home & (carts.departed[going] > 0)
            carts.departed[going[~home]] = 1.0
            if back.any():
                returned = going[back]
                rewards[returned, :-1] += carts.content[returned]
                carts.content[returned] = 0.0
                ended[returned] = True
        return states, rewards, ended

    def _draw(self, rows: np.ndarray, actions: np.ndarray) -> np.ndarray:
        """Return deviations (rows, frames, ores) of the yields; they depend only on (seed, elapsed steps)."""
        shape = (len(rows), FRAME_SKIP, YIELDS.shape[1])
        if not self.stochastic or not (actions == MINE).any():
            return np.zeros(shape)
        from scipy.special import ndtri  # not needed for deterministic carts

        return DEVIATION * ndtri(self.draw(rows, shape[1] * shape[2])).reshape(shape)

    def _act(self, carts: Carts, rows: np.ndarray, actions: np.ndarray, draws: np.ndarray) -> None:
        """Apply one frame of the actions to some carts, before they move."""
        turn = ROTATION * ((actions == RIGHT).astype(np.int64) - (actions == LEFT))
        turning = turn != 0
        turned = rows[turning]
        carts.angle[turned] = (carts.angle[turned] + turn[turning]) % 360
        push = ACCELERATION * (actions == ACCELERATE) - DECELERATION * (actions == BRAKE)
        carts.speed[rows] = np.minimum(np.maximum(carts.speed[rows] + push, 0.0), TOP_SPEED)
        mining = (actions == MINE) & (carts.speed[rows] < AT_REST)
        if mining.any():
            self._mine(carts, rows[mining], draws[mining])

    def _mine(self, carts: Carts, rows: np.ndarray, draws: np.ndarray) -> None:
        """Fill the carts (rows) that are at a mine, up to their capacity."""
        distance = distances(carts.place[rows])
        within_reach = distance.min(axis=1) <= MINE_RADIUS
        mined = np.maximum(YIELDS[distance.argmin(axis=1)] + draws, 0.0) * within_reach[:, None]
        free = CAPACITY - carts.content[rows].sum(axis=1)
        total = mined.sum(axis=1)
        overfull = (total > free) & (total > 0)  # the free capacity of a full cart may be -1e-16
        mined[overfull] *= (free[overfull] / total[overfull])[:, None]
        carts.content[rows] += mined

    def _drive(self, carts: Carts, rows: np.ndarray) -> None:
        """Move the carts (rows) that are fast enough. At a wall they turn along it ("slide") and lose speed."""
        rows = rows[carts.speed[rows] >= AT_REST]
        before, speed, heading = carts.place[rows], carts.speed[rows], self._heading(carts.angle[rows])
        velocity = np.stack([speed * self._cos[heading], speed * self._sin[heading]], axis=1)
        at_wall = (before == 0.0) | (before == 1.0)  # (carts, 2)
        if at_wall.any():
            carts.angle[rows] += _slide(before, velocity, at_wall)
        carts.place[rows] = after = np.minimum(np.maximum(before + velocity, 0.0), 1.0)
        carts.speed[rows] = np.sqrt(np.square(before - after).sum(axis=1))


def _slide(before: np.ndarray, velocity: np.ndarray, at_wall: np.ndarray) -> np.ndarray:
    """Return by how many degrees carts turn along the wall that they press against; they do not turn in a corner."""
    pressing = ((before == 1.0) & (velocity > 0)) | ((before == 0.0) & (velocity < 0))
    along = velocity[:, ::-1]  # the speed along the wall of each axis
    slides = pressing & ~at_wall[:, ::-1] & (np.abs(along) > AT_REST)
    # A wall at 1 turns towards +y on the x axis and away from +x on the y axis; a wall at 0 does the opposite.
    sign = np.where(before == 1.0, 1, -1) * np.array([1, -1]) * np.where(along > 0, 1, -1)
    turns: np.ndarray = (ROTATION * sign * slides).sum(axis=1)
    return turns
