"""Finite environments as arrays: all reachable states are visited once, then a step is a look-up."""

import copy
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple, TypedDict

import numpy as np

from paretofoil.core.errors import InvalidInput
from paretofoil.envs.batch import Observed, Stepped, check_seeds, check_step, uniforms
from paretofoil.envs.catalogue import CatalogueEntry, make_raw, reward_vector

MAX_STATES = 200_000
"""The search for states stops at this number."""
USUAL, RARE = 0, 1


@dataclass(frozen=True, eq=False)
class TransitionTable:
    """The S states and the transitions. A step has the outcome USUAL or, with probability `rare`, RARE."""

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


class _Transition(NamedTuple):
    next_state: int
    reward: np.ndarray


class _Explorer:
    """Visits all states of an environment and records their transitions."""

    def __init__(self, entry: CatalogueEntry) -> None:
        self.entry = entry
        self.env: Any = make_raw(entry).unwrapped
        self.index: dict[tuple[bytes, bool], int] = {}
        self.observations: list[np.ndarray] = []
        self.final: list[bool] = []
        self.states: list[dict[str, Any]] = []
        self.record(self.env.reset(seed=0)[0], final=False)

    def record(self, raw_observation: Any, final: bool) -> int:
        """Return the index of the environment's current state; a new state gets the next index."""
        observation = self.entry.encode(raw_observation)
        key = (observation.tobytes(), final)
        if key not in self.index:
            if len(self.states) == MAX_STATES:
                raise InvalidInput.expected(
                    f"{self.entry.name} to have at most {MAX_STATES:,} states", f"more than {MAX_STATES:,}"
                )
            self.index[key] = len(self.states)
            self.observations.append(observation)
            self.final.append(final)
            self.states.append({name: copy.deepcopy(getattr(self.env, name)) for name in self.entry.state})
        return self.index[key]

    def outcomes(self, state: int, action: int) -> tuple[_Transition, _Transition, float]:
        """Return the usual transition, the rare one, and the probability of the rare one."""
        usual, is_random = self._attempt(state, action, 1.0)
        if not is_random:
            return usual, usual, 0.0
        if not 0.0 < self.entry.chance < 1.0:
            raise InvalidInput.expected(
                f"a `chance` between 0 and 1 for the random {self.entry.name}", self.entry.chance
            )
        return usual, self._attempt(state, action, 0.0)[0], self.entry.chance

    def _attempt(self, state: int, action: int, number: float) -> tuple[_Transition, bool]:
        set_attributes(self.env, self.states[state])
        generator = _FixedGenerator(number)
        self.env.np_random = generator
        raw, reward, terminated, _, _ = self.env.step(action)
        if generator.calls > 1:
            raise InvalidInput.expected("a step that draws at most one random number", generator.calls)
        return _Transition(
            self.record(raw, bool(terminated)), reward_vector(reward, self.entry.name)
        ), generator.calls == 1


def set_attributes(env: Any, attributes: dict[str, Any]) -> None:
    """Set an unwrapped environment to a state of the table."""
    for name, value in attributes.items():
        setattr(env, name, copy.deepcopy(value))


@cache
def tabulate(entry: CatalogueEntry) -> TransitionTable:
    """Return the table of all states that can be reached from the start; it is cached."""
    if not entry.finite:
        raise InvalidInput.expected("an environment whose entry names its `state` attributes", entry.name)
    explorer = _Explorer(entry)
    masks: list[np.ndarray] = []
    outcomes: list[list[tuple[_Transition, _Transition, float]]] = []  # per state, per action
    while len(masks) < len(explorer.states):
        state = len(masks)
        set_attributes(explorer.env, explorer.states[state])
        masks.append(entry.valid_actions(explorer.env))
        stay = _Transition(state, np.zeros(len(entry.objectives)))
        open_actions = masks[-1] & (not explorer.final[state])
        outcomes.append([explorer.outcomes(state, a) if ok else (stay, stay, 0.0) for a, ok in enumerate(open_actions)])
    return TransitionTable(
        observations=np.array(explorer.observations, dtype=np.float32),
        masks=np.array(masks),
        final=np.array(explorer.final),
        rare=np.array([[p for _, _, p in row] for row in outcomes]),
        next_states=np.array([[(usual.next_state, rare.next_state) for usual, rare, _ in row] for row in outcomes]),
        rewards=np.array([[(usual.reward, rare.reward) for usual, rare, _ in row] for row in outcomes]),
        states=tuple(explorer.states),
    )


class TabularSnapshot(TypedDict):
    """The state of one row."""

    state: int
    elapsed: int


class TabularBatch:
    """Many episodes of a finite environment (implements `BatchEnv`)."""

    def __init__(self, entry: CatalogueEntry, max_steps: int) -> None:
        self.table = tabulate(entry)
        self.max_steps = max_steps
        self.stochastic = bool(self.table.rare.any())
        self.observation_size = entry.observation_size
        self.num_actions = len(entry.actions)
        self.num_objectives = len(entry.objectives)
        self._start(np.zeros(0, dtype=np.int64), TabularSnapshot(state=0, elapsed=0))

    def _start(self, seeds: np.ndarray, snapshot: TabularSnapshot) -> Observed:
        self._seeds = check_seeds(seeds)
        self._state = np.full(len(seeds), snapshot["state"], dtype=np.int64)
        self._elapsed = np.full(len(seeds), snapshot["elapsed"], dtype=np.int64)
        self._finished = np.full(len(seeds), self.table.final[snapshot["state"]])
        return Observed(self.table.observations[self._state], self.table.masks[self._state])

    def reset(self, seeds: np.ndarray) -> Observed:
        return self._start(seeds, TabularSnapshot(state=0, elapsed=0))

    def restore(self, snapshot: TabularSnapshot, seeds: np.ndarray) -> Observed:
        return self._start(seeds, snapshot)

    def snapshot(self, row: int) -> TabularSnapshot:
        return TabularSnapshot(state=int(self._state[row]), elapsed=int(self._elapsed[row]))

    def step(self, rows: np.ndarray, actions: np.ndarray) -> Stepped:
        table = self.table
        rows, actions = check_step(rows, actions, self._finished, table.masks[self._state])
        before = self._state[rows]
        outcome = np.zeros(len(rows), dtype=np.int64)
        if self.stochastic:
            draws = uniforms(self._seeds[rows], self._elapsed[rows], 1)[:, 0]
            outcome[draws < table.rare[before, actions]] = RARE
        after = table.next_states[before, actions, outcome]
        self._state[rows] = after
        self._elapsed[rows] += 1
        terminated = table.final[after]
        truncated = (self._elapsed[rows] >= self.max_steps) & ~terminated
        self._finished[rows] = terminated | truncated
        rewards = table.rewards[before, actions, outcome]
        return Stepped(table.observations[after], table.masks[after], rewards, terminated, truncated)


def locate(entry: CatalogueEntry, observation: np.ndarray) -> tuple[np.ndarray, TabularSnapshot]:
    """Return the valid actions (num_actions,) and a snapshot of the running state with this flat observation."""
    table = tabulate(entry)
    same = (table.observations == observation).all(axis=1) & ~table.final
    if not same.any():
        raise InvalidInput.expected(f"a state of {entry.name} in which an episode is still running", observation)
    state = int(np.argmax(same))
    return table.masks[state], TabularSnapshot(state=state, elapsed=0)
