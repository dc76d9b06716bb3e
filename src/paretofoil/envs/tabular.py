"""Finite environments as arrays: all reachable states are met once, after which a step is a look-up."""

import copy
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple, TypedDict

import numpy as np

from paretofoil.core.errors import InvalidInput
from paretofoil.envs.batch import Observed, Stepped, check_seeds, check_step, uniforms
from paretofoil.envs.catalogue import CatalogueEntry, make_raw, reward_vector

MAX_STATES = 200_000
"""More than any environment that is worth tabulating has; the search for states stops there."""
USUAL, RARE = 0, 1


@dataclass(frozen=True, eq=False)
class Table:
    """The S states, and what each action does in each: the usual outcome 0 and, where chance enters, the rare 1."""

    observations: np.ndarray  # (S, observation size) float32
    masks: np.ndarray  # (S, A) bool
    final: np.ndarray  # (S,) bool: the episode has ended
    rare: np.ndarray  # (S, A) the probability of outcome 1
    next_states: np.ndarray  # (S, A, 2) int
    rewards: np.ndarray  # (S, A, 2, d)
    states: tuple[dict[str, Any], ...]
    """The attributes of the environment in each state; the first state is the start."""

    @property
    def num_objectives(self) -> int:
        return int(self.rewards.shape[-1])


class _LoadedDie:
    """Stands in for an environment's random generator: always the same number, and how often it was asked."""

    def __init__(self, number: float) -> None:
        self.number, self.drawn = number, 0

    def random(self) -> float:
        self.drawn += 1
        return self.number


class _Outcome(NamedTuple):
    next_state: int
    reward: np.ndarray


class _Explorer:
    """Puts one environment into state after state and notes what follows."""

    def __init__(self, entry: CatalogueEntry) -> None:
        self.entry = entry
        self.env: Any = make_raw(entry).unwrapped
        self.index: dict[tuple[bytes, bool], int] = {}
        self.observations: list[np.ndarray] = []
        self.final: list[bool] = []
        self.states: list[dict[str, Any]] = []
        self.note(self.env.reset(seed=0)[0], final=False)

    def note(self, raw_observation: Any, final: bool) -> int:
        """The number of the state that the environment is in; a new state gets the next number."""
        observation = self.entry.encode(raw_observation)
        key = (observation.tobytes(), final)
        if key not in self.index:
            if len(self.states) == MAX_STATES:
                raise InvalidInput.expected(f"{self.entry.name} to have at most {MAX_STATES} states", "more")
            self.index[key] = len(self.states)
            self.observations.append(observation)
            self.final.append(final)
            self.states.append({name: copy.deepcopy(getattr(self.env, name)) for name in self.entry.state})
        return self.index[key]

    def outcomes(self, state: int, action: int) -> tuple[_Outcome, _Outcome, float]:
        """The usual outcome, the rare one, and the probability of the rare one."""
        usual, drawn = self._attempt(state, action, 1.0)
        if not drawn:
            return usual, usual, 0.0
        if not 0.0 < self.entry.chance < 1.0:
            raise InvalidInput.expected(f"the `chance` of {self.entry.name}, whose steps are random", self.entry.chance)
        return usual, self._attempt(state, action, 0.0)[0], self.entry.chance

    def _attempt(self, state: int, action: int, number: float) -> tuple[_Outcome, bool]:
        set_attributes(self.env, self.states[state])
        die = _LoadedDie(number)
        self.env.np_random = die
        raw, reward, terminated, _, _ = self.env.step(action)
        if die.drawn > 1:
            raise InvalidInput.expected("a step that draws at most one random number", die.drawn)
        return _Outcome(self.note(raw, bool(terminated)), reward_vector(reward, self.entry.name)), die.drawn == 1


def set_attributes(env: Any, attributes: dict[str, Any]) -> None:
    """Put an unwrapped environment into a state of the table."""
    for name, value in attributes.items():
        setattr(env, name, copy.deepcopy(value))


@cache
def tabulate(entry: CatalogueEntry) -> Table:
    """All states that can be reached from the start, found once per process."""
    if not entry.finite:
        raise InvalidInput.expected("an environment whose `state` attributes are named", entry.name)
    explorer = _Explorer(entry)
    masks: list[np.ndarray] = []
    outcomes: list[list[tuple[_Outcome, _Outcome, float]]] = []  # per state, per action
    while len(masks) < len(explorer.states):
        state = len(masks)
        set_attributes(explorer.env, explorer.states[state])
        masks.append(entry.valid_actions(explorer.env))
        stay = _Outcome(state, np.zeros(len(entry.objectives)))
        open_actions = masks[-1] & (not explorer.final[state])
        outcomes.append([explorer.outcomes(state, a) if ok else (stay, stay, 0.0) for a, ok in enumerate(open_actions)])
    return Table(
        observations=np.array(explorer.observations, dtype=np.float32),
        masks=np.array(masks),
        final=np.array(explorer.final),
        rare=np.array([[p for _, _, p in row] for row in outcomes]),
        next_states=np.array([[(usual.next_state, rare.next_state) for usual, rare, _ in row] for row in outcomes]),
        rewards=np.array([[(usual.reward, rare.reward) for usual, rare, _ in row] for row in outcomes]),
        states=tuple(explorer.states),
    )


class TabularSnapshot(TypedDict):
    """One row, as plain numbers."""

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
    """The valid actions (num_actions,) and a snapshot of the running state with this flat observation."""
    table = tabulate(entry)
    same = (table.observations == observation).all(axis=1) & ~table.final
    if not same.any():
        raise InvalidInput.expected(f"a state of {entry.name} in which an episode is still running", observation)
    state = int(np.argmax(same))
    return table.masks[state], TabularSnapshot(state=state, elapsed=0)
