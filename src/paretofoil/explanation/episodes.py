"""Greedy episodes of whole sets of commands, in deterministic environments with finitely many states.

There the greedy episode is a function of the initial command alone: the remaining command is the initial one minus the
return collected so far. A set of commands is followed together, as long as bounds of the differences between actions
show which action is chosen.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from paretofoil.agents.agent import Agent
from paretofoil.core.errors import InvalidInput
from paretofoil.core.policy import WhiteBoxPolicy, query
from paretofoil.envs.batch import TransitionTable, tabulate
from paretofoil.proof.bounds import HalfSpaces
from paretofoil.proof.branch_and_bound import Columns
from paretofoil.proof.shares import Contest
from paretofoil.proof.slack import probe_shares

_SUBTRACTION = 2.0**-52
"""More than the relative rounding error of a remaining command, per step."""
_ROUNDING = 1e-13
"""More than the relative rounding error of a bound."""


def require_deterministic(agent: Agent) -> None:
    """Raise an error unless each command of the agent has one outcome."""
    if agent.space.simplex:
        raise InvalidInput.expected("an agent whose commands are returns", f"{agent.name}, which takes preferences")
    if agent.batch_env().stochastic:  # of a finite environment: what its table shows
        got = f"{agent.name} in {agent.environment.name}, where chance plays a part"
        raise InvalidInput.expected("an agent in a deterministic environment", got)


def is_provable(agent: Agent) -> bool:
    """Return whether proofs over whole episodes are possible: finitely many states and a white-box policy."""
    return agent.environment.finite and not agent.horizon and isinstance(agent.policy, WhiteBoxPolicy)


@dataclass(frozen=True, eq=False)
class Progress(Columns):
    """Progress of the episodes of B sets of commands."""

    state: np.ndarray  # (B,) int
    step: np.ndarray  # (B,) int
    collected: np.ndarray  # (B, d)
    anchor: np.ndarray  # (B,) int: an earlier state, since which nothing was collected
    anchor_step: np.ndarray  # (B,) int

    @classmethod
    def start(cls, dim: int) -> "Progress":
        """Return the progress of one set of commands, at the start of the episode."""
        zero = np.zeros(1, dtype=np.int64)
        return cls(state=zero, step=zero, collected=np.zeros((1, dim)), anchor=zero - 1, anchor_step=zero)


class EpisodesOfSets:
    """Follows sets of commands through the states of an environment, for one agent."""

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self.table: TransitionTable = tabulate(agent.environment)
        self._contests: dict[int, Contest] = {}

    @property
    def num_actions(self) -> int:
        return self.table.masks.shape[1]

    @property
    def assumed(self) -> float:
        """The rounding error, in margins, that proofs assume so far; 0 if it is derived."""
        return max((contest.slack for contest in self._contests.values() if contest.around.any()), default=0.0)

    def advance(self, progress: Progress, actions: np.ndarray) -> tuple[Progress, np.ndarray, np.ndarray]:
        """Return the progress after one action (B,) each, which episodes end with it, and which end the task."""
        table = self.table
        rewards = table.rewards[progress.state, actions, 0]
        state, step = table.next_states[progress.state, actions, 0], progress.step + 1
        final = table.final[state]
        # Brent's cycle detection: if state and remaining command repeat, the episode repeats until the step limit.
        nothing = ~rewards.any(axis=1)
        loops = nothing & (state == progress.anchor) & ~final
        renew = ~nothing | (step >= 2 * progress.anchor_step)
        anchor, anchor_step = np.where(renew, state, progress.anchor), np.where(renew, step, progress.anchor_step)
        ends = final | loops | (step >= self.agent.environment.max_steps)
        return Progress(state, step, progress.collected + rewards, anchor, anchor_step), ends, final

    def bounds(
        self, state: int, low: np.ndarray, high: np.ndarray, collected: np.ndarray
    ) -> tuple[np.ndarray, HalfSpaces]:
        """Return the valid actions of a state, and bounds of the differences between all ordered pairs of them.

        The bounds are affine functions of the initial command, over boxes low, high (B, d) of initial commands;
        `collected` (B, d) is the return collected so far. Where a bound is negative, the first action of the pair is
        not chosen.
        """
        valid = np.flatnonzero(self.table.masks[state])
        steps = max(self.agent.environment.max_steps, 450)
        off = _SUBTRACTION * steps * (np.maximum(np.abs(low), np.abs(high)).max() + np.abs(collected).max())
        least, most = low - collected - off, high - collected + off
        contest = self._contest(state, least.min(axis=0), most.max(axis=0))
        scaled = ((side - contest.low) / contest.scale for side in (least, most))
        bounds = contest.upper_bounds(tuple(range(len(valid))), *scaled)
        slopes = bounds.slopes / contest.scale
        offsets = bounds.offsets - np.einsum("bpd,bd->bp", slopes, collected + contest.low)
        size = np.abs(bounds.offsets) + np.abs(slopes) @ (np.abs(contest.low) + np.abs(contest.scale))
        return valid, HalfSpaces(slopes, offsets + np.abs(slopes).sum(axis=2) * off + _ROUNDING * size)

    def choices(self, state: int, commands: np.ndarray) -> np.ndarray:
        """Return the action (N,) that the policy chooses in a state under remaining commands (N, d)."""
        valid = np.flatnonzero(self.table.masks[state])
        states = np.repeat(self.table.observations[state][None], len(commands), axis=0)
        chosen: np.ndarray = valid[query(self.agent.policy, states, commands)[:, valid].argmax(axis=1)]
        return chosen

    def _contest(self, state: int, least: np.ndarray, most: np.ndarray) -> Contest:
        """Return the differences between the valid actions of a state, for remaining commands that include a box."""
        contest = self._contests.get(state)
        if contest is None or (least < contest.low).any() or (most > contest.low + contest.scale).any():
            if contest is not None:
                least, most = np.minimum(least, contest.low), np.maximum(most, contest.low + contest.scale)
            width = np.maximum(most - least, 1e-6)
            low, high = least - width / 4, most + width / 4
            valid = tuple(np.flatnonzero(self.table.masks[state]).tolist())
            policy: Any = self.agent.policy
            folded = policy.fold(self.table.observations[state])
            probes = low + probe_shares(len(low)) * (high - low)
            states = np.repeat(self.table.observations[state][None], len(probes), axis=0)
            off = (query(policy, states, probes) - folded.logits(probes))[:, valid]
            measured = float(np.ptp(off, axis=1).max())
            contest = self._contests[state] = Contest.of(folded, valid, (low, high), measured)
        return contest
