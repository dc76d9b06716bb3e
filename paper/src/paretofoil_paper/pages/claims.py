"""The page about claims: statements of the paper's text, and the properties that it demands of an explanation."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from paretofoil.show.palette import BLUE, GREEN
from paretofoil.study.statistics import Proportion
from paretofoil.study.table import Table
from paretofoil_paper.audit import proof_rows
from paretofoil_paper.authors_data import FEW_ENTRIES, ORIGINAL_MINECART, PUBLISHED
from paretofoil_paper.claims.desiderata import desiderata_table, issued_commands
from paretofoil_paper.claims.gradient import ALIGNED, Gradient, gradient_table, gradients
from paretofoil_paper.claims.horizon import FACTORS, HorizonCommand, horizon_commands, horizon_table
from paretofoil_paper.claims.sparsity import (
    ChangedEntries,
    in_paper_region,
    in_reachable_region,
    long_commands,
    sparsity_table,
)
from paretofoil_paper.claims.trainings import (
    FILE,
    MEASURES,
    OURS,
    STAGED,
    STAGED_SEEDS,
    TrainedAgent,
    ablation_table,
    mean_steps,
    read_trainings,
    staged,
    stages_table,
)
from paretofoil_paper.claims.undertrained import compare_agents, undertrained_table
from paretofoil_paper.figures import Series, figure_rates
from paretofoil_paper.front import front_table
from paretofoil_paper.measurements import share, share_and_interval
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
    fronts = front_table(plan)
    report = Report("Claims of the paper's text")
    report.find(*_sparsity(paper), picture="claims.png")
    report.find(_gradients(slopes))
    if horizons:
        report.find(*_horizons(horizons))
    report.find(*_front(fronts))
    trainings = read_trainings(plan.out / "rows" / FILE)
    stages, count = stages_table(trainings), len(staged(trainings))
    if trainings:
        report.find(*_stages(stages, count))
    report.say(
        f"Words in bold italics are quoted from the paper. {REACHABLE_PROTOCOL} Only the first finding, "
        "about sparsity, is about agents trained on realised returns and the paper's search region. Three further "
        "claims are on other pages: a budget of 50,000 ([audit](audit.md)), boundary seeding ([agents](agents.md)) and "
        "speed ([comparison](comparison.md)). Agents conditioned on goals and on preferences, which the paper names as "
        "future work, are on the page about [agents](agents.md).",
        "## Sparsity",
        _describe_sparsity(paper, reachable),
    )
    sparsity = sparsity_table(plan, "the paper's search region", paper, (AS_RUN, "exact"))
    columns = ("environment", "entries", "answers", "at most two [95 % CI]", "cluster [95 % CI]")
    of_zoo = pick(sparsity, columns, where=lambda cells: cells["search"] == AS_RUN)
    report.add(of_zoo, Picture.of(_figure(sparsity), "claims", CAPTION))
    solved_locally = {row.case for row in rows if row.search == "local-zoo" and row.found}
    gradient = gradient_table(plan, slopes, solved_locally)
    report.say("## Gradients", _describe_gradients(gradient))
    kept = ("environment", "answers", "cosine: median", "aligned [95 % CI]", "if aligned: succeeds [95 % CI]")
    report.add(pick(gradient, (*kept, "local ZOO succeeds [95 % CI]"), note=gradient.note))
    properties = desiderata_table(rows, reachable, issued_commands(plan, rows))
    report.say("## The seven desiderata", _describe_desiderata(properties)).add(properties)
    report.appendix += [sparsity, sparsity_table(plan, "the reachable search region", reachable, ("cf-zoo", "exact"))]
    report.appendix += [gradient, fronts]
    if horizons:
        report.appendix.append(horizon_table(horizons))
    if trainings:
        report.say("## Well-trained and poorly trained agents", _describe_training(count)).add(stages)
        report.say("## Trimming and shorter-first", _describe_ablation(trainings))
        report.add(ablation_table(trainings))
    if pairs:
        report.appendix.append(undertrained_table(pairs))
    return report


def _few(answers: Sequence[ChangedEntries]) -> str:
    few, interval = share_and_interval(answers, lambda one: one.few)
    return f"{100 * few.rate:.1f} % (cluster {interval})" if few.cases else "none (of 0)"


def _sparsity(paper: Sequence[ChangedEntries]) -> tuple[str, str]:
    as_run = [one for one in paper if one.search == AS_RUN]
    long = long_commands(as_run)
    return (
        "***In practice, the explanations are usually sparse, changing 1 or 2 entries***: CF-ZOO as run changes at "
        f"most two entries in {_few(as_run)} of its {len(as_run):,} answers, and in {_few(long)} of its {len(long):,} "
        "answers about commands with three or more entries.",
        f"In the authors' rows, {100 * FEW_ENTRIES:.0f} % of the answers change at most two entries.",
    )


def _describe_sparsity(paper: Sequence[ChangedEntries], reachable: Sequence[ChangedEntries]) -> str:
    groups = {
        "`exact` in the same region": [one for one in paper if one.search == "exact"],
        "`cf-zoo` in the reachable region": [one for one in reachable if one.search == "cf-zoo"],
        "`exact` in the reachable region": [one for one in reachable if one.search == "exact"],
    }
    shares = ", ".join(f"{_few(long_commands(group))} for {name}" for name, group in groups.items())
    return (
        "An entry of the command counts as changed if it moves by more than 0.1 % of its range in the search region; "
        "the share in the authors' rows is computed in this way, too. The table is about CF-ZOO as run in the paper's "
        f"region. For commands with three or more entries, the share of answers that change at most two is {shares}. "
        "The closest command need not be sparse; ask for a sparse one by `sparse=True`."
    )


def _gradients(rows: Sequence[Gradient]) -> str:
    aligned = [row for row in rows if row.aligned]
    failures = share(aligned, lambda row: not row.line_succeeds)
    cosines = [row.cosine for row in rows if row.cosine is not None]
    return (
        "***Even an apparently useful local direction does not guarantee success***: "
        f"{100 * len(aligned) / max(len(rows), 1):.1f} % of {len(rows):,} gradients of the margin point towards the "
        f"closest command (cosine above {ALIGNED:g}; the median of all is "
        f"{float(np.median(cosines)) if cosines else 0.0:.2f}), but a line search along such a gradient fails in "
        f"{failures} % of {failures.cases:,} cases."
    )


def _describe_gradients(table: Table) -> str:
    *parts, _ = cells_of(table)
    least = min(parts, key=lambda line: line["aligned [95 % CI]"].rate)
    return (
        "The paper shows that a gradient is ***poorly aligned with a nearby valid region*** in one landscape. The "
        f"share of gradients that are aligned with the closest command is lowest in {least['environment']} "
        f"({least['aligned [95 % CI]']} % of {least['answers']:,})."
    )


def _horizons(rows: Sequence[HorizonCommand]) -> tuple[str, str]:
    without, consistent = ([row for row in rows if row.factor == factor] for factor in (None, 1.0))
    other = [row for row in rows if row.factor not in (None, 1.0)]
    changed = Proportion(sum(row.changed for row in other), sum(row.decisions for row in other))
    rates = [share(group, lambda row: row.delivers) for group in (without, consistent, other)]
    where = ", ".join(ENVIRONMENTS[name] for name in dict.fromkeys(row.agent for row in rows))
    *factors_but_last, last = (f"{factor:g}" for factor in FACTORS if factor != 1)
    factors = f"{', '.join(factors_but_last)} or {last}"
    return (
        "***Changing only the desired horizon could sometimes produce unstable or unintuitive action choices***: if "
        f"an agent is conditioned on a horizon, scaling the horizon by {factors} changes {changed} % of "
        f"{changed.cases:,} decisions.",
        f"With the horizons of their fronts, these agents deliver {100 * rates[1].rate:.0f} % of {rates[1].cases} "
        f"commands of the fronts; with other horizons, they deliver {100 * rates[2].rate:.1f} %. Agents without a "
        f"horizon deliver {100 * rates[0].rate:.0f} % ({where}).",
    )


def _front(fronts: Table) -> tuple[str, str]:
    cells = {line["environment"]: line for line in cells_of(fronts)}
    known = [line for line in cells.values() if line["known points"] is not None]
    others = [
        line["environment"] for line in known if not line["learned points"] == line["known points"] == line["reached"]
    ]
    except_for = f" (all but that of {' and '.join(others)})" if others else ""
    reached = all(line["learned points"] == line["reached"] for line in cells.values())
    cart = cells.get(ENVIRONMENTS["minecart"])
    minecart = (
        "The paper says that its front of Minecart has ***more Pareto-optimal solutions than reported*** for the "
        f"original PCN. This is {'' if cart['learned points'] > ORIGINAL_MINECART else 'not '}confirmed: our front has "
        f"{cart['learned points']} points, that of the authors' agent {PUBLISHED['minecart'].fronts}, and the front in "
        f"the code of the original PCN {ORIGINAL_MINECART}."
        if cart
        else ""
    )
    return (
        f"**Agents that are conditioned on the return alone learn {len(known) - len(others)} of {len(known)} known "
        f"fronts in full**{except_for}, and their rollouts {'' if reached else 'do not '}reach every learned point.",
        minecart,
    )


def _describe_desiderata(table: Table) -> str:
    """Name the search whose answers deliver their request most often, and what it costs."""
    lines = {line.pop("property").partition(":")[0]: line for line in cells_of(table)}
    search, delivered = max(lines["actionability"].items(), key=_first_number)
    return (
        "The paper names seven properties of a good counterfactual. We measured them on the stress test, for each "
        "search; the page [audit](audit.md) explains `local-zoo` and `nearest-front`. Validity is a share of the "
        "feasible cases; all others are shares or medians of the answers. The *request* is what a quoted command asks "
        f"for in the whole episode, with the return collected before. The answers of `{search}` deliver their request "
        f"most often ({delivered} %); it solves {lines['validity'][search]} % of the feasible cases."
    )


def _first_number(item: tuple[str, Any]) -> float:
    return float(str(item[1]).split()[0])


def _sides(table: Table) -> dict[str, set[int]]:
    """Return for each measure on which sides of 0.5 its intervals lie; 0 if an interval contains it."""
    sides = {}
    for line in cells_of(table):
        intervals = [cell for column, cell in line.items() if column.endswith("[95 % CI]") and cell is not None]
        sides[line["measure"]] = {1 if i.low > 0.5 else -1 if i.high < 0.5 else 0 for i in intervals}
    return sides


def _stages(table: Table, agents: int) -> tuple[str, str]:
    """State which measures tell well-trained agents apart, by intervals without 0.5."""
    sides = _sides(table)
    everywhere = [name for name, found in sides.items() if found in ({1}, {-1})]
    somewhere = [name for name, found in sides.items() if found - {0}]
    in_all, in_some = _listed(everywhere), _listed(somewhere)
    extent = (
        "in three environments" if everywhere else "in some environments only" if somewhere else "in no environment"
    )
    verb = "tells" if len(somewhere) == 1 else "tell"
    smaller = [name for name in somewhere if 1 not in sides[name]]
    which = "these measures" if smaller == somewhere else _listed(smaller)
    direction = (
        f"Where they tell agents apart, well-trained agents have the smaller values of {which}." if smaller else ""
    )
    return (
        f"**Explanations tell well-trained agents from poorly trained ones {extent}**: of {len(MEASURES)} measures of "
        f"explanations of {agents} agents, {len(somewhere) or 'none'} {verb} them apart in at least one of three "
        f"environments{' (' + in_some + ')' if somewhere else ''}, and {len(everywhere) or 'none'} in the same "
        f"direction in all three{': ' + in_all if everywhere else ''}.",
        direction,
    )


def _listed(names: Sequence[str]) -> str:
    return " and ".join(f"*{name}*" for name in names)


def _describe_training(agents: int) -> str:
    planned = len(STAGED) * len(STAGED_SEEDS)
    missing = f" {agents} of {planned} planned agents are measured." if agents < planned else ""
    return (
        "The paper asks whether counterfactuals help to tell a well-trained agent from a poorly trained one. "
        "In each environment, agents with different seeds were trained with 5, 10, 30 or 100 % of the steps."
        f"{missing} `python benchmarks/trainings.py` repeats the measurement. The appendix compares agents of DST and "
        "Minecart with others whose training was stopped early."
    )


def _describe_ablation(trainings: Sequence[TrainedAgent]) -> str:
    """State for each variant how many agents reach the front, and whether their episodes are longer."""
    lengths = mean_steps(trainings)
    reached = {cells["variant"]: cells["reach the whole front"] for cells in cells_of(ablation_table(trainings))}
    parts = []
    for variant in (name for name in reached if name != OURS):
        where = [ENVIRONMENTS[e] for (v, e), steps in lengths.items() if v == variant and steps > lengths[OURS, e]]
        longer = f"longer in {' and '.join(where)}" if where else "not longer"
        parts.append(f"{variant}, {reached[variant]} do and their episodes are {longer}")
    return (
        "The paper trims the part of an episode after its last reward, and prefers the shorter of two episodes with "
        "equal returns. We trained agents with each of these steps switched off (`trim`, `shorter_first`). With "
        f"our training, {reached.get(OURS, 'none')} agents reach the whole front; with {'; with '.join(parts)}."
    )


def _figure(table: Table) -> "Figure":
    cells = [line for line in cells_of(table) if line["environment"] != "All"]
    series = [
        Series(label, colour, {c["environment"]: c["at most two [95 % CI]"] for c in cells if c["search"] == search})
        for search, label, colour in ((AS_RUN, "CF-ZOO as run", GREEN), ("exact", "Exact", BLUE))
    ]
    return figure_rates(
        list(dict.fromkeys(c["environment"] for c in cells)),
        series,
        "answers that change at most two entries (% of all",
    )
