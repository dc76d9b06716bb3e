"""The design of a user study: how many participants it needs, and its preregistration."""

from dataclasses import dataclass
from pathlib import Path

from paretofoil.core.errors import InvalidInput
from paretofoil.web.user_study.plan import CheckTask, UserStudy

MAX_PER_CONDITION = 2500
"""Largest number of participants per condition: with four conditions, a file of replies is full (10,000)."""


@dataclass(frozen=True)
class Effect:
    """An effect that a study should find: people reply correctly more often in a condition than in the baseline."""

    base: float = 0.5
    """Accuracy in the baseline."""
    difference: float = 0.15
    """Accuracy in another condition minus `base`."""
    spread: float = 0.15
    """Standard deviation between people of the accuracy that each would have over many tasks."""

    def __post_init__(self) -> None:
        for name, rate in (("base", self.base), ("base plus difference", self.base + self.difference)):
            if not 0 < rate < 1:
                raise InvalidInput.expected(f"an accuracy between 0 and 1 as {name}", rate)
            if not 0 <= self.spread**2 < rate * (1 - rate):
                raise InvalidInput.expected(f"a spread from 0 to below {(rate * (1 - rate)) ** 0.5:.2f}", self.spread)
        if self.difference == 0:
            raise InvalidInput.expected("a difference other than 0", self.difference)

    def variance(self, rate: float, num_tasks: int) -> float:
        """Return the variance between participants of the share of correct replies to this many tasks."""
        return (rate * (1 - rate) - self.spread**2) / num_tasks + self.spread**2


@dataclass(frozen=True)
class Plan:
    """How many participants a study needs."""

    effect: Effect
    per_condition: int
    num_conditions: int
    num_tasks: int
    level: float
    """Significance level of each comparison: that of the study, divided by the number of comparisons."""
    power: float
    """Probability that one comparison with this effect is significant."""

    @property
    def participants(self) -> int:
        return self.per_condition * self.num_conditions


def plan_study(study: UserStudy, effect: Effect, power: float = 0.8) -> Plan:
    """Return the smallest number of participants per condition with which the effect is found with this power.

    The power is that of a t-test on the participants' scores. For samples of this size, the permutation test of the
    report has the same power (`benchmarks/user_study_power.py`). The accuracy of people is assumed to have a beta
    distribution around that of their condition.
    """
    if not 0 < power < 1:
        raise InvalidInput.expected("a power between 0 and 1", power)
    if len(study.conditions) < 2:
        raise InvalidInput.expected("a study with two or more conditions", len(study.conditions))
    num_tasks = sum(not isinstance(task, CheckTask) for task in study.tasks)
    level = study.analysis.alpha / (len(study.conditions) - 1)
    for size in range(2, MAX_PER_CONDITION + 1):
        if (reached := _power(size, effect, num_tasks, level)) >= power:
            return Plan(effect, size, len(study.conditions), num_tasks, level, reached)
    raise InvalidInput.expected(
        f"an effect that can be found with {MAX_PER_CONDITION:,} participants per condition and a power of {power:g}",
        f"a difference of {effect.difference:g} (plan for a larger effect, more tasks, or less power)",
    )


def plan_sentences(study: UserStudy, plan: Plan) -> list[str]:
    """Return sentences: how many participants are needed, and under which assumptions."""
    effect, size = plan.effect, f"{plan.per_condition:,} in each of {plan.num_conditions} conditions"
    rates = f"from {effect.base:g} to {effect.base + effect.difference:g}"
    return [
        f"{plan.participants:,} participants after exclusions, {size}.",
        f"With {plan.num_tasks} tasks, this finds a difference in accuracy of {effect.difference:g} ({rates}) with a "
        f"power of {plan.power:.2f}, at a level of {plan.level:.3g} for each comparison with {study.baseline.name}.",
        f"This assumes that the accuracy of people of one condition has a standard deviation of {effect.spread:g}.",
    ]


def _power(size: int, effect: Effect, num_tasks: int, level: float) -> float:
    """Return the power of a two-sided t-test with this many participants in each of two conditions."""
    from scipy.stats import nct, t

    rates = (effect.base, effect.base + effect.difference)
    error = (sum(effect.variance(rate, num_tasks) for rate in rates) / size) ** 0.5
    freedom, shift = 2 * size - 2, abs(effect.difference) / error
    critical = t.ppf(1 - level / 2, freedom)
    return float(nct.sf(critical, freedom, shift) + nct.cdf(-critical, freedom, shift))


def preregistration(study: UserStudy, plan: Plan) -> str:
    """Return the text of a preregistration as Markdown. Sentences in brackets are for the researcher to complete."""
    others = [f"`{condition.name}`" for condition in study.conditions if condition is not study.baseline]
    conditions = [
        f"- `{c.name}`: shows {', '.join(c.shows) or 'the episode only'}"
        + "".join(f"; `{other}` instead of `{name}`" for name, other in c.instead.items())
        for c in study.conditions
    ]
    tasks = [f"- `{task.name}` ({task.kind}): {task.text}" for task in study.tasks if not isinstance(task, CheckTask)]
    checks = [f"`{task.name}`" for task in study.tasks if isinstance(task, CheckTask)]
    ratings = [
        f"\n- `{r.name}`, 1 ({r.low}) to {r.points} ({r.high}), at the {r.asked}: {r.text}" for r in study.ratings
    ]
    lists = {"conditions": conditions, "tasks": tasks, "sample": plan_sentences(study, plan)}
    template = Path(__file__).with_name("preregistration.md").read_text(encoding="utf-8")
    return template.format(
        study=study,
        plan=plan,
        rules=study.analysis,
        others=", ".join(others),
        num_comparisons=len(others),
        checks=", ".join(checks) or "none",
        ratings="".join(ratings),
        **{name: "\n".join(lines) for name, lines in lists.items()},
    )
