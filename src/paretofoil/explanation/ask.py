"""Ask questions: run a search, verify its findings, and apply the options for several or simpler answers."""

import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from paretofoil.core.amounts import ActionSpace, FoilPolicy
from paretofoil.core.answer import Answer, Live, QuestionRecord, SearchRecord, Status
from paretofoil.core.errors import InvalidInput
from paretofoil.core.options import DEFAULTS, NO_LIMITS, Limits, Options, now
from paretofoil.core.policy import action_values, greedy_action, probabilities
from paretofoil.core.question import Question, QuestionBatch
from paretofoil.core.search import Search
from paretofoil.core.threads import one_thread
from paretofoil.explanation.verify import check, clearance, refuse_probabilities

APART = 0.75
"""Two answers are variations of one if they are closer to each other than this share of the smaller distance."""
HARDLY = 0.05
"""An objective counts as unchanged if its change is below this share of the largest change."""


@one_thread()
def ask(
    questions: Sequence[Question],
    search: Search,
    options: Options = DEFAULTS,
    actions: Sequence[str] | ActionSpace | None = None,
    limits: Limits = NO_LIMITS,
    phrases: Sequence[str] | None = None,
) -> list[Answer]:
    """Return one answer per question about the same policy. No answer depends on the other questions.

    `actions` are the names of the actions, and `phrases` say that they were done ("gone down").
    """
    if not questions:
        return []
    foil = questions[0].policy
    if isinstance(foil, FoilPolicy):  # each foil on continuous actions has its own policy
        if len(questions) > 1:
            return [a for question in questions for a in ask([question], search, options, limits=limits)]
        actions, phrases = foil.names, foil.phrases
    ask_all: _Ask = partial(_ask, search, limits, actions, phrases)  # type: ignore[arg-type]
    if options.sparse or options.k > 1:
        answers = [_best_over_subsets(question, options, ask_all) for question in questions]
    else:
        answers = ask_all(questions, None)
    if options.min_change > 0:
        answers = [_without_small_changes(a, options.min_change, ask_all) for a in answers]
    return answers


_Ask = Callable[[Sequence[Question], Sequence[tuple[int, ...]] | None], list[Answer]]
"""`_ask` with all other arguments given."""


def _ask(
    method: Search,
    limits: Limits,
    actions: Sequence[str] | None,
    phrases: Sequence[str] | None,
    questions: Sequence[Question],
    free: Sequence[tuple[int, ...]] | None,
) -> list[Answer]:
    """Return verified answers. `free` are the objectives that may change in each question; None if all may."""
    start, batch = now(), QuestionBatch(questions)
    batch.keep_clear(clearance(batch))  # first, because it refuses random policies
    scores = batch.scores_at(np.arange(batch.num_questions), batch.commands, "original")
    refuse_probabilities(batch, scores)
    names = action_names(actions, scores.shape[1])
    phrases = tuple(f"chosen {name}" for name in names) if phrases is None else tuple(phrases)
    free = [()] * batch.num_questions if free is None else free
    records = [record_question(q, row, names, phrases, f) for q, row, f in zip(questions, scores, free, strict=True)]
    answers = []
    for row, finding in enumerate(method.run(batch, limits)):
        search, live = SearchRecord(method.name, method.seed), Live(questions[row], None, batch.clearance)
        answers.append(check(batch, row, finding, Answer(Status.NOT_FOUND, records[row], search, live=live)))
    seconds = (now() - start) / batch.num_questions
    return [
        replace(a, search=replace(a.search, queries=dict(batch.queries(row)), seconds=seconds))
        for row, a in enumerate(answers)
    ]


def action_names(names: Sequence[str] | None, count: int) -> tuple[str, ...]:
    """Return the given names of actions; without names, "action 0" and so on."""
    if names is None:
        return tuple(f"action {number}" for number in range(count))
    if len(set(names)) != len(names) or len(names) != count:
        raise InvalidInput.expected(f"{count} different action names", list(names))
    return tuple(names)


def record_question(
    question: Question,
    scores: np.ndarray,
    names: tuple[str, ...],
    phrases: tuple[str, ...],
    free: tuple[int, ...] = (),
    outcome: str | None = None,
) -> QuestionRecord:
    """Return what an answer stores of a question; `scores` (num_actions,) are those under the original command.

    If the foil is an outcome, the action `question.foil` is ignored.
    """
    chosen, policy = greedy_action(scores, question.valid_actions), question.policy
    shares = probabilities(policy, scores, question.valid_actions)
    if question.probability is not None:
        if shares[question.foil] >= question.probability:
            expected = f"a foil with a probability below {question.probability:g}"
            raise InvalidInput.expected(expected, f"{names[question.foil]!r} with {shares[question.foil]:.3g}")
    elif outcome is None and chosen == question.foil:
        expected = "a foil that the policy does not choose"
        raise InvalidInput.expected(expected, f"{names[chosen]!r}, which it chooses already")
    same = ("command", "valid_actions", "kappa", "norm", "low", "high", "kept", "held", "probability")
    return QuestionRecord(
        **{name: getattr(question, name) for name in same},
        objectives=question.space.objectives,  # type: ignore[arg-type]
        actions=names,
        phrases=phrases,
        chosen=chosen,
        foil=question.foil if outcome is None else None,
        outcome=outcome,
        probabilities=shares,
        values=action_values(policy, scores),
        outside=tuple(np.flatnonzero((question.trained or question.space).outside(question.command)).tolist()),
        free=free,
        preferences=question.space.simplex,
        constraints=question.space.constraint_texts,
        amounts=policy.limits if isinstance(policy, FoilPolicy) else (),
    )


def _best_over_subsets(question: Question, options: Options, ask_all: _Ask) -> Answer:
    """Search with each set of objectives that may change (63 sets for 6 objectives); return the best distinct answers.

    The second best and all further answers are the alternatives of the best one.
    """
    movable = np.flatnonzero(question.high > question.low).tolist()
    answers: list[Answer] = []
    fewest = 2 if question.space.simplex else 1  # weights sum to 1, so none can change alone
    for count in range(fewest, len(movable) + 1):
        subsets = list(itertools.combinations(movable, count))
        locked = [_allow(question, subset) for subset in subsets]
        answers += ask_all(locked, subsets if count < len(movable) else None)
        if options.sparse and options.k == 1 and any(a.found for a in answers):
            break
    if not answers:  # no objective can change
        return ask_all([question], None)[0]
    large = [a for a in answers if a.found and not _small_changes(question, a, options.min_change)]
    distinct = _distinct(question, large or answers, sparse=options.sparse)
    if not distinct:  # the last search allowed all objectives to change
        return replace(_with_total(answers[-1], answers), requested=options.k)
    first, *others = distinct[: options.k]
    all_proven = all(a.status in (Status.PROVEN_CLOSEST, Status.PROVEN_INFEASIBLE) for a in answers)
    status = first.status if all_proven else Status.FOUND
    return replace(_with_total(first, answers), status=status, alternatives=tuple(others), requested=options.k)


def _distinct(question: Question, answers: list[Answer], *, sparse: bool) -> list[Answer]:
    """Return the answers in order, without variations of an earlier one.

    With `sparse`, answers that change fewer objectives come first. Otherwise the answer of the search in which all
    objectives may change comes first. Then the smaller distance decides.
    """

    def rank(answer: Answer) -> tuple[int, float]:
        free = answer.question.free
        return (len(free) or question.space.dim) if sparse else bool(free), _distance(answer)

    distinct: list[Answer] = []
    for answer in sorted((a for a in answers if a.found), key=rank):
        if all(_differ(question, answer, other) for other in distinct):
            distinct.append(answer)
    return distinct


def _differ(question: Question, one: Answer, other: Answer) -> bool:
    """Return whether two answers are far apart, and differ in which objectives they change or in which direction."""
    apart = question.space.distance(one.command, other.command, question.norm)  # type: ignore[arg-type]
    far = apart >= APART * min(_distance(one), _distance(other))
    return bool(far and (_pattern(question, one) != _pattern(question, other)).any())


def _pattern(question: Question, answer: Answer) -> np.ndarray:
    """Return the direction, -1, 0 or 1, in which an answer changes each objective."""
    change = (answer.command - question.command) / question.space.scale
    return np.where(np.abs(change) <= HARDLY * np.abs(change).max(), 0.0, np.sign(change))


def _allow(question: Question, objectives: Sequence[int]) -> Question:
    """Return the question with all objectives locked except the given ones."""
    free = np.isin(np.arange(question.space.dim), objectives)
    low, high = np.where(free, question.low, question.command), np.where(free, question.high, question.command)
    return replace(question, low=low, high=high)


def _without_small_changes(answer: Answer, min_change: float, ask_all: _Ask) -> Answer:
    """Return an answer without small changes, if there is one: lock their objectives one by one, the smallest first."""
    while answer.live is not None and answer.found:
        question = answer.live.question
        free = np.flatnonzero(question.high > question.low).tolist()
        for i in _small_changes(question, answer, min_change):
            others = tuple(j for j in free if j != i)
            if not others:
                continue
            [simpler] = ask_all([_allow(question, others)], [others])
            both = (answer, simpler)
            if simpler.found:
                more = {"alternatives": answer.alternatives, "requested": answer.requested}
                answer = replace(_with_total(simpler, both), **more)  # type: ignore[arg-type]
                break
            answer = _with_total(answer, both)
        else:
            return answer
    return answer


def _small_changes(question: Question, answer: Answer, min_change: float) -> list[int]:
    """Return the objectives that an answer changes by less than `min_change`, the smallest change first."""
    sizes = np.abs(answer.command - question.command) / question.space.scale
    return [i for i in np.argsort(sizes, kind="stable").tolist() if 0 < sizes[i] < min_change]


def _with_total(answer: Answer, parts: Sequence[Answer]) -> Answer:
    """Return the answer with the sum of the queries and of the times of several answers."""
    queries = sum((Counter(part.search.queries) for part in parts), Counter[str]())
    seconds = sum(part.search.seconds for part in parts)
    return replace(answer, search=replace(answer.search, queries=dict(queries), seconds=seconds))


def _distance(answer: Answer) -> float:
    return 0.0 if answer.quoted is None else answer.quoted.distance
