"""What should I ask for? The closest command under which the agent takes the foil and then delivers what was asked.

The smallest change sits on a decision boundary: issued, it may dither, or lead to something else than it asks for. Here
commands are rolled out, all together: the answer itself, those on the way through it and beyond, the front, and some of
the whole region. What one of them leads to can be asked for as well, and is, in the next round.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from paretofoil.agents.agent import Agent
from paretofoil.core.answer import DELIVERED, Attainable, Consequence
from paretofoil.core.decision import Decision
from paretofoil.core.question import Question, QuestionBatch
from paretofoil.explanation.confirm import flips
from paretofoil.explanation.consequence import REPEATS, Issued, issue

BEYOND = (1.05, 1.25, 1.5, 2.0, 3.0, 5.0, 8.0)
"""Changes that are so many times as large as the answer's."""
NEAR = 0.1
"""How far around the answer commands are drawn at random, in shares of each objective's range."""
ROUNDS = 2
"""So many times what commands led to is asked for in turn."""
ERRORS = 2.0
"""Where chance plays, a mean may be off by so many of its standard errors more."""
OVERRUN = 0.5
"""An episode that has overrun a wish by this share of its range, and can only overrun it further, is given up on."""
DECIMALS = 9
"""Of differences of returns: more is noise."""


@dataclass(frozen=True)
class _Effort:
    """How much is rolled out."""

    commands: int
    """In a round, at most."""
    around: int = 0
    anywhere: int = 0
    """Of these, drawn at random around the answer and in the whole region."""
    runs: int = 1
    """Of each command, where chance plays."""
    confirming: tuple[int, ...] = (1,)
    """Runs that confirm a command, by and by: few settle most."""


def _effort(agent: Agent) -> _Effort:
    if agent.environment.batch is None and not agent.environment.finite:  # stepped one by one, at a speed of its own
        return _Effort(8, runs=20, confirming=(REPEATS,))
    if agent.environment.stochastic:
        return _Effort(32, around=8, anywhere=16, runs=32, confirming=(200, 2000))
    return _Effort(256, around=24, anywhere=192)


def find_attainable(agent: Agent, decision: Decision, question: Question, command: np.ndarray) -> Attainable:
    """The closest command of the question's region that is known to deliver; `command` is the smallest that flips."""
    place = _Place(agent, decision, question)
    tried = place.issue(np.concatenate([command[None], place.starts(command)]))
    for _ in range(ROUNDS):
        tried += place.issue(place.results(tried), tried)
    for candidate in _closest_first(place, tried, command):
        follows = place.confirm(candidate)
        if follows is not None:
            size = question.space.distance(candidate, question.command, question.norm)
            missed = float(place.missed(candidate, follows).max())
            return Attainable(len(tried), candidate, place.asked(candidate), float(size), missed, follows)
    return Attainable(len(tried))


def closest_known(found: Attainable, others: Sequence[Attainable], command: np.ndarray) -> Attainable:
    """What was found, or what is known elsewhere and closer; an answer whose own command delivers keeps it."""
    if found.known and np.array_equal(found.command, command):  # type: ignore[arg-type]
        return found
    return min([*([found] if found.known else []), *others], key=lambda one: one.distance or 0.0, default=found)


def _closest_first(place: "_Place", tried: Sequence[Issued], command: np.ndarray) -> Iterator[np.ndarray]:
    """The commands that deliver; before each what it leads to, if that delivers as well: it is then delivered exactly.

    The answer's own command comes first.
    """
    delivering = {one.command.tobytes(): one for one in tried if place.delivers(one)}
    if command.tobytes() in delivering:
        yield command
    sizes = place.question.space.distance
    origin, norm = place.question.command, place.question.norm
    for one in sorted(delivering.values(), key=lambda one: float(sizes(one.command, origin, norm))):
        [led] = place.results([one])
        if led.tobytes() in delivering and one.consequence.repeats == 1:
            yield led
        yield one.command


@dataclass(frozen=True, eq=False)
class _Place:
    """Where commands are issued, and what is asked about them."""

    agent: Agent
    decision: Decision
    question: Question

    def starts(self, command: np.ndarray) -> np.ndarray:
        """(N, d): the front and what it achieves, the closest first; then beyond the answer, around it, anywhere."""
        asked, space, effort = self.question, self.question.space, _effort(self.agent)
        generator, reach = np.random.default_rng(0), NEAR * space.scale
        known = np.concatenate([asked.front, self._achieved()])
        known = known[np.argsort(space.distance(known, asked.command, asked.norm), kind="stable")]
        beyond = asked.command + np.array(BEYOND)[:, None] * (command - asked.command)
        low, high = np.maximum(asked.low, command - reach), np.minimum(asked.high, command + reach)
        around = generator.uniform(low, high, (effort.around, space.dim))
        anywhere = generator.uniform(asked.low, asked.high, (effort.anywhere, space.dim))
        short = _rounded(np.concatenate([beyond, around, anywhere]), 2 - np.floor(np.log10(space.scale)).astype(int))
        return self._settled(np.concatenate([known, short]))

    def _achieved(self) -> np.ndarray:
        """(F, d): the commands for what the agent achieves under those of its front."""
        achieved, front = self.agent.achieved, self.agent.front
        if achieved is None:
            return front[:0]
        return np.concatenate([achieved, front[:, achieved.shape[1] :]], axis=1) - self.decision.collected

    def results(self, issued: Sequence[Issued]) -> np.ndarray:
        """(N, d): the commands that ask for what these led to; a horizon is the steps that it took."""
        size, objectives = self.question.space.dim, len(self.agent.environment.objectives)
        led = [np.append(one.consequence.achieved, one.consequence.steps)[:size] for one in issued if not one.lost]
        made = np.reshape(led, (-1, size))
        made[:, :objectives] -= self.decision.collected[:objectives]
        return self._settled(made)

    def _settled(self, commands: np.ndarray) -> np.ndarray:
        """The commands in numbers without noise, within the region; what is kept has its own number."""
        return np.clip(np.round(commands, DECIMALS), self.question.low, self.question.high) + 0.0  # no -0

    def issue(self, commands: np.ndarray, known: Sequence[Issued] = ()) -> list[Issued]:
        """Roll out those that are new and make the agent take the foil, the first of them if they are too many."""
        question, effort = self.question, _effort(self.agent)
        different = {command.tobytes(): command for command in commands}
        for one in known:
            different.pop(one.command.tobytes(), None)
        if not different:
            return []
        new = np.stack(list(different.values()))
        margins = QuestionBatch([question]).margins_at(np.zeros(len(new), dtype=int), new, "attainable")
        new = new[(margins >= question.kappa) & (margins > 0)][: effort.commands]
        lost = None if self.agent.environment.stochastic else self._lost  # of some runs, not of their mean
        issued = issue(self.agent, self.decision, new, repeats=effort.runs, lost=lost)
        return [one for one in issued if one.action == question.foil]

    def _lost(self, left: np.ndarray) -> np.ndarray:
        """Which of the wishes that are left (n, d) have been overrun for good."""
        (low, high), slack = self.question.space.limits, OVERRUN * self.question.space.scale
        beyond = (left < np.minimum(low, 0.0) - slack) | (left > np.maximum(high, 0.0) + slack)
        return np.asarray(beyond.any(axis=1))

    def asked(self, command: np.ndarray) -> np.ndarray:
        """What a command asks of the whole episode."""
        return np.round(command + self.decision.collected, DECIMALS)

    @property
    def ranges(self) -> np.ndarray:
        """Of each objective: those of the agent, however wide the searched box is; a horizon is no return."""
        space = self.question.trained or self.question.space
        return space.scale[: len(self.agent.environment.objectives)]

    def missed(self, command: np.ndarray, follows: Consequence) -> np.ndarray:
        """By how much each objective misses what was asked, in shares of its range."""
        return np.abs(follows.achieved - self.asked(command)[: len(self.ranges)]) / self.ranges

    def delivers(self, one: Issued) -> bool:
        """Whether what was asked is what comes, as far as chance lets one tell."""
        allowed = DELIVERED + ERRORS * one.consequence.error / self.ranges
        enough = self.missed(one.command, one.consequence) <= allowed
        return bool(enough.all()) and not one.lost

    def confirm(self, command: np.ndarray) -> Consequence | None:
        """What it leads to, issued once more by itself and with other chances; None if it does not deliver then."""
        if not flips(QuestionBatch([self.question]), 0, command):
            return None
        for seed, runs in enumerate(_effort(self.agent).confirming, 1):
            [again] = issue(self.agent, self.decision, command[None], repeats=runs, seed=seed)
            if again.action != self.question.foil or not self.delivers(again):
                return None
        return again.consequence


def _rounded(commands: np.ndarray, digits: np.ndarray) -> np.ndarray:
    """Commands (N, d), each objective in so many decimals (d,)."""
    return np.stack([np.round(column, int(n)) for column, n in zip(commands.T, digits, strict=True)], axis=1)
