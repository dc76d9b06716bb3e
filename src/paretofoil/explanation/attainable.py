"""Rollouts of commands from the state of a decision, and attainable commands.

The closest command lies on a decision boundary, and the agent may not deliver what it asks for. An attainable command
makes the agent take the foil, and the rollout then delivers what the command asks for. To find one, many commands are
rolled out together: the quoted command, larger changes in its direction, the front, and random commands. Then commands
that ask for the outcomes of these rollouts are rolled out. Where proofs are possible, the search for outcomes finds the
closest one, since "takes the foil first, and delivers what the command asks for" is an outcome of the episode.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from paretofoil.agents.agent import Agent, as_command
from paretofoil.core.amounts import FoilPolicy
from paretofoil.core.answer import DELIVERED, Attainable, Consequence
from paretofoil.core.decision import Decision
from paretofoil.core.errors import InvalidInput
from paretofoil.core.question import Question, QuestionBatch
from paretofoil.envs.episode import DECIMALS, Episodes
from paretofoil.explanation.episodes import is_provable, repeated_episodes
from paretofoil.explanation.outcome_search import Conditions, OutcomeSearch, OutcomeSearchResult
from paretofoil.explanation.verify import flips, round_command

REPEATS = 200
"""Rollouts of a command in a stochastic environment."""
FACTORS = (1.05, 1.25, 1.5, 2.0, 3.0, 5.0, 8.0)
"""Factors of the quoted change. The commands with the enlarged changes are candidates."""
NEAR = 0.1
"""Largest distance of some random candidates from the quoted command, as a share of each objective's range."""
ROUNDS = 2
"""Number of rounds in which the outcomes of rollouts become candidates."""
ERRORS = 2.0
"""In a stochastic environment, the mean return may also miss the command by this many standard errors."""
OVERRUN = 0.5
"""A rollout stops when it overruns an objective by this share of its range and cannot recover."""
PROOF_BOXES = 4_000
"""Approximate limit of boxes in the proof about attainable commands, which takes some tenths of a second."""


class IssuedCommand(NamedTuple):
    """A command and the outcome of its rollouts."""

    command: np.ndarray
    action: int | np.ndarray
    """The first action under the command, or its amounts."""
    consequence: Consequence
    stopped: bool
    """Whether a rollout was stopped early; then the consequence is incomplete."""


def consequence(
    agent: Agent, decision: Decision, command: Sequence[float] | np.ndarray, *, repeats: int = REPEATS, seed: int = 0
) -> Consequence:
    """Return the outcome of a command that is issued in the state of a decision.

    Args:
        agent: The agent.
        decision: A decision of a rollout.
        command: The command to issue at the decision.
        repeats: Number of rollouts in a stochastic environment.
        seed: Seed of the environment.
    """
    [issued] = issue(agent, decision, as_command(agent, command)[None], repeats=repeats, seed=seed)
    return issued.consequence


def issue(
    agent: Agent,
    decision: Decision,
    commands: np.ndarray,
    *,
    repeats: int = REPEATS,
    seed: int = 0,
    stop: Callable[[np.ndarray], np.ndarray] | None = None,
    conditions: Conditions | None = None,
) -> list[IssuedCommand]:
    """Roll out commands (N, d) together, with the same random numbers for each.

    `stop` takes remaining commands (n, d) and returns a mask of the rollouts to stop. `conditions` are an outcome of
    the whole episode; then the consequences contain the share of rollouts that meet it.
    """
    if decision.snapshot is None:
        raise InvalidInput.expected("a decision of a rollout, which has the state of the environment", repr(decision))
    issued: list[IssuedCommand] = []
    for part, episodes in repeated_episodes(agent, decision, commands, repeats, seed, stop):
        met = None
        if conditions is not None:
            rest = conditions.after(decision.collected[: len(conditions.low)], decision.step)
            met = rest.met_by(episodes).reshape(len(part), -1).mean(axis=1).tolist()
        issued += _summarize(decision, part, episodes, met)
    return issued


def _summarize(
    decision: Decision, commands: np.ndarray, episodes: Episodes, met: Sequence[float] | None
) -> list[IssuedCommand]:
    """Return the commands (N, d) with the means of their episodes. Each command has the same number of episodes."""
    count = len(commands)
    totals = decision.collected[: episodes.rewards.shape[2]] + episodes.returns
    totals = totals.reshape(count, -1, totals.shape[1])  # (N, repeats, d)
    repeats = totals.shape[1]
    spread = totals.std(axis=1, ddof=1) if repeats > 1 else np.zeros((count, totals.shape[2]))
    means, errors = totals.mean(axis=1), spread / np.sqrt(repeats)
    steps, finished = (column.reshape(count, -1).mean(axis=1) for column in (episodes.lengths, episodes.terminated))
    actions, stopped = episodes.actions[::repeats, 0], episodes.stopped.reshape(count, -1).max(axis=1)
    return [
        IssuedCommand(
            commands[i],
            actions[i] if actions.ndim > 1 else int(actions[i]),
            Consequence(means[i], errors[i], float(steps[i]), float(finished[i]), repeats, met[i] if met else None),
            bool(stopped[i]),
        )
        for i in range(count)
    ]


def find_attainable(
    agent: Agent, decision: Decision, question: Question, quoted: np.ndarray, *, prove: bool = False
) -> Attainable:
    """Return the closest attainable command of the search region that rollouts find; `quoted` is the quoted command.

    With `prove`, and where proofs are possible, then search for a closer one until it is proven that there is none, or
    until the limit of boxes is reached.
    """
    search = _AttainableSearch(agent, decision, question)
    issued = search.issue(np.concatenate([quoted[None], search.candidates(quoted)]))
    for _ in range(ROUNDS):
        issued += search.issue(search.outcomes(issued), issued)
    found = search.best(issued, quoted)
    is_quoted = found is not None and np.array_equal(found.command, quoted)  # type: ignore[arg-type]
    if is_quoted or not prove or not search.is_provable:
        return found or Attainable(len(issued))
    result = search.prove(issued)
    if result.closest is not None and all(one.command is not result.closest for one in issued):

        def first_attainable(commands: np.ndarray) -> np.ndarray | None:
            return next((command for command in commands if search.confirm(command) is not None), None)

        closest = round_command(question, result.closest, first_attainable)
        issued += (new := search.issue(closest[None], issued))
        issued += search.issue(search.outcomes(new), issued)
        found = search.best(issued, quoted)
    if found is not None:
        return replace(found, proven_closest=result.is_closest, lower_bound=result.lower_bound, assumed=result.assumed)
    proven_none = result.closest is None and bool(np.isinf(result.lower_bound))
    return Attainable(len(issued), proven_none=proven_none, assumed=result.assumed if proven_none else 0.0)


def whole_command(agent: Agent, decision: Decision, command: np.ndarray) -> np.ndarray:
    """Return the command to issue at the start so that the given command remains at the decision.

    A horizon decreases by 1 per step, down to 1. Preferences do not change during an episode.
    """
    if agent.space.simplex:
        return command
    whole: np.ndarray = command + decision.collected
    if agent.horizon and decision.step and command[-1] != decision.command[-1]:
        whole[-1] = command[-1] + decision.step
    return whole


def closest_known(own: Attainable, others: Sequence[Attainable], quoted: np.ndarray) -> Attainable:
    """Return the closest of several attainable commands, or the quoted command if that is attainable.

    What is proven about `own` holds for the result, because its search region contains those of the others.
    """
    if own.found and np.array_equal(own.command, quoted):  # type: ignore[arg-type]
        return own
    candidates = [one for one in (own, *others) if one.found]
    closest = min(candidates, key=lambda one: one.distance or 0.0, default=own)
    if closest is own or not own.lower_bound:
        return closest
    return replace(closest, proven_closest=own.proven_closest, lower_bound=own.lower_bound, assumed=own.assumed)


@dataclass(frozen=True)
class _Effort:
    """Numbers of candidates and rollouts."""

    commands: int
    """Largest number of candidates that are rolled out in a round."""
    around: int = 0
    """Number of random candidates around the quoted command."""
    anywhere: int = 0
    """Number of random candidates in the whole search region."""
    repeats: int = 1
    """Number of rollouts of each candidate in a stochastic environment."""
    confirming: tuple[int, ...] = (1,)
    """Numbers of rollouts that confirm a command, in stages; a small first stage refutes most commands."""


def _effort(agent: Agent) -> _Effort:
    if agent.environment.batch is None and not agent.environment.finite:  # an environment that steps one by one
        return _Effort(8, repeats=20, confirming=(REPEATS,))
    if agent.environment.stochastic:
        return _Effort(32, around=8, anywhere=16, repeats=32, confirming=(200, 2000))
    return _Effort(256, around=24, anywhere=192)


@dataclass(frozen=True, eq=False)
class _AttainableSearch:
    """The search for attainable commands of one question."""

    agent: Agent
    decision: Decision
    question: Question

    def candidates(self, quoted: np.ndarray) -> np.ndarray:
        """Return candidates (N, d): the front and the returns achieved under it, larger changes, random commands."""
        question, space, effort = self.question, self.question.space, _effort(self.agent)
        generator, reach = np.random.default_rng(0), NEAR * space.scale
        front = np.concatenate([question.front, self._achieved()])
        front = front[np.argsort(space.distance(front, question.command, question.norm), kind="stable")]
        beyond = question.command + np.array(FACTORS)[:, None] * (quoted - question.command)
        low, high = np.maximum(question.low, quoted - reach), np.minimum(question.high, quoted + reach)
        around = generator.uniform(low, high, (effort.around, space.dim))
        anywhere = generator.uniform(question.low, question.high, (effort.anywhere, space.dim))
        return self._inside(np.concatenate([front, self._short(np.concatenate([beyond, around, anywhere]))]))

    def _short(self, commands: np.ndarray) -> np.ndarray:
        """Return commands (N, d) rounded to short numbers."""
        decimals = 2 - np.floor(np.log10(self.question.space.scale)).astype(int)
        return np.stack([np.round(column, int(n)) for column, n in zip(commands.T, decimals, strict=True)], axis=1)

    def _achieved(self) -> np.ndarray:
        """Return the commands (F, d) that ask for the returns that the agent achieved under its front commands."""
        achieved, front = self.agent.achieved, self.agent.front
        if achieved is None:
            return front[:0]
        return np.concatenate([achieved, front[:, achieved.shape[1] :]], axis=1) - self.decision.collected

    def outcomes(self, issued: Sequence[IssuedCommand]) -> np.ndarray:
        """Return the commands (N, d) that ask for the outcomes of rollouts; a horizon is the number of steps."""
        dim, objectives = self.question.space.dim, len(self.agent.environment.objectives)
        complete = [one.consequence for one in issued if not one.stopped]
        commands = np.reshape([np.append(one.achieved, one.steps)[:dim] for one in complete], (-1, dim))
        commands[:, :objectives] -= self.decision.collected[:objectives]
        return self._inside(commands if self.agent.actor is None else self._short(commands))

    def _inside(self, commands: np.ndarray) -> np.ndarray:
        """Return the commands clipped to the search region, without rounding errors."""
        return self.question.project(np.round(commands, DECIMALS)) + 0.0  # no -0

    def issue(self, commands: np.ndarray, before: Sequence[IssuedCommand] = ()) -> list[IssuedCommand]:
        """Roll out commands (N, d) that are new and make the agent take the foil, up to the limit of the effort."""
        question, effort = self.question, _effort(self.agent)
        different = {command.tobytes(): command for command in commands}
        for one in before:
            different.pop(one.command.tobytes(), None)
        if not different:
            return []
        new = np.stack(list(different.values()))
        margins = QuestionBatch([question]).margins_at(np.zeros(len(new), dtype=int), new, "attainable")
        new = new[(margins >= question.kappa) & (margins > 0)][: effort.commands]
        stop = None if self.agent.environment.stochastic else self._overrun  # one rollout says little about the mean
        issued = issue(self.agent, self.decision, new, repeats=effort.repeats, stop=stop)
        return [one for one in issued if self.takes_foil(one)]

    def takes_foil(self, one: IssuedCommand) -> bool:
        """Return whether the first action of a rollout is the foil."""
        if isinstance(self.question.policy, FoilPolicy):
            return self.question.policy.is_met(np.asarray(one.action))
        return one.action == self.question.foil

    def _overrun(self, remaining: np.ndarray) -> np.ndarray:
        """Return a mask of the remaining commands (n, d) that can no longer be fulfilled."""
        (low, high), slack = self.question.space.limits, OVERRUN * self.question.space.scale
        beyond = (remaining < np.minimum(low, 0.0) - slack) | (remaining > np.maximum(high, 0.0) + slack)
        return np.asarray(beyond.any(axis=1))

    @property
    def is_provable(self) -> bool:
        """Whether proofs about all attainable commands are possible."""
        agent = self.agent
        return is_provable(agent) and not agent.batch_env().stochastic and self.question.policy is agent.policy

    def prove(self, issued: Sequence[IssuedCommand]) -> OutcomeSearchResult:
        """Search for the closest attainable command, starting with the best of those that were rolled out."""
        question, ranges = self.question, self._ranges
        unlimited = np.full(len(ranges), np.inf)
        conditions = Conditions(
            -unlimited,
            unlimited,
            tolerance=np.zeros(len(ranges)),
            dominated=np.zeros((0, len(ranges))),
            first=question.foil,
            deviation=DELIVERED * ranges,
        )
        search = OutcomeSearch(self.agent, self.decision, question, conditions, max_boxes=PROOF_BOXES)
        delivering = [one.command for one in issued if self.delivers(one)]
        if delivering:
            distances = question.space.distance(np.stack(delivering), question.command, question.norm)
            search.best = float(distances.min()), delivering[int(distances.argmin())]
        return search.prove()

    def closest_first(self, issued: Sequence[IssuedCommand], quoted: np.ndarray) -> Iterator[np.ndarray]:
        """Yield the commands that deliver what they ask for: the quoted command, then the others by their distance.

        Before each of the others comes the command that asks for its outcome, if that delivers, too.
        """
        delivering = {one.command.tobytes(): one for one in issued if self.delivers(one)}
        if quoted.tobytes() in delivering:
            yield quoted
        space, origin, norm = self.question.space, self.question.command, self.question.norm
        for one in sorted(delivering.values(), key=lambda one: float(space.distance(one.command, origin, norm))):
            [outcome] = self.outcomes([one])
            if outcome.tobytes() in delivering and one.consequence.repeats == 1:
                yield outcome
            yield one.command

    def best(self, issued: Sequence[IssuedCommand], quoted: np.ndarray) -> Attainable | None:
        """Return the first command of `closest_first` that is confirmed by further rollouts."""
        space, origin, norm = self.question.space, self.question.command, self.question.norm
        for command in self.closest_first(issued, quoted):
            outcome = self.confirm(command)
            if outcome is not None:
                distance, deviation = space.distance(command, origin, norm), self.deviations(command, outcome).max()
                return Attainable(len(issued), command, self.total(command), float(distance), float(deviation), outcome)
        return None

    def total(self, command: np.ndarray) -> np.ndarray:
        """Return the command for the whole episode, without rounding errors."""
        return np.round(whole_command(self.agent, self.decision, command), DECIMALS)

    @property
    def _ranges(self) -> np.ndarray:
        """The width of each objective's range in training, without the horizon."""
        space = self.question.trained or self.question.space
        return space.scale[: len(self.agent.environment.objectives)]

    def deviations(self, command: np.ndarray, outcome: Consequence) -> np.ndarray:
        """Return the difference between the outcome and the command for each objective, as a share of its range."""
        return np.abs(outcome.achieved - self.total(command)[: len(self._ranges)]) / self._ranges

    def delivers(self, one: IssuedCommand) -> bool:
        """Return whether the rollouts of a command delivered what it asks for, within the standard errors."""
        allowed = DELIVERED + ERRORS * one.consequence.error / self._ranges
        return bool((self.deviations(one.command, one.consequence) <= allowed).all()) and not one.stopped

    def confirm(self, command: np.ndarray) -> Consequence | None:
        """Return the outcome of a command, rolled out alone with other random numbers; None if it is not attainable."""
        if not flips(QuestionBatch([self.question]), 0, command):
            return None
        for seed, repeats in enumerate(_effort(self.agent).confirming, 1):
            [again] = issue(self.agent, self.decision, command[None], repeats=repeats, seed=seed)
            if not self.takes_foil(again) or not self.delivers(again):
                return None
        return again.consequence
