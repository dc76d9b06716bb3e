"""The page about claims: statements of the paper's text, and the properties that it demands of an explanation."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from paretofoil.show.palette import BLUE, GREEN
from paretofoil.study import Row
from paretofoil.study.statistics import Proportion
from paretofoil.study.table import Table, text
from paretofoil_paper.attainable import attainable_answers, is_attainable
from paretofoil_paper.audit import proof_rows
from paretofoil_paper.authors_data import FEW_ENTRIES, PUBLISHED
from paretofoil_paper.claims.gradient import Gradient, gradient_table, gradients, is_aligned
from paretofoil_paper.claims.horizon import FACTORS, HorizonCommand, delivers_return, horizon_commands, horizon_table
from paretofoil_paper.claims.sparsity import (
    ChangedEntries,
    in_paper_region,
    in_reachable_region,
    is_few,
    long_commands,
    sparsity_table,
    verdict,
)
from paretofoil_paper.claims.undertrained import compare_agents, undertrained_table
from paretofoil_paper.consequences import SEARCHES, issued_answers, reaches_front, takes_foil
from paretofoil_paper.distances import Distances
from paretofoil_paper.figures import Series, figure_rates
from paretofoil_paper.front import front_table
from paretofoil_paper.issued import IssuedAnswer
from paretofoil_paper.measurements import mean_interval, share
from paretofoil_paper.paper_tables import ENVIRONMENTS
from paretofoil_paper.plan import Plan
from paretofoil_paper.protocols import AS_RUN, REACHABLE_PROTOCOL
from paretofoil_paper.report import Picture, Report, cells_of, pick
from paretofoil_paper.stress import stress_rows

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CAPTION = "Answers of CF-ZOO as run and of the exact search that change at most two entries, in the paper's region"


def page(plan: Plan) -> Report:
    """Test the claims one by one: what the paper says, how it was tested, and the result."""
    rows = stress_rows(plan) + proof_rows(plan)
    paper, reachable = in_paper_region(plan), in_reachable_region(plan, rows)
    slopes, horizons, pairs = gradients(plan, rows), horizon_commands(plan), compare_agents(plan)
    issued = issued_answers(plan, [row for row in rows if row.search in SEARCHES])
    fronts = front_table(plan)
    report = Report("Claims of the paper's text")
    report.find(_sparsity(paper), "claims.png")
    report.find(_gradients(slopes))
    if horizons:
        report.find(_horizons(horizons))
    report.find(_front(fronts))
    report.say(
        f"Words in bold italics are quoted from the paper. {REACHABLE_PROTOCOL} Sparsity is also measured in the "
        "paper's search region. Three further claims are on other pages: a budget of 50,000 ([audit](audit.md)), "
        "seeding ([agents](agents.md)) and speed ([comparison](comparison.md)). Trimming of episodes and the "
        "preference for shorter ones have no switch in this library and were not ablated.",
        "## Sparsity",
        _describe_sparsity(paper, reachable),
    )
    sparsity = sparsity_table(plan, "the paper's search region", paper, (AS_RUN, "exact"))
    columns = ("environment", "entries", "answers", "at most two [95 % CI]", "cluster [95 % CI]")
    of_zoo = pick(sparsity, columns, where=lambda cells: cells["search"] == AS_RUN)
    report.add(of_zoo, Picture.of(_figure(sparsity), "claims", CAPTION))
    solved_locally = {row.case for row in rows if row.search == "local-zoo" and row.found}
    gradient = gradient_table(plan, slopes, solved_locally)
    report.say("## Gradients", _describe_gradients())
    kept = ("environment", "answers", "cosine: median", "aligned [95 % CI]", "if aligned: succeeds [95 % CI]")
    report.add(pick(gradient, (*kept, "local ZOO succeeds [95 % CI]"), note=gradient.note))
    report.say("## The seven desiderata", _describe_desiderata())
    attainable = attainable_answers(plan, [row for row in rows if row.search == "exact" and row.found])
    report.add(_desiderata(rows, reachable, issued, share(attainable, is_attainable)))
    report.appendix += [sparsity, sparsity_table(plan, "the reachable search region", reachable, ("cf-zoo", "exact"))]
    report.appendix += [gradient, fronts]
    if horizons:
        report.appendix.append(horizon_table(horizons))
    if pairs:
        table = undertrained_table(pairs)
        report.say("## Trained and early agents", _describe_training())
        differing = pick(table, table.columns[:-1], where=lambda cells: cells["differs"] == "yes", note=table.note)
        report.add(differing).appendix.append(table)
    return report


def _few(answers: Sequence[ChangedEntries]) -> str:
    few = share(answers, is_few)
    return f"{100 * few.rate:.1f} % (cluster {mean_interval(answers, is_few)})" if few.cases else "none (of 0)"


def _sparsity(paper: Sequence[ChangedEntries]) -> str:
    as_run = [one for one in paper if one.search == AS_RUN]
    long = long_commands(as_run)
    return (
        f"***In practice, the explanations are usually sparse, changing 1 or 2 entries***: CF-ZOO as run changes at "
        f"most two entries in {_few(as_run)} of its answers, and in {_few(long)} of those whose command has three or "
        f"more ({verdict(long)}). The authors' rows have {100 * FEW_ENTRIES:.0f} %."
    )


def _describe_sparsity(paper: Sequence[ChangedEntries], reachable: Sequence[ChangedEntries]) -> str:
    groups = {
        "`exact` in the same region": [one for one in paper if one.search == "exact"],
        "`cf-zoo` in the reachable region": [one for one in reachable if one.search == "cf-zoo"],
        "`exact` in the reachable region": [one for one in reachable if one.search == "exact"],
    }
    shares = "; ".join(f"{name} {_few(long_commands(group))}" for name, group in groups.items())
    return (
        "An entry counts as changed if it moves by more than 0.1 % of its range in the search region, as in the "
        f"authors' rows. The result depends on region and search. Of commands with three or more entries: {shares}. "
        "The closest command is not sparse; ask for a sparse one (`sparse=True`)."
    )


def _gradients(rows: Sequence[Gradient]) -> str:
    aligned = [row for row in rows if row.aligned]
    failures = share(aligned, lambda row: not row.line_succeeds)
    cosines = [row.cosine for row in rows if row.cosine is not None]
    return (
        "***Even an apparently useful local direction does not guarantee success***: "
        f"{100 * share(rows, is_aligned).rate:.1f} % of {len(rows):,} gradients are aligned with the closest command "
        f"(median cosine {float(np.median(cosines)) if cosines else 0.0:.2f}), and a line search along an aligned one "
        f"fails in {failures} %."
    )


def _describe_gradients() -> str:
    return (
        "The paper shows that a gradient is ***poorly aligned with a nearby valid region*** in one landscape. Over all "
        "questions with an answer this is the exception, except in DST."
    )


def _horizons(rows: Sequence[HorizonCommand]) -> str:
    without, consistent = ([row for row in rows if row.factor == factor] for factor in (None, 1.0))
    other = [row for row in rows if row.factor not in (None, 1.0)]
    changed = Proportion(sum(row.changed for row in other), sum(row.decisions for row in other))
    rates = [share(group, delivers_return) for group in (without, consistent, other)]
    where = ", ".join(ENVIRONMENTS[name] for name in dict.fromkeys(row.agent for row in rows))
    factors = ", ".join(f"{factor:g}" for factor in FACTORS if factor != 1)
    return (
        "***Changing only the desired horizon could sometimes produce unstable or unintuitive action choices***: "
        f"another horizon ({factors} times as long) changes {changed} % of the decisions. Agents with a horizon "
        f"deliver {100 * rates[1].rate:.0f} % of their front's {rates[1].cases} commands with its own horizons and "
        f"{100 * rates[2].rate:.1f} % with others; agents without one deliver {100 * rates[0].rate:.0f} % ({where})."
    )


def _front(fronts: Table) -> str:
    cells = {line["environment"]: line for line in cells_of(fronts)}
    known = [line for line in cells.values() if line["known points"] is not None]
    complete = sum(line["learned points"] == line["known points"] == line["reached"] for line in known)
    cart = cells.get(ENVIRONMENTS["minecart"])
    minecart = (
        f" In Minecart, whose front is unknown, ours has {cart['learned points']} points and the authors' published "
        f"return-only agent has {PUBLISHED['minecart'].fronts}; their agent with a horizon reaches 20."
        if cart
        else ""
    )
    return (
        f"**Return-only agents learn complete fronts**: {complete} of {len(known)} known fronts are learned and "
        f"reached in full.{minecart}"
    )


def _describe_desiderata() -> str:
    return (
        "The paper names seven properties of a good counterfactual. Each is measured for CF-ZOO as described and for "
        "the exact search on every case of the stress test; the other searches lack rollouts."
    )


def _desiderata(
    rows: Sequence[Row], reachable: Sequence[ChangedEntries], issued: Sequence[IssuedAnswer], attainable: Proportion
) -> Table:
    distances = Distances.of(rows)
    searches = ("cf-zoo", "exact", "boundary", "local-zoo", "nearest-front")
    by_search: dict[str, list[Any]] = {}
    for search in searches:
        few = share([one for one in reachable if one.search == search], is_few)
        mine = [row for row in issued if row.search == search]
        off = float(np.median([row.requested_off_front for row in mine])) if mine else None
        by_search[search] = [
            distances.recovered(search) if search in distances.found else None,
            distances.ratio(search) if search in distances.found else None,
            attainable if search == "exact" else None,
            few if few.cases else None,
            off,
            share(mine, takes_foil) if mine else None,
            share(mine, reaches_front) if mine else None,
        ]
    names = (
        "validity: feasible cases solved (%)",
        "proximity: median distance / optimum",
        "actionability: an attainable command is known (%)",
        "sparsity: at most two entries change (%)",
        "data manifold: median distance of the request from the front",
        "causality: the agent takes the foil (%)",
        "recourse: the episode ends on the front (%)",
    )
    lines = tuple((name, *(_cell(by_search[search][i]) for search in searches)) for i, name in enumerate(names))
    return Table("The seven desiderata by search", ("property", *searches), lines)


def _cell(value: Any) -> str | None:
    return None if value is None else text(value)


def _describe_training() -> str:
    return (
        "The paper asks whether counterfactuals help to tell a well-trained agent from a poorly trained one. These "
        "measures differ for an agent whose training was stopped early, by intervals that do not overlap. There is one "
        "agent of each kind; the test over many agents is not done."
    )


def _figure(table: Table) -> "Figure":
    cells = [line for line in cells_of(table) if line["environment"] != "All"]
    series = [
        Series(label, colour, {c["environment"]: c["at most two [95 % CI]"] for c in cells if c["search"] == search})
        for search, label, colour in ((AS_RUN, "CF-ZOO as run", GREEN), ("exact", "exact", BLUE))
    ]
    return figure_rates(list(dict.fromkeys(c["environment"] for c in cells)), series, "answers (% of all")
