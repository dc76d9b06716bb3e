"""Ablation of CF-ZOO, and all searches at equal numbers of queries (not in the paper)."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import cycle
from typing import Any, cast

import numpy as np

from paretofoil.core.search import Search
from paretofoil.show.palette import BLUE, GREEN, GREY, INK, ORANGE, PURPLE, RED, SKY
from paretofoil.study import STRESS, Case
from paretofoil.study.case import enumerate_cases, evenly
from paretofoil.study.statistics import Proportion
from paretofoil.study.table import Table
from paretofoil_paper.distances import Distances
from paretofoil_paper.figures import Curve, figure_curves
from paretofoil_paper.plan import Plan
from paretofoil_paper.protocols import AS_RUN
from paretofoil_paper.report import Picture
from paretofoil_paper.searches import AtMost

EXACT = "exact"
COMPONENTS = {
    "no cone": "cone",
    "no axis rays": "axis_rays",
    "no front rays": "front_rays",
    "bisect last": "bisect_at_once",
    "no ZOO": "zoo",
    "no final bisection": "final_bisection",
}
"""The component of CF-ZOO as run that is left out, by the label of the variant."""
COLOURS = (INK, GREEN, GREY, PURPLE, BLUE, RED, ORANGE, SKY)
"""The colours of the curves, in their order."""
KAPPA_0 = "kappa 0"
COMPARED_AT = 9_000
"""Variants are compared at the largest limit up to this one. As run, B = 3,001 spends 6,001 queries, B = 9,001 spends
18,001."""


def ablation_tables(plan: Plan) -> tuple[list[Table], Picture]:
    """Run a sample of the stress test with every search and every variant of CF-ZOO as run, at equal queries.

    Return the effect of each component, the searches and the variants at each limit, and the curves of the searches.
    """
    sample = _sample(plan)
    rows = plan.rows("ablation", _searches(plan), STRESS, only=sample)
    rows_at_0 = plan.rows("ablation-kappa-0", _searches_at_kappa_0(plan), STRESS, only=sample, kappa=0.0)
    distances, distances_at_0 = Distances.of(rows), Distances.of(rows_at_0)
    searches = [Line(name, distances, name) for name in plan.budgets.ablation]
    variants = [*(Line(name, distances, name) for name in (AS_RUN, *COMPONENTS)), Line(KAPPA_0, distances_at_0, AS_RUN)]
    limits = plan.budgets.ablation_queries
    tables = [_effects(distances, distances_at_0, _compared_at(plan)), *_tables("All searches", searches, limits)]
    tables += _tables("CF-ZOO as run, one component left out", variants, limits)
    return tables, _picture("ablation-searches", "All searches at equal queries", searches, limits)


@dataclass(frozen=True)
class Line:
    """A search or a variant of CF-ZOO, over all limits."""

    name: str
    """Its label on the page."""
    distances: Distances
    search: str
    """Its label in the study of these distances."""

    def recovered(self, queries: int) -> Proportion:
        return self.distances.recovered(_label(self.search, queries))

    def ratio(self, queries: int) -> float | None:
        return self.distances.ratio(_label(self.search, queries))


def _sample(plan: Plan) -> list[Case]:
    sample = []
    for environment in plan.agents:
        cases = [case for case, _ in enumerate_cases(plan.load(environment), STRESS, plan.seed)]
        sample += [cases[number] for number in evenly(len(cases), plan.budgets.ablation_cases)]
    return sample


def _label(name: str, queries: int) -> str:
    return f"{name} at {queries:,}"


def _searches(plan: Plan) -> dict[str, Search]:
    """Return every search and every variant of CF-ZOO as run at every limit, and the exact search."""
    budgets = plan.budgets
    as_run = cast(Any, budgets.ablation[AS_RUN])
    variants = {name: replace(as_run, **{component: False}) for name, component in COMPONENTS.items()}
    searches: dict[str, Search] = {EXACT: budgets.exact}
    for name, search in {**budgets.ablation, **variants}.items():
        searches |= {_label(name, queries): AtMost(search, queries) for queries in budgets.ablation_queries}
    return searches


def _searches_at_kappa_0(plan: Plan) -> dict[str, Search]:
    as_run, limits = plan.budgets.ablation[AS_RUN], plan.budgets.ablation_queries
    return {EXACT: plan.budgets.exact} | {_label(AS_RUN, queries): AtMost(as_run, queries) for queries in limits}


def _compared_at(plan: Plan) -> int:
    limits = plan.budgets.ablation_queries
    return max([queries for queries in limits if queries <= COMPARED_AT], default=limits[0])


def _tables(title: str, lines: list[Line], limits: tuple[int, ...]) -> list[Table]:
    columns = ("search", *(f"at {queries:,}" for queries in limits))
    shares = tuple((line.name, *map(line.recovered, limits)) for line in lines)
    ratios = tuple((line.name, *map(line.ratio, limits)) for line in lines)
    note = "Medians over the successes of each search; a search that solves fewer cases misses the farthest ones."
    return [
        Table(f"{title}: recovered, in % of known feasible cases [95 % CI]", columns, shares),
        Table(f"{title}: distance / proven optimum", columns, ratios, note),
    ]


def _picture(file: str, caption: str, lines: list[Line], limits: tuple[int, ...]) -> Picture:
    curves = []
    for line, colour in zip(lines, cycle(COLOURS), strict=False):
        ratios = {queries: line.ratio(queries) for queries in limits}
        shares = {queries: line.recovered(queries).rate for queries in limits}
        curves.append(Curve(line.name, colour, shares, {q: ratio for q, ratio in ratios.items() if ratio is not None}))
    return Picture.of(figure_curves(curves), file, f"{caption}: recovery, and distance relative to the optimum")


def _effects(distances: Distances, distances_at_0: Distances, queries: int) -> Table:
    """Return each variant compared with CF-ZOO as run, case by case."""
    reference = _label(AS_RUN, queries)
    as_run = distances.found[reference]
    lines = [compare(name, distances, _label(name, queries), as_run) for name in COMPONENTS]
    at_0 = compare(KAPPA_0, distances_at_0, reference, as_run)
    columns = ("variant", "recovered [95 % CI]", "only as-run", "only this variant", "distance / that of as-run")
    note = (
        f"CF-ZOO as run recovers {distances.recovered(reference)} % at {queries:,} queries. Only: cases that one of "
        "the two solves and the other does not. Distance: median of the ratios of both distances over the cases that "
        "both solve."
    )
    return Table(
        f"The effect of each component at {queries:,} queries", columns, (*lines, at_0), note, rules=(len(lines),)
    )


def compare(name: str, distances: Distances, label: str, as_run: Mapping[Case, float]) -> tuple[Any, ...]:
    """Return the line of a variant: its recovery, the cases that only one solves, and the ratio of the distances."""
    variant = distances.found[label]
    ratios = [variant[case] / as_run[case] for case in variant if as_run.get(case)]
    only = (len(as_run.keys() - variant.keys()), len(variant.keys() - as_run.keys()))
    return (name, distances.recovered(label), *only, float(np.median(ratios)) if ratios else None)
