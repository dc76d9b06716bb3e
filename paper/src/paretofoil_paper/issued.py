"""Issue many commands, each at a step of one of an agent's episodes, and measure the outcomes.

`paretofoil.explanation.attainable` does this for one decision. Here thousands of episodes run together: each is
replayed up to its step, which reaches the same state in a deterministic environment, and then follows the new command.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from paretofoil.agents.agent import Agent, rollouts
from paretofoil.core.answer import DELIVERED
from paretofoil.core.decision import Decision, Episode
from paretofoil.core.policy import Policy, greedy_actions, query
from paretofoil.envs.episode import Act, Episodes, greedy, run_episodes
from paretofoil.explanation.attainable import REPEATS
from paretofoil.study import Row

BATCH_EPISODES = 512
"""Number of episodes that run together; bounds the memory."""
NOISE = {"small": 0.001, "large": 0.01}
"""Standard deviations of the noise, as shares of each entry's range."""
DRAWS = 100
"""Number of noise draws per answer and size."""
NEAR = 0.01
"""A return is on the front if its scaled distance from a point of the front is at most this."""
BATCH_QUERIES = 1 << 16
"""Number of queries at once."""


@dataclass(frozen=True, eq=False)
class Issue:
    """A command that is issued at one step of an episode."""

    episode: Episode
    step: int
    command: np.ndarray
    """The return to collect from this step on."""
    next_return: np.ndarray | None = None
    """The return of the whole episode to request from the next step on; None to keep the command."""

    @property
    def decision(self) -> Decision:
        return self.episode[self.step]

    @property
    def episode_return(self) -> np.ndarray:
        """The requested return of the whole episode: the return collected before, plus the command."""
        return self.command + self.decision.collected

    @property
    def next_change(self) -> np.ndarray:
        """The change of the command at the next step."""
        return np.zeros(self.command.size) if self.next_return is None else self.next_return - self.episode_return


@dataclass(frozen=True, eq=False)
class EpisodeEnd:
    """The end of an episode; means over its runs."""

    achieved: np.ndarray
    """Return of the whole episode."""
    error: np.ndarray
    """Standard error of each mean; 0 in deterministic environments."""
    truncated: float
    """Share of the runs that were ended by the step limit."""


def issue_all(agent: Agent, issues: Sequence[Issue], *, seed: int = 0) -> list[EpisodeEnd]:
    """Return the end of each episode."""
    if agent.batch_env().stochastic:
        return [_repeat(agent, issue, seed) for issue in issues]
    batches = [issues[start : start + BATCH_EPISODES] for start in range(0, len(issues), BATCH_EPISODES)]
    return [end for batch in batches for end in _replay(agent, batch, seed)]


def _replay(agent: Agent, issues: Sequence[Issue], seed: int) -> list[EpisodeEnd]:
    """Run episodes from the start, with their original actions up to the step of the issue."""
    steps = np.array([issue.step for issue in issues])
    before = np.zeros((len(issues), int(steps.max()) + 1), dtype=np.int64)
    for row, issue in enumerate(issues):
        before[row, : issue.step] = [decision.action for decision in issue.episode.decisions[: issue.step]]
    follow = _follow(agent, steps, np.stack([issue.next_change for issue in issues]))

    def act(
        time: int, rows: np.ndarray, observations: np.ndarray, commands: np.ndarray, masks: np.ndarray
    ) -> np.ndarray:
        actions = follow(time, rows, observations, commands, masks)
        return np.where(time < steps[rows], before[rows, min(time, before.shape[1] - 1)], actions)

    seeds = np.full(len(issues), seed, dtype=np.uint64)
    episodes = run_episodes(agent.batch_env(), act, np.stack([issue.episode_return for issue in issues]), seeds)
    return [_end(episodes, np.array([row]), np.zeros(agent.space.dim)) for row in range(len(issues))]


def _repeat(agent: Agent, issue: Issue, seed: int) -> EpisodeEnd:
    """Run a stochastic environment many times from the state of the issue."""
    seeds = np.random.default_rng(seed).integers(2**63, size=REPEATS, dtype=np.uint64)
    commands = np.repeat(issue.command[None], REPEATS, axis=0)
    act = _follow(agent, np.zeros(REPEATS, dtype=int), np.repeat(issue.next_change[None], REPEATS, axis=0))
    episodes = run_episodes(agent.batch_env(), act, commands, seeds, snapshot=issue.decision.snapshot)
    return _end(episodes, np.arange(REPEATS), issue.decision.collected)


def _follow(agent: Agent, steps: np.ndarray, changes: np.ndarray) -> Act:
    """Act greedily; after its step (N,), each command is changed by its change (N, d)."""
    choose = greedy(agent.policy)

    def act(
        time: int, rows: np.ndarray, observations: np.ndarray, commands: np.ndarray, masks: np.ndarray
    ) -> np.ndarray:
        changed = commands + np.where((time > steps[rows])[:, None], changes[rows], 0.0)
        return choose(time, rows, observations, changed, masks)

    return act


def _end(episodes: Episodes, rows: np.ndarray, collected: np.ndarray) -> EpisodeEnd:
    totals = collected + episodes.returns[rows]  # (runs, d)
    spread = totals.std(axis=0, ddof=1) if len(rows) > 1 else np.zeros(totals.shape[1])
    return EpisodeEnd(totals.mean(axis=0), spread / np.sqrt(len(rows)), float(1 - episodes.terminated[rows].mean()))


@dataclass(frozen=True)
class IssuedAnswer:
    """The outcomes of issuing one answer; distances are scaled."""

    agent: str
    search: str
    front: int
    step: int
    foil: int
    takes_foil: bool
    """Whether the first action under the quoted command is the foil."""
    off_front: float
    """Distance of the achieved return from the front, beyond three standard errors in stochastic environments."""
    truncated: float
    """Share of the runs that were ended by the step limit."""
    original_off_front: float
    """The same distance under the original command."""
    original_truncated: float
    one_step_off_front: float
    """The same distance if the quoted command is issued for one step, and then the nearest point of the front."""
    one_step_truncated: float
    requested_off_front: float
    """Distance of the requested return of the whole episode from the front."""
    command_noise_small: float
    """Share of noisy commands under which the foil is still chosen."""
    command_noise_large: float
    state_noise_small: float | None
    """Share of noisy states in which the foil is still chosen; None if states are not continuous."""
    state_noise_large: float | None

    @property
    def reaches_front(self) -> bool:
        return self.off_front <= NEAR

    @property
    def original_reaches_front(self) -> bool:
        return self.original_off_front <= NEAR

    @property
    def one_step_reaches_front(self) -> bool:
        return self.one_step_off_front <= NEAR


NOISE_FIELDS = tuple(f"{target}_noise_{size}" for target in ("command", "state") for size in NOISE)
"""The fields of `IssuedAnswer` about noise."""


@dataclass(frozen=True, eq=False)
class AnswerRollouts:
    """The answers of an agent, with the episodes of their decisions."""

    agent: Agent
    rows: Sequence[Row]
    """The rows with a command."""
    seed: int

    @cached_property
    def episodes(self) -> list[Episode]:
        return rollouts(self.agent, self.agent.front, seed=self.seed)

    @cached_property
    def decisions(self) -> list[Decision]:
        return [self.episodes[row.case.front][row.case.step] for row in self.rows]

    @cached_property
    def commands(self) -> np.ndarray:
        """(N, d): the quoted commands."""
        return np.array([row.full_answer().command for row in self.rows], dtype=np.float64)

    @property
    def episode_returns(self) -> np.ndarray:
        """(N, d): the requested returns of the whole episodes."""
        return self.commands + np.stack([decision.collected for decision in self.decisions])

    def measure(self) -> Iterator[IssuedAnswer]:
        """Measure the answers in their order."""
        if not self.rows:
            return
        nearest = self.agent.front[self.front_distances(self.episode_returns).argmin(axis=1)]
        issued, one_step = self.ends(self.commands), self.ends(self.commands, nearest)
        original = self.ends(np.stack([decision.command for decision in self.decisions]))
        takes_foil, requested = self._foil_shares(1, {}), self.front_distances(self.episode_returns).min(axis=1)
        shares = {f"command_noise_{size}": self._foil_shares(DRAWS, {"command": NOISE[size]}) for size in NOISE}
        if not self.agent.environment.finite:
            shares |= {f"state_noise_{size}": self._foil_shares(DRAWS, {"state": NOISE[size]}) for size in NOISE}
        for i, row in enumerate(self.rows):
            noise = {name: float(shares[name][i]) if name in shares else None for name in NOISE_FIELDS}
            ends = [cell for end in (issued[i], original[i], one_step[i]) for cell in self._end_cells(end)]
            yield IssuedAnswer(
                *(row.case.agent, row.search, row.case.front, row.case.step, row.case.foil, bool(takes_foil[i])),
                *(*ends, float(requested[i])),
                **noise,  # type: ignore[arg-type]
            )

    def ends(self, commands: np.ndarray, next_returns: np.ndarray | None = None) -> list[EpisodeEnd]:
        """Return the ends of the episodes under commands (N, d), and `next_returns` (N, d) from the next step on."""
        issues = [
            Issue(
                self.episodes[row.case.front],
                row.case.step,
                commands[i],
                None if next_returns is None else next_returns[i],
            )
            for i, row in enumerate(self.rows)
        ]
        return issue_all(self.agent, issues, seed=self.seed)

    def front_distances(self, returns: np.ndarray) -> np.ndarray:
        """Return the scaled distances (N, F) of returns (N, d) from each point of the front."""
        return np.stack([self.agent.space.distance(returns, point) for point in self.agent.front], axis=1)

    def _end_cells(self, end: EpisodeEnd) -> tuple[float, float]:
        return self.off_front(end.achieved, end.error), end.truncated

    def off_front(self, achieved: np.ndarray, error: np.ndarray) -> float:
        """Return the scaled distance of a return from the front, beyond three standard errors."""
        missed = np.maximum(np.abs(achieved - self.agent.front) - 3 * error, 0.0)
        return float(np.linalg.norm(missed / self.agent.space.scale, axis=1).min())

    def delivers(self, end: EpisodeEnd, requested: np.ndarray) -> bool:
        """Return whether a return is the requested one up to `DELIVERED`, beyond two standard errors."""
        missed = np.maximum(np.abs(end.achieved - requested) - 2 * end.error, 0.0) / self.agent.space.scale
        return bool((missed <= DELIVERED).all())

    def _foil_shares(self, draws: int, noise: Mapping[str, float]) -> np.ndarray:
        """Return the share (N,) of draws that choose the foil, with noise of these sizes on command and state."""
        ranges = {"command": self.agent.space.scale, "state": self._state_range}
        generator = np.random.default_rng(self.seed)
        count = max(1, BATCH_QUERIES // draws)
        parts = [slice(start, start + count) for start in range(0, len(self.rows), count)]
        return np.concatenate([self._foil_shares_of(part, draws, noise, ranges, generator) for part in parts])

    def _foil_shares_of(
        self,
        part: slice,
        draws: int,
        noise: Mapping[str, float],
        ranges: Mapping[str, np.ndarray],
        generator: np.random.Generator,
    ) -> np.ndarray:
        decisions, rows = self.decisions[part], self.rows[part]
        exact = {"command": self.commands[part], "state": np.stack([d.state for d in decisions])}
        inputs = {name: np.repeat(values, draws, axis=0) for name, values in exact.items()}
        for name, size in noise.items():
            inputs[name] = inputs[name] + size * ranges[name] * generator.standard_normal(inputs[name].shape)
        valid = [decision.valid_actions for decision in decisions for _ in range(draws)]
        actions = choose_actions(self.agent.discrete_policy, inputs["state"], inputs["command"], valid)
        foils = np.repeat([row.case.foil for row in rows], draws)
        return (actions == foils).reshape(-1, draws).mean(axis=1)

    @property
    def _state_range(self) -> np.ndarray:
        """(S,): the range of each entry of the state over the agent's episodes."""
        return np.ptp([decision.state for episode in self.episodes for decision in episode], axis=0)


def choose_actions(
    policy: Policy, states: np.ndarray, commands: np.ndarray, valid_actions: Sequence[Sequence[int]]
) -> np.ndarray:
    """Return the greedy valid action (N,) for each state and command."""
    scores = query(policy, states.astype(np.float32), commands)
    masks = np.zeros(scores.shape, dtype=bool)
    for mask, valid in zip(masks, valid_actions, strict=True):
        mask[list(valid)] = True
    return greedy_actions(scores, masks)
