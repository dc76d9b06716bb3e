"""Issue many commands, each at its own moment of an agent's episodes, and see where the episodes end.

`explanation/consequence.py` does that for one decision. Here thousands go together: an episode is played again up to
its moment, which in a deterministic environment leads to the very same state, and only then follows the new command.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from paretofoil.agents.agent import Agent
from paretofoil.agents.rollout import rollouts
from paretofoil.core.decision import Decision, Episode
from paretofoil.core.policy import Policy, greedy_actions, query
from paretofoil.envs.episode import Act, Episodes, greedy, run_episodes
from paretofoil.explanation.consequence import REPEATS
from paretofoil.study import Row

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


NOISE = {"small": 0.001, "large": 0.01}
"""The standard deviations of noise, as shares of each number's range."""
DRAWS = 100
"""Of noise, for each answer and size."""
NEAR = 0.01
"""A return is that of a point of the front if it is so close to it, scaled."""
CHUNK = 1 << 16
"""Queries at once."""


@dataclass(frozen=True)
class Aftermath:
    """What was measured on one answer; distances are scaled."""

    agent: str
    search: str
    front: int
    time: int
    foil: int
    takes_foil: bool
    """The first action under the quoted command is the foil."""
    off_front: float
    """From what is achieved to the nearest point of the front, beyond three standard errors where chance enters."""
    stopped: float
    """The share of runs that the step limit ended; of one run, 0 or 1."""
    original_off_front: float
    original_stopped: float
    """The same under the original command, from there on."""
    turned_off_front: float
    turned_stopped: float
    """The same if the quoted command is issued for one step, and then that of the nearest point of the front."""
    asked_off_front: float
    """From what is asked for, for the whole episode, to the nearest point of the front."""
    command_small: float
    command_large: float
    """The share of noisy commands that keep the foil."""
    state_small: float | None
    state_large: float | None
    """The share of noisy states that keep the foil; None where states are not continuous."""

    @property
    def reaches_front(self) -> bool:
        return self.off_front <= NEAR

    @property
    def original_reaches_front(self) -> bool:
        return self.original_off_front <= NEAR

    @property
    def turned_reaches_front(self) -> bool:
        return self.turned_off_front <= NEAR


@dataclass(frozen=True, eq=False)
class Answered:
    """The answers of an agent, with the episodes in which they were asked for."""

    agent: Agent
    rows: Sequence[Row]
    """Those in which a command was found."""
    seed: int

    @cached_property
    def episodes(self) -> list[Episode]:
        return rollouts(self.agent, self.agent.front, seed=self.seed)

    @cached_property
    def decisions(self) -> list[Decision]:
        return [self.episodes[row.case.front][row.case.step] for row in self.rows]

    @cached_property
    def commands(self) -> np.ndarray:
        """(N, d): as they are quoted."""
        return np.array([row.full_answer().command for row in self.rows], dtype=np.float64)

    @property
    def asked(self) -> np.ndarray:
        """(N, d): for the whole episode."""
        return self.commands + np.stack([decision.collected for decision in self.decisions])

    def measure(self) -> Iterator[Aftermath]:
        """One for each answer, in their order."""
        if not self.rows:
            return
        nearest = self.agent.front[self.off(self.asked).argmin(axis=1)]
        after, turned = self.ends(self.commands), self.ends(self.commands, nearest)
        before = self.ends(np.stack([decision.command for decision in self.decisions]))
        takes, asked = self._keeps(1, {}), self.off(self.asked).min(axis=1)
        kept = {f"command_{name}": self._keeps(DRAWS, {"command": size}) for name, size in NOISE.items()}
        moves = not self.agent.environment.finite
        kept |= {f"state_{name}": self._keeps(DRAWS, {"state": size}) for name, size in NOISE.items() if moves}
        for i, row in enumerate(self.rows):
            noise = {name: float(kept[name][i]) if name in kept else None for name in NOISY}
            yield Aftermath(
                *(row.case.agent, row.search, row.case.front, row.case.step, row.case.foil, bool(takes[i])),
                *(*self._told(after[i]), *self._told(before[i]), *self._told(turned[i]), float(asked[i])),
                **noise,  # type: ignore[arg-type]
            )

    def ends(self, commands: np.ndarray, then: np.ndarray | None = None) -> list[End]:
        """Where episodes end if these commands (N, d) are issued, and, a step later, these returns (N, d) asked for."""
        places = [(self.episodes[row.case.front], row.case.step) for row in self.rows]
        issues = [Issue(*place, commands[i], None if then is None else then[i]) for i, place in enumerate(places)]
        return issue_all(self.agent, issues, seed=self.seed)

    def off(self, returns: np.ndarray) -> np.ndarray:
        """(N, F): the scaled distance of returns (N, d) from each point of the front."""
        return np.stack([self.agent.space.distance(returns, point) for point in self.agent.front], axis=1)

    def _told(self, end: End) -> tuple[float, float]:
        """How far an end is off the front, and how many runs the limit ended."""
        return self.off_front(end.achieved, end.error), end.stopped

    def off_front(self, achieved: np.ndarray, error: np.ndarray) -> float:
        """The scaled distance of a return from the nearest point of the front, beyond what chance explains."""
        missed = np.maximum(np.abs(achieved - self.agent.front) - 3 * error, 0.0)
        return float(np.linalg.norm(missed / self.agent.space.scale, axis=1).min())

    def _keeps(self, draws: int, sizes: Mapping[str, float]) -> np.ndarray:
        """(N,): the share of draws in which the foil is chosen, with noise of these sizes on command and state."""
        ranges = {"command": self.agent.space.scale, "state": self._state_range}
        generator = np.random.default_rng(self.seed)
        each = max(1, CHUNK // draws)
        parts = [slice(start, start + each) for start in range(0, len(self.rows), each)]
        return np.concatenate([self._keeps_of(part, draws, sizes, ranges, generator) for part in parts])

    def _keeps_of(
        self,
        part: slice,
        draws: int,
        sizes: Mapping[str, float],
        ranges: Mapping[str, np.ndarray],
        generator: np.random.Generator,
    ) -> np.ndarray:
        decisions, rows = self.decisions[part], self.rows[part]
        given = {"command": self.commands[part], "state": np.stack([d.state for d in decisions])}
        asked = {name: np.repeat(values, draws, axis=0) for name, values in given.items()}
        for name, size in sizes.items():
            asked[name] = asked[name] + size * ranges[name] * generator.standard_normal(asked[name].shape)
        valid = [decision.valid_actions for decision in decisions for _ in range(draws)]
        chosen = choose(self.agent.policy, asked["state"], asked["command"], valid)
        foils = np.repeat([row.case.foil for row in rows], draws)
        return (chosen == foils).reshape(-1, draws).mean(axis=1)

    @property
    def _state_range(self) -> np.ndarray:
        """(S,): what the agent sees of each number of a state, over all of its episodes."""
        return np.ptp([decision.state for episode in self.episodes for decision in episode], axis=0)


def choose(
    policy: Policy, states: np.ndarray, commands: np.ndarray, valid_actions: Sequence[Sequence[int]]
) -> np.ndarray:
    """(N,): the greedy action of each row."""
    scores = query(policy, states.astype(np.float32), commands)
    masks = np.zeros(scores.shape, dtype=bool)
    for mask, valid in zip(masks, valid_actions, strict=True):
        mask[list(valid)] = True
    return greedy_actions(scores, masks)


NOISY = tuple(f"{what}_{name}" for what in ("command", "state") for name in NOISE)
"""The fields that tell of noise."""
