"""The outer call around every search: it asks, checks again on the policy what was claimed, and answers."""

import itertools
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from paretofoil.counterfactual import Counterfactual, Outcome
from paretofoil.errors import InvalidInput
from paretofoil.question import Question, QuestionBatch
from paretofoil.rounding import round_command
from paretofoil.search.finding import Finding, Search

CHANGED = 1e-9
"""A scaled change up to this counts as no change."""


@dataclass(frozen=True)
class Wishes:
    """What else the user wants of an answer than that it is close."""

    sparse: bool = False
    """Change as few objectives as possible first, then be close."""
    k: int = 1
    """How many answers; each further one changes other objectives or other directions."""
    min_change: float = 0.0
    """Scaled changes below this are undone where the foil still wins without them."""

    def __post_init__(self) -> None:
        if self.k < 1:
            raise InvalidInput.expected("k of at least 1", self.k)
        if not 0 <= self.min_change <= 1:
            raise InvalidInput.expected(
                "min_change between 0 and 1 (a share of each objective's range)", self.min_change
            )


def answer(
    questions: Sequence[Question],
    search: Search,
    wishes: Wishes = Wishes(),  # noqa: B008 (frozen)
    actions: Sequence[str] | None = None,
) -> list[Counterfactual]:
    """Answer questions on one policy together; each answer is the same as if it were asked alone."""
    if not questions:
        return []
    if not wishes.sparse and wishes.k == 1:
        return _answer(questions, search, wishes, actions)
    return [_best_over_subsets(question, search, wishes, actions) for question in questions]


def _answer(
    questions: Sequence[Question], search: Search, wishes: Wishes, actions: Sequence[str] | None
) -> list[Counterfactual]:
    started = time.perf_counter()
    batch = QuestionBatch(questions)
    rows = np.arange(batch.size)
    scores = batch.scores_at(rows, batch.commands, "original")
    names = tuple(actions) if actions is not None else tuple(f"action {a}" for a in range(scores.shape[1]))
    if len(names) != scores.shape[1]:
        raise InvalidInput.expected(f"{scores.shape[1]} action names", list(names))
    chosen = [_greedy(question, row) for question, row in zip(questions, scores, strict=True)]
    for question, action in zip(questions, chosen, strict=True):
        if action == question.foil:
            raise InvalidInput(
                f"expected a foil that the policy does not choose, got {names[action]!r}, which is what it chooses here"
            )
    findings = search.run(batch)
    answers = []
    for row, (question, finding) in enumerate(zip(questions, findings, strict=True)):
        nothing = Counterfactual(
            outcome=Outcome.NOT_FOUND,
            original=question.command,
            objectives=question.space.objectives,  # type: ignore[arg-type]
            actions=names,
            valid_actions=question.valid_actions,
            chosen=chosen[row],
            foil=question.foil,
            kappa=question.kappa,
            norm=question.norm,
            probabilities=_probabilities(question, scores[row]),
            search=search.name,
            seed=getattr(search, "seed", 0),
            queries={},
            seconds=0.0,
        )
        answers.append(_check(batch, row, finding, wishes, nothing))
    share = (time.perf_counter() - started) / batch.size
    return [replace(a, queries=dict(batch.queries(row)), seconds=share) for row, a in enumerate(answers)]


def _check(batch: QuestionBatch, row: int, finding: Finding, wishes: Wishes, nothing: Counterfactual) -> Counterfactual:
    """What of a finding survives a fresh query of the policy."""
    certificate = finding.certificate
    if certificate is not None:
        nothing = replace(nothing, certificate=certificate, lower_bound=certificate.lower)
    if finding.change is None:
        infeasible = certificate is not None and certificate.status == "infeasible"
        return replace(nothing, outcome=Outcome.PROVEN_INFEASIBLE) if infeasible else nothing
    question, rows = batch.questions[row], np.array([row])
    command = _to_command(question, finding.change)
    if wishes.min_change > 0:
        command = _without_small_changes(batch, row, command, wishes.min_change)
    scores = batch.scores_at(rows, command[None], "verify")
    margin = float(batch.margins_of(rows, scores)[0])
    if margin < question.kappa:
        return nothing
    proven = certificate is not None and certificate.status == "optimal"
    return replace(
        nothing,
        outcome=Outcome.PROVEN_OPTIMAL if proven else Outcome.FOUND,
        command=command,
        distance=float(question.space.distance(command, question.command, question.norm)),
        margin=margin,
        rounded=round_command(batch, row, command),
        counterfactual_probabilities=_probabilities(question, scores[0]),
    )


def _to_command(question: Question, change: np.ndarray) -> np.ndarray:
    """From a scaled change to a command inside the region; objectives that do not change keep their number."""
    command = np.clip(question.command + change * question.space.scale, question.low, question.high)
    return np.where(np.abs(change) <= CHANGED, question.command, command)


def _without_small_changes(batch: QuestionBatch, row: int, command: np.ndarray, min_change: float) -> np.ndarray:
    """Undo the small changes, the smallest first, as long as the foil still wins by kappa."""
    question = batch.questions[row]
    sizes = np.abs(command - question.command) / question.space.scale
    for i in np.argsort(sizes):
        if CHANGED < sizes[i] < min_change:
            trial = command.copy()
            trial[i] = question.command[i]
            if batch.margins_at(np.array([row]), trial[None], "snap")[0] >= question.kappa:
                command = trial
    return command


def _greedy(question: Question, scores: np.ndarray) -> int:
    return max(question.valid_actions, key=lambda action: scores[action])  # the first of equals


def _probabilities(question: Question, scores: np.ndarray) -> np.ndarray:
    """Over the valid actions, 0 for the others."""
    valid = list(question.valid_actions)
    weights = np.exp(scores[valid].astype(np.float64) - scores[valid].max())
    probabilities = np.zeros(len(scores))
    probabilities[valid] = weights / weights.sum()
    return probabilities


def _best_over_subsets(
    question: Question, search: Search, wishes: Wishes, actions: Sequence[str] | None
) -> Counterfactual:
    """Search with all but some objectives locked, for every choice of them: at most 63 for 6 objectives."""
    plain = replace(wishes, sparse=False, k=1)
    movable = np.flatnonzero(question.high > question.low)
    tried: list[Counterfactual] = []
    for count in range(1, len(movable) + 1):
        subsets = [list(subset) for subset in itertools.combinations(movable.tolist(), count)]
        locked = [_allow(question, subset) for subset in subsets]
        tried += _answer(locked, search, plain, actions)
        if wishes.sparse and wishes.k == 1 and any(a.found for a in tried):
            break
    if not tried:  # nothing may move at all
        return _answer([question], search, plain, actions)[0]
    spent: Counter[str] = sum((Counter(a.queries) for a in tried), Counter())
    found = sorted((a for a in tried if a.found), key=lambda a: _rank(question, a, sparse=wishes.sparse))
    seconds = sum(a.seconds for a in tried)
    if not found:
        return replace(tried[-1], queries=dict(spent), seconds=seconds)  # the last one may move every objective
    proven = all(a.outcome in (Outcome.PROVEN_OPTIMAL, Outcome.PROVEN_INFEASIBLE) for a in tried)
    outcome = Outcome.PROVEN_OPTIMAL if proven else Outcome.FOUND
    distinct: list[Counterfactual] = []
    for candidate in found:
        pattern = _pattern(question, candidate)
        if all((pattern != _pattern(question, other)).any() for other in distinct):
            distinct.append(candidate)
    first, *others = distinct[: wishes.k]
    return replace(first, outcome=outcome, alternatives=tuple(others), queries=dict(spent), seconds=seconds)


def _allow(question: Question, objectives: list[int]) -> Question:
    """The same question, with every other objective locked."""
    free = np.isin(np.arange(question.space.size), objectives)
    low, high = np.where(free, question.low, question.command), np.where(free, question.high, question.command)
    return replace(question, low=low, high=high)


def _pattern(question: Question, found: Counterfactual) -> np.ndarray:
    """Which objectives an answer changes, and in which direction."""
    change = (found.command - question.command) / question.space.scale
    return np.where(np.abs(change) <= CHANGED, 0, np.sign(change))


def _rank(question: Question, found: Counterfactual, *, sparse: bool) -> tuple[int, float]:
    changed = int(np.abs(_pattern(question, found)).sum()) if sparse else 0
    return changed, float(found.distance or 0.0)
