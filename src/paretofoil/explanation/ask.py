"""The outer call around every search: it asks, has checked again what was claimed, and answers."""

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from paretofoil.core.answer import Answer, Asked, Outcome
from paretofoil.core.errors import InvalidInput
from paretofoil.core.limit import NO_LIMITS, Limits, Stop, now
from paretofoil.core.policy import probabilities
from paretofoil.core.question import Question, QuestionBatch
from paretofoil.core.search import Search
from paretofoil.explanation.check import changed, check


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


def ask(
    questions: Sequence[Question],
    search: Search,
    wishes: Wishes = Wishes(),  # noqa: B008 (frozen)
    actions: Sequence[str] | None = None,
    limits: Limits = NO_LIMITS,
) -> list[Answer]:
    """Answer questions on one policy together; each answer is the same as if it were asked alone."""
    if not questions:
        return []
    if not wishes.sparse and wishes.k == 1:
        return _ask(questions, search, wishes, actions, limits)
    return [_best_over_subsets(question, search, wishes, actions, limits) for question in questions]


def _ask(
    questions: Sequence[Question], search: Search, wishes: Wishes, actions: Sequence[str] | None, limits: Limits
) -> list[Answer]:
    started = now()
    batch = QuestionBatch(questions)
    scores = batch.scores_at(np.arange(batch.size), batch.commands, "original")
    names = tuple(actions) if actions is not None else tuple(f"action {a}" for a in range(scores.shape[1]))
    if len(names) != scores.shape[1]:
        raise InvalidInput.expected(f"{scores.shape[1]} action names", list(names))
    unanswered = [_unanswered(q, row, names, search) for q, row in zip(questions, scores, strict=True)]
    findings = search.run(batch, limits)
    answers = [
        check(batch, row, finding, wishes.min_change, nothing)
        for row, (finding, nothing) in enumerate(zip(findings, unanswered, strict=True))
    ]
    share = (now() - started) / batch.size
    return [replace(a, queries=dict(batch.queries(row)), seconds=share) for row, a in enumerate(answers)]


def _unanswered(question: Question, scores: np.ndarray, names: tuple[str, ...], search: Search) -> Answer:
    """What is known before the search begins."""
    chosen = max(question.valid_actions, key=lambda action: scores[action])  # the first of equals
    if chosen == question.foil:
        raise InvalidInput(
            f"expected a foil that the policy does not choose, got {names[chosen]!r}, which is what it chooses here"
        )
    return Answer(
        outcome=Outcome.NOT_FOUND,
        stop=Stop.COMPLETE,
        original=question.command,
        objectives=question.space.objectives,  # type: ignore[arg-type]
        actions=names,
        valid_actions=question.valid_actions,
        chosen=chosen,
        foil=question.foil,
        kappa=question.kappa,
        norm=question.norm,
        probabilities=probabilities(scores, question.valid_actions),
        search=search.name,
        seed=search.seed,
        queries={},
        seconds=0.0,
        asked=Asked(question),
    )


def _best_over_subsets(
    question: Question, search: Search, wishes: Wishes, actions: Sequence[str] | None, limits: Limits
) -> Answer:
    """Search with all but some objectives locked, for every choice of them: at most 63 for 6 objectives."""
    plain = replace(wishes, sparse=False, k=1)
    movable = np.flatnonzero(question.high > question.low)
    tried: list[Answer] = []
    for count in range(1, len(movable) + 1):
        subsets = [list(subset) for subset in itertools.combinations(movable.tolist(), count)]
        locked = [_allow(question, subset) for subset in subsets]
        tried += _ask(locked, search, plain, actions, limits)
        if wishes.sparse and wishes.k == 1 and any(a.found for a in tried):
            break
    if not tried:  # nothing may move at all
        return _ask([question], search, plain, actions, limits)[0]
    spent: Counter[str] = sum((Counter(a.queries) for a in tried), Counter())
    found = sorted((a for a in tried if a.found), key=lambda a: _rank(question, a, sparse=wishes.sparse))
    seconds = sum(a.seconds for a in tried)
    if not found:
        return replace(tried[-1], queries=dict(spent), seconds=seconds)  # the last one may move every objective
    proven = all(a.outcome in (Outcome.PROVEN_OPTIMAL, Outcome.PROVEN_INFEASIBLE) for a in tried)
    outcome = Outcome.PROVEN_OPTIMAL if proven else Outcome.FOUND
    distinct: list[Answer] = []
    for candidate in found:
        pattern = changed(question, candidate.command)  # type: ignore[arg-type]
        if all((pattern != changed(question, other.command)).any() for other in distinct):  # type: ignore[arg-type]
            distinct.append(candidate)
    first, *others = distinct[: wishes.k]
    return replace(first, outcome=outcome, alternatives=tuple(others), queries=dict(spent), seconds=seconds)


def _allow(question: Question, objectives: list[int]) -> Question:
    """The same question, with every other objective locked."""
    free = np.isin(np.arange(question.space.size), objectives)
    low, high = np.where(free, question.low, question.command), np.where(free, question.high, question.command)
    return replace(question, low=low, high=high)


def _rank(question: Question, found: Answer, *, sparse: bool) -> tuple[int, float]:
    count = int(np.abs(changed(question, found.command)).sum()) if sparse else 0  # type: ignore[arg-type]
    return count, float(found.distance or 0.0)
