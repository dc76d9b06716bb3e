"""Issue many commands, each at its own moment of an agent's episodes, and see where the episodes end.

`explanation/consequence.py` does that for one decision. Here thousands go together: an episode is played again up to
its moment, which in a deterministic environment leads to the very same state, and only then follows the new command.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from paretofoil.agents.agent import Agent
from paretofoil.core.decision import Decision, Episode
from paretofoil.envs.episode import Act, Episodes, greedy, run_episodes
from paretofoil.explanation.consequence import REPEATS

TOGETHER = 512
"""Episodes that are stepped together: a thousand steps of so many fit into any memory."""


@dataclass(frozen=True, eq=False)
class Issue:
    """A command that is issued at one moment of an episode."""

    episode: Episode
    time: int
    command: np.ndarray
    """What is to be collected from there on."""
    then: np.ndarray | None = None
    """What is to be returned by the whole episode, asked for from the next step on; None to stay with the command."""

    @property
    def decision(self) -> Decision:
        return self.episode[self.time]

    @property
    def asked(self) -> np.ndarray:
        """What the whole episode would return: what was collected before, and the command."""
        return self.command + self.decision.collected

    @property
    def turn(self) -> np.ndarray:
        """How the command changes once more, one step later."""
        return np.zeros(self.command.size) if self.then is None else self.then - self.asked


@dataclass(frozen=True, eq=False)
class End:
    """Where an episode ended; means over its runs."""

    achieved: np.ndarray
    """The return of the whole episode."""
    error: np.ndarray
    """The standard error of each mean; 0 in deterministic environments."""
    stopped: float
    """The share of its runs that the step limit ended."""


def issue_all(agent: Agent, issues: Sequence[Issue], *, seed: int = 0) -> list[End]:
    """Where each leads."""
    if agent.batch_env().stochastic:
        return [_repeated(agent, issue, seed) for issue in issues]
    parts = [issues[start : start + TOGETHER] for start in range(0, len(issues), TOGETHER)]
    return [end for part in parts for end in _replayed(agent, part, seed)]


def _replayed(agent: Agent, issues: Sequence[Issue], seed: int) -> list[End]:
    """All from the start: what was done before each moment is done again."""
    times = np.array([issue.time for issue in issues])
    before = np.zeros((len(issues), int(times.max()) + 1), dtype=np.int64)
    for row, issue in enumerate(issues):
        before[row, : issue.time] = [decision.action for decision in issue.episode.decisions[: issue.time]]
    follow = _turning(agent, times, np.stack([issue.turn for issue in issues]))

    def act(
        time: int, rows: np.ndarray, observations: np.ndarray, commands: np.ndarray, masks: np.ndarray
    ) -> np.ndarray:
        chosen = follow(time, rows, observations, commands, masks)
        return np.where(time < times[rows], before[rows, min(time, before.shape[1] - 1)], chosen)

    seeds = np.full(len(issues), seed, dtype=np.uint64)
    episodes = run_episodes(agent.batch_env(), act, np.stack([issue.asked for issue in issues]), seeds)
    return [_end(episodes, np.array([row]), np.zeros(agent.space.dim)) for row in range(len(issues))]


def _repeated(agent: Agent, issue: Issue, seed: int) -> End:
    """Where chance decides: many runs from the very state."""
    seeds = np.random.default_rng(seed).integers(2**63, size=REPEATS, dtype=np.uint64)
    commands = np.repeat(issue.command[None], REPEATS, axis=0)
    act = _turning(agent, np.zeros(REPEATS, dtype=int), np.repeat(issue.turn[None], REPEATS, axis=0))
    episodes = run_episodes(agent.batch_env(), act, commands, seeds, snapshot=issue.decision.snapshot)
    return _end(episodes, np.arange(REPEATS), issue.decision.collected)


def _turning(agent: Agent, times: np.ndarray, turns: np.ndarray) -> Act:
    """Act greedily; behind its moment (N,) each command is changed by its turn (N, d)."""
    choose = greedy(agent.policy)

    def act(
        time: int, rows: np.ndarray, observations: np.ndarray, commands: np.ndarray, masks: np.ndarray
    ) -> np.ndarray:
        turned = commands + np.where((time > times[rows])[:, None], turns[rows], 0.0)
        return choose(time, rows, observations, turned, masks)

    return act


def _end(episodes: Episodes, rows: np.ndarray, collected: np.ndarray) -> End:
    totals = collected + episodes.returns[rows]  # (runs, d)
    spread = totals.std(axis=0, ddof=1) if len(rows) > 1 else np.zeros(totals.shape[1])
    return End(totals.mean(axis=0), spread / np.sqrt(len(rows)), float(1 - episodes.terminated[rows].mean()))
