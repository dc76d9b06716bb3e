"""The evaluation of a user study: who is excluded, and how the conditions differ.

The unit is the participant, because the replies of one person depend on each other. Conditions are compared by a
permutation test on the participants' scores. The test is exact for every distribution of scores, because the conditions
were assigned at random. A mixed-effects logistic regression would need another package (that of statsmodels is
Bayesian) and assumptions about people that the permutation test does not need.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from paretofoil.web.user_study.plan import UserStudy
from paretofoil.web.user_study.replies import Participant, Reply

RESAMPLES = 9999
"""Number of permutations of a test. In small studies, all permutations are enumerated."""
LEVEL = 0.95
"""Confidence level of all intervals."""


@dataclass(frozen=True)
class ParticipantScores:
    """The accuracy, time, ratings and failed attention checks of one participant."""

    participant: Participant
    accuracy: float
    """Share of correct replies."""
    seconds: float
    """Median time per task, without the time during which the page was hidden."""
    ratings: Mapping[str, float]
    """The mean of each rating."""
    failed_checks: int
    finished: bool


@dataclass(frozen=True)
class Estimate:
    """A mean with its 95 % interval."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        mean, low, high = (f"{x:.1f}" if abs(self.mean) >= 10 else f"{x:.2f}" for x in (self.mean, self.low, self.high))
        return f"{mean} ({low} to {high})"


@dataclass(frozen=True)
class ConditionComparison:
    """The difference between a condition and the baseline in one measure."""

    measure: str
    condition: str
    difference: Estimate
    """The condition minus the baseline."""
    p: float
    """The p-value of the two-sided permutation test."""
    adjusted_p: float
    """The p-value after Holm's correction for all comparisons in this measure."""


@dataclass(frozen=True)
class UserStudyEvaluation:
    """All results of a user study."""

    study: UserStudy
    included: Sequence[ParticipantScores]
    excluded: Sequence[tuple[ParticipantScores, str]]
    """The excluded participants, each with the reason."""
    estimates: Mapping[tuple[str, str], Estimate]
    """The mean of each measure and condition."""
    comparisons: Sequence[ConditionComparison]
    by_task: Mapping[tuple[str, str], tuple[int, int]]
    """Correct replies and all replies of the included participants, by task and condition."""

    def values(self, measure: str, condition: str) -> np.ndarray:
        """Return the scores of the included participants of a condition in one measure."""
        return _values(self.included, measure, condition)


def evaluate(
    study: UserStudy,
    people: Sequence[Participant],
    replies: Sequence[Reply],
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> UserStudyEvaluation:
    """Return the exclusions, the means by condition, and the comparisons with the baseline."""
    by_person: dict[int, list[Reply]] = {}
    for reply in replies:
        by_person.setdefault(reply.number, []).append(reply)
    scores = [_scores(study, person, by_person.get(person.number, [])) for person in people]
    reasons = [_reason(study, score) for score in scores]
    included = [score for score, reason in zip(scores, reasons, strict=True) if reason is None]
    estimates: dict[tuple[str, str], Estimate] = {}
    comparisons: list[ConditionComparison] = []
    rng = np.random.default_rng(seed)
    for measure in measures(study):
        groups = {c.name: _values(included, measure, c.name) for c in study.conditions}
        estimates |= {(measure, name): _estimate(measure, values) for name, values in groups.items() if values.size}
        control = groups.pop(study.baseline.name)
        comparable = {name: values for name, values in groups.items() if min(values.size, control.size) > 1}
        comparisons += _holm(
            [_compare(measure, name, values, control, rng, resamples) for name, values in comparable.items()]
        )
    kept = {score.participant.number: score.participant.condition for score in included}
    by_task: dict[tuple[str, str], tuple[int, int]] = {}
    for reply in replies:
        if reply.number in kept and reply.correct is not None and reply.kind != "check":
            correct, total = by_task.get((reply.step, kept[reply.number]), (0, 0))
            by_task[reply.step, kept[reply.number]] = (correct + reply.correct, total + 1)
    excluded = [(score, reason) for score, reason in zip(scores, reasons, strict=True) if reason is not None]
    return UserStudyEvaluation(study, included, excluded, estimates, comparisons, by_task)


def measures(study: UserStudy) -> list[str]:
    """Return the names of the measures: accuracy, seconds, and the ratings."""
    return ["accuracy", "seconds", *(rating.name for rating in study.ratings)]


def _values(scores: Sequence[ParticipantScores], measure: str, condition: str) -> np.ndarray:
    rows = [score for score in scores if score.participant.condition == condition]
    if measure in ("accuracy", "seconds"):
        return np.array([getattr(score, measure) for score in rows], dtype=float)
    return np.array([score.ratings[measure] for score in rows if measure in score.ratings], dtype=float)


def _scores(study: UserStudy, person: Participant, replies: Sequence[Reply]) -> ParticipantScores:
    tasks = [reply for reply in replies if reply.correct is not None and reply.kind != "check"]
    ratings: dict[str, list[int]] = {}
    for reply in replies:
        for name, points in reply.ratings.items():
            ratings.setdefault(name, []).append(points)
    has_end = any(rating.asked == "end" for rating in study.ratings)
    return ParticipantScores(
        person,
        accuracy=float(np.mean([bool(reply.correct) for reply in tasks])) if tasks else 0.0,
        seconds=float(np.median([reply.seconds - reply.away for reply in tasks])) if tasks else 0.0,
        ratings={name: float(np.mean(points)) for name, points in ratings.items()},
        failed_checks=sum(reply.kind == "check" and not reply.correct for reply in replies),
        finished=len(replies) == len(study.tasks) + has_end,
    )


def _reason(study: UserStudy, score: ParticipantScores) -> str | None:
    """Return why a participant is excluded; None if the participant is included."""
    if not score.finished:
        return "did not finish"
    if score.failed_checks > study.analysis.max_failed_checks:
        return "failed an attention check"
    if score.seconds < study.analysis.min_seconds:
        return f"took less than {study.analysis.min_seconds:g} s per task"
    return None


def _estimate(measure: str, values: np.ndarray) -> Estimate:
    """Return the mean with its t interval; if the accuracy is 0 or 1, with the exact interval of a proportion."""
    from scipy.stats import binomtest, t

    mean = float(values.mean())
    if measure == "accuracy" and mean in (0.0, 1.0):
        interval = binomtest(round(mean) * values.size, values.size).proportion_ci(LEVEL)
        return Estimate(mean, float(interval.low), float(interval.high))
    if values.size < 2:
        return Estimate(mean, float("nan"), float("nan"))
    half = float(t.ppf((1 + LEVEL) / 2, values.size - 1) * values.std(ddof=1) / np.sqrt(values.size))
    low, high = mean - half, mean + half
    return Estimate(mean, max(low, 0.0), min(high, 1.0)) if measure == "accuracy" else Estimate(mean, low, high)


def _compare(
    measure: str, condition: str, values: np.ndarray, control: np.ndarray, rng: np.random.Generator, resamples: int
) -> ConditionComparison:
    """Return the difference of the means with Welch's interval, and the p-value of the permutation test."""
    from scipy.stats import t

    errors = np.array([group.var(ddof=1) / group.size for group in (values, control)])
    difference, variance = float(values.mean() - control.mean()), float(errors.sum())
    freedom = variance**2 / float((errors**2 / [values.size - 1, control.size - 1]).sum()) if variance else 1.0
    half = float(t.ppf((1 + LEVEL) / 2, freedom)) * variance**0.5 if variance else 0.0
    p = permutation_p(values, control, rng, resamples)
    return ConditionComparison(measure, condition, Estimate(difference, difference - half, difference + half), p, p)


def permutation_p(
    values: np.ndarray, control: np.ndarray, rng: np.random.Generator, resamples: int = RESAMPLES
) -> float:
    """Return the p-value of the hypothesis that both groups come from one distribution."""
    from scipy.stats import permutation_test

    def difference(a: np.ndarray, b: np.ndarray, axis: int) -> Any:
        return a.mean(axis=axis) - b.mean(axis=axis)

    test = permutation_test((values, control), difference, vectorized=True, n_resamples=resamples, rng=rng)
    return float(test.pvalue)


def _holm(comparisons: Sequence[ConditionComparison]) -> list[ConditionComparison]:
    """Return the comparisons with p-values after Holm's correction.

    If all p-values are compared with one level, the probability of any false finding is at most that level.
    """
    largest, adjusted = 0.0, {}
    for rank, one in enumerate(sorted(comparisons, key=lambda one: one.p)):
        largest = max(largest, min(1.0, one.p * (len(comparisons) - rank)))
        adjusted[one.condition] = largest
    return [replace(one, adjusted_p=adjusted[one.condition]) for one in comparisons]
