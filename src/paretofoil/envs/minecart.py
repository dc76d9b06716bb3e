"""Minecart vectorised in NumPy, equal to MO-Gymnasium's `minecart-deterministic-v0` and `minecart-v0`.

Angles are multiples of ten degrees. A table of their sines and cosines has the values of `math.sin` and `math.cos`, and
is faster than computing them.
"""

import math
from functools import lru_cache
from typing import Any, TypedDict

import numpy as np

from paretofoil.core.amounts import ActionSpace
from paretofoil.core.errors import InvalidInput
from paretofoil.envs.batch import Observed, Stepped, check_seeds, check_step, uniforms
from paretofoil.envs.catalogue import Bounds

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


class CartSnapshot(TypedDict):
    """The state of one cart."""

    position: list[float]
    speed: float
    angle: int
    content: list[float]
    departed: bool
    elapsed: int


START = CartSnapshot(position=[0.0, 0.0], speed=0.0, angle=START_ANGLE, content=[0.0, 0.0], departed=False, elapsed=0)


def locate_cart(observation: np.ndarray) -> CartSnapshot:
    """Return the state of a cart with this observation. A cart in the base has not departed yet."""
    x, y, speed, sine, cosine, *filled = observation.astype(np.float64).tolist()
    content = np.array(filled) * CAPACITY
    if abs(content.sum() - CAPACITY) < 1e-6:  # full, to the precision of float32
        content *= CAPACITY / content.sum()
    turns = round((math.degrees(math.atan2(sine, cosine)) - START_ANGLE) / ROTATION)
    angle = (START_ANGLE + turns * ROTATION) % 360
    departed = math.hypot(x, y) >= BASE_RADIUS
    return CartSnapshot(
        position=[x, y], speed=speed, angle=angle, content=content.tolist(), departed=departed, elapsed=0
    )


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
    """Return the turn of a cart at a wall of one axis; see `BatchMinecart._slide`.

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


class BatchMinecart:
    """Carts that collect two ores and return to the base (implements `BatchEnv`).

    An observation is (x, y, speed, sin, cos, content / capacity); a reward is (ore 0, ore 1, -fuel).
    """

    observation_size, num_actions, num_objectives = 7, len(FUEL), 3
    action_space: ActionSpace | None = None
    bounds: Bounds | None = None
    real_returns = False

    def __init__(self, stochastic: bool, max_steps: int = 1000) -> None:
        if max_steps < 1:
            raise InvalidInput.expected("max_steps to be at least 1", max_steps)
        self.stochastic, self.max_steps = stochastic, max_steps
        # Sliding along walls can increase the angle beyond a full turn, by at most one rotation per frame.
        turns = max_steps * FRAME_SKIP + 36
        self._sin, self._cos = _headings(turns)
        self._angle_offset = turns * ROTATION - START_ANGLE
        self.reset(np.zeros(0, dtype=np.int64))

    def reset(self, seeds: np.ndarray) -> Observed:
        """Start one episode per seed, at the base."""
        return self.restore(START, seeds)

    def restore(self, snapshot: CartSnapshot, seeds: np.ndarray) -> Observed:
        """Start one episode per seed from a snapshot."""
        self.seeds = check_seeds(seeds)
        n = len(self.seeds)
        self.position = np.tile(snapshot["position"], (n, 1))
        self.speed = np.full(n, snapshot["speed"], dtype=np.float64)
        self.angle = np.full(n, snapshot["angle"], dtype=np.int64)
        self.content = np.tile(snapshot["content"], (n, 1))
        self.departed = np.full(n, snapshot["departed"])
        self.elapsed = np.full(n, snapshot["elapsed"], dtype=np.int64)
        self.finished = np.zeros(n, dtype=bool)
        self.masks = np.zeros((n, self.num_actions), dtype=bool)
        return self._observe(np.arange(n))

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

    def step(self, rows: np.ndarray, actions: np.ndarray) -> Stepped:
        """Repeat one action per row for the frames of a step. The end of an episode skips the remaining frames."""
        rows, actions = check_step(rows, actions, self.finished, self.masks)
        rewards = np.zeros((len(rows), self.num_objectives))
        rewards[:, -1] = FUEL[actions]
        draws = self._draw(rows, actions)
        if len(rows) <= FEW:
            for row, action, deviations, reward in zip(rows.tolist(), actions.tolist(), draws, rewards, strict=True):
                self._step_one(row, action, deviations, reward)
        else:
            self._step_many(rows, actions, draws, rewards)
        self.elapsed[rows] += 1
        terminated = self.finished[rows]
        truncated = (self.elapsed[rows] >= self.max_steps) & ~terminated
        self.finished[rows] |= truncated
        return Stepped(*self._observe(rows), rewards, terminated, truncated)

    def _step_many(self, rows: np.ndarray, actions: np.ndarray, draws: np.ndarray, rewards: np.ndarray) -> None:
        """Run the frames of a step of many carts together, and add what they deliver to the rewards (rows, d)."""
        going = np.arange(len(rows))  # indices into `rows` of running episodes
        for frame in range(FRAME_SKIP):
            carts = rows[going]
            self._act(carts, actions[going], draws[going, frame])
            running = ~self.finished[carts]  # as in MO-Gymnasium, a finished episode still acts, but does not move
            carts, going = carts[running], going[running]
            self._move(carts)
            home = np.sqrt(np.square(self.position[carts]).sum(axis=1)) < BASE_RADIUS
            back = home & self.departed[carts]
            self.departed[carts[~home]] = True
            if back.any():
                returned = carts[back]
                rewards[going[back], :-1] += self.content[returned]
                self.content[returned] = 0.0
                self.finished[returned] = True

    def _step_one(self, row: int, action: int, draws: np.ndarray, reward: np.ndarray) -> None:
        """Run the frames of a step of one cart: the same numbers as `_step_many`, and faster for a few carts."""
        (x, y), speed, angle = self.position[row].tolist(), float(self.speed[row]), int(self.angle[row])
        departed = bool(self.departed[row])
        turn = ROTATION * ((action == RIGHT) - (action == LEFT))
        push = ACCELERATION * (action == ACCELERATE) - DECELERATION * (action == BRAKE)
        for frame in range(FRAME_SKIP):
            angle = (angle + turn) % 360 if turn else angle
            speed = min(max(speed + push, 0.0), TOP_SPEED)
            if action == MINE and speed < AT_REST:
                self.position[row] = x, y
                self._mine(np.array([row]), draws[frame : frame + 1])
            if self.finished[row]:
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
                reward[:-1] += self.content[row]
                self.content[row] = 0.0
                self.finished[row] = True
            departed = departed or not home
        self.position[row], self.speed[row], self.angle[row], self.departed[row] = (x, y), speed, angle, departed

    def _draw(self, rows: np.ndarray, actions: np.ndarray) -> np.ndarray:
        """Return deviations (rows, frames, ores) of the yields; they depend only on (seed, elapsed steps)."""
        shape = (len(rows), FRAME_SKIP, YIELDS.shape[1])
        if not self.stochastic or not (actions == MINE).any():
            return np.zeros(shape)
        from scipy.special import ndtri  # not needed for deterministic carts

        numbers = uniforms(self.seeds[rows], self.elapsed[rows], shape[1] * shape[2])
        return DEVIATION * ndtri(numbers).reshape(shape)

    def _act(self, carts: np.ndarray, actions: np.ndarray, draws: np.ndarray) -> None:
        """Apply one frame of the actions, before the carts move."""
        turn = ROTATION * ((actions == RIGHT).astype(np.int64) - (actions == LEFT))
        turning = turn != 0
        turned = carts[turning]
        self.angle[turned] = (self.angle[turned] + turn[turning]) % 360
        push = ACCELERATION * (actions == ACCELERATE) - DECELERATION * (actions == BRAKE)
        self.speed[carts] = np.minimum(np.maximum(self.speed[carts] + push, 0.0), TOP_SPEED)
        mining = (actions == MINE) & (self.speed[carts] < AT_REST)
        if mining.any():
            self._mine(carts[mining], draws[mining])

    def _mine(self, carts: np.ndarray, draws: np.ndarray) -> None:
        """Fill the carts at a mine, up to their capacity."""
        distance = distances(self.position[carts])
        within_reach = distance.min(axis=1) <= MINE_RADIUS
        mined = np.maximum(YIELDS[distance.argmin(axis=1)] + draws, 0.0) * within_reach[:, None]
        free = CAPACITY - self.content[carts].sum(axis=1)
        total = mined.sum(axis=1)
        overfull = (total > free) & (total > 0)  # the free capacity of a full cart may be -1e-16
        mined[overfull] *= (free[overfull] / total[overfull])[:, None]
        self.content[carts] += mined

    def _move(self, carts: np.ndarray) -> None:
        """Move the carts that are fast enough. At a wall they turn along it ("slide") and lose speed."""
        carts = carts[self.speed[carts] >= AT_REST]
        before = self.position[carts]
        heading = (self.angle[carts] + self._angle_offset) // ROTATION
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
        slides = pressing & ~at_wall[:, ::-1] & (np.abs(along) > AT_REST)
        # A wall at 1 turns towards +y on the x axis and away from +x on the y axis; a wall at 0 does the opposite.
        sign = np.where(before == 1.0, 1, -1) * np.array([1, -1]) * np.where(along > 0, 1, -1)
        self.angle[carts] += (ROTATION * sign * slides).sum(axis=1)

    def _observe(self, rows: np.ndarray) -> Observed:
        """Return the observations and valid actions of carts."""
        position, speed, content = self.position[rows], self.speed[rows], self.content[rows]
        heading = (self.angle[rows] + self._angle_offset) // ROTATION
        columns = [position, speed, self._sin[heading], self._cos[heading], content / CAPACITY]
        masks = self.masks[rows] = valid_actions(position, speed, content)
        return Observed(np.column_stack(columns).astype(np.float32), masks)
