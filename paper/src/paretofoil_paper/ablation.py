"""What each choice of CF-ZOO is worth, and what all searches give for equal numbers of queries (not in the paper)."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import cycle
from typing import Any, cast

import numpy as np

from paretofoil.core.constants import KAPPA
from paretofoil.core.search import Search
from paretofoil.show.palette import BLUE, GREEN, GREY, INK, ORANGE, PURPLE, RED, SKY
from paretofoil.study import STRESS, Case
from paretofoil.study.case import enumerate_cases, evenly
from paretofoil.study.statistics import Proportion
from paretofoil.study.table import Table
from paretofoil_paper.distances import Distances
from paretofoil_paper.figures import Curve, figure_curves
from paretofoil_paper.plan import Plan
from paretofoil_paper.protocols import AS_RUN, REACHABLE_SETTING
from paretofoil_paper.report import Picture, Report
from paretofoil_paper.searches import AtMost

EXACT = "exact"
CHOICES = {
    "no cone": "cone",
    "no axis rays": "axis_rays",
    "no front rays": "front_rays",
    "bisect last": "bisect_at_once",
    "no ZOO": "zoo",
    "no final bisection": "final_bisection",
}
"""What is left out of CF-ZOO as run, one at a time, by the label of what remains."""
COLOURS = (INK, GREEN, GREY, PURPLE, BLUE, RED, ORANGE, SKY)
"""Of the curves, in the order of their labels."""
KAPPA_0 = "kappa 0"
METHOD = (
    "Every search is held to the same number of queries for each question; for the white-box attacks that is "
    "evaluations of the network, and they end by themselves before the largest number, as `nearest-front` does, which "
    "asks about each point of the front once. CF-ZOO as the text tells it (`cf-zoo`) leaves a quarter of its queries "
    "to the ends of rays, a quarter to bisections, half to ZOO; as the authors' code runs it (`cf-zoo:as-run`) rays "
    "and ZOO have half each, and bisections are the rays'. Without ZOO the rays have its half too. Kappa 0 asks that "
    f"the foil be greedy, where the others ask for a margin of {KAPPA:g}, and has feasible cases and proven optima of "
    "its own. Intervals are Wilson's."
)
WORTH_AT = 9_000
"""Choices are weighed at the largest number of queries that is not above this one: between what a B of 3,001 spends as
run, 6,001, and a B of 9,001, 18,001."""


def reproduce_ablation(plan: Plan) -> Report:
    """A sample of the stress test's cases, by every search and every form of CF-ZOO as run, at equal queries."""
    sample = _sample(plan)
    rows = plan.rows("ablation", _searches(plan), STRESS, only=sample)
    strict = plan.rows("ablation-kappa-0", _at_kappa_0(plan), STRESS, only=sample, kappa=0.0)
    distances, greedy = Distances.of(rows), Distances.of(strict)
    held = [Line(name, distances, name) for name in plan.budgets.held]
    forms = [*(Line(name, distances, name) for name in (AS_RUN, *CHOICES)), Line(KAPPA_0, greedy, AS_RUN)]
    counts = plan.budgets.held_to
    report = Report("What each choice of CF-ZOO is worth")
    report.say(
        f"{REACHABLE_SETTING} The authors ran CF-ZOO in the paper's box; here `{AS_RUN}` has its settings and not that "
        "box, so that all searches are compared in one.",
        f"{len(sample)} cases, {plan.budgets.sample} of each environment evenly spread over its stress test, of which "
        f"{len(distances.feasible)} are known to be feasible. {METHOD}",
    )
    report.add(*_tables("All searches", held, counts))
    report.add(_picture("ablation-searches", "All searches at equal queries", held, counts))
    report.add(*_tables("CF-ZOO as run, one choice left out", forms, counts))
    report.add(_picture("ablation-choices", "One choice left out", forms, counts))
    return report.add(_worth(distances, greedy, _worth_at(plan)))


@dataclass(frozen=True)
class Line:
    """A search or a form of one, over all numbers of queries."""

    name: str
    """What it is called."""
    distances: Distances
    search: str
    """Its name in the study that these distances come from."""

    def recovered(self, queries: int) -> Proportion:
        return self.distances.recovered(_label(self.search, queries))

    def ratio(self, queries: int) -> float | None:
        return self.distances.ratio(_label(self.search, queries))


def _sample(plan: Plan) -> list[Case]:
    picked = []
    for environment in plan.agents:
        cases = [case for case, _ in enumerate_cases(plan.load(environment), STRESS, plan.seed)]
        picked += [cases[number] for number in evenly(len(cases), plan.budgets.sample)]
    return picked


def _label(name: str, queries: int) -> str:
    return f"{name} at {queries:,}"


def _searches(plan: Plan) -> dict[str, Search]:
    """Every search and every form of CF-ZOO as run at every number of queries, and the proofs."""
    budgets = plan.budgets
    as_run = cast(Any, budgets.held[AS_RUN])
    forms = {name: replace(as_run, **{choice: False}) for name, choice in CHOICES.items()}
    named = [
        (name, search, queries) for name, search in {**budgets.held, **forms}.items() for queries in budgets.held_to
    ]
    return {EXACT: budgets.exact} | {_label(name, queries): AtMost(search, queries) for name, search, queries in named}


def _at_kappa_0(plan: Plan) -> dict[str, Search]:
    held, counts = plan.budgets.held[AS_RUN], plan.budgets.held_to
    return {EXACT: plan.budgets.exact} | {_label(AS_RUN, queries): AtMost(held, queries) for queries in counts}


def _worth_at(plan: Plan) -> int:
    counts = plan.budgets.held_to
    return max([queries for queries in counts if queries <= WORTH_AT], default=counts[0])


def _tables(title: str, lines: list[Line], counts: tuple[int, ...]) -> list[Table]:
    columns = ("search", *(f"at {queries:,}" for queries in counts))
    shares = tuple((line.name, *map(line.recovered, counts)) for line in lines)
    ratios = tuple((line.name, *map(line.ratio, counts)) for line in lines)
    note = "Means over each search's own successes: where fewer are found, the farthest are missing."
    return [
        Table(f"{title}: recovered, in % of known-feasible cases [95 % CI]", columns, shares),
        Table(f"{title}: distance / proven optimum", columns, ratios, note),
    ]


def _picture(file: str, caption: str, lines: list[Line], counts: tuple[int, ...]) -> Picture:
    curves = []
    for line, colour in zip(lines, cycle(COLOURS), strict=False):
        ratios = {queries: line.ratio(queries) for queries in counts}
        shares = {queries: line.recovered(queries).rate for queries in counts}
        curves.append(Curve(line.name, colour, shares, {q: ratio for q, ratio in ratios.items() if ratio is not None}))
    return Picture.of(figure_curves(curves), file, f"{caption}: what is recovered, and how far from the optimum")


def _worth(distances: Distances, greedy: Distances, queries: int) -> Table:
    """Each form beside CF-ZOO as run, case by case."""
    whole = _label(AS_RUN, queries)
    lines = [beside(name, distances, _label(name, queries), distances.found[whole]) for name in CHOICES]
    at_0 = beside(KAPPA_0, greedy, whole, distances.found[whole])
    columns = ("form", "recovered [95 % CI]", "only the whole", "only this form", "distance / that of the whole")
    recovered = distances.recovered(whole)
    note = (
        f"CF-ZOO as run recovers {recovered} % at {queries:,} queries. Only the whole, only this form: cases that one "
        "of the two finds and the other does not. Distances: the mean of the ratios over the cases that both find."
    )
    return Table(
        f"What each choice is worth at {queries:,} queries", columns, (*lines, at_0), note, rules=(len(lines),)
    )


def beside(name: str, distances: Distances, label: str, whole: Mapping[Case, float]) -> tuple[Any, ...]:
    """A line of the table: what a label recovers, what only one of both finds, and how much farther away it ends."""
    form = distances.found[label]
    both = [form[case] / whole[case] for case in form if whole.get(case)]
    only = (len(whole.keys() - form.keys()), len(form.keys() - whole.keys()))
    return (name, distances.recovered(label), *only, float(np.mean(both)) if both else None)
