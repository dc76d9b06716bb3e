"""Minecart vectorised in NumPy, equal to MO-Gymnasium's `minecart-deterministic-v0` and `minecart-v0`.

Angles are multiples of ten degrees. A table of their sines and cosines has the values of `math.sin` and `math.cos`, and
is faster than computing them.
"""

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from paretofoil.envs.batch import ArrayBatch, Moved

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
FEW = 12
"""Up to this many carts are stepped one by one, which is faster than in arrays."""
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


def _slide_one(across: float, along: float, out: float, rest: float, sign: int = 1) -> int:
    """Return the turn of a cart at a wall of one axis; see `_slide`.

    `across` and `along` are its coordinates in these directions of the wall, `out` and `rest` its velocity in them.
    """
    pressing = (across == 1.0 and out > 0) or (across == 0.0 and out < 0)
    if not pressing or along in (0.0, 1.0) or not abs(rest) > AT_REST:
        return 0
    return ROTATION * sign * (1 if across == 1.0 else -1) * (1 if rest > 0 else -1)


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

    def move(self, states: np.ndarray, actions: np.ndarray, rows: np.ndarray) -> Moved:
        """Repeat one action per row for the frames of a step. The end of an episode skips the remaining frames."""
        rewards, ended = np.zeros((len(rows), self.num_objectives)), np.zeros(len(rows), dtype=bool)
        rewards[:, -1] = FUEL[actions]
        draws = self._draw(rows, actions)
        if len(rows) <= FEW:
            for i, action in enumerate(actions.tolist()):
                ended[i] = self._move_one(states[i], action, draws[i], rewards[i])
        else:
            self._move_many(Carts.of(states), actions, draws, rewards, ended)
        return states, rewards, ended

    def _move_many(
        self, carts: Carts, actions: np.ndarray, draws: np.ndarray, rewards: np.ndarray, ended: np.ndarray
    ) -> None:
        """Run the frames of a step of many carts together, and add what they deliver to the rewards (rows, d)."""
        going = np.arange(len(actions))
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

    def _move_one(self, state: np.ndarray, action: int, draws: np.ndarray, reward: np.ndarray) -> bool:
        """Run the frames of a step of one cart, and return whether its episode ended.

        The numbers are those of `_move_many`; this is faster for a few carts.
        """
        x, y, speed, degrees, *_, departed = state.tolist()
        angle, ended = int(degrees), False
        turn = ROTATION * ((action == RIGHT) - (action == LEFT))
        push = ACCELERATION * (action == ACCELERATE) - DECELERATION * (action == BRAKE)
        for frame in range(FRAME_SKIP):
            angle = (angle + turn) % 360 if turn else angle
            speed = min(max(speed + push, 0.0), TOP_SPEED)
            if action == MINE and speed < AT_REST:
                state[:2] = x, y
                self._mine(Carts.of(state[None]), np.zeros(1, dtype=np.int64), draws[frame : frame + 1])
            if ended:
                break
            if speed >= AT_REST:
                heading = (angle + self._angle_offset) // ROTATION
                dx, dy = speed * float(self._cos[heading]), speed * float(self._sin[heading])
                angle += _slide_one(x, y, dx, dy) + _slide_one(y, x, dy, dx, sign=-1)
                before = x, y
                x, y = min(max(x + dx, 0.0), 1.0), min(max(y + dy, 0.0), 1.0)
                speed = math.sqrt((before[0] - x) * (before[0] - x) + (before[1] - y) * (before[1] - y))
            home = math.sqrt(x * x + y * y) < BASE_RADIUS
            if home and departed:
                reward[:-1] += state[4:6]
                state[4:6] = 0.0
                ended = True
            departed = departed or not home
        state[:4], state[6] = (x, y, speed, angle), departed
        return ended

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
        """Fill those of some carts that are at a mine, up to their capacity."""
        distance = distances(carts.place[rows])
        within_reach = distance.min(axis=1) <= MINE_RADIUS
        mined = np.maximum(YIELDS[distance.argmin(axis=1)] + draws, 0.0) * within_reach[:, None]
        free = CAPACITY - carts.content[rows].sum(axis=1)
        total = mined.sum(axis=1)
        overfull = (total > free) & (total > 0)  # the free capacity of a full cart may be -1e-16
        mined[overfull] *= (free[overfull] / total[overfull])[:, None]
        carts.content[rows] += mined

    def _drive(self, carts: Carts, rows: np.ndarray) -> None:
        """Move those of some carts that are fast enough. At a wall they turn along it ("slide") and lose speed."""
        rows = rows[carts.speed[rows] >= AT_REST]
        before, speed, heading = carts.place[rows], carts.speed[rows], self._heading(carts.angle[rows])
        velocity = np.stack([speed * self._cos[heading], speed * self._sin[heading]], axis=1)
        at_wall = (before == 0.0) | (before == 1.0)  # (carts, 2)
        if at_wall.any():
            carts.angle[rows] += _slide(before, velocity, at_wall)
        carts.place[rows] = after = np.minimum(np.maximum(before + velocity, 0.0), 1.0)
        carts.speed[rows] = np.sqrt(np.square(before - after).sum(axis=1))


def _slide(before: np.ndarray, velocity: np.ndarray, at_wall: np.ndarray) -> np.ndarray:
    """Return by how many degrees carts turn along the wall that they press against; in a corner, they do not turn."""
    pressing = ((before == 1.0) & (velocity > 0)) | ((before == 0.0) & (velocity < 0))
    along = velocity[:, ::-1]  # the speed along the wall of each axis
    slides = pressing & ~at_wall[:, ::-1] & (np.abs(along) > AT_REST)
    # A wall at 1 turns towards +y on the x axis and away from +x on the y axis; a wall at 0 does the opposite.
    sign = np.where(before == 1.0, 1, -1) * np.array([1, -1]) * np.where(along > 0, 1, -1)
    turns: np.ndarray = (ROTATION * sign * slides).sum(axis=1)
    return turns
