"""The outer call around every search: it asks, has checked again what was claimed, and answers."""

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from paretofoil.core.answer import Answer, Live, QuestionRecord, SearchRecord, Status
from paretofoil.core.errors import InvalidInput
from paretofoil.core.options import DEFAULTS, NO_LIMITS, Limits, Options, now
from paretofoil.core.policy import action_values, greedy_action, probabilities
from paretofoil.core.question import Question, QuestionBatch
from paretofoil.core.search import Search
from paretofoil.explanation.verify import check, clearance, refuse_probabilities


def ask(
    questions: Sequence[Question],
    search: Search,
    options: Options = DEFAULTS,
    actions: Sequence[str] | None = None,
    limits: Limits = NO_LIMITS,
    phrases: Sequence[str] | None = None,
) -> list[Answer]:
    """Answer questions on one policy together; each answer is the same as if it were asked alone.

    `actions` are their names, `phrases` what the agent has done after each ("gone down").
    """
    asking = _Asking(search, limits, actions, phrases)
    if not questions:
        return []
    if options.sparse or options.k > 1:
        answers = [_best_over_subsets(question, options, asking) for question in questions]
    else:
        answers = asking.ask(questions)
    if options.min_change > 0:
        answers = [_without_small_changes(a, options.min_change, asking) for a in answers]
    return answers


@dataclass(frozen=True)
class _Asking:
    """How questions are asked; what is asked changes from call to call."""

    search: Search
    limits: Limits
    actions: Sequence[str] | None
    phrases: Sequence[str] | None

    def ask(self, questions: Sequence[Question], free: Sequence[tuple[int, ...]] | None = None) -> list[Answer]:
        """Together; `free` are the only objectives that each question may change, in the search for sparse answers."""
        started = now()
        batch = QuestionBatch(questions)
        batch.keep_clear(clearance(batch))  # first: what else is asked of a random policy means nothing
        scores = batch.scores_at(np.arange(batch.num_questions), batch.commands, "original")
        refuse_probabilities(batch, scores)
        names = _names(self.actions, "action {}", scores.shape[1])
        phrases = _names(self.phrases, "chosen {}", scores.shape[1], names)
        unanswered = [
            Answer(
                status=Status.NOT_FOUND,
                question=_record(q, row, names, phrases, free[i] if free else ()),
                search=SearchRecord(self.search.name, self.search.seed),
                live=Live(q, clearance=batch.clearance),
            )
            for i, (q, row) in enumerate(zip(questions, scores, strict=True))
        ]
        findings = self.search.run(batch, self.limits)
        answers = [
            check(batch, row, finding, nothing)
            for row, (finding, nothing) in enumerate(zip(findings, unanswered, strict=True))
        ]
        share = (now() - started) / batch.num_questions
        return [
            replace(a, search=replace(a.search, queries=dict(batch.queries(row)), seconds=share))
            for row, a in enumerate(answers)
        ]


def _names(given: Sequence[str] | None, made: str, count: int, of: Sequence[Any] | None = None) -> tuple[str, ...]:
    """The given names, or names made of numbers or of other names."""
    if given is None:
        return tuple(made.format(item) for item in (range(count) if of is None else of))
    if len(given) != count:
        raise InvalidInput.expected(f"{count} action names", list(given))
    return tuple(given)


def _record(
    question: Question, scores: np.ndarray, names: tuple[str, ...], phrases: tuple[str, ...], free: tuple[int, ...]
) -> QuestionRecord:
    """Return the stored part of a question; `scores` (num_actions,) are the policy's under the original command."""
    chosen = greedy_action(scores, question.valid_actions)
    if chosen == question.foil:
        raise InvalidInput(
            f"expected a foil that the policy does not choose, got {names[chosen]!r}, which is what it chooses here"
        )
    return QuestionRecord(
        command=question.command,
        objectives=question.space.objectives,  # type: ignore[arg-type]
        actions=names,
        phrases=phrases,
        valid_actions=question.valid_actions,
        chosen=chosen,
        foil=question.foil,
        kappa=question.kappa,
        norm=question.norm,
        probabilities=probabilities(question.policy, scores, question.valid_actions),
        low=question.low,
        high=question.high,
        outside=tuple(np.flatnonzero((question.trained or question.space).outside(question.command)).tolist()),
        kept=question.kept,
        held=question.held,
        free=free,
        preferences=question.space.simplex,
        values=action_values(question.policy, scores),
    )


def _best_over_subsets(question: Question, options: Options, asking: _Asking) -> Answer:
    """Search with all but some objectives locked, for every choice of them: at most 63 for 6 objectives."""
    movable = np.flatnonzero(question.high > question.low).tolist()
    tried: list[Answer] = []
    fewest = 2 if question.space.simplex else 1  # no preference changes alone
    for count in range(fewest, len(movable) + 1):
        subsets = list(itertools.combinations(movable, count))
        locked = [_allow(question, subset) for subset in subsets]
        tried += asking.ask(locked, subsets if count < len(movable) else None)
        if options.sparse and options.k == 1 and any(a.found for a in tried):
            break
    if not tried:  # nothing may move at all
        return asking.ask([question])[0]
    plain = [a for a in tried if a.found and not _small_changes(question, a, options.min_change)]
    distinct = _distinct(question, plain or tried, sparse=options.sparse)
    if not distinct:  # the last one may move every objective
        return replace(_with_total(tried[-1], tried), requested=options.k)
    first, *others = distinct[: options.k]
    settled = all(a.status in (Status.PROVEN_CLOSEST, Status.PROVEN_INFEASIBLE) for a in tried)
    status = first.status if settled else Status.FOUND
    return replace(_with_total(first, tried), status=status, alternatives=tuple(others), requested=options.k)


def _distinct(question: Question, tried: list[Answer], *, sparse: bool) -> list[Answer]:
    """The best answers, of which any two differ.

    With `sparse` those that change fewest objectives come first, otherwise the one that may change all of them.
    """

    def rank(answer: Answer) -> tuple[int, float]:
        return (len(answer.question.free) or question.space.dim if sparse else bool(answer.question.free)), _distance(
            answer
        )

    chosen: list[Answer] = []
    for answer in sorted((a for a in tried if a.found), key=rank):
        if all(_differ(question, answer, other) for other in chosen):
            chosen.append(answer)
    return chosen


def _differ(question: Question, one: Answer, other: Answer) -> bool:
    """Whether two answers change other objectives or in other directions, and are not nearly the same command."""
    sizes = [_distance(a) for a in (one, other)]
    far = question.space.distance(one.command, other.command, question.norm) >= APART * min(sizes)  # type: ignore[arg-type]
    return bool(far and (_pattern(question, one) != _pattern(question, other)).any())


APART = 0.75
"""Two answers lie at least this share of their size apart: less is a variation of the same answer."""
HARDLY = 0.05
"""An objective that changes by less than this share of the largest change does not count as changed."""


def _pattern(question: Question, answer: Answer) -> np.ndarray:
    """Which objectives an answer changes, and which way: -1, 0 or 1 each; what is hardly changed does not count."""
    change = (answer.command - question.command) / question.space.scale
    return np.where(np.abs(change) <= HARDLY * np.abs(change).max(), 0.0, np.sign(change))


def _allow(question: Question, objectives: Sequence[int]) -> Question:
    """The same question, with every other objective locked."""
    free = np.isin(np.arange(question.space.dim), objectives)
    low, high = np.where(free, question.low, question.command), np.where(free, question.high, question.command)
    return replace(question, low=low, high=high)


def _without_small_changes(answer: Answer, min_change: float, asking: _Asking) -> Answer:
    """Lock what would change by less, the smallest first, and search again, as long as there is an answer."""
    while answer.live is not None and answer.found:
        question = answer.live.question
        free = np.flatnonzero(question.high > question.low).tolist()
        for i in _small_changes(question, answer, min_change):
            left = tuple(j for j in free if j != i)
            if not left:
                continue
            [again] = asking.ask([_allow(question, left)], [left])
            together = (answer, again)
            answer = _with_total(answer, together)
            if again.found:
                again = _with_total(again, together)
                answer = replace(again, alternatives=answer.alternatives, requested=answer.requested)
                break
        else:
            return answer
    return answer


def _small_changes(question: Question, answer: Answer, min_change: float) -> list[int]:
    """The objectives that an answer changes by less than this share of their range, the smallest first."""
    sizes = np.abs(answer.command - question.command) / question.space.scale
    return [i for i in np.argsort(sizes, kind="stable").tolist() if 0 < sizes[i] < min_change]


def _with_total(answer: Answer, parts: Sequence[Answer]) -> Answer:
    """Return the answer with the queries and the time of all its parts."""
    queries: Counter[str] = Counter()
    for part in parts:
        queries.update(part.search.queries)
    seconds = sum(part.search.seconds for part in parts)
    return replace(answer, search=replace(answer.search, queries=dict(queries), seconds=seconds))


def _distance(answer: Answer) -> float:
    return 0.0 if answer.quoted is None else answer.quoted.distance
