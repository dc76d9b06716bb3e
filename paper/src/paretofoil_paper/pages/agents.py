"""The page about agents: more training seeds, and the agents of the authors."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from paretofoil.show.palette import BLUE, GREEN
from paretofoil.study.statistics import Proportion, summarise
from paretofoil.study.table import Table
from paretofoil_paper.factors import ALL, DIFFERENCE, FILE, INTERVAL, factors_table, read_factors
from paretofoil_paper.figures import Series, figure_rates
from paretofoil_paper.goals import EXACT, PREFERENCES, GoalAnswer, goals_table, read_goals
from paretofoil_paper.goals import FILE as GOALS
from paretofoil_paper.others import LABELS, NOT_IN_PAPER, OtherRows, agent_name, other_rows, others_table, white_table
from paretofoil_paper.paper_tables import ENVIRONMENTS, STRESS, total_of
from paretofoil_paper.plan import Plan
from paretofoil_paper.protocols import AS_RUN, REALISED_RETURNS
from paretofoil_paper.report import Picture, Report, cells_of, pick
from paretofoil_paper.seeds import LONG, SeedRows, all_seed_rows, environment_of, on_feasible, pairs_with, seed_tables
from paretofoil_paper.statistics import difference_interval, paired_test, rate_interval

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CAPTION = "Solved and feasible cases of five agents per environment, and the paper's rate"


def page(plan: Plan) -> Report:
    """Run the stress test with five agents per environment, and read the rows of the authors' agents."""
    authors = other_rows(plan)  # refused before hours of other studies if they are rows of other searches
    rows = all_seed_rows(plan)
    stress, seeding, *others = seed_tables(plan, rows)
    report = Report("Agents of other seeds, and the authors' agents")
    report.find(_rate(plan, rows), picture="agents.png")
    report.find(*_seeding(rows))
    if authors.stress:
        ours = {name: summarise(r for r in group if r.search == AS_RUN).success for name, group in rows.as_run.items()}
        table = others_table(authors, ours)
        report.find(*_authors(table, white_table(authors) if authors.comparison else None))
    factors = read_factors(plan.out / "rows" / FILE)
    if factors:
        choices = factors_table(factors)
        report.find(*_factors(choices, table if authors.stress else None))
    goals = read_goals(plan.out / "rows" / GOALS)
    if goals:
        report.find(*_goals(goals))
    report.say("## Five agents per environment", _describe_seeds(plan))
    kept = [name for name in stress.columns if name != "paper: cases"]
    report.add(pick(stress, kept), Picture.of(_figure(stress), "agents", CAPTION))
    report.say("## Seeding, by environment", _describe_seeding(rows))
    columns = ("environment", "cases", "cf-zoo alone", "local-zoo alone", "difference (points)", "cluster [95 % CI]")
    report.add(pick(seeding, (*columns, "p (Holm)"), title="CF-ZOO against ZOO without seeding", note=_p_note()))
    if authors.stress:
        report.say("## The authors' agents", _describe_authors(authors)).add(table)
        if authors.comparison:
            report.add(white_table(authors))
    if factors:
        report.say("## Choices of the authors' training", _describe_factors()).add(choices)
    if goals:
        report.say("## Agents conditioned on goals and on preferences", _describe_goals(goals)).add(goals_table(goals))
    report.appendix += [stress, seeding, *others]
    return report


def _rate(plan: Plan, rows: SeedRows) -> str:
    zoo = rows.all_as_run
    paper = total_of(STRESS[environment] for environment in plan.agents)
    agents = len({row.case.agent for row in zoo})
    return (
        f"**With {agents} agents of other training seeds, CF-ZOO as run solves "
        f"{100 * summarise(zoo).success.rate:.1f} % of {len(zoo):,} cases** (cluster "
        f"{rate_interval(zoo, environment_of)}; paper: {100 * paper.found / paper.cases:.1f} % of {paper.cases:,})."
    )


def _seeding(rows: SeedRows) -> tuple[str, str]:
    """State the paper's main claim: seeding improves on local search, except in Fruit-Tree."""
    pairs = pairs_with(rows.all_reachable, "local-zoo")
    test, interval = paired_test(pairs), difference_interval(pairs, environment_of)
    helped = [
        ENVIRONMENTS[environment]
        for environment, group in rows.reachable.items()
        if difference_interval(pairs_with(group, "local-zoo"), environment_of).low > 0
    ]
    others = [ENVIRONMENTS[environment] for environment in rows.reachable if ENVIRONMENTS[environment] not in helped]
    verb = "lowers" if test.difference < 0 else "raises"
    return (
        f"**Starting ZOO at a point found by rays (boundary seeding) {verb} its success rate by "
        f"{100 * abs(test.difference):.1f} points** (cluster {interval}): of {test.cases:,} cases, {test.first:,} are "
        f"solved only with boundary seeding (CF-ZOO), and {test.second:,} only without.",
        f"The interval of an environment is above 0 in {', '.join(helped) or 'none'}, but not in "
        f"{', '.join(others) or 'any other'}. The paper says that boundary seeding helps except in Fruit-Tree.",
    )


def _authors(table: Table, white: Table | None) -> tuple[str, str]:
    """State the rates of whole stress tests and of samples apart, and that of White-CW."""
    sampled = {LABELS[name] for name in NOT_IN_PAPER}
    whole, samples = ([c for c in cells_of(table) if (c["environment"] in sampled) == part] for part in (False, True))
    rates = [
        Proportion(sum(c["CF-ZOO as run [95 % CI]"].successes for c in cells), sum(c["cases"] for c in cells))
        for cells in (whole, samples)
    ]
    infeasible = [sum(c["proven infeasible"] for c in cells) for cells in (whole, samples)]
    more = (
        f"On {len(samples)} further agents of theirs, with two commands each, it solves {rates[1].successes} of "
        f"{rates[1].cases} cases ({rates[1]} %), and {infeasible[1]} are proven infeasible."
        if samples
        else ""
    )
    if white is not None:
        total = cells_of(white)[-1]
        zoo, attack = (total[f"{name} [95 % CI]"] for name in ("CF-ZOO as run", "White-CW, confidence 0"))
        more += (
            f" Of {total['cases']} cases chosen as in the paper's comparison, CF-ZOO solves {zoo} %, and White-CW "
            f"with confidence 0 solves {attack} %."
        )
    return (
        f"**On {len(whole)} agents that the authors published, CF-ZOO as run solves {rates[0].successes:,} of the "
        f"{rates[0].cases:,} cases of the stress test** ({rates[0]} %), and {infeasible[0]} are proven infeasible.",
        more.strip(),
    )


def _factors(table: Table, authors: Table | None) -> tuple[str, str]:
    """State which choice makes fewer DST cases feasible, beside the share of the authors' agent."""
    lines = cells_of(table)
    changed = [line for line in lines if line[INTERVAL] is not None and line["variant"] != ALL]
    lower = [line for line in changed if line[INTERVAL].high < 0]
    higher = [f"{_authors_choice(line)} ({line[DIFFERENCE]:+.1f} points)" for line in changed if line[INTERVAL].low > 0]
    raised = f" More cases are feasible with {' and with '.join(higher)}." if higher else ""
    tried = (
        f"We replaced {len(changed)} choices in our training by the authors', one at a time, and trained with five "
        "seeds each."
    )
    theirs = [line for line in cells_of(authors) if line["environment"] == "DST"] if authors else []
    agent = "".join(
        f" With the authors' own agent, {100 * (1 - line['proven infeasible'] / line['cases']):.1f} % are."
        for line in theirs
    )
    effects = " and with ".join(
        f"{_authors_choice(line)} {line['DST']:.1f} % are ({line[DIFFERENCE]:+.1f} points, Student {line[INTERVAL]})"
        for line in lower
    )
    finding = (
        f"**{' and '.join(map(_authors_choice, lower)).capitalize()} makes fewer DST cases feasible**: with our "
        f"training, {lines[0]['DST']:.1f} % of the cases of the stress test are feasible; with {effects}."
        if lower
        else "**No choice of the authors' training makes fewer DST cases feasible.**"
    )
    return finding, f"{agent} {tried}{raised}".strip()


def _authors_choice(line: dict[str, Any]) -> str:
    return str(line["variant"]).replace("their", "the authors'")


def _describe_factors() -> str:
    return (
        "Each variant replaces one choice in our training by the authors'. The archive holds the episodes from which "
        "an agent learns. Ours keeps one episode per return, so the agent also learns returns off the front. *Their "
        "archive* keeps several episodes of equal return, so that copies of the front displace other returns. A case "
        "counts as feasible if Boundary finds a valid command in the paper's search region. `python "
        "benchmarks/factors.py` trains and measures these agents."
    )


def _describe_seeds(plan: Plan) -> str:
    return (
        f"The agents have the training seeds {', '.join(map(str, plan.agent_seeds))}; every setting was chosen with "
        "the seeds 0 to 3. CF-ZOO as run answers every case of each agent's stress test in the paper's search region. "
        f"{REALISED_RETURNS} The last two lines are about agents trained on expected returns. The cluster bootstrap "
        "draws agents and then episodes, with the environments fixed; its intervals are about all agents trained in "
        "this way."
    )


def _describe_seeding(rows: SeedRows) -> str:
    rates = []
    for search in ("cf-zoo", "local-zoo", LONG):
        feasible = on_feasible(rows.all_reachable, search)
        interval = rate_interval(feasible, environment_of)
        rates.append(f"{100 * summarise(feasible).success.rate:.1f} % (cluster {interval})")
    count = len(on_feasible(rows.all_reachable, "cf-zoo"))
    return (
        f"Of {count:,} cases that the exact search solves in the reachable region, CF-ZOO as described in the paper "
        f"solves {rates[0]}. ZOO without boundary seeding starts at the original command. It solves {rates[1]}, and "
        f"with four times the queries {rates[2]}."
    )


def _p_note() -> str:
    return (
        "p is that of McNemar's exact test, with Holm's correction. The test assumes independent cases; the cluster "
        "interval does not."
    )


def _describe_authors(rows: OtherRows) -> str:
    """Describe the agents, and say which of them and which search were left out."""
    measured = {row.case.agent for row in rows.stress}
    left = [LABELS[name] for name in NOT_IN_PAPER if agent_name(name) not in measured]
    imported = (
        f" The agents of {', '.join(left)} can be imported and deliver the returns that their authors state; their "
        "studies were not run."
        if left
        else ""
    )
    white = "" if rows.comparison else " White-CW was not run on these agents."
    return (
        "The authors' repository has checkpoints and fronts of agents. They are not the agents of the paper: in the "
        "states of the worked examples, their action probabilities differ from those that the paper prints. We use "
        "the authors' encodings, masks, search regions and step limits. The three checkpoints for Minecart are "
        f"missing in the copy that we could read.{imported} The agents of Four-Room, Lander, Car and Reacher were not "
        f"measured.{white} `benchmarks/authors_agents.py` repeats the measurement."
    )


def _goals(rows: Sequence[GoalAnswer]) -> tuple[str, str]:
    """State what is proven, and what the other searches solve."""
    exact = [row for row in rows if row.search == EXACT]
    agents = len({row.agent for row in rows})
    count = "one agent" if agents == 1 else f"{agents} agents"
    proven = sum(row.status.startswith("proven") for row in exact)
    feasible = {row.question for row in rows if row.distance is not None}
    solved = {
        search: Proportion(sum(row.distance is not None for row in rows if row.search == search), len(feasible))
        for search in ("boundary", "cf-zoo")
    }
    return (
        f"**The exact search proves its answers to {proven} of {len(exact)} questions about {count} conditioned on "
        "goals or preferences** (of Stable-Baselines3), in a median of "
        f"{float(np.median([row.seconds for row in exact])):.2f} s of CPU time.",
        f"Of {len(feasible)} feasible questions, Boundary solves {solved['boundary']} % and CF-ZOO "
        f"{solved['cf-zoo']} %.",
    )


def _describe_goals(rows: Sequence[GoalAnswer]) -> str:
    agents = {row.agent: row for row in rows}
    reached = " and ".join(
        f"*{row.agent}* ({row.size} coordinates) reaches {row.reached} of {row.tests} goals"
        for name, row in agents.items()
        if name != PREFERENCES
    )
    weighted = agents.get(PREFERENCES)
    preferences = (
        f" A third DQN, *{PREFERENCES}*, gets {weighted.size} random weights per episode and maximises the weighted "
        "return, as PD-MORL does, but without its alignment term and its hindsight replay. It gets the largest "
        f"possible weighted return in {weighted.reached} of {weighted.tests} test episodes."
        if weighted
        else ""
    )
    return (
        "The paper names both kinds of agents as future work. We trained DQN with hindsight experience replay (HER) to "
        f"move to a point: {reached}.{preferences} The command is the goal or the weights. The search region has every "
        "goal of the environment, or all weights whose sum is 1. Each question is about another action at a step of a "
        "greedy episode. The last column counts the answers under which the model's own `predict` returns the foil. "
        "The searches have their default settings. `python benchmarks/goals.py` repeats the measurement. Agents of "
        "MORL-Baselines that are conditioned on preferences have a "
        "[page of their own](../../benchmarks/results/preferences.md)."
    )


def _figure(table: Table) -> "Figure":
    cells = [line for line in cells_of(table) if line["paper: cases"] is not None]
    series = [
        Series("CF-ZOO as run", GREEN, {line["environment"]: line["rate [95 % CI]"] for line in cells}),
        Series("CF-ZOO, paper", GREEN, {line["environment"]: line["paper: rate [95 % CI]"] for line in cells}, True),
        Series("feasible", BLUE, {line["environment"]: line["feasible [95 % CI]"] for line in cells}),
    ]
    return figure_rates([line["environment"] for line in cells], series)
