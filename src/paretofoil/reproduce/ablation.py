"""What each choice of CF-ZOO is worth, and what all searches give for equal numbers of queries (not in the paper)."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import cycle
from typing import Any, cast

import numpy as np

from paretofoil.core.constants import KAPPA
from paretofoil.core.search import Search
from paretofoil.reproduce.distances import Distances
from paretofoil.reproduce.plan import Plan
from paretofoil.reproduce.report import Picture, Report
from paretofoil.search import AtMost
from paretofoil.show.curves_figure import Curve, figure_curves
from paretofoil.show.palette import BLUE, GREEN, GREY, INK, ORANGE, PURPLE, RED
from paretofoil.study import STRESS, Case
from paretofoil.study.case import enumerate_cases, evenly
from paretofoil.study.table import Table

AS_RUN, EXACT = "cf-zoo:as-run", "exact"
CHOICES = {
    "no cone": "cone",
    "no axis rays": "axis_rays",
    "no front rays": "front_rays",
    "bisect last": "bisect_at_once",
    "no ZOO": "zoo",
    "no final bisection": "final_bisection",
}
"""What is left out of CF-ZOO as run, one at a time, by the label of what remains."""
COLOURS = (INK, GREEN, GREY, PURPLE, BLUE, RED, ORANGE)
"""Of the curves, in the order of their labels."""
WORTH_AT = 9_000
"""Choices are weighed at the largest number of queries that is not above this one, about what the paper's B spends."""


def reproduce_ablation(plan: Plan) -> Report:
    """A sample of the stress test's cases, by every search and every form of CF-ZOO as run, at equal queries."""
    sample = _sample(plan)
    rows = plan.rows("ablation", _searches(plan), STRESS, only=sample)
    strict = plan.rows("ablation-kappa-0", _at_kappa_0(plan), STRESS, only=sample, kappa=0.0)
    distances, greedy = Distances.of(rows), Distances.of(strict)
    held, forms = list(plan.budgets.held), [AS_RUN, *CHOICES]
    report = Report("What each choice of CF-ZOO is worth")
    report.say(
        f"{len(sample)} cases, {plan.budgets.sample} of each environment evenly spread over its stress test, of which "
        f"{len(distances.feasible)} are known to be feasible. Every search is held to the same number of queries for "
        "each question; for the white-box attacks that is evaluations of the network, and they end by themselves "
        "before the largest number. CF-ZOO as the text tells it (`cf-zoo`) leaves a quarter of its queries to the ends "
        "of rays, a quarter to bisections, half to ZOO; as the authors' code runs it (`cf-zoo:as-run`) rays and ZOO "
        "have half each, and bisections are the rays'. Without ZOO the rays have its half too."
    )
    report.add(*_tables(distances, "All searches", held, plan.budgets.held_to))
    report.add(_picture(distances, "ablation-searches", "All searches at equal queries", held, plan.budgets.held_to))
    report.add(*_tables(distances, "CF-ZOO as run, one choice left out", forms, plan.budgets.held_to))
    report.add(_picture(distances, "ablation-choices", "One choice left out", forms, plan.budgets.held_to))
    return report.add(_worth(distances, greedy, _worth_at(plan)))


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
    queries = _worth_at(plan)
    return {EXACT: plan.budgets.exact, _label(AS_RUN, queries): AtMost(plan.budgets.held[AS_RUN], queries)}


def _worth_at(plan: Plan) -> int:
    counts = plan.budgets.held_to
    return max([queries for queries in counts if queries <= WORTH_AT], default=counts[0])


def _tables(distances: Distances, title: str, names: list[str], counts: tuple[int, ...]) -> list[Table]:
    columns = ("search", *(f"at {queries:,}" for queries in counts))
    labels = [[_label(name, queries) for queries in counts] for name in names]
    shares = tuple((name, *map(distances.recovered, row)) for name, row in zip(names, labels, strict=True))
    ratios = tuple((name, *map(distances.ratio, row)) for name, row in zip(names, labels, strict=True))
    note = "Means over each search's own successes: where fewer are found, the farthest are missing."
    return [
        Table(f"{title}: recovered, in % of known-feasible cases [95 % CI]", columns, shares),
        Table(f"{title}: distance / proven optimum", columns, ratios, note),
    ]


def _picture(distances: Distances, file: str, caption: str, names: list[str], counts: tuple[int, ...]) -> Picture:
    curves = []
    for name, colour in zip(names, cycle(COLOURS), strict=False):
        ratios = {queries: distances.ratio(_label(name, queries)) for queries in counts}
        shares = {queries: distances.recovered(_label(name, queries)).rate for queries in counts}
        curves.append(Curve(name, colour, shares, {q: ratio for q, ratio in ratios.items() if ratio is not None}))
    return Picture.of(figure_curves(curves), file, f"{caption}: what is recovered, and how far from the optimum")


def _worth(distances: Distances, greedy: Distances, queries: int) -> Table:
    """Each form beside CF-ZOO as run, case by case."""
    whole = _label(AS_RUN, queries)
    lines = [beside(name, distances, _label(name, queries), distances.found[whole]) for name in CHOICES]
    at_0 = beside("kappa 0 instead", greedy, whole, distances.found[whole])
    columns = ("form", "recovered [95 % CI]", "only the whole", "only this form", "distance / that of the whole")
    recovered = distances.recovered(whole)
    note = (
        f"CF-ZOO as run recovers {recovered} % at {queries:,} queries. Only the whole, only this form: cases that one "
        "of the two finds and the other does not. Distances: the mean of the ratios over the cases that both find. "
        f"Kappa 0 asks that the foil be greedy, where the others ask for a margin of {KAPPA:g}, and has feasible cases "
        "of its own."
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
