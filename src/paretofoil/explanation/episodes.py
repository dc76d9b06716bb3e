"""Greedy episodes of sets of commands, in deterministic environments.

In a deterministic environment, the greedy episode depends on the initial command only: the remaining command is the
initial one minus the return collected so far. The episodes of a set of commands are followed together, as long as
bounds of the differences between actions show which action is chosen. This needs finitely many states, except in
`unchanged_radius`, which follows a single episode: it bounds the commands under which this episode stays the same.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any, Self, TypeVar

import numpy as np

from paretofoil.agents.agent import Agent, run_greedy
from paretofoil.core.decision import Decision
from paretofoil.core.errors import InvalidInput
from paretofoil.core.options import now
from paretofoil.core.policy import ExactRows, WhiteBoxPolicy, greedy_actions, query
from paretofoil.envs.batch import TransitionTable, tabulate
from paretofoil.envs.checker import replay_difference
from paretofoil.envs.episode import Episodes
from paretofoil.explanation.verify import BATCHES
from paretofoil.proof.bounds import HalfSpaces
from paretofoil.proof.branch_and_bound import Columns
from paretofoil.proof.shares import Contest, ContestStack, stack_contests
from paretofoil.proof.slack import probe_shares

TOGETHER = 4096
"""Number of rollouts that run together, so that hundreds of their steps fit into memory."""
_SUBTRACTION = 2.0**-52
"""Upper bound of the relative rounding error of a remaining command, per step."""
_ROUNDING = 1e-13
"""Upper bound of the relative rounding error of a bound."""


def require_deterministic(agent: Agent) -> None:
    """Raise an error unless each command of the agent has a single outcome."""
    if agent.space.simplex:
        raise InvalidInput.expected("an agent whose commands are returns", f"{agent.name}, which takes preferences")
    if agent.batch_env().stochastic:  # for a finite environment, this is computed from its table
        got = f"{agent.name} in {agent.environment.name}, which is stochastic"
        raise InvalidInput.expected("an agent in a deterministic environment", got)
    if difference := replay_difference(agent.environment):
        raise InvalidInput.expected(
            "an agent in a deterministic environment", f"{agent.environment.name}: {difference}"
        )


def is_provable(agent: Agent) -> bool:
    """Return whether proofs about all episodes are possible: with finitely many states and a white-box policy."""
    return agent.environment.finite and can_bound(agent)


def can_bound(agent: Agent) -> bool:
    """Return whether leads of actions can be bounded: with a white-box policy, and commands that are returns."""
    return not agent.horizon and not agent.space.simplex and isinstance(agent.policy, WhiteBoxPolicy)


_FIRST_RADIUS, _LEAST_RADIUS, _RADIUS_SHARE = 1 / 32, 1e-6, 0.02
"""The first radius that is tried, the smallest one, and the relative accuracy of the result."""
_OUTWARDS = 1e-12
"""Upper bound of the relative rounding error of the side of a box."""


@dataclass(frozen=True, eq=False)
class Progress(Columns):
    """How far the episodes of B sets of commands have been followed. Subclasses add the sets."""

    state: np.ndarray  # (B,) int
    step: np.ndarray  # (B,) int
    collected: np.ndarray  # (B, d)
    anchor: np.ndarray  # (B,) int: an earlier state; nothing was collected since
    anchor_step: np.ndarray  # (B,) int

    @classmethod
    def start(cls, dim: int, state: int = 0, step: int = 0) -> "Progress":
        """Return the progress of one set of commands that is issued in a state, by default the initial state."""
        zero = np.zeros(1, dtype=np.int64)
        return cls(
            state=zero + state, step=zero + step, collected=np.zeros((1, dim)), anchor=zero - 1, anchor_step=zero
        )

    @classmethod
    def of(cls, progress: "Progress", **columns: np.ndarray) -> Self:
        """Return a progress of this subclass, with the columns that the subclass adds."""
        return cls(**{field.name: getattr(progress, field.name) for field in fields(Progress)}, **columns)


class Leads:
    """Bounds of the lead of one action over another in numbered states, for one agent.

    The lead is the score of the first action minus that of the second.
    """

    def __init__(self, agent: Agent, observations: np.ndarray, masks: np.ndarray) -> None:
        self.agent, self.observations, self.masks = agent, observations, masks  # (S, n) and (S, A)
        self.deviation = 0.0
        """The largest rounding error, in margins, that was measured so far."""
        self._contests: dict[int, Contest] = {}
        shape = len(masks), agent.space.dim
        self._least, self._most = np.full(shape, np.inf), np.full(shape, -np.inf)  # the box of each contest
        self._stacks: list[ContestStack] = []

    @property
    def num_actions(self) -> int:
        return self.masks.shape[1]

    def against_each(self, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the arguments `ahead` and `behind` (B, A) that compare every action with the chosen one (B,)."""
        repeated = np.repeat(chosen[:, None], self.num_actions, axis=1)
        return np.broadcast_to(np.arange(self.num_actions), repeated.shape), repeated

    @property
    def assumed(self) -> float:
        """The rounding error, in margins, that the proofs assume so far; 0 if it is derived."""
        return max((contest.slack for contest in self._contests.values() if contest.around.any()), default=0.0)

    def leads(
        self,
        state: np.ndarray,
        low: np.ndarray,
        high: np.ndarray,
        collected: np.ndarray,
        ahead: np.ndarray,
        behind: np.ndarray,
    ) -> HalfSpaces:
        """Return upper bounds of the leads of actions over others, as affine functions of the initial command.

        Where a bound is negative, the first action is not chosen. An invalid action is behind all others.

        Args:
            state: (B,) the state that each set of commands reached.
            low: (B, d) lower corners of boxes of initial commands.
            high: (B, d) upper corners.
            collected: (B, d) the return collected so far.
            ahead: (B, K) the first action of each pair.
            behind: (B, K) the second action of each pair.
        """
        size = np.maximum(np.abs(low), np.abs(high)).max(axis=1) + np.abs(collected).max(axis=1)
        off = _SUBTRACTION * max(self.agent.environment.max_steps, 450) * size[:, None]
        least, most = low - collected - off, high - collected + off
        self._include(state, least, most)
        pairs = ahead * self.num_actions + behind
        slopes, offsets = np.zeros((*pairs.shape, low.shape[1])), np.zeros(pairs.shape)
        for stack in self._stacks:
            for rows in stack.chunks(state):
                part = stack.upper_bounds(state[rows], least[rows], most[rows], pairs[rows])
                slopes[rows], offsets[rows] = part.slopes, part.offsets
        steep = np.abs(slopes)
        reach = np.abs(offsets) + (steep @ (np.abs(collected) + size[:, None])[:, :, None])[:, :, 0]
        offsets += steep.sum(axis=2) * off + _ROUNDING * reach - (slopes @ collected[:, :, None])[:, :, 0]
        valid, other = (np.take_along_axis(self.masks[state], side, axis=1) for side in (ahead, behind))
        compared = valid & other & (ahead != behind)
        return HalfSpaces(slopes * compared[:, :, None], np.where(compared, offsets, np.where(valid, 1.0, -1.0)))

    def choices(self, state: np.ndarray, commands: np.ndarray) -> np.ndarray:
        """Return the action (N,) that the policy chooses in states (N,) under remaining commands (N, d)."""
        scores = query(self.agent.discrete_policy, self.observations[state], commands)
        return greedy_actions(scores, self.masks[state])

    def _include(self, state: np.ndarray, least: np.ndarray, most: np.ndarray) -> None:
        """Widen the contests at states (B,) to cover all remaining commands of boxes (B, d)."""
        outside = ((least < self._least[state]) | (most > self._most[state])).any(axis=1)
        outside &= self.masks[state].sum(axis=1) > 1  # else there is nothing to compare
        if not outside.any():
            return
        for number in np.unique(state[outside]).tolist():
            rows = state == number
            low = np.minimum(least[rows].min(axis=0), self._least[number])
            high = np.maximum(most[rows].max(axis=0), self._most[number])
            width = np.maximum(high - low, 1e-6)
            self._least[number], self._most[number] = low - width / 4, high + width / 4
            self._contests[number] = self._contest(number, self._least[number], self._most[number])
        self._stacks = stack_contests(self._contests, self.masks)

    def _contest(self, state: int, low: np.ndarray, high: np.ndarray) -> Contest:
        """Return the differences between the logits of a state's valid actions, for remaining commands in a box."""
        valid = tuple(np.flatnonzero(self.masks[state]).tolist())
        policy: Any = self.agent.policy
        folded = policy.fold(self.observations[state])
        probes = low + probe_shares(len(low)) * (high - low)
        states, logits = np.repeat(self.observations[state][None], len(probes), axis=0), folded.logits(probes)
        measured, exact = 0.0, isinstance(policy, ExactRows) and policy.exact_rows
        for size in (len(probes),) if exact else (len(probes), *BATCHES):  # scores may depend on the batch
            for rows in np.split(np.arange(len(probes)), range(size, len(probes), size)):
                off = (query(policy, states[rows], probes[rows]) - logits[rows])[:, valid]
                measured = max(measured, float(np.ptp(off, axis=1).max()))
        self.deviation = max(self.deviation, measured)
        return Contest.of(folded, valid, (low, high), measured)


class EpisodesOfSets(Leads):
    """Follows the episodes of sets of commands through the states of an environment, for one agent."""

    def __init__(self, agent: Agent) -> None:
        self.table: TransitionTable = tabulate(agent.environment)
        super().__init__(agent, self.table.observations, self.table.masks)

    def advance(self, progress: Progress, actions: np.ndarray) -> tuple[Progress, np.ndarray, np.ndarray]:
        """Return the progress after an action (B,) of each episode, which episodes end, and in which the task ends."""
        table = self.table
        rewards = table.rewards[progress.state, actions, 0]
        state, step = table.next_states[progress.state, actions, 0], progress.step + 1
        final = table.final[state]
        # Brent's cycle detection: if state and remaining command repeat, the episode repeats until the step limit.
        no_reward = ~rewards.any(axis=1)
        loops = no_reward & (state == progress.anchor) & ~final
        renew = ~no_reward | (step >= 2 * progress.anchor_step)
        anchor, anchor_step = np.where(renew, state, progress.anchor), np.where(renew, step, progress.anchor_step)
        ends = final | loops | (step >= self.agent.environment.max_steps)
        return Progress(state, step, progress.collected + rewards, anchor, anchor_step), ends, final


def unchanged_radius(
    leads: Leads, episode: Episodes, command: np.ndarray, region: tuple[np.ndarray, np.ndarray], deadline: float
) -> float:
    """Return a scaled distance from a command within which every command of the region has the same greedy episode.

    `leads` bounds the leads in the states of the episode: state t is that of step t.
    """
    length = int(episode.lengths[0])
    actions, rewards = episode.actions[0, :length], episode.rewards[0, :length]
    collected = np.zeros((length, len(command)))
    collected[1:] = np.cumsum(rewards, axis=0)[:-1]
    ahead, chosen = leads.against_each(actions)

    def is_unchanged(radius: float) -> bool:
        reach = radius * leads.agent.space.scale
        box = np.maximum(command - reach, region[0]), np.minimum(command + reach, region[1])
        low, high = (np.repeat(side[None], length, axis=0) for side in box)
        bounds = leads.leads(np.arange(length), low, high, collected, ahead, chosen)
        return bool(((bounds.highest(low, high) < 0.0) | (ahead == chosen)).all())

    proven, too_large = 0.0, 2.0  # in scaled units
    radius = _FIRST_RADIUS
    while now() < deadline and radius > _LEAST_RADIUS and too_large - proven > _RADIUS_SHARE * too_large:
        if is_unchanged(radius):
            proven = radius
        else:
            too_large = radius
        radius = min(2.0 * radius, (proven + too_large) / 2) if proven else radius / 2
    return proven


def repeated_episodes(
    agent: Agent,
    decision: Decision,
    commands: np.ndarray,
    repeats: int,
    seed: int,
    stop: Callable[[np.ndarray], np.ndarray] | None = None,
) -> Iterator[tuple[np.ndarray, Episodes]]:
    """Yield parts of the commands (N, d) with their greedy episodes from a decision on.

    In a stochastic environment, each command has `repeats` episodes, one after the other. The random numbers of these
    are the same for each command.
    """
    repeats = repeats if agent.batch_env().stochastic else 1
    seeds = np.random.default_rng(seed).integers(2**63, size=repeats, dtype=np.uint64)
    at_once = max(1, TOGETHER // repeats)
    for start in range(0, len(commands), at_once):
        part = commands[start : start + at_once]
        rows = np.repeat(part, repeats, axis=0), np.tile(seeds, len(part))
        yield part, run_greedy(agent, *rows, snapshot=decision.snapshot, stop=stop)


_C = TypeVar("_C", bound=Columns)


def join(parts: Sequence[_C]) -> _C:
    """Return parts with the same columns, joined into one."""
    return type(parts[0])(*map(np.concatenate, zip(*(part.columns for part in parts), strict=True)))


def narrow(bounds: HalfSpaces, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Shrink boxes low, high (B, d) to the parts in which no bound is negative.

    Return the lower and upper corners of the smaller boxes, and whether anything is left of each box (B,).
    """
    possible = np.ones(len(low), dtype=bool)
    for slopes, offsets in zip(bounds.slopes.swapaxes(0, 1), bounds.offsets.T, strict=True):
        largest = np.maximum(slopes * low, slopes * high)  # of each term
        top = largest.sum(axis=1) + offsets
        possible &= top >= 0.0
        steep = np.abs(slopes) > 1e-300
        # slope * x + (the largest sum of the other terms) >= 0
        edge = -(top[:, None] - largest) / np.where(steep, slopes, 1.0)
        out = _OUTWARDS * (np.abs(edge) + np.abs(low) + np.abs(high))
        low = np.where(steep & (slopes > 0), np.maximum(low, np.minimum(edge - out, high)), low)
        high = np.where(steep & (slopes < 0), np.minimum(high, np.maximum(edge + out, low)), high)
    return low, high, possible
