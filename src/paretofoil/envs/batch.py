"""Batches: many episodes of one environment, stepped together.

`make_batch` returns a vectorised implementation if there is one. Finite environments are tabulated: all reachable
states are visited once, and a step is then an array look-up. Copies of other environments are stepped one by one.
"""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import gymnasium
import numpy as np

from paretofoil.core.amounts import ActionSpace
from paretofoil.core.errors import InvalidInput
from paretofoil.core.json import brief
from paretofoil.envs.catalogue import (
    Bounds,
    CatalogueEntry,
    entry,
    episodes_differ,
    is_catalogued,
    make,
    make_raw,
    random_action,
    reward_vector,
)


class ResetResult(NamedTuple):
    """The observations and valid actions of rows at the start of their episodes."""

    observations: np.ndarray  # (rows, observation size) float32
    masks: np.ndarray  # (rows, num_actions) bool: the valid actions


class StepResult(NamedTuple):
    """The result of one step of some rows."""

    observations: np.ndarray  # (rows, observation size) float32
    masks: np.ndarray  # (rows, num_actions) bool
    rewards: np.ndarray  # (rows, num_objectives) float64
    terminated: np.ndarray  # (rows,) bool: the task ended
    truncated: np.ndarray  # (rows,) bool: the step limit was reached and the task had not ended


class BatchEnv(Protocol):
    """Many episodes of one environment. The randomness of a row depends on its seed only, not on other rows."""

    observation_size: int
    num_actions: int
    """The number of actions, or of dimensions of continuous actions."""
    action_space: ActionSpace | None
    """The space of continuous actions; None if actions are discrete."""
    bounds: Bounds | None
    """The amounts that can be carried out; see `CatalogueEntry`."""
    num_objectives: int
    max_steps: int
    stochastic: bool
    real_returns: bool
    """Whether returns are real numbers; see `CatalogueEntry`. True for continuous actions."""

    def reset(self, seeds: np.ndarray) -> ResetResult:
        """Start one episode per seed."""
        ...

    def step(self, rows: np.ndarray, actions: np.ndarray) -> StepResult:
        """Step these rows only; continuous actions are (rows, dimensions).

        Raise `InvalidInput` for an invalid action or a row whose episode has ended.
        """
        ...

    def snapshot(self, row: int) -> Any:
        """Return the state of one row without its random generator; None if the state cannot be copied."""
        ...

    def restore(self, snapshot: Any, seeds: np.ndarray) -> ResetResult:
        """Start one episode per seed from a snapshot."""
        ...


def check_seeds(seeds: np.ndarray) -> np.ndarray:
    """Return the seeds as an array (rows,), or raise an error if one is not a whole number of at least 0."""
    array = np.asarray(seeds)
    if array.ndim != 1 or not np.issubdtype(array.dtype, np.integer) or (array < 0).any():
        raise InvalidInput.expected("one seed per row, each an integer of at least 0", repr(seeds))
    return array


def check_step(
    rows: np.ndarray,
    actions: np.ndarray,
    finished: np.ndarray,
    masks: np.ndarray,
    action_space: ActionSpace | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return rows (n,) and actions (n,), or (n, dimensions) in an action space, as arrays, or raise an error.

    `finished` (all rows,) and `masks` (all rows, num_actions) are bool.
    """
    rows, actions = np.asarray(rows), np.asarray(actions)
    axes = () if action_space is None else (action_space.dim,)
    if rows.ndim != 1 or actions.shape != (*rows.shape, *axes):
        raise InvalidInput.expected("one action per row", f"shapes {rows.shape} and {actions.shape}")
    if rows.size == 0:
        return rows.astype(np.int64), actions.astype(np.float64 if axes else np.int64)
    if not np.issubdtype(actions.dtype, np.floating if axes else np.integer):
        raise InvalidInput.expected(f"{'floats' if axes else 'integers'} as actions", f"dtype {actions.dtype}")
    if not len(finished):
        raise InvalidInput.expected("a call of reset() before step()", f"step({rows.tolist()}, ...)")
    if rows.min() < 0 or rows.max() >= len(finished):
        raise InvalidInput.expected(f"rows from 0 to {len(finished) - 1}", rows.tolist())
    if finished[rows].any():
        raise InvalidInput.expected("rows with a running episode", f"row {rows[finished[rows]][0]}, which has ended")
    if action_space is not None:
        action_space.check(actions)
        return rows, actions
    num_actions = masks.shape[1]
    wrong = (actions < 0) | (actions >= num_actions)
    if wrong.any():
        raise InvalidInput.expected(f"actions from 0 to {num_actions - 1}", actions[wrong][0])
    invalid = ~masks[rows, actions]
    if invalid.any():
        row, action = rows[invalid][0], actions[invalid][0]
        valid = np.flatnonzero(masks[row]).tolist()
        raise InvalidInput.expected(f"one of the valid actions {valid} in row {row}", action)
    return rows, actions


_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def _mix(x: np.ndarray) -> np.ndarray:
    """Return the finaliser of SplitMix64."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def uniforms(seeds: np.ndarray, steps: np.ndarray, draws: int) -> np.ndarray:
    """Return random numbers (rows, draws) in the open interval (0, 1) that depend only on the seed and step of a row.

    They are hashes of a counter: NumPy's generators cannot draw for many seeds in one call.
    """
    with np.errstate(over="ignore"):
        key = _mix(seeds.astype(np.uint64) * _GOLDEN + np.uint64(1))
        key = _mix(key + steps.astype(np.uint64) * _GOLDEN)
        bits = _mix(key[:, None] + (np.arange(draws, dtype=np.uint64) + np.uint64(1)) * _GOLDEN)
    return ((bits >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53


Transition = tuple[np.ndarray, np.ndarray, np.ndarray]
"""The next states (n, numbers), the rewards (n, objectives), and which episodes ended (n,)."""


class ArrayBatch:
    """Many episodes of an environment whose state is one number or a row of numbers (implements `BatchEnv`).

    A subclass defines the transitions, the valid actions and the observations. `states`, `masks` and `finished` have a
    row per episode.
    """

    action_space: ActionSpace | None = None
    bounds: Bounds | None = None
    stochastic = real_returns = False
    observation_size: int
    num_actions: int
    num_objectives: int
    name = "state"
    """The name of the state in snapshots and for pictures."""

    def __init__(self, start: float | Sequence[float], max_steps: int) -> None:
        self.max_steps, self._start = max_steps, start
        self.reset(np.zeros(0, dtype=np.int64))

    def move(self, states: np.ndarray, actions: np.ndarray, rows: np.ndarray) -> Transition:
        """Return the result of one step of some rows."""
        raise NotImplementedError

    def draw(self, rows: np.ndarray, count: int) -> np.ndarray:
        """Return random numbers (n, count) for a step of these rows."""
        return uniforms(self._seeds[rows], self._elapsed[rows], count)

    def valid(self, states: np.ndarray) -> np.ndarray:
        """Return the valid actions (n, num_actions) in states (n, numbers)."""
        return np.ones((len(states), self.num_actions), dtype=bool)

    def observe(self, states: np.ndarray) -> np.ndarray:
        """Return the observations (n, observation size) of states (n, numbers)."""
        return states.astype(np.float32)

    def reset(self, seeds: np.ndarray) -> ResetResult:
        return self.restore({self.name: self._start, "elapsed": 0, "ended": False}, seeds)

    def restore(self, snapshot: Mapping[str, Any], seeds: np.ndarray) -> ResetResult:
        self._seeds, rows = check_seeds(seeds), len(seeds)
        self.states = np.tile(np.array(snapshot[self.name]), (rows, 1))
        self.masks = self.valid(self.states)
        self.finished = np.full(rows, snapshot.get("ended", False) or snapshot["elapsed"] >= self.max_steps)
        self._elapsed = np.full(rows, snapshot["elapsed"], dtype=np.int64)
        return ResetResult(self.observe(self.states), self.masks.copy())

    def snapshot(self, row: int) -> dict[str, Any]:
        state, elapsed = self.states[row].tolist(), int(self._elapsed[row])
        numbers = tuple(state) if len(state) > 1 else state[0]
        return {self.name: numbers, "elapsed": elapsed, "ended": bool(self.finished[row])}

    def step(self, rows: np.ndarray, actions: np.ndarray) -> StepResult:
        rows, actions = check_step(rows, actions, self.finished, self.masks, self.action_space)
        states, rewards, terminated = self.move(self.states[rows], actions, rows)
        self._elapsed[rows] += 1
        truncated = (self._elapsed[rows] >= self.max_steps) & ~terminated
        masks = self.valid(states)
        self.states[rows], self.masks[rows], self.finished[rows] = states, masks, terminated | truncated
        return StepResult(self.observe(states), masks, rewards, terminated, truncated)


MAX_STATES = 200_000
"""An environment with more states is not tabulated."""
USUAL, RARE = 0, 1
"""The indices of the outcomes of a random step."""


@dataclass(frozen=True, eq=False)
class TransitionTable:
    """The S states and their transitions. With the probability `rare`, the outcome of a step is RARE, else USUAL."""

    observations: np.ndarray  # (S, observation size) float32
    masks: np.ndarray  # (S, A) bool
    final: np.ndarray  # (S,) bool: the episode has ended
    rare: np.ndarray  # (S, A) the probability of the rare outcome
    next_states: np.ndarray  # (S, A, 2) int
    rewards: np.ndarray  # (S, A, 2, d)
    states: tuple[dict[str, Any], ...]
    """The attributes of the environment in each state. The first state is the start."""

    @property
    def num_objectives(self) -> int:
        return int(self.rewards.shape[-1])


class _FixedGenerator:
    """A random generator that always returns the same number, and counts its calls."""

    def __init__(self, number: float) -> None:
        self.number, self.calls = number, 0

    def random(self) -> float:
        self.calls += 1
        return self.number


def set_attributes(env: Any, attributes: Mapping[str, Any]) -> None:
    """Set an unwrapped environment to a state of the table."""
    for name, value in attributes.items():
        setattr(env, name, copy.deepcopy(value))


@cache
def tabulate(entry: CatalogueEntry) -> TransitionTable:
    """Return the table of all states that can be reached from the start; it is cached."""
    if not entry.finite:
        raise InvalidInput.expected(
            "an environment with finitely many states (`state` in its catalogue entry)", entry.name
        )
    file = TABLES / f"{entry.name}.npz"
    return read_table(file) if file.is_file() and is_catalogued(entry) else explore(entry)


def explore(entry: CatalogueEntry) -> TransitionTable:
    """Return the table of an environment, after visiting all its states."""
    env: Any = make_raw(entry).unwrapped
    index: dict[tuple[bytes, bool], int] = {}
    observations: list[np.ndarray] = []
    finals: list[bool] = []
    states: list[dict[str, Any]] = []

    def record(raw_observation: Any, final: bool) -> int:
        """Return the number of the environment's current state; a new state gets the next number."""
        observation = entry.encode(raw_observation)
        key = (observation.tobytes(), final)
        if key not in index:
            if len(states) == MAX_STATES:
                what = f"{entry.name} to have at most {MAX_STATES:,} states (or no `state` in its catalogue entry)"
                raise InvalidInput.expected(what, f"more than {MAX_STATES:,}")
            index[key] = len(states)
            observations.append(observation)
            finals.append(final)
            states.append({name: copy.deepcopy(getattr(env, name)) for name in entry.state})
        return index[key]

    def try_action(state: int, action: int, number: float) -> tuple[int, np.ndarray, bool]:
        """Return the next state, the reward, and whether the step drew a random number, which is then `number`."""
        set_attributes(env, states[state])
        generator = env.np_random = _FixedGenerator(number)
        raw, reward, terminated, _, _ = env.step(action)
        if generator.calls > 1:
            what = f"a step that draws at most one random number (or no `state` in the entry of {entry.name})"
            raise InvalidInput.expected(what, generator.calls)
        return record(raw, bool(terminated)), reward_vector(reward, entry), generator.calls == 1

    record(env.reset(seed=0)[0], final=False)
    size = len(entry.actions)
    rows: list[tuple[Any, ...]] = []  # per state: the mask, whether it is final, and its transitions
    while len(rows) < len(states):
        state = len(rows)
        set_attributes(env, states[state])
        mask, final = entry.valid_actions(env), finals[state]
        rare, next_states = np.zeros(size), np.full((size, 2), state)
        rewards = np.zeros((size, 2, len(entry.objectives)))
        for action in np.flatnonzero(mask & (not final)).tolist():
            next_states[action], rewards[action], is_random = try_action(state, action, 1.0)
            if is_random:
                if not 0.0 < entry.chance < 1.0:
                    what = f"a `chance` between 0 and 1 for the random {entry.name}"
                    raise InvalidInput.expected(what, entry.chance)
                rare[action] = entry.chance
                next_states[action, RARE], rewards[action, RARE], _ = try_action(state, action, 0.0)
        rows.append((mask, final, rare, next_states, rewards))
    columns = dict(zip(_COLUMNS[1:], map(np.array, zip(*rows, strict=True)), strict=True))
    return TransitionTable(np.array(observations), **columns, states=tuple(states))


TABLES = Path(__file__).parent / "tables"
"""The stored tables of environments of MO-Gymnasium, which run without that package.

`write_table(explore(entry), TABLES / f"{entry.name}.npz")` writes a table again.
"""
_COLUMNS = ("observations", "masks", "final", "rare", "next_states", "rewards")


def write_table(table: TransitionTable, file: Path) -> None:
    """Write a table for `read_table`."""
    arrays: dict[str, Any] = {name: getattr(table, name) for name in _COLUMNS}
    arrays |= {f"state.{name}": np.array([state[name] for state in table.states]) for name in table.states[0]}
    np.savez_compressed(file, **arrays)


def read_table(file: Path) -> TransitionTable:
    """Return the table that `write_table` wrote."""
    with np.load(file) as arrays:
        columns = {name: arrays[name] for name in arrays.files}
    attributes = {name.removeprefix("state."): columns.pop(name) for name in list(columns) if name not in _COLUMNS}
    states = tuple({name: values[i] for name, values in attributes.items()} for i in range(len(columns["final"])))
    return TransitionTable(**columns, states=states)


class TabularBatch(ArrayBatch):
    """Many episodes of a finite environment. A state is its number in the table."""

    def __init__(self, entry: CatalogueEntry, max_steps: int) -> None:
        self.table = tabulate(entry)
        self.stochastic = bool(self.table.rare.any())
        self.observation_size = entry.observation_size
        self.num_actions = len(entry.actions)
        self.num_objectives = len(entry.objectives)
        super().__init__(0, max_steps)

    def move(self, states: np.ndarray, actions: np.ndarray, rows: np.ndarray) -> Transition:
        table, before = self.table, states[:, 0]
        outcome = np.zeros(len(rows), dtype=np.int64)
        if self.stochastic:
            outcome[self.draw(rows, 1)[:, 0] < table.rare[before, actions]] = RARE
        after = table.next_states[before, actions, outcome]
        return after[:, None], table.rewards[before, actions, outcome], table.final[after]

    def valid(self, states: np.ndarray) -> np.ndarray:
        return self.table.masks[states[:, 0]]

    def observe(self, states: np.ndarray) -> np.ndarray:
        return self.table.observations[states[:, 0]]


def locate(entry: CatalogueEntry, observation: np.ndarray) -> Any:
    """Return a snapshot with this flat observation in a running episode; None if states cannot be looked up."""
    if not entry.finite:
        return None if entry.locate is None else entry.locate(observation)
    table = tabulate(entry)
    same = (table.observations == observation).all(axis=1) & ~table.final
    if not same.any():
        what = f"a state of {entry.name} in which an episode is still running"
        raise InvalidInput.expected(what, brief(observation.tolist()))
    return {"state": int(np.argmax(same)), "elapsed": 0}


@dataclass(frozen=True, eq=False)
class GymnasiumSnapshot:
    """The state of one row: its last observation, and a copy of its environment or the actions that led there."""

    entry: CatalogueEntry
    observation: np.ndarray  # (observation size,)
    finished: bool
    env: Any = None
    """The copy; None if the environment cannot be copied."""
    seed: int = 0
    actions: tuple[Any, ...] = ()
    """The actions since the start with this seed, if there is no copy."""

    def make(self, render_mode: str | None = None) -> Any:
        """Return a new environment in the state of this snapshot."""
        if self.env is not None:
            env = clone(self.env)
            if render_mode is not None:
                env.unwrapped.render_mode = render_mode  # the environments of a batch have none
            return env
        env = make(self.entry, render_mode)
        env.reset(seed=self.seed)
        for action in self.actions:
            env.step(action)
        return env


class GymnasiumBatch:
    """Copies of one Gymnasium environment (implements `BatchEnv`). The seed of a row seeds its environment."""

    def __init__(self, entry: CatalogueEntry, max_steps: int) -> None:
        self._entry = replace(entry, max_steps=max_steps)  # each copy applies the step limit itself
        self._original = entry  # for cached functions, which already have results for this entry
        self.max_steps = max_steps
        self.stochastic = entry.stochastic
        self.real_returns = entry.real_returns or entry.action_space is not None
        self.action_space, self.bounds = entry.action_space, entry.bounds
        self.observation_size = entry.observation_size
        self.num_actions = len(entry.actions)
        self.num_objectives = len(entry.objectives)
        self._envs: list[Any] = []
        self._allocate(0)

    def _allocate(self, rows: int) -> None:
        self._observations = np.zeros((rows, self.observation_size), dtype=np.float32)
        self._masks = np.zeros((rows, self.num_actions), dtype=bool)
        self._finished = np.zeros(rows, dtype=bool)
        self._seeds = np.zeros(rows, dtype=np.int64)
        self._actions: list[list[Any]] = [[] for _ in range(rows)]
        self._reseeded = False  # whether rows cannot be replayed, because they were reseeded after their start

    def reset(self, seeds: np.ndarray) -> ResetResult:
        seeds = check_seeds(seeds)
        self._allocate(len(seeds))
        self._seeds[:] = seeds
        while len(self._envs) < len(seeds):
            self._envs.append(make(self._entry))
        for row, seed in enumerate(seeds):
            observation, info = self._envs[row].reset(seed=int(seed))
            self._observations[row], self._masks[row] = observation, info["action_mask"]
        return ResetResult(self._observations.copy(), self._masks.copy())

    def step(self, rows: np.ndarray, actions: np.ndarray) -> StepResult:
        rows, actions = check_step(rows, actions, self._finished, self._masks, self.action_space)
        rewards = np.zeros((len(rows), self.num_objectives))
        terminated, truncated = np.zeros(len(rows), dtype=bool), np.zeros(len(rows), dtype=bool)
        for i, (row, action) in enumerate(zip(rows, actions, strict=True)):
            observation, rewards[i], terminated[i], truncated[i], info = self._envs[row].step(action)
            self._observations[row], self._masks[row] = observation, info["action_mask"]
            self._actions[row].append(action)
        self._finished[rows] = terminated | truncated
        return StepResult(self._observations[rows], self._masks[rows], rewards, terminated, truncated)

    def snapshot(self, row: int) -> GymnasiumSnapshot | None:
        """Return the state of one row, or None if the environment can neither be copied nor replayed."""
        observation, finished = self._observations[row].copy(), bool(self._finished[row])
        if is_copyable(self._original):
            return GymnasiumSnapshot(self._entry, observation, finished, clone(self._envs[row]))
        if self._reseeded or not is_replayable(self._original):
            return None
        seed, actions = int(self._seeds[row]), tuple(self._actions[row])
        return GymnasiumSnapshot(self._entry, observation, finished, seed=seed, actions=actions)

    def restore(self, snapshot: GymnasiumSnapshot, seeds: np.ndarray) -> ResetResult:
        seeds = check_seeds(seeds)
        self._allocate(len(seeds))
        self._envs = [snapshot.make() for _ in seeds]
        self._reseeded = self.stochastic
        if self.stochastic:
            for env, seed in zip(self._envs, seeds, strict=True):
                env.unwrapped.np_random = np.random.default_rng(int(seed))
                env.share_generator()
        self._seeds[:], self._actions = snapshot.seed, [list(snapshot.actions) for _ in seeds]
        self._observations[:] = snapshot.observation
        for row, env in enumerate(self._envs):
            self._masks[row] = env.action_masks()
        self._finished[:] = snapshot.finished
        return ResetResult(self._observations.copy(), self._masks.copy())


@cache
def is_copyable(entry: CatalogueEntry) -> bool:
    """Return whether a copy of the environment steps as the original does; it is cached.

    Environments with objects of another language, such as Box2D, cannot be copied.
    """
    if entry.batch is not None or entry.finite:
        return True
    env: Any = make(entry)
    _, info = env.reset(seed=0)
    try:
        action = random_action(entry.action_space, info["action_mask"], np.random.default_rng(0))
        copied, original = (one.step(action)[:4] for one in (clone(env), env))
    except Exception:  # copying may raise any error
        return False
    return entry.stochastic or all(map(np.array_equal, copied, original))


@cache
def is_replayable(entry: CatalogueEntry) -> bool:
    """Return whether the same seed and actions give the same episodes in new environments; it is cached."""
    return not episodes_differ(entry, other_seeds=False)


def clone(env: Any) -> Any:
    """Return a deep copy of an environment in its current state.

    `copy.deepcopy` does not work, because many environments inherit Gymnasium's EzPickle, which constructs a new one.
    """
    # Fonts and images of pygame cannot be copied. They are shared, because they are only used for drawing.
    memo = {id(value): value for value in vars(env).values() if type(value).__module__.startswith("pygame")}
    twin = object.__new__(type(env))
    memo[id(env)] = twin
    inner = vars(env).get("env")
    if isinstance(inner, gymnasium.Env):
        memo[id(inner)] = clone(inner)
    twin.__dict__.update(copy.deepcopy(vars(env), memo))
    return twin


def make_batch(name: str | CatalogueEntry, max_steps: int | None = None) -> BatchEnv:
    """Return the fastest batch of an environment: vectorised, tabulated, or copies that are stepped one by one."""
    item = entry(name)
    limit = item.max_steps if max_steps is None else max_steps
    if limit < 1:
        raise InvalidInput.expected("a step limit of at least 1", limit)
    if item.batch is not None:
        return item.batch(limit)
    return TabularBatch(item, limit) if item.finite else GymnasiumBatch(item, limit)
