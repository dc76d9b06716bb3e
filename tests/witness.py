"""Readers of texts: each compares every number and claim of a text with the policy and the environment.

A reader is given the text, so that a changed one is noticed (`alterations`). It checks two things: that a claim is true
of the policy and the environment, and that a number is written as it was computed, to its last digit. Numbers that only
a proof or a search can know are compared with its record.
"""

import itertools
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import reading
from scipy.stats import binomtest

import paretofoil as pf
from paretofoil.core.command import CommandSpace, length
from paretofoil.core.influence import Influence
from paretofoil.explanation.never import Never
from paretofoil.explanation.questions import reachable_region
from paretofoil.show.flip_map import FlipMapLines, summary

SAMPLES = 1000
NUMBER = re.compile(r"(?<![\w.,-])-?\d[\d,]*(?:\.\d+)?(?:e-?\d+)?")


def alterations(text: str) -> Iterator[str]:
    """Yield the text with one number changed: its first and its last digit, its sign, 10 % more and 10 % less."""
    for match in NUMBER.finditer(text):
        word = match[0].rstrip(",")
        digits = [i for i, letter in enumerate(word) if letter.isdigit()]
        others = [f"{word[:i]}{(int(word[i]) + 1) % 10}{word[i + 1 :]}" for i in {digits[0], digits[-1]}]
        others.append(word[1:] if word.startswith("-") else f"-{word}")
        decimals = len(word.partition("e")[0].partition(".")[2])
        for factor in (1.1, 0.9):
            number = factor * reading.amount(word)
            places = (n for n in range(decimals, 20) if float(f"{number:.{n}f}") != reading.amount(word))
            others.append(f"{number:.{next(places, decimals)}f}")
        for other in others:
            if reading.amount(other) != reading.amount(word):
                yield f"{text[: match.start()]}{other}{text[match.start() + len(word) :]}"


@dataclass(eq=False)
class Facts:
    """What the policy and the environment do in the state of one decision."""

    decision: pf.Decision
    policy: Any
    space: CommandSpace
    actions: Sequence[str]
    phrases: Sequence[str] = ()
    agent: pf.Agent | None = None
    """Its environment is rolled out; None for a policy alone."""
    box: CommandSpace | None = None
    """The search region, where it is not what can still be fulfilled."""
    passed: set[Any] = field(default_factory=set)
    """Sentences that were checked before."""
    drawn: list[str] | None = None
    """The actions under random commands of the search region."""
    _runs: dict[Any, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, agent: pf.Agent, decision: pf.Decision, box: str = "reachable") -> "Facts":
        paper = agent.paper_space if box == "paper" else None
        return cls(decision, agent.policy, agent.space, agent.actions, agent.phrases, agent, paper)

    @property
    def later(self) -> bool:
        return self.decision.step > 0 or bool(self.decision.collected.any())

    @property
    def scale(self) -> np.ndarray:
        return (self.box or self.space).scale

    def scores(self, commands: np.ndarray) -> np.ndarray:
        states = np.repeat(self.decision.state[None], len(commands), axis=0)
        return np.asarray(self.policy.log_probs(states, commands), dtype=np.float64)

    def margins(self, commands: np.ndarray, foil: int) -> np.ndarray:
        scores = self.scores(commands)
        rivals = [a for a in self.decision.valid_actions if a != foil]
        return scores[:, foil] - scores[:, rivals].max(axis=1)

    def chosen(self, commands: np.ndarray) -> list[str]:
        valid = list(self.decision.valid_actions)
        return [self.actions[valid[i]] for i in self.scores(commands)[:, valid].argmax(axis=1)]

    def probabilities(self, command: np.ndarray) -> np.ndarray:
        valid = list(self.decision.valid_actions)
        scores, weights = self.scores(command[None])[0][valid], np.zeros(len(self.actions))
        weights[valid] = np.exp(scores - scores.max())
        return weights / weights.sum()

    def region(self) -> tuple[np.ndarray, np.ndarray]:
        command = self.decision.command
        if self.box is not None:
            return np.minimum(self.box.low, command), np.maximum(self.box.high, command)
        low, high = reachable_region(self.space, command, self.decision.collected)
        return low.copy(), high.copy()

    def within(self, low: np.ndarray, high: np.ndarray, count: int = SAMPLES) -> np.ndarray:
        """Return random commands (N, d) of a region, its corners among them; of preferences, those that sum to 1."""
        rng = np.random.default_rng(0)
        points = rng.uniform(low, high, size=(count, len(low)))
        if self.space.simplex:
            return self.space.project(points, low, high)
        return np.concatenate([points, list(itertools.product(*zip(low, high, strict=True)))])

    def remaining(self, command: np.ndarray) -> np.ndarray:
        """Return what is left here of a command for the whole episode."""
        if self.space.simplex:
            return command
        rest: np.ndarray = command - self.decision.collected
        if self.agent is not None and self.agent.horizon:
            elapsed = self.decision.step or round(float(self.decision.collected[-1]))
            rest[-1] = max(command[-1] - elapsed, 1.0)
        return rest

    def runs(self, command: np.ndarray, count: int = 200, seed: int = 0) -> tuple[np.ndarray, np.ndarray, float]:
        """Return the mean return of whole episodes, its standard error, and the share that ended by themselves."""
        key = command.tobytes(), count, seed
        if key not in self._runs:
            assert self.agent is not None
            env, count = self.agent.batch_env(), count if self.agent.environment.stochastic else 1
            seeds = np.random.default_rng(seed).integers(2**63, size=count, dtype=np.uint64)
            totals, ended, _ = play(self.agent, env, env.restore(self.decision.snapshot, seeds), command, count)
            totals = totals + self.decision.collected[: totals.shape[1]]
            error = totals.std(axis=0, ddof=1) / np.sqrt(count) if count > 1 else np.zeros(totals.shape[1])
            self._runs[key] = totals.mean(axis=0), error, float(ended.mean())
        return self._runs[key]  # type: ignore[no-any-return]

    def leads_here(self, command: np.ndarray) -> bool:
        """Return whether an episode under a command reaches the state, at the same step or with the same return."""
        assert self.agent is not None
        env = self.agent.batch_env()
        _, _, path = play(self.agent, env, env.reset(np.zeros(1, dtype=np.uint64)), command, 1)
        here = [i for i, (state, _) in enumerate(path) if np.array_equal(state, self.decision.state)]
        if self.decision.step:
            return self.decision.step in here
        size = len(self.agent.environment.objectives)
        return any(np.allclose(path[i][1], self.decision.collected[:size]) for i in here)


def play(agent: pf.Agent, env: Any, seen: Any, command: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray, list]:
    """Play episodes: returns (count, d), whether each ended by itself, and the states and returns of the first."""
    size = len(agent.environment.objectives)
    remaining = np.repeat(command[None], count, axis=0)
    totals, ended, path = np.zeros((count, size)), np.zeros(count, dtype=bool), []
    alive, observations, masks = np.arange(count), seen.observations, seen.masks
    while alive.size:
        if alive[0] == 0:
            path.append((observations[0].copy(), totals[0].copy()))
        scores = np.where(masks, agent.policy.log_probs(observations, remaining[alive]), -np.inf)
        step = env.step(alive, scores.argmax(axis=1))
        totals[alive] += step.rewards
        if not agent.space.simplex:
            remaining[alive, :size] -= step.rewards
            remaining[alive, size:] = np.maximum(remaining[alive, size:] - 1.0, 1.0)
        ended[alive] = step.terminated
        going = ~(step.terminated | step.truncated)
        alive, observations, masks = alive[going], step.observations[going], step.masks[going]
    return totals, ended, path


def unit(number: float, digits: int) -> float:
    """Return one unit of the last of so many significant digits."""
    return 10.0 ** (math.floor(math.log10(abs(number))) - digits + 1)


def is_rounded_up(text: str, number: float, digits: int) -> bool:
    return _is_rounded(reading.amount(text) - number, reading.amount(text), number, digits)


def is_rounded_down(text: str, number: float, digits: int) -> bool:
    return _is_rounded(number - reading.amount(text), reading.amount(text), number, digits)


def _is_rounded(off: float, written: float, number: float, digits: int) -> bool:
    last = unit(number, digits)
    whole = abs(written / last - round(written / last)) < 1e-6
    return whole and -1e-9 * number <= off < last * (1 - 1e-6)


def is_inward(written: tuple[float, float], low: float, high: float, digits: int, factor: float, *held: float) -> bool:
    """Return whether the ends of a range are rounded inwards to the digits of its width.

    An end may also be exact if it is short, or a number that the range must hold. The range is written in other units:
    `factor` of them are one.
    """
    place = min(1.0, unit((high - low) * factor, digits)) / factor
    near = 1e-9 * max(abs(low), abs(high))
    for sign, end, exact in ((1, written[0], low), (-1, written[1], high)):  # the upper end is a lower one, mirrored
        rounded = math.ceil(sign * exact / place - 1e-6) * place
        allowed = [rounded, *(sign * number for number in held if sign * exact - near <= sign * number < rounded)]
        if float(f"{factor * exact:.{digits}g}") == float(f"{factor * exact:.12g}"):
            allowed.append(sign * exact)
        if min(abs(sign * end - number) for number in allowed) > near:
            return False
    return True


class Reader:
    """Reads the sentences of a text, and checks each of them."""

    TABLE: ClassVar[str]

    def __init__(self, facts: Facts, text: str) -> None:
        self.facts, self.text, self.decision = facts, text, facts.decision
        self.objectives, self.preferences = facts.space.objectives, facts.space.simplex
        self.sentences = reading.read(text, self.TABLE)
        self.said = {sentence.kind: sentence.says for sentence in self.sentences}

    def examine(self) -> set[str]:
        """Check all sentences, and return their kinds."""
        self.check_whole()
        context = self.context()
        for sentence in self.sentences:
            if (key := (sentence.kind, sentence.words, context)) not in self.facts.passed:
                getattr(self, sentence.kind.replace(" ", "_"))(sentence.says)
                self.facts.passed.add(key)
        return set(self.said)

    def context(self) -> Any:
        """Return what the meaning of a sentence depends on beside its words."""
        return None

    def check_whole(self) -> None:
        """Check what is said by all sentences together."""

    def check_assumption(self, says: dict[str, str], assumed: float) -> None:
        assert ("assumed" in says) == (assumed > 0)
        assert not assumed or is_rounded_down(says["assumed"], assumed, 1)

    def check_spans(self, listed: str, low: np.ndarray, high: np.ndarray, digits: int, held: np.ndarray) -> set[int]:
        """Check the ends of ranges, and return their objectives; `held` (n, d) are commands that they hold."""
        written = reading.spans(listed, self.objectives)
        for i, ends in written.items():
            factor = 100.0 if self.objectives[i].probability else 1.0
            assert is_inward(ends, low[i], high[i], digits, factor, *held[:, i]), (listed, low, high)
        return set(written)

    def check_old(self, change: reading.Change, old: float, scale: float) -> None:
        """Check that an old number is right to its last digit, and to a twentieth of the change."""
        off = abs(change.old - old)
        assert off <= 1.001 * change.off + 1e-9 * scale
        assert off <= 0.05 * abs(change.new - old) + 1e-9 * scale
        assert (change.new - change.old) * (change.new - old) > 0
        if change.size is not None:
            assert abs(change.size - (change.new - change.old)) <= 1e-9 * abs(change.size)


class AnswerReader(Reader):
    """Reads the paragraph of an answer."""

    TABLE = "PATTERNS"

    def __init__(self, facts: Facts, answer: pf.Answer, text: str | None = None) -> None:
        super().__init__(facts, answer.paragraph() if text is None else text)
        self.answer, self.question = answer, answer.question
        self.kappa, self.foil = self.question.kappa, self.question.foil
        self.rng = np.random.default_rng(0)
        self.changes: dict[int, reading.Change] = {}
        if "change" in self.said:
            listed = self.said["change"]["changes"]
            read = reading.weight_changes(listed, self.objectives)[0] if self.preferences else None
            self.changes = reading.changes(listed, self.objectives) if read is None else read
        self.command = self.decision.command.copy()
        for i, change in self.changes.items():
            self.command[i] = change.new

    def context(self) -> Any:
        return tuple(s.words for s in self.sentences if s.kind in ("change", "never", "situation"))

    def check_whole(self) -> None:
        assert len(self.said) == len(self.sentences), "no sentence is said twice"
        assert ("change" in self.said) == (self.answer.command is not None)
        assert (self.command != self.decision.command).any() == (self.answer.command is not None)
        assert ("never" in self.said) == (self.answer.status is pf.Status.PROVEN_INFEASIBLE)
        if "doubt" in self.said:
            assert self.answer.lower_bound == 0
        if "caveat" in self.said:
            assert not {"attained", "never", "none"} & set(self.said)

    def quiet(self, says: dict[str, str]) -> None:
        """Return: `check_whole` checks what these sentences say."""

    doubt = advice = caveat = quiet

    def margins(self, commands: np.ndarray) -> np.ndarray:
        return self.facts.margins(commands, self.foil)

    def is_foil(self, says: dict[str, str]) -> bool:
        return says["foil"] == self.facts.actions[self.foil]

    def check_shares(self, says: dict[str, str], command: np.ndarray) -> None:
        names = self.facts.actions
        assert (says["measure"] == "value") == (self.question.values is not None)
        assert self.is_foil(says)
        assert names.index(says["chosen"]) == self.decision.action
        pairs = ((says["share"], self.decision.action), (says["foil_share"], self.foil))
        if says["measure"] == "probability":
            shares = self.facts.probabilities(command)
            assert all(reading.fits(text, shares[action]) for text, action in pairs), says
            return
        values = self.facts.scores(command[None])[0]
        for text, action in pairs:
            assert abs(reading.amount(text) - values[action]) <= 1.001 * reading.tolerance(text) + 1e-9, says

    def situation(self, says: dict[str, str]) -> None:
        self.check_shares(says, self.decision.command)
        if self.preferences:
            written = reading.weights(says["command"].removeprefix("With weights of "), self.objectives)
            assert set(written) == set(range(len(self.objectives)))
            assert all(abs(w - self.decision.command[i]) <= 1.001 * off + 1e-9 for i, (w, off) in written.items())
            return
        assert (" from here on" in says["command"]) == self.facts.later or says["command"].startswith("Already")
        listed = says["command"].replace(" from here on", "").replace(" and already ", " and Already ")
        remaining, _, excess = listed.removeprefix("Asked for ").partition("Already ")
        over = reading.quantities(excess, self.objectives).numbers if excess else {}
        for i, (number, off) in over.items():
            assert abs(number - self.decision.command[i]) <= off + 1e-9, says
            assert number * (-1 if self.objectives[i].cost else 1) < 0
        rest = [i for i in range(len(self.objectives)) if i not in over]
        self.check_quantities(remaining.removesuffix(" and "), self.decision.command, rest)

    def check_quantities(self, listed: str, numbers: np.ndarray, which: list[int] | None = None) -> None:
        """Check that numbers are right to their last digit, and that those of which nothing is said are 0."""
        which = list(range(len(numbers))) if which is None else which
        objectives = self.rewards[: len(numbers)]
        written = reading.quantities(listed, objectives) if listed else reading.Quantities()
        for i, (number, off) in written.numbers.items():
            assert abs(number - numbers[i]) <= 1.001 * off + 1e-9 * self.sizes[i], (listed, numbers)
        rest = [numbers[i] for i in which if i not in written.numbers]
        assert written.nothing_else == bool(rest)
        assert np.abs(rest).max(initial=0.0) < 1e-8

    @property
    def rewards(self) -> Sequence[Any]:
        """The objectives of returns: those of preferences have units."""
        agent = self.facts.agent
        return agent.environment.objectives if agent is not None and self.preferences else self.objectives

    @property
    def sizes(self) -> np.ndarray:
        return np.ones(len(self.rewards)) if self.preferences else self.facts.scale

    def change(self, says: dict[str, str]) -> None:
        assert np.abs(self.command - self.answer.command).max() <= 1e-9 * np.abs(self.answer.command).max()
        assert says["did"].startswith(self.facts.phrases[self.foil])
        assert ("here" in says) == (self.facts.later and not self.preferences)
        for i, change in self.changes.items():
            self.check_old(change, self.decision.command[i], self.facts.scale[i])
        if self.preferences:
            self.check_words(reading.weight_changes(says["changes"], self.objectives)[1])
            assert abs(self.command.sum() - 1) <= 1e-9
        for size in (1, 2, 7):
            margins = self.margins(np.repeat(self.command[None], size, axis=0))
            assert (margins >= self.kappa).all()
            assert (margins > 0).all()

    def check_words(self, words: dict[int, str]) -> None:
        moved = self.command - self.decision.command
        for sign, word in ((1, "more"), (-1, "less")):
            group = [i for i in words if words[i].endswith(word)]
            assert all(sign * moved[i] > 0 for i in group)
            little = bool(group) and np.abs(moved[group]).max() <= 0.1 + 1e-9
            assert all(words[i].startswith("a little ") == little for i in group)

    def outside(self, says: dict[str, str]) -> None:
        """Check the names; what was trained on is the agent's own box, whichever is searched."""
        beyond = np.flatnonzero(self.facts.space.outside(self.decision.command)).tolist()
        assert beyond == [reading.about(name, self.objectives) for name in reading.items(says["names"])]

    def never(self, says: dict[str, str]) -> None:
        assert self.is_foil(says)
        self.check_proof(says)
        restricted = bool(self.question.kept or self.question.held)
        assert ("inside" in says) == (not self.preferences or restricted)
        assert (self.margins(self.facts.within(*self.region(says))) < self.kappa).all()

    def none(self, says: dict[str, str]) -> None:
        assert self.is_foil(says)
        assert self.answer.status is pf.Status.NOT_FOUND

    def check_proof(self, says: dict[str, str]) -> None:
        assert float(says.get("margin", 0.0)) == self.kappa
        assert self.answer.proof is not None
        self.check_assumption(says, self.answer.proof.assumed)

    def region(self, says: dict[str, str]) -> tuple[np.ndarray, np.ndarray]:
        """Return the search region: what can still be fulfilled, or the paper's box, with what the text restricts."""
        command, (low, high) = self.decision.command, self.facts.region()
        fixed = self.named(says["kept"]) if "kept" in says else []
        if "alone" in says:
            fixed += [i for i in range(len(command)) if i not in self.named(says["alone"])]
        for i in fixed:
            low[i] = high[i] = command[i]
        if "held" in says:
            read = reading.weight_spans if self.preferences else reading.spans
            for i, ends in read(says["held"], self.objectives).items():
                factor = 100.0 if self.objectives[i].probability else 1.0
                limits = float(self.question.low[i]), float(self.question.high[i])
                assert is_inward(ends, *limits, 3, factor, command[i], self.written(i)), says
                low[i], high[i] = limits
        return low, high

    def written(self, i: int) -> float:
        """Return a number of the original command as it is written in the first sentence."""
        said = self.said.get("situation")
        if said is None or self.preferences:
            return float(self.decision.command[i])
        listed = said["command"].removeprefix("Asked for ").replace(" from here on", "")
        for part in filter(None, re.split(r"(?: and a|A)lready ", listed)):
            numbers = reading.quantities(part, self.objectives).numbers
            if i in numbers:
                return numbers[i][0]
        return float(self.decision.command[i])

    def named(self, names: str) -> list[int]:
        return [reading.about(name, self.objectives) for name in reading.items(names)]

    def its_region(self, says: dict[str, str]) -> None:
        low, high = self.region(self.said["never"])
        original = np.array([self.written(i) for i in range(len(low))])
        held = np.stack([self.decision.command, original])
        wide = self.check_spans(says["spans"], low, high, 3, held)
        for i, ends in reading.spans(says["spans"], self.objectives).items():
            assert ends[0] - 1e-12 <= original[i] <= ends[1] + 1e-12, "the region holds the command as it is written"
        rest = [i for i in range(len(low)) if i not in wide]
        assert (np.abs(high - low)[rest] <= 1e-6 * self.facts.scale[rest]).all()
        assert ("rest" in says) == bool(rest)
        assert ("here" in says) == self.facts.later

    def odds(self, says: dict[str, str]) -> None:
        assert self.is_foil(says)
        assert is_rounded_up(says["times"], math.exp(self.kappa), 3)

    def shares(self, says: dict[str, str]) -> None:
        self.check_shares(says, self.command)

    def unchanged(self, says: dict[str, str]) -> None:
        names = [o.name.lower() for o in self.objectives]
        prefix = "the weight of " if self.preferences else "the risk of "
        i = names.index(says["name"].lower().removeprefix(prefix).removeprefix("the chance of "))
        assert np.flatnonzero(self.command == self.decision.command).tolist() == [i]

    def others_unchanged(self, says: dict[str, str]) -> None:
        assert np.count_nonzero(self.command == self.decision.command) > 1
        assert (says["what"] == "weights") == self.preferences

    def consequence(self, says: dict[str, str]) -> None:
        assert ("whole" in says) == self.facts.later
        self.check_runs(says["led"], self.command, says)
        self.check_runs(says["before"], self.decision.command)
        old = self.facts.runs(self.decision.command)[0]
        size = len(old)
        asked = (self.decision.command + (0 if self.preferences else self.decision.collected))[:size]
        assert ("asked" in says) == bool((np.abs(old - asked) <= 1e-9 * self.sizes[:size] + 1e-5 * np.abs(old)).all())

    def same_consequence(self, says: dict[str, str]) -> None:
        self.check_runs(says["led"], self.command, says)
        self.check_runs(says["led"], self.decision.command)

    def check_runs(self, listed: str, command: np.ndarray, notes: dict[str, str] | None = None) -> None:
        """Check the outcome of a command and its errors, and the notes about its rollouts."""
        assert self.facts.agent is not None
        mean, error, finished = self.facts.runs(command)
        self.check_outcome(listed, mean, error)
        if notes is None:
            return
        count = notes.get("runs", notes.get("each"))
        assert (count == "200") == self.facts.agent.environment.stochastic == (count is not None)
        assert "each" not in notes or not error.any()
        if "stopped" in notes:
            assert reading.fits(notes.get("stopped_share", "100 %"), 1 - finished)

    def check_outcome(self, listed: str, mean: np.ndarray, error: np.ndarray) -> None:
        """Check the numbers of an outcome, and their errors, which have one digit."""
        self.check_quantities(listed, mean)
        for item in reading.items(listed):
            if "±" in item:
                objective = self.rewards[i := reading.about(item, self.rewards)]
                spread = (100 if objective.probability else 1) * error[i]
                decimals = max(0, -math.floor(math.log10(spread)))
                middle, text = re.search(r"([\d,.]+) ± ([\d,.]+)", item).groups()  # type: ignore[union-attr]
                assert len(text.partition(".")[2]) == len(middle.partition(".")[2]) == decimals
                assert abs(reading.amount(text) - spread) <= 0.5 * 10.0**-decimals + 1e-9

    def attainable(self, says: dict[str, str]) -> None:
        attainable = self.answer.rollouts.attainable  # type: ignore[union-attr]
        numbers = reading.quantities(says["command"], self.objectives).numbers
        asked = np.array([numbers[i][0] if i in numbers else 0.0 for i in range(len(self.objectives))])
        assert np.abs(asked - attainable.total).max() <= 1e-9 * np.abs(asked).max()  # type: ignore[union-attr,operator]
        assert ("whole" in says) == self.facts.later
        self.check_delivery(says, self.facts.remaining(asked))

    def closest_attainable(self, says: dict[str, str]) -> None:
        """Check that closer commands which ask for returns that the agent achieves are not attainable."""
        attainable = self.answer.rollouts.attainable  # type: ignore[union-attr]
        assert attainable is not None
        self.check_assumption(says, attainable.assumed)
        share = 100 * (1 - attainable.lower_bound / attainable.distance)  # type: ignore[operator]
        assert is_rounded_up(says["smaller"], max(share, 0.01), 2), (says, share)
        assert says.get("norm", "l2") == self.question.norm
        bound = attainable.distance * (1 - float(says["smaller"]) / 100)  # type: ignore[operator]
        self.check_none_delivers(1.0001 * bound, bound)

    def check_none_delivers(self, reach: float, bound: float) -> None:
        """Check returns under commands within reach, as commands: none that is closer than the bound is delivered."""
        question, scale = self.answer.question, self.facts.scale
        for command in np.random.default_rng(0).uniform(question.low, question.high, (5, len(scale))):
            change = (command - self.decision.command) / scale
            near = self.decision.command + change * min(1.0, reach / length(change, self.question.norm)) * scale
            achieved = self.facts.runs(near, 1, seed=2)[0] - self.decision.collected
            again = np.clip(achieved, question.low, question.high)
            missed = np.abs(self.facts.runs(again, 1, seed=2)[0] - self.decision.collected - again) / scale
            far = length((again - self.decision.command) / scale, self.question.norm) >= bound
            assert far or self.margins(again[None])[0] < self.kappa or (missed > 0.01).any()

    def attained(self, says: dict[str, str]) -> None:
        self.check_delivery(says, self.command)

    def not_attainable(self, says: dict[str, str]) -> None:
        assert self.is_foil(says)
        tried = int(says.get("tried", says.get("one", "0")).replace(",", ""))
        assert tried == self.answer.rollouts.attainable.num_rollouts  # type: ignore[union-attr]

    def none_attainable(self, says: dict[str, str]) -> None:
        """Check the claim at returns that the agent achieves, which are the commands that it may deliver."""
        assert self.is_foil(says)
        attainable = self.answer.rollouts.attainable  # type: ignore[union-attr]
        assert attainable is not None
        assert attainable.proven_none
        self.check_assumption(says, attainable.assumed)
        self.check_none_delivers(np.inf, np.inf)

    def check_delivery(self, says: dict[str, str], command: np.ndarray) -> None:
        """Check that the command, issued here, takes the foil and delivers what it asks for."""
        agent = self.facts.agent
        assert agent is not None
        assert "foil" not in says or self.is_foil(says)
        assert self.margins(command[None])[0] >= self.kappa - 1e-6
        assert ("horizon" in says) == agent.horizon
        stochastic = agent.environment.stochastic
        assert ("runs" in says or "each" in says) == stochastic
        assert ("mean" in says) == ("runs" in says)
        runs = int(says.get("runs", says.get("each", "1")).replace(",", ""))
        assert runs == (2000 if stochastic else 1)
        mean, error, _ = self.facts.runs(command, runs, seed=2)
        assert "each" not in says or not error.any()
        missed = np.abs(mean - (command + self.decision.collected)[: len(mean)])
        allowed = 1e-8 if "exactly" in says else 0.01 * agent.space.scale[: len(mean)] + 2 * error + 1e-9
        assert (missed <= allowed).all(), says
        assert ("nearly" in says) == (stochastic and bool((missed > error + 1e-9).any()))
        if "led" in says:
            self.check_outcome(says["led"], mean, error)

    def start(self, says: dict[str, str]) -> None:
        command = self.check_start(says)
        self.check_leads(says, command)

    def chance_start(self, says: dict[str, str]) -> None:
        self.check_start(says)
        assert self.facts.agent is not None
        assert self.facts.agent.environment.stochastic

    def check_start(self, says: dict[str, str]) -> np.ndarray:
        """Check the change of the command for the whole episode, and return the new one."""
        issued = self.decision.command + self.decision.collected
        command, changes = issued.copy(), reading.changes(says["changes"], self.objectives)
        for i, change in changes.items():
            self.check_old(change, issued[i], self.facts.scale[i])
            command[i] = change.new
        here = self.facts.remaining(command)
        assert (np.abs(here - self.command) <= 1e-7 * np.abs(self.command) + 1e-8).all()
        start = self.answer.rollouts.start.command  # type: ignore[union-attr]
        assert (np.abs(command - start) <= 1e-9 * np.maximum(np.abs(command), self.facts.scale)).all()
        return command

    def check_leads(self, says: dict[str, str], command: np.ndarray) -> None:
        assert self.facts.leads_here(command) == says["leads"].startswith("also")

    def same_start(self, says: dict[str, str]) -> None:
        assert self.preferences or not self.decision.collected.any()
        self.check_leads(says, self.command)

    def same_chance_start(self, says: dict[str, str]) -> None:
        assert self.preferences or not self.decision.collected.any()
        assert self.facts.agent is not None
        assert self.facts.agent.environment.stochastic

    def range(self, says: dict[str, str]) -> None:
        proven = self.answer.proven_range
        assert proven is not None
        assert self.is_foil(says)
        self.check_assumption(says, proven.assumed)
        low, high = self.command.copy(), self.command.copy()
        wide = self.check_spans(says["spans"], proven.low, proven.high, 2, self.command[None])
        for i, (lowest, highest) in reading.spans(says["spans"], self.objectives).items():
            low[i], high[i] = lowest, highest
        assert ("rest" in says) == (len(wide) < len(low))
        assert ("here" in says) == self.facts.later
        assert (self.margins(self.facts.within(low, high)) >= self.kappa).all(), says

    def weights_range(self, says: dict[str, str]) -> None:
        proven, names = self.answer.proven_range, [o.name for o in self.objectives]
        assert proven is not None
        assert self.is_foil(says)
        self.check_assumption(says, proven.assumed)
        low, high = np.full(len(names), np.nan), np.full(len(names), np.nan)
        for i, ends in reading.weight_spans(says["weights"], self.objectives).items():
            assert is_inward(ends, proven.low[i], proven.high[i], 2, 1.0, self.command[i]), says
            low[i], high[i] = ends
        for words in reading.items(says["others"]) if "others" in says else ():
            name, at, number = re.fullmatch(r"(.+?) (?:unchanged|(at) (.+))", words).groups()  # type: ignore[union-attr]
            i = names.index(name)
            low[i] = high[i] = reading.amount(number) if at else self.decision.command[i]
            assert abs(low[i] - self.command[i]) <= 1e-12
        assert np.isfinite(low).all(), "something is said of every weight"
        assert (self.margins(self.facts.within(low, high)) >= self.kappa).all(), says

    def proof(self, says: dict[str, str]) -> None:
        self.check_bound(says)
        closest = self.answer.closest
        assert ("rounded" in says) == bool((self.answer.command != closest.command).any())  # type: ignore[union-attr]

    def measured(self, says: dict[str, str]) -> None:
        assert self.answer.proof is not None
        assert self.answer.proof.assumed > 0
        assert says["why"] == self.answer.proof.why_measured

    def gap(self, says: dict[str, str]) -> None:
        self.check_bound(says)

    def check_bound(self, says: dict[str, str]) -> None:
        """Check that no command of the region that is closer than the bound makes the foil win by the margin."""
        self.check_proof(says)
        assert says.get("norm", "l2") == self.question.norm
        towards = (self.command - self.decision.command) / self.facts.scale
        size = float(length(towards, self.question.norm))
        share = 100 * (1 - self.answer.lower_bound / size)
        assert is_rounded_up(says["smaller"], max(share, 0.01), 2), (says, share)
        directions = self.rng.normal(size=(SAMPLES, len(self.command)))
        directions[::2] = towards + 0.1 * size * directions[::2]  # most where it is likeliest
        self.check_closer(self.region(says), size * (1 - float(says["smaller"]) / 100), directions)

    def check_closer(self, region: tuple[np.ndarray, np.ndarray], bound: float, directions: np.ndarray) -> None:
        """Check that no command in these directions that is closer than the bound makes the foil win by the margin."""
        scale, norm = self.facts.scale, self.question.norm
        if self.preferences:
            directions = directions - directions.mean(axis=1, keepdims=True)
        low, high = ((side - self.decision.command) / scale for side in region)
        reach = self.rng.random((len(directions), 1)) ** 0.2 * bound
        closer = directions / length(directions, norm)[:, None] * reach
        if self.preferences:  # what lies outside is left out: clipped weights do not sum to 1
            closer = closer[((closer >= low) & (closer <= high)).all(axis=1)]
        closer = np.clip(closer, low, high)
        if len(closer):
            assert (self.margins(self.decision.command + closer * scale) < self.kappa).all()

    def tolerance(self, says: dict[str, str]) -> None:
        self.check_proof(says)
        size = float(length((self.command - self.decision.command) / self.facts.scale, self.question.norm))
        assert says.get("norm", "l2") == self.question.norm
        assert abs(reading.amount(says["distance"]) - size) <= 1.001 * reading.tolerance(says["distance"])

    def fewer(self, says: dict[str, str]) -> None:
        count = 1 + len(self.answer.alternatives)
        assert int(says["wanted"]) == self.answer.requested > count == int(says.get("count", 1))

    def stop(self, says: dict[str, str]) -> None:
        assert self.answer.search.stop.early
        assert self.answer.search.stop.sentence in self.text

    def more_time(self, says: dict[str, str]) -> None:
        assert self.answer.search.stop.early
        assert self.answer.status is pf.Status.FOUND

    def bounded(self, says: dict[str, str]) -> None:
        self.check_queries(says)
        self.check_proof(says)
        assert is_rounded_down(says["bound"], self.answer.lower_bound, 3)
        directions = self.rng.normal(size=(SAMPLES, len(self.command)))
        self.check_closer(self.region(self.said.get("none", {})), float(says["bound"]), directions)

    def spent(self, says: dict[str, str]) -> None:
        self.check_queries(says)
        assert "nothing" not in says or self.answer.proof is None

    def check_queries(self, says: dict[str, str]) -> None:
        assert int(says["queries"].replace(",", "")) == sum(self.answer.search.queries.values())


class InfluenceReader(Reader):
    """Reads the sentences about influence in one state."""

    TABLE = "INFLUENCE"

    def __init__(self, facts: Facts, influence: Influence, text: str | None = None) -> None:
        super().__init__(facts, str(influence) if text is None else text)
        self.influence = influence
        self.low, self.high = facts.region()

    def check_whole(self) -> None:
        kinds = [s.kind for s in self.sentences if s.kind != "alone"]
        assert len(set(kinds)) == len(kinds), "no sentence is said twice"
        assert ("inert" in self.said) == (self.influence.verdict == "inert" and len(self.influence.shares) > 1)
        whole = self.preferences or "single" in self.said or not (self.high > self.low).any()
        assert whole or "its region" in self.said
        expected = [line for line in self.influence.alone if line.down is not None or line.up is not None]
        assert sum(s.kind == "alone" for s in self.sentences) == (len(expected) if "shares" in self.said else 0)

    def chosen(self) -> list[str]:
        """Return the action under each of many random commands of the search region."""
        rng, size = np.random.default_rng(0), len(self.low)
        if self.facts.drawn is None:
            weights = rng.dirichlet(np.ones(size), size=4 * SAMPLES)
            commands = weights if self.preferences else rng.uniform(self.low, self.high, size=(4 * SAMPLES, size))
            self.facts.drawn = self.facts.chosen(commands)
        return self.facts.drawn

    def check_action(self, says: dict[str, str]) -> None:
        assert says["action"] == self.facts.actions[self.decision.action]

    def inert(self, says: dict[str, str]) -> None:
        self.check_action(says)
        self.check_assumption(says, self.influence.assumed)
        assert ("inside" in says) == (not self.preferences)
        assert set(self.chosen()) == {says["action"]}

    def single(self, says: dict[str, str]) -> None:
        self.check_action(says)
        assert len(self.decision.valid_actions) == 1

    def open(self, says: dict[str, str]) -> None:
        self.check_action(says)

    def sampled(self, says: dict[str, str]) -> None:
        assert int(says["samples"].replace(",", "")) == self.influence.samples
        assert self.influence.share_of(self.decision.action).sampled == self.influence.samples

    def its_region(self, says: dict[str, str]) -> None:
        assert ("here" in says) == self.facts.later
        command = self.decision.command
        held = np.array([[command[i], self.rounded(i)] for i in range(len(command))]).T
        wide = self.check_spans(says["spans"], self.low, self.high, 3, held)
        rest = [i for i in range(len(self.low)) if i not in wide]
        assert (np.abs(self.high - self.low)[rest] <= 1e-6 * self.facts.scale[rest]).all()
        assert ("rest" in says) == bool(rest)

    def rounded(self, i: int) -> float:
        """Return a number of the command in three digits."""
        factor = 100 if self.objectives[i].probability else 1
        return float(f"{factor * self.decision.command[i]:.3g}") / factor

    def shares(self, says: dict[str, str]) -> None:
        """Check each share: as it was computed, and on random commands of the region."""
        listed = says["shares"]
        parts = re.split(r"(?:, | and )(?=(?:about \d|at (?:most|least) |-?\d+ |-?\d+ to|none ))(?![^(]*\))", listed)
        chosen, actions = self.chosen(), []
        for i, part in enumerate(parts):
            match = re.fullmatch(
                rf"(?:{reading.PART}|(?P<none>none)){f' {reading.OF}' if not i else ''} (?P<a>.+)", part
            )
            assert match, (part, listed)
            name, _, now = match["a"].partition(" (as now)")
            name = name.strip('"')
            assert bool(match["a"].endswith(" (as now)")) == (name == self.facts.actions[self.decision.action])
            assert not now
            actions.append(self.facts.actions.index(name))
            share = self.influence.share_of(actions[-1])
            count, truth = chosen.count(name), chosen.count(name) / len(chosen)
            off = 1e-3 + 4.5 * math.sqrt(max(truth * (1 - truth), 1e-3) / len(chosen))
            assert share.lower - off <= truth <= share.upper + off, (part, truth)
            if match["none"]:
                assert share.upper == 0 == count
            elif match["sure"]:
                assert share.upper - share.lower <= 0.1
                assert reading.fits_span(match["sure"], share.lower, share.upper)
            else:
                self.check_sampled(match, share, truth)
        assert sorted(actions) == sorted(self.decision.valid_actions)
        wide = any(share.upper - share.lower > 0.1 for share in self.influence.shares)
        text = next(s.words for s in self.sentences if s.kind == "shares")
        assert bool(re.search(r"\(proven[^()]*\)\.$", text)) != wide
        if not wide:
            self.check_assumption(says, self.influence.assumed)

    def check_sampled(self, match: re.Match[str], share: Any, truth: float) -> None:
        samples = self.influence.samples
        assert abs(int(match["about"]) - 100 * share.sampled / samples) <= 0.5 + 1e-9
        likely = binomtest(share.sampled, samples).proportion_ci(0.95, "exact")
        assert reading.fits_span(match["likely"], likely.low, likely.high)
        assert abs(share.sampled / samples - truth) <= 1e-3 + 4.5 * math.sqrt(0.25 / samples + 0.25 / (4 * SAMPLES))
        assert (match["bounds"] is not None) == (share.upper - share.lower <= 0.9)
        assert match["bounds"] is None or reading.fits_span(match["bounds"], share.lower, share.upper)

    def none_alone(self, says: dict[str, str]) -> None:
        words = next(s.words for s in self.sentences if s.kind == "none alone")
        assert ("(proven" in words) == all(line.upper == 0 for line in self.influence.alone)
        for i in np.flatnonzero(self.high > self.low).tolist() if "(proven" in words else ():
            commands = np.repeat(self.decision.command[None], SAMPLES, axis=0)
            commands[:, i] = np.linspace(self.low[i], self.high[i], SAMPLES)
            assert set(self.facts.chosen(commands)) == {self.facts.actions[self.decision.action]}

    def alone(self, says: dict[str, str]) -> None:
        name = says["name"].removeprefix("the weight of ") if self.preferences else says["name"]
        names = [o.name for o in self.objectives]
        i = names.index(name) if self.preferences else reading.about(name, self.objectives)
        line = next(line for line in self.influence.alone if line.objective == i)
        switches = [switch for switch in (line.down, line.up) if switch is not None]
        texts = says["switches"].split(", ")
        assert len(texts) == len(switches)
        for k, (text, switch) in enumerate(zip(texts, switches, strict=True)):
            words, here, action = re.fullmatch(  # type: ignore[union-attr]
                r"(.+?)( from here on)? makes (?:the agent|it) choose (.+)", text
            ).groups()
            assert bool(here) == (k == 0 and self.facts.later and not self.preferences)
            new, _, old = words.partition(" instead of ")
            assert bool(old) == (k == 0)
            value = self.number(new, i)
            assert abs(value - switch.value) <= 1e-9 * abs(value)
            if old:
                change = reading.Change(self.number(old, i), value, self.tolerance(old, i))
                self.check_old(change, self.decision.command[i], self.facts.scale[i])
            [chosen] = self.facts.chosen(self.with_value(i, value)[None])
            assert chosen == action.strip('"') != self.facts.actions[self.decision.action]

    def number(self, text: str, i: int) -> float:
        if not self.preferences:
            return reading.number(text, self.objectives[i])
        text = text.removeprefix("a weight of ").removesuffix(f" for {self.objectives[i].name}")
        return reading.amount(text)

    def tolerance(self, text: str, i: int) -> float:
        return reading.tolerance(text, None if self.preferences else self.objectives[i])

    def with_value(self, i: int, value: float) -> np.ndarray:
        """Return the command with another number; other weights change in proportion."""
        command = self.decision.command.copy()
        if self.preferences:
            others = np.arange(len(command)) != i
            rest = command[others].sum()
            command[others] *= (1 - value) / rest if rest else 0.0
        command[i] = value
        return command

    def together(self, says: dict[str, str]) -> None:
        nearest = self.influence.nearest
        assert nearest is not None
        command = self.decision.command.copy()
        if self.preferences:
            for item in reading.items(says["changes"]):
                new, old, name = re.fullmatch(  # type: ignore[union-attr]
                    r"[aA] weight of (.+) for (.+) instead of (.+)", item
                ).group(1, 3, 2)
                i = [o.name for o in self.objectives].index(name)
                command[i] = reading.amount(new)
                change = reading.Change(reading.amount(old), command[i], reading.tolerance(old))
                self.check_old(change, self.decision.command[i], 1.0)
        else:
            for i, change in reading.changes(says["changes"], self.objectives).items():
                self.check_old(change, self.decision.command[i], self.facts.scale[i])
                command[i] = change.new
            assert ("here" in says) == self.facts.later
        assert (np.abs(command - nearest.command) <= 1e-9 * np.abs(command)).all()
        assert self.facts.chosen(command[None]) == [says["action"]] != [self.facts.actions[self.decision.action]]


class NeverReader(Reader):
    """Reads the sentences about an action in many states; `decisions` are those states."""

    TABLE = "NEVER"

    def __init__(
        self, agent: pf.Agent, decisions: Sequence[pf.Decision], claim: Never, text: str | None = None
    ) -> None:
        super().__init__(Facts.of(agent, decisions[0]), claim.sentence() if text is None else text)
        self.agent, self.claim = agent, claim
        self.action = agent.actions.index(claim.action)
        different = {decision.state.tobytes(): decision for decision in decisions}
        self.visited = len(different)
        self.valid = [decision for decision in different.values() if self.action in decision.valid_actions]
        states = np.stack([decision.state for decision in different.values()]).astype(np.float64)
        self.around = claim.width * np.ptp(states, axis=0) / 2

    def check_whole(self) -> None:
        whole = self.preferences and not self.claim.low.any() and bool((self.claim.high == 1).all())
        assert ("its region" in self.said) == (bool(self.valid) and not self.preferences)
        assert whole or not self.valid or "in the search region" in self.text or not self.claim.proven.any()

    def invalid(self, says: dict[str, str]) -> None:
        assert not self.valid
        assert says["action"] == self.claim.action
        assert int(says["visited"].replace(",", "")) == self.visited

    def check_states(self, says: dict[str, str]) -> None:
        assert says["action"] == self.claim.action
        count = 1 if says["count"] == "only" else int(says["count"].replace(",", ""))
        assert count == len(self.valid) == len(self.claim.states)
        assert (says["count"] == "only") == (count == 1)
        assert ("width" in says) == (self.claim.width > 0)
        assert "width" not in says or float(says["width"]) == 100 * self.claim.width

    def chosen(self, decision: pf.Decision, states: np.ndarray, commands: np.ndarray) -> np.ndarray:
        """Return whether the action is chosen in states (N, S) under commands (N, d)."""
        scores = self.agent.policy.log_probs(states.astype(np.float32), commands)[:, list(decision.valid_actions)]
        return np.asarray(scores.argmax(axis=1) == decision.valid_actions.index(self.action))

    def check_proofs(self) -> tuple[int, int, int]:
        """Check each state, and return in how many the action is chosen, never chosen, or undecided."""
        rng, claim, counts = np.random.default_rng(0), self.claim, [0, 0, 0]
        for decision, proven, example in zip(self.valid, claim.proven, claim.counterexamples, strict=True):
            counts[0 if example is not None else 1 if proven else 2] += 1
            if example is not None:
                assert (np.abs(example.state - decision.state) <= self.around + 1e-6).all()
                assert (example.command >= claim.low - 1e-12).all()
                assert (example.command <= claim.high + 1e-12).all()
                assert self.chosen(decision, example.state[None], example.command[None])[0]
            elif proven and (key := (decision.state.tobytes(), "proven")) not in self.facts.passed:
                commands = self.facts.within(claim.low, claim.high, 500)
                states = decision.state + rng.uniform(-1, 1, size=(len(commands), len(self.around))) * self.around
                assert not self.chosen(decision, states, commands).any()
                self.facts.passed.add(key)
        return counts[0], counts[1], counts[2]

    def never(self, says: dict[str, str]) -> None:
        self.check_states(says)
        self.check_assumption(says, self.claim.assumed)
        assert self.check_proofs() == (0, len(self.valid), 0)

    def some(self, says: dict[str, str]) -> None:
        self.check_states(says)
        first, *others = says["verdicts"].split("; ")
        name = re.escape(self.claim.action)
        written = {verdict_of(first, name): says.get("first", "all")}
        for part in others:
            count, verdict = re.fullmatch(r"in ([\d,]+) (.+)", part).groups()  # type: ignore[union-attr]
            written[verdict_of(verdict, name)] = count
        total = len(self.valid)
        for verdict, count in zip(("some", "no", "open"), self.check_proofs(), strict=True):
            text = written.pop(verdict, "0").replace(",", "")
            assert (total if text == "all" else int(text)) == count
        assert not written
        proven = [part for part in (first, *others) if "(proven" in part]
        for part in proven:
            match = re.search(reading.PROVEN, part)
            assert match
            self.check_assumption({k: v for k, v in match.groupdict().items() if v}, self.claim.assumed)

    def its_region(self, says: dict[str, str]) -> None:
        assert "here" not in says
        wide = self.check_spans(says["spans"], self.claim.low, self.claim.high, 3, np.zeros((0, len(self.claim.low))))
        assert ("rest" in says) == (len(wide) < len(self.claim.low))


def verdict_of(text: str, action: str) -> str:
    """Return whether a part of a sentence says that some command, or no command, leads to the action, or neither."""
    if re.fullmatch(rf"some (?:command makes|preferences make) the agent choose {action}", text):
        return "some"
    if re.fullmatch(rf"no (?:command|preferences)(?: in the search region)? do(?:es)? {reading.PROVEN}", text):
        return "no"
    assert re.fullmatch(
        rf"it is undecided whether any (?:command makes|preferences make) the agent choose {action}", text
    ), text
    return "open"


AT = r"at t = (?P<steps>[\d, ]+)"


class FlipMapReader:
    """Reads the table of a flip map, and its summary."""

    def __init__(self, agent: pf.Agent, episode: pf.Episode, flips: Any, text: str | None = None) -> None:
        self.agent, self.episode, self.flips = agent, episode, flips
        self.text = flip_map_text(flips) if text is None else text
        self.facts = [Facts.of(agent, decision) for decision in episode]

    def examine(self) -> set[str]:
        lines, flips = self.text.split("\n"), self.flips
        steps = sorted(set(flips.steps))
        self.answers = {
            (step, answer.question.foil): answer for step, answer in zip(flips.steps, flips.answers, strict=True)
        }
        assert sorted(self.answers) == [(d.step, foil) for d in self.episode for foil in d.others]
        assert lines[0].split() == ["t", "chosen", *" ".join(self.agent.actions).split()]
        for step, line in zip(steps, lines[1:], strict=False):
            self.check_line(self.episode[step], line)
        return self.check_summary(lines[1 + len(steps) :])

    def distance(self, step: int, answer: pf.Answer) -> float:
        change = (answer.command - self.episode[step].command) / self.agent.space.scale  # type: ignore[operator]
        return float(length(change, answer.question.norm))

    def check_line(self, decision: pf.Decision, line: str) -> None:
        names = self.agent.actions
        head, cells = line.split(), []
        assert int(head[0]) == decision.step
        for action, name in enumerate(names):
            answer = self.answers.get((decision.step, action))
            if answer is None:
                cells.append("chosen" if action == decision.action else "·")
            elif answer.command is None:
                cells.append("infeasible" if answer.status is pf.Status.PROVEN_INFEASIBLE else "not found")
            else:
                cells.append(f"{self.distance(decision.step, answer):.3f}")
                assert Facts.of(self.agent, decision).chosen(answer.command[None]) == [name]
        assert line.split() == f"{decision.step} {names[decision.action]} {' '.join(cells)}".split()

    def check_summary(self, lines: list[str]) -> set[str]:
        kinds, shown = set(), []
        for line in lines:
            if line.startswith("The smallest changes:"):
                kinds.add("smallest")
            elif match := re.fullmatch(r"  t = (\d+): (.+)", line):
                shown.append((int(match[1]), match[2]))
            elif match := re.fullmatch(
                rf"No command in the search region changes the action {reading.PROVEN} {AT}\.", line
            ):
                kinds.add("proven")
                assert float(match["margin"] or 0.0) == self.flips.answers[0].question.kappa
                assert match["assumed"] is None
                assert self.steps(match) == self.without(lambda a: a.status is not pf.Status.PROVEN_INFEASIBLE)
                self.check_proven(self.steps(match))
            elif match := re.fullmatch(rf"No command was found that changes the action {AT} \(not proven\)\.", line):
                kinds.add("open")
                proven = self.without(lambda a: a.status is not pf.Status.PROVEN_INFEASIBLE)
                assert self.steps(match) == [i for i in self.without(lambda a: a.found) if i not in proven]
            else:
                assert line == "Every step has only one valid action.", line
        pairs = [(self.distance(step, a), step, a) for (step, _), a in self.answers.items() if a.found]
        smallest = sorted(pairs, key=lambda pair: pair[:2])[:3]
        assert len(shown) == len(smallest)
        for (step, words), (_, right, answer) in zip(shown, smallest, strict=True):
            assert step == right
            AnswerReader(self.facts[step], answer, words).examine()
        return kinds

    def steps(self, match: re.Match[str]) -> list[int]:
        return [int(step) for step in match["steps"].split(", ")]

    def without(self, condition: Any) -> list[int]:
        """Return the steps with foils, of which no answer fulfils a condition."""
        steps = {step for step, _ in self.answers}
        return sorted(steps - {step for (step, _), a in self.answers.items() if condition(a)})

    def check_proven(self, steps: list[int]) -> None:
        for step in steps:
            facts = self.facts[step]
            kappa = max(a.question.kappa for (at, _), a in self.answers.items() if at == step)
            for foil in facts.decision.others:
                assert (facts.margins(facts.within(*facts.region(), 200), foil) < kappa).all()


def flip_map_text(flips: Any) -> str:
    """Return the table and the summary, as the command line prints them."""
    table = FlipMapLines(flips.actions, len(flips.taken))
    steps = {step: [a for s, a in zip(flips.steps, flips.answers, strict=True) if s == step] for step in flips.steps}
    lines = [table.line(step, flips.taken[step], answers) for step, answers in sorted(steps.items())]
    return "\n".join([table.head, *lines, summary(flips)])


class ProfileReader:
    """Reads the summary of the influence along an episode."""

    def __init__(self, agent: pf.Agent, episode: pf.Episode, profile: Any, text: str | None = None) -> None:
        self.profile, self.text = profile, str(profile) if text is None else text
        self.facts = [Facts.of(agent, decision) for decision in episode]

    def examine(self) -> set[str]:
        first, *lines = self.text.split("\n")
        steps = {verdict: [i.step for i in self.profile.steps if i.verdict == verdict] for verdict in VERDICTS}
        count, total = re.fullmatch(r"The (?:command|preferences) matters? at (\d+) of (\d+) steps?\.", first).groups()  # type: ignore[union-attr]
        assert int(count) == len(steps["decides"])
        assert int(total) == len(self.profile.steps) == len(self.facts)
        kinds = {"count"}
        for line in lines:
            if match := re.fullmatch(r"Most at t = (\d+): (.+)", line):
                kinds.add("most")
                influence = self.profile.steps[int(match[1])]
                shares = [1 - i.share_of(i.chosen).sampled / i.samples for i in self.profile.steps]
                assert shares[int(match[1])] >= max(shares) - 0.05
                InfluenceReader(self.facts[int(match[1])], influence, match[2]).examine()
            elif match := re.fullmatch(rf"No .+ chang.+ the action {reading.PROVEN} {AT}\.", line):
                assert match["margin"] is match["assumed"] is None
                kinds.add("inert")
                assert [int(step) for step in match["steps"].split(", ")] == steps["inert"]
                for step in steps["inert"]:
                    InfluenceReader(self.facts[step], self.profile.steps[step]).examine()
            else:
                match = re.fullmatch(rf"No .+ found that chang.+ the action {AT} \(not proven\)\.", line)
                assert match, line
                assert [int(step) for step in match["steps"].split(", ")] == steps["open"]
        return kinds


VERDICTS = ("decides", "inert", "open")
