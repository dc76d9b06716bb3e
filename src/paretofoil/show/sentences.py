"""Answers in words.

Every number is about the quoted command. "From here on" marks a return that is still to be collected after the first
step of an episode; "the whole episode" marks the return from its start.
"""

import math
import re
from collections.abc import Mapping, Sequence

import numpy as np

from paretofoil.core.answer import (
    DELIVERED,
    Answer,
    Attainable,
    Consequence,
    Counterfactual,
    ProvenRange,
    Rollouts,
    Start,
    Status,
)
from paretofoil.core.command import Objective
from paretofoil.core.options import Stop
from paretofoil.show.numbers import (
    DIGITS,
    action_name,
    beside,
    change,
    change_of_features,
    clean,
    exact,
    exact_quantity,
    free_numbers,
    inward,
    join,
    listing,
    mean_quantity,
    name_of,
    number_of,
    only_features,
    percent,
    proven,
    quantity,
    region,
    rounded_down,
    rounded_up,
    short,
    short_change,
    span,
    tidy,
)

MANY = 3
"""If at least this many objectives change, each is given by its new and its old number only."""
LITTLE = 0.1
"""A change of weights by at most this is called "a little"."""
LARGE_KAPPA = 20.0
"""A larger margin is not given as a ratio of probabilities, whose number would be too long to read."""
EXACT = 1e-9
"""A return that misses by at most this share of an objective's range counts as exact."""
VALUE_DIGITS = 7
"""The most digits of a value that are shown: float32 has no more."""
CAVEAT = "The agent may not be able to achieve what this command asks for."
FEATURE_CAVEAT = "The rest of the state is unchanged; whether such a state occurs is not checked."


def one_line(answer: Answer) -> str:
    """Return the answer in one sentence."""
    return _Words(answer).one_line()


def sections(answer: Answer) -> dict[str, str]:
    """Return the answer at length, by topic. The first text, without a topic, is the answer in one sentence.

    The topics are what the agent does now, the rollout after the change, the proven range, the search and its proof,
    and the advice about an attainable command.
    """
    return _Words(answer).sections()


def paragraph(answer: Answer) -> str:
    """Return the answer at length, as one text."""
    texts = sections(answer)
    return _text([texts.pop("Now"), *texts.values()])


def advice(answer: Answer) -> str:
    """Return the sentence about the attainable command; empty if none was searched for.

    "To make the agent choose down and get what you ask for, ask for 5 treasure in 7 steps: it then delivers exactly
    that."
    """
    return _Words(answer).advice()


def question_title(answer: Answer) -> str:
    """Return text such as "deep-sea-treasure, t = 5: why right and not down?" """
    question = answer.question
    place = question.agent if question.step is None else f"{question.agent}, t = {question.step}"
    if question.outcome is not None:
        return f'{place}: why not "{question.outcome}"?'
    chosen, foil = map(action_name, (question.actions[question.chosen], question.foil_name))
    if question.amounts:
        chosen = join(list(_Words(answer).amounts(question.values).values()))
    return f"{place}: why {chosen} and not {foil}?" if question.agent else f"Why {chosen} and not {foil}?"


def delivers(answer: Answer) -> bool:
    """Return whether the quoted command is itself attainable."""
    attainable = None if answer.rollouts is None else answer.rollouts.attainable
    if attainable is None or attainable.command is None or answer.command is None:
        return False
    return np.array_equal(attainable.command, answer.command)


def _text(sentences: Sequence[str]) -> str:
    return " ".join(filter(None, sentences))


def _texts(sections: Mapping[str, Sequence[str]]) -> dict[str, str]:
    texts = {topic: _text(sentences) for topic, sentences in sections.items()}
    return {topic: text for topic, text in texts.items() if text}


def _changes(objectives: Sequence[Objective], before: np.ndarray, after: np.ndarray) -> str:
    """Return text such as "1.7 less treasure (6.3 instead of 8) and 2 fewer steps (6 instead of 8)"."""
    triples = [(o, float(old), float(new)) for o, old, new in zip(objectives, before, after, strict=True) if old != new]
    write = change if len(triples) < MANY else short_change
    return join([write(*triple) for triple in triples])


def _weight_changes(objectives: Sequence[Objective], before: np.ndarray, after: np.ndarray) -> str:
    """Return text such as "cared a little more about fuel (0.31 instead of 0.25) and less about ore"."""
    parts = []
    for word, sign in (("more", 1.0), ("less", -1.0)):
        moved = np.flatnonzero(sign * (after - before) > 0).tolist()
        if moved:
            triples = [(objectives[i].name, float(before[i]), float(after[i])) for i in moved]
            weights = [f"{name} ({clean(new)} instead of {beside(old, new)})" for name, old, new in triples]
            little = "a little " if np.abs(after - before)[moved].max() <= LITTLE + 1e-9 else ""
            parts.append(f"{little}{word} about {join(weights)}")
    return f"cared {', and '.join(parts) if any(' and ' in part for part in parts) else join(parts)}"


def _percent_smaller(bound: float, distance: float) -> str:
    """Return the percentage by which another change could at most be smaller: rounded up, and at least 0.01."""
    return rounded_up(max(100 * (1 - bound / distance), 0.01), 2) if distance else "0.01"


def _in_linf(answer: Answer) -> str:
    """Return the sentences about the answer that is proven in the norm linf."""
    words, quoted = _Words(answer), answer.quoted
    if quoted is None:
        return ""
    norm = "the linf norm counts only the largest change of a number as a share of its range"
    return _text([f"In another norm, the closest command is proven: {norm}.", words.one_line(), words._proof(quoted)])


class _Words:
    """The sentences about one answer."""

    def __init__(self, answer: Answer) -> None:
        self.answer, self.question = answer, answer.question
        self.objectives, self.preferences = self.question.objectives, self.question.preferences
        self.features = np.array([o.feature for o in self.objectives])
        self.only_features = only_features(self.objectives)
        self.low, self.high = self.question.low, self.question.high
        self.rollouts = answer.rollouts or Rollouts()
        start = self.rollouts.start
        issued = self.question.command if start is None else start.issued
        self.original = tidy(self.question.command, self.low, self.high, issued)
        self.later = self.question.later
        self.numbers, self.several = free_numbers(self.objectives, preferences=self.preferences)
        self.here = " from here on" if self.later and not (self.preferences or self.only_features) else ""
        self.foil = action_name(self.question.foil_name)
        self.chosen = action_name(self.question.actions[self.question.chosen])
        least = self.question.probability
        self.share = f" with a probability of at least {clean(100 * least)} %" if least else ""
        self.choice = f"{self.foil}{self.share}"
        self.actions = [self.question.chosen, *(() if self.question.foil is None else (self.question.foil,))]
        self.outcome = None if self.question.outcome is None else f'"{self.question.outcome}"'
        self.measure = "probability" if self.question.values is None else "value"
        self.sizes = np.maximum(np.abs(self.low), np.abs(self.high))
        self.everywhere = self.preferences and not self.low.any() and bool((self.high == 1).all())
        """Whether all preferences were searched."""
        of = " of the action's range" if self.question.amounts else ""
        self.proven = proven(0.0 if answer.proof is None else answer.proof.assumed, self.question.kappa, of)
        self.reason = answer.search.stop.sentence if answer.search.stop.early else ""

    def one_line(self) -> str:
        if self.answer.quoted is not None:
            would = f"agent would have {self._instead()}" if self.outcome is None else self._would_meet()
            return f"{self._condition(self.answer.quoted.command)}, the {would}."
        foil = f"the agent choose {self.choice} in this state{self._restrictions()}"
        if self.outcome is not None:
            here = " if it is issued here" if self.later else ""
            foil = f"the episode meet {self.outcome}{here}{self._restrictions()}"
        if self.answer.status is Status.PROVEN_INFEASIBLE:
            inside = "" if self.everywhere else " in the search region"
            return f"No {self.numbers}{inside} {'make' if self.several else 'makes'} {foil} ({self.proven})."
        return f"No {self.numbers} {'were found that make' if self.several else 'was found that makes'} {foil}."

    def sections(self) -> dict[str, str]:
        quoted = self.answer.quoted
        now = [self._situation(), self._outside()]
        texts = {"": [self.one_line()], "Now": now}
        if quoted is None:
            return _texts(texts | {"Search": [*self._no_counterfactual(), self._why_measured()]})
        texts["After the change"] = change = [] if self.outcome else [self._probabilities(quoted)]
        change.append(self._unchanged(quoted))
        if self.rollouts.quoted is not None and self.rollouts.original is not None:
            change.append(self._consequences(self.rollouts.quoted, self.rollouts.original))
        if self.rollouts.start is not None:
            change.append(self._start(self.rollouts.start))
        if self.answer.proven_range is not None:
            texts["Range"] = [self._proven_range(self.answer.proven_range, quoted.command)]
        texts["Search"] = [self._proof(quoted), self._why_measured(), *map(_in_linf, self.answer.other_norms)]
        texts["Search"].append(self._fewer())
        caveat = "" if self.preferences or self.outcome or delivers(self.answer) else CAVEAT
        texts["Advice"] = [FEATURE_CAVEAT if self.features.any() else caveat, self.advice()]
        return _texts(texts)

    def _condition(self, command: np.ndarray) -> str:
        """Return a clause: "Had you asked for 2 fewer steps (6 instead of 8)", "Had the pole angle been 0.01 rad"."""
        if self.preferences:
            return f"Had you {_weight_changes(self.objectives, self.original, command)}"
        parts = []
        for features in (False, True):
            some = np.flatnonzero((self.features == features) & (self.original != command)).tolist()
            numbers = [self.objectives[i] for i in some], self.original[some], command[some]
            if some:
                parts.append(
                    change_of_features(*numbers) if features else f"you asked for {_changes(*numbers)}{self.here}"
                )
        return f"Had {' and had '.join(parts)}"

    def _instead(self) -> str:
        """Return a clause: "gone down instead of right", "released at least 30 (32) instead of 20"."""
        if self.question.amounts and self.answer.quoted is not None:
            new, old = (join(list(self.amounts(part.values).values())) for part in (self.answer.quoted, self.question))
            return f"{self.question.phrases[0]} ({new}) instead of {old}"
        if self.share and self.answer.quoted is not None:
            parts = self.answer.quoted, self.question
            new, old = (percent(part.probabilities[self.actions[1]]) for part in parts)
            return f"{self.question.phrases[self.actions[1]]}{self.share} ({new}) instead of {old}"
        chosen, foil = (self.question.phrases[action] for action in self.actions)
        verb, _, rest = chosen.partition(" ")
        if rest and foil.startswith(f"{verb} "):
            return f"{foil} instead of {rest}"
        return f"{foil} rather than {chosen}"

    def _would_meet(self) -> str:
        """Return a clause: "episode would have met "treasure >= 50""; of several runs, with the share that met it."""
        new = self.rollouts.quoted
        if new is None or new.repeats == 1 or new.met is None:
            return f"episode would have met {self.outcome}"
        return f"episode would have met {self.outcome} in {percent(new.met)} of the runs"

    def _situation(self) -> str:
        """Return text such as "Asked for 8 treasure in 2 steps, the agent chooses right (probability 70 %)."."""
        if self.question.amounts:
            units = {limit.name: limit.unit for limit in self.question.amounts}
            now = self.amounts(self.question.values).items()
            amounts = join([f"{number} {units[name]}".rstrip() + f" of {name}" for name, number in now])
            return f"{self._request()}, the agent chooses {amounts} in this state."
        if self.outcome is not None:
            old, new = self.rollouts.original, self.rollouts.quoted
            ends = (
                f"does not meet {self.outcome}" if old is None else f"ends with {self._outcome(old)}{_runs(old, new)}"
            )
            return f"{self._request()}, the {'whole ' if self.later else ''}episode {ends}."
        chosen, foil = self._shares(self.question.probabilities, self.question.values)
        is_foil = self.question.chosen == self.question.foil  # possible if the question is about a probability
        shares = f"{self.measure} {chosen}" + ("" if is_foil else f", {self.foil} {foil}")
        return f"{self._request()}, the agent chooses {self.chosen} in this state ({shares})."

    def _request(self) -> str:
        sides = list(zip(self.objectives, self.original, self.low, self.high, strict=True))
        if self.preferences:
            return f"With weights of {join([f'{short(float(weight))} for {o.name}' for o, weight, *_ in sides])}"
        texts = [(o, quantity(o, *map(float, numbers))) for o, *numbers in sides if not o.feature]
        values = join([quantity(o, *map(float, numbers)) for o, *numbers in sides if o.feature])
        if self.only_features:
            return f"With {values}"
        remaining = [(o, text) for o, text in texts if not text.startswith("already")]
        excess = [text.removeprefix("already ") for _, text in texts if text.startswith("already")]
        if not remaining:
            return f"Already {join(excess)}"
        command = f"Asked for {listing(remaining)}{self.here}{f', with {values}' if values else ''}"
        return f"{command} and already {join(excess)}" if excess else command

    def _shares(self, probabilities: np.ndarray, values: np.ndarray | None) -> list[str]:
        """Return the probabilities of the chosen action and of the foil; for a policy of action values, the values."""
        if values is None:
            return [percent(probabilities[action]) for action in self.actions]
        gap = abs(float(values[self.actions[0]] - values[self.actions[1]]))
        shares = []
        for value in values[self.actions].tolist():
            texts = [short(value, digits) for digits in range(DIGITS, VALUE_DIGITS + 1)]
            shares.append(next((text for text in texts if abs(float(text) - value) <= 0.05 * gap), texts[0]))
        return shares

    def _probabilities(self, quoted: Counterfactual) -> str:
        """Return text such as "The probability of down is then 50 %, that of right 47.5 %." """
        if self.question.amounts or self.question.chosen == self.question.foil:
            return ""  # the first sentence states the amounts or the probability
        chosen, foil = self._shares(quoted.probabilities, quoted.values)
        return f"The {self.measure} of {self.foil} is then {foil}, that of {self.chosen} {chosen}."

    def amounts(self, values: np.ndarray | None) -> dict[str, str]:
        """Return the amounts of continuous actions by name, in enough digits to tell them from their limits."""
        limits, texts = self.question.amounts, {}
        for name, amount in self.question.amounts_at(values).items():
            ends = [limit.amount for limit in limits if limit.name == name]
            digits = (short(amount, digits) for digits in range(DIGITS, 17))
            texts[name] = next(
                (text for text in digits if all((float(text) >= end) == (amount >= end) for end in ends)), exact(amount)
            )
        return texts

    def _outside(self) -> str:
        if not self.question.outside:
            return ""
        names = join([self._name(i) for i in self.question.outside])
        if self.features[list(self.question.outside)].any():
            return f"These numbers lie outside the range of {names}."
        return f"This command is outside the range of {names} that the agent was trained on."

    def _name(self, i: int) -> str:
        return f"the weight of {self.objectives[i].name}" if self.preferences else name_of(self.objectives[i])

    def _unchanged(self, quoted: Counterfactual) -> str:
        same = np.flatnonzero(self.question.command == quoted.command).tolist()
        if len(same) > 1:
            others = "weights" if self.preferences else "features" if self.only_features else "objectives"
            return f"The other {'numbers' if self.features.any() and not self.only_features else others} are unchanged."
        if not same:
            return ""
        name = self._name(same[0])
        verb = "are" if re.search(r"[^suio]s$", name) and not self.preferences else "is"  # "earnings are"
        return f"{name[0].upper()}{name[1:]} {verb} unchanged."

    def _restrictions(self) -> str:
        """Return the restrictions that the user set: " with time unchanged and 5 to 10 treasure"."""
        ranges = {i: self._held(i) for i in self.question.held if i not in self.question.kept}
        unchanged = [self._name(i) for i in (*self.question.kept, *(i for i, text in ranges.items() if not text))]
        parts = [f"{join(unchanged)} unchanged"] if unchanged else []
        parts += [*filter(None, ranges.values()), *self.question.constraints]
        return f" with {join(parts)}" if parts else ""

    def _held(self, i: int) -> str:
        """Return the range that the user set for an objective; empty if it has no width."""
        if not self.preferences:
            return region([self.objectives[i]], self.low[[i]], self.high[[i]], self.original[[i]])
        least, most = inward(float(self.low[i]), float(self.high[i]), float(self.original[i]), DIGITS)
        return f"a weight of {least} to {most} for {self.objectives[i].name}" if float(least) < float(most) else ""

    def _why_measured(self) -> str:
        proof = self.answer.proof
        if proof is None or not proof.assumed or not proof.why_measured:
            return ""
        return f"Rounding errors are measured, not derived, because {proof.why_measured}."

    @property
    def _norm(self) -> str:
        return "" if self.question.norm == "l2" else f" (in the {self.question.norm} norm)"

    def _proof(self, quoted: Counterfactual) -> str:
        """Return sentences about whether a smaller change may exist."""
        bound, closest = self.answer.lower_bound, self.answer.closest
        alone = f" of {join([self._name(i) for i in self.question.free])} alone" if self.question.free else ""
        norm, where = self._norm, self._restrictions()
        smaller = _percent_smaller(bound, quoted.distance)
        if self.answer.status is not Status.PROVEN_CLOSEST:
            if bound <= 0:
                return _text(["A smaller change may exist: none is ruled out.", self.reason])
            if self.answer.search.name == "rollouts":
                radius = f"up to a scaled change of {rounded_down(bound)}{norm}"
                same = f"{radius}, the episode stays the same ({self.proven})"
                return _text([f"A smaller change may exist{where}; {same}.", self.reason])
            ruled_out = f"only changes that are more than {smaller} % smaller{norm} are ruled out ({self.proven})"
            limited = self.answer.search.stop in (Stop.OUT_OF_TIME, Stop.OUT_OF_BOXES)
            hint = "With a larger limit, the search would find it or prove that there is none." if limited else ""
            return _text([f"A smaller change{alone} may exist{where}: {ruled_out}.", self.reason, hint])
        if bound <= 0:
            text = short(quoted.distance)
            return f"Its scaled distance{norm}, {text}, is within the tolerance of the proof ({self.proven})."
        if bound >= quoted.distance:
            return f"No smaller change{alone} works{norm}{where} ({self.proven})."
        none = f"o change{alone} that is more than {smaller} % smaller{norm} works{where} ({self.proven})."
        rounded = closest is not None and np.any(quoted.command != closest.command)
        return f"The numbers are rounded; n{none}" if rounded else f"N{none}"

    def _proven_range(self, region: ProvenRange, command: np.ndarray) -> str:
        if self.preferences:
            return self._weights_range(region, command)
        sides = zip(self.objectives, region.low, region.high, command, self.question.command, strict=True)
        # The number of an unchanged objective may be long; it is not repeated.
        spans = [(o, span(o, float(a), float(b), float(c) if c != old else None)) for o, a, b, c, old in sides]
        wide = [(o, text) for o, text in spans if text is not None]
        if not wide:
            return ""
        what = "state" if self.only_features else "command"
        rest = f", and the rest as in that {what}," if len(wide) < len(spans) or self.only_features else ""
        foil = f"the agent choose {self.choice} ({proven(region.assumed)})"
        return f"Every {what} with {listing(wide)}{self.here}{rest} also makes {foil}."

    def _weights_range(self, region: ProvenRange, command: np.ndarray) -> str:
        """Return text such as "All weights of 0.4 to 1 for fuel ... that sum to 1 also make the agent choose down."."""
        wide, rest = [], []
        for i, objective in enumerate(self.objectives):
            least, most = inward(float(region.low[i]), float(region.high[i]), float(command[i]))
            if float(least) < float(most):
                wide.append(f"{least} to {most} for {objective.name}")
            else:
                same = command[i] == self.question.command[i]
                rest.append(f"{objective.name} {'unchanged' if same else f'at {clean(float(command[i]))}'}")
        if len(wide) < 2:
            return ""  # no weight changes alone
        others = f", with {join(rest)}," if rest else ""
        foil = f"the agent choose {self.choice} ({proven(region.assumed)})"
        return f"All weights of {join(wide)} that sum to 1{others} also make {foil}."

    def _consequences(self, new: Consequence, old: Consequence) -> str:
        """Return sentences about the outcomes of the rollouts under the quoted and under the original command."""
        episode = "the whole episode" if self.later else "the episode"
        if self.outcome is not None:
            return f"{episode.capitalize()} then ends with {self._outcome(new)}{_runs(new, old)}."
        ending = f"If issued here, {episode} ends with {self._outcome(new)}{_rollout_notes(new, old)}"
        if self._same(new.achieved, old.achieved) and self._same(new.error, old.error):
            return f"{ending}, as under the original command."
        as_asked = ", as asked" if self._fulfilled(old) else ""
        return f"{ending}; under the original command it ends with {self._outcome(old)}{as_asked}."

    def _outcome(self, consequence: Consequence) -> str:
        """Return the return of the whole episode, "8 treasure after 8 steps", with the standard errors of means."""
        objectives = self.objectives[: len(consequence.achieved)]  # without a horizon, which is not a return
        ends = [side[: len(objectives)] for side in (self.low, self.high)]
        achieved = tidy(consequence.achieved, consequence.error, *ends)
        numbers = zip(objectives, achieved, consequence.error, strict=True)
        return listing([(o, mean_quantity(o, float(mean), float(error))) for o, mean, error in numbers], "after")

    def _same(self, one: np.ndarray, other: np.ndarray) -> bool:
        """Return whether two outcomes are equal up to rounding."""
        return bool((np.abs(one - other) <= EXACT * self.sizes[: len(one)] + 1e-5 * np.abs(other)).all())

    def _fulfilled(self, old: Consequence) -> bool:
        """Return whether the original command is known to deliver what it asks for."""
        start, collected = self.rollouts.start, self.question.collected
        if start is None and self.later and collected is None:
            return False  # the return collected before is unknown
        whole = self.question.command + (0.0 if collected is None else collected) if start is None else start.issued
        return self._same(old.achieved, whole[: len(old.achieved)])

    def _sums(self, totals: np.ndarray) -> np.ndarray:
        """Return a command for the whole episode, without the rounding errors of its sums."""
        return tidy(np.array([float(clean(total)) for total in totals]), self.low, self.high)

    def _start(self, start: Start) -> str:
        """Return the sentence that says whether the command, issued at the start, leads to this state."""
        if self.preferences:
            subject, leads, does_not = "Held from the start, these preferences", "lead to", "do not lead to"
        else:
            subject, leads, does_not = "Issued at the start, the same command", "leads to", "does not lead to"
            if not np.array_equal(start.issued, self.question.command):
                changes = _changes(self.objectives, self._sums(start.issued), self._sums(start.command))
                subject = f"For the whole episode, this is {changes}; issued at the start, it"
        if start.leads_here is None:
            return f"{subject} may or may not lead to this state: the environment is random."
        step = "" if self.question.step is None else " at this step"  # the page counts steps from 1
        return f"{subject} {f'also {leads}' if start.leads_here else does_not} this state{step}."

    def advice(self) -> str:
        attainable = self.rollouts.attainable
        if attainable is None:
            return ""
        if attainable.proven_none:
            none = f"No command in the search region makes the agent choose {self.foil}"
            return f"{none} and then delivers what it asks for ({proven(attainable.assumed)})."
        if attainable.total is None:
            tried = {0: "none was", 1: "1 was"}.get(attainable.num_rollouts, f"{attainable.num_rollouts:,} were")
            none = f"No attainable command that makes the agent choose {self.choice} was found"
            return f"{none} ({tried} rolled out)."
        horizon = len(self.objectives) > len(attainable.consequence.achieved)  # type: ignore[union-attr]
        if delivers(self.answer):
            what = "the return that it asks for" if horizon else "what it asks for"  # a horizon is not delivered
            return f"This command is attainable: the agent {self._delivery(attainable, what)}."
        total, whole = attainable.total, ""
        if self.later:
            total, whole = self._sums(total), " in the whole episode"
        command = listing([(o, exact_quantity(o, float(n))) for o, n in zip(self.objectives, total, strict=True)])
        goal = f"To make the agent choose {self.choice} and get what you ask for"
        delivery = self._delivery(attainable, "that return" if horizon else "that")
        closest = ""
        if attainable.lower_bound:
            smaller = _percent_smaller(attainable.lower_bound, attainable.distance or 0.0)
            does = f"{self._norm} does this{self._restrictions()} ({proven(attainable.assumed)})"
            closest = f"o change that is more than {smaller} % smaller{does}."
            closest = f" The numbers are rounded; n{closest}" if attainable.proven_closest else f" N{closest}"
        return f"{goal}, ask for {command}{whole}: it {delivery}.{closest}"

    def _delivery(self, attainable: Attainable, what: str) -> str:
        """Return text about the rollouts, such as "then delivers exactly that"; `what` names the goal."""
        result: Consequence = attainable.consequence  # type: ignore[assignment]
        is_exact = attainable.deviation <= EXACT  # type: ignore[operator]
        outcome, runs = self._outcome(result), f"{result.repeats:,} runs"
        if result.repeats == 1:
            near = f"{what} to within {100 * DELIVERED:g} % of each objective's range: {outcome}"
            return f"then delivers {f'exactly {what}' if is_exact else near}"
        if is_exact and not result.error.any():
            return f"then delivers exactly {what} in each of {runs}"
        off = np.abs(result.achieved - attainable.total[: len(result.achieved)])  # type: ignore[index]
        nearly = "nearly " if (off > result.error + EXACT * self.sizes[: len(off)]).any() else ""
        return f"then delivers {nearly}{what} on average: {outcome} (mean of {runs} ± standard error)"

    def _fewer(self) -> str:
        count, requested = 1 + len(self.answer.alternatives), self.answer.requested
        if requested <= count:
            return ""
        several, none = f"only {count} were found that clearly differ", "no other was found that clearly differs"
        return f"You requested {requested} answers; {several if count > 1 else none}."

    def _no_counterfactual(self) -> list[str]:
        """Return the sentences for an answer without a counterfactual: what is proven, and what to do next."""
        if self.answer.status is Status.PROVEN_INFEASIBLE:
            searched = region(self.objectives, self.low, self.high, self.original, self.here, self.question.constraints)
            where = f"The search region is {searched}." if searched and not self.preferences else ""
            other = "other weights" if self.preferences else "a larger search region"
            hint = f"Try another foil, another step or {other}."
            if self.outcome is not None:
                hint = f"Try another outcome or {other}."
            if self.everywhere:
                hint = "All weights that sum to 1 were searched: try another foil or another step."
            return [where, self._odds(), hint]
        spent, bound = number_of(self.answer.total_queries, "query", "queries"), self.answer.lower_bound
        if self.answer.proof is None:
            hint = 'Try a larger budget or, if the policy is white-box, search="exact".'
            if self.outcome is not None:
                hint = "Try a larger time limit."
            return [f"The search used {spent}; nothing is proven.", self.reason, hint]
        what = "preferences are" if self.preferences else "change is" if self.only_features else "command is"
        if bound > 0:
            spent += f": any such {what} at a scaled distance of more than {rounded_down(bound)} ({self.proven})"
        return [f"The search used {spent}.", self.reason, "Try a larger limit."]

    def _odds(self) -> str:
        """Return the sentence that gives the margin as a ratio of probabilities."""
        if self.question.values is not None or not 0 < self.question.kappa <= LARGE_KAPPA:
            return ""
        times = rounded_up(math.exp(self.question.kappa))
        return f"With this margin, {self.foil} must be at least {times} times as probable as any other action."


def runs_text(answer: Answer) -> str:
    """Return "87 % of 200 runs meet it, 95 % interval 81 % to 91 %".

    The text is empty if the foil is an action or the environment is deterministic.
    """
    consequence = None if answer.rollouts is None else answer.rollouts.quoted
    return "" if consequence is None else _share_of_runs(consequence)


def _runs(consequence: Consequence, other: Consequence | None) -> str:
    """Return a note: the share of several runs that meet the outcome, or that the step limit ended a single run."""
    if share := _share_of_runs(consequence):
        return f" (mean ± standard error; {share})"
    return " (stopped by the step limit)" if other and consequence.finished < other.finished else ""


def _share_of_runs(consequence: Consequence) -> str:
    if consequence.repeats == 1 or consequence.met is None:
        return ""
    from paretofoil.explanation.influence import likely_share  # imports scipy.stats, which takes a second

    low, high = likely_share(round(consequence.met * consequence.repeats), consequence.repeats)
    interval = f"{percent(low)} to {percent(high)}"
    return f"{percent(consequence.met)} of {consequence.repeats:,} runs meet it, 95 % interval {interval}"


def _rollout_notes(new: Consequence, old: Consequence) -> str:
    notes = []
    if new.repeats > 1:
        random = new.error.any() or old.error.any()
        notes.append(f"mean of {new.repeats:,} runs ± standard error" if random else f"in each of {new.repeats:,} runs")
    if new.finished < old.finished:  # some environments always end by their step limit
        share = f"in {percent(1 - new.finished)} of them " if new.finished else ""
        notes.append(f"{share}stopped by the step limit")
    return f" ({'; '.join(notes)})" if notes else ""
