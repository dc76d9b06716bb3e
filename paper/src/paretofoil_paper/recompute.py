"""Recompute what the results pages print from the recorded rows, without the code that writes the pages.

Of the package, this module uses only the numbers of the paper and of the authors' rows. It has its own statistics; a
cluster bootstrap draws with the seed of the pages, because its interval depends on it.
"""

import csv
import json
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from paretofoil_paper import authors_data, paper_tables

LABELS = paper_tables.ENVIRONMENTS
GROUPS = [*LABELS.items(), ("all", "All")]
REALISED = {"breakable-bottles", "resource-gathering"}
PAPER_REGION = {name: f"{name}-realised" if name in REALISED else name for name in LABELS}
"""The agent of each environment in the paper's experiment; the others are trained on expected returns."""
ALL_OTHERS = {"B-Bottles, expected returns": "breakable-bottles", "R-Gather, expected returns": "resource-gathering"}
ZOO, WHITE, WHITE_05 = "cf-zoo:as-run", "white-cw:as-run-0", "white-cw:as-run"
RESAMPLES = 10_000
P_BOUND = 1e-6
KINDS = {"proven closest": "proven closest", "found": "found, with a gap", "proven infeasible": "proven infeasible"}
KNOWN_FRONTS = {
    "branch-path": 3,
    "breakable-bottles": 2,
    "collect-two": 12,
    "deep-sea-treasure": 10,
    "fruit-tree": 128,
    "resource-gathering": 1,
    "reward-line": 11,
}
"""Points of the fronts that exhaustive search gives."""

Expected = float | frozenset[float] | None
"""A number, or several of which one is printed; None matches no number."""


@dataclass
class Facts:
    """What a page should print."""

    tables: dict[str, dict[tuple[str, str], list[Expected]]] = field(default_factory=lambda: defaultdict(dict))
    """For each table the numbers of a cell, by line and column."""
    text: list[tuple[str, list[Expected]]] = field(default_factory=list)
    """Pieces of sentences with `{}` for each number that follows from rows; other numbers in them are settings."""

    def line(self, table: str, label: str, cells: Mapping[str, Any]) -> None:
        self.tables[table] |= {(label, column): _flat(value) for column, value in cells.items()}

    def say(self, piece: str, *numbers: Any) -> None:
        self.text.append((piece, _flat(numbers)))


def _flat(value: Any) -> list[Expected]:
    return [one for part in value for one in _flat(part)] if isinstance(value, (list, tuple)) else [value]


# Rows


class Answered(NamedTuple):
    """One answer of a study."""

    agent: str
    search: str
    front: int
    step: int
    foil: int
    status: str
    distance: float | None
    queries: int
    seconds: float
    answer: str | None

    @property
    def case(self) -> tuple[str, int, int, int]:
        return self.agent, self.front, self.step, self.foil

    @property
    def found(self) -> bool:
        return self.distance is not None

    def commands(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return the original command, the closest, the quoted one, and the width of the search region."""
        data = json.loads(self.answer or "{}")
        if "question" not in data:  # the format of older rows
            width = np.subtract(data["high"], data["low"])
            return np.array(data["original"]), np.array(data["closest"]), np.array(data["command"]), width
        asked, closest, quoted = data["question"], data["closest"], data["quoted"]
        width = np.subtract(asked["high"], asked["low"])
        return np.array(asked["command"]), np.array(closest["command"]), np.array(quoted["command"]), width

    def boxes(self) -> int:
        data = json.loads(self.answer or "{}")
        return int((data.get("proof") or data.get("certificate") or {})["boxes"])


class Rows:
    """The recorded rows of a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "rows"

    @cache  # noqa: B019 (one object per run)
    def table(self, name: str) -> list[dict[str, Any]]:
        """Return the lines of a Parquet or CSV file."""
        path = self.folder / name
        if path.suffix == ".csv":
            with path.open(newline="") as file:
                return list(csv.DictReader(file))
        import pyarrow.parquet as pq

        lines: list[dict[str, Any]] = pq.read_table(path).to_pylist()
        return lines

    @cache  # noqa: B019 (one object per run)
    def study(self, name: str) -> list[Answered]:
        """Return the answers of a study; older files have other names of columns and outcomes."""
        rows = []
        for line in self.table(f"{name}.parquet"):
            step = line["step"] if "step" in line else line["time"]
            status = line.get("status") or line["outcome"]
            status = {"proven optimal": "proven closest"}.get(status, status)
            distance = line["closest_distance"] if "closest_distance" in line else line["distance"]
            place = (line["agent"], line["search"], line["front"], step, line["foil"])
            rows.append(Answered(*place, status, distance, line["queries"], line["seconds"], line.get("answer")))
        return rows

    def studies(self, *names: str) -> list[Answered]:
        """Return the answers of the studies that are recorded."""
        recorded = [name for name in names if (self.folder / f"{name}.parquet").is_file()]
        return [row for name in recorded for row in self.study(name)]


def of(rows: Iterable[Answered], search: str) -> list[Answered]:
    return [row for row in rows if row.search == search]


def about(rows: Iterable[Any], name: str) -> list[Any]:
    """Return the rows or lines about an environment; its agents have its name."""
    return [row for row in rows if name in ("all", _agent(row).removesuffix("-realised"))]


def _agent(row: Any) -> str:
    return str(row["agent"] if isinstance(row, dict) else row.agent)


def paper_stress(rows: Rows) -> dict[str, list[Answered]]:
    """Return the stress test of the agents that repeat the paper's experiment, by environment."""
    return {name: [r for r in rows.study("stress-as-run") if r.agent == PAPER_REGION[name]] for name in LABELS}


@cache
def description(agent: str) -> Any:
    """Return what the file of a shipped agent says."""
    return json.loads((files("paretofoil") / "agents" / "shipped" / agent / "agent.json").read_text())


def training_scale(agent: str) -> np.ndarray:
    """Return the width of the commands of an agent's training."""
    box = description(agent)["command_box"]
    return np.subtract(box["high"], box["low"])


# Numbers


def rate(good: int, cases: int) -> list[Expected]:
    """Return a percentage and Wilson's interval."""
    if not cases:
        return []
    p, z = good / cases, 1.959963984540054
    middle, half = p + z * z / (2 * cases), z * math.sqrt(p * (1 - p) / cases + z * z / (4 * cases * cases))
    scale = 100 / (1 + z * z / cases)
    return [100 * p, scale * (middle - half), scale * (middle + half)]


def rate_of(flags: Iterable[bool]) -> list[Expected]:
    values = list(flags)
    return rate(sum(values), len(values))


def percent(flags: Iterable[bool]) -> float:
    return 100 * float(np.mean(list(flags)))


def paper_rate(row: paper_tables.PaperRow) -> list[Expected]:
    return rate(row.found, row.cases)


PAPER_STRESS = paper_tables.total_of(paper_tables.STRESS.values())


def cluster(items: Iterable[tuple[str, str, int, float]]) -> list[Expected]:
    """Return the bootstrap interval in percent; items are stratum, agent, episode and value."""
    episodes: dict[str, dict[str, dict[int, list[float]]]] = defaultdict(lambda: defaultdict(dict))
    for stratum, agent, episode, value in items:
        total = episodes[stratum][agent].setdefault(episode, [0.0, 0.0])
        total[0] += value
        total[1] += 1
    rng, drawn, units = np.random.default_rng(0), [], []
    for agents in episodes.values():
        units.append(len(agents) if len(agents) > 1 else len(next(iter(agents.values()))))
    if sum(units) - len(units) < 4:
        return []
    for agents in episodes.values():
        times = rng.multinomial(len(agents), [1 / len(agents)] * len(agents), size=RESAMPLES)
        sums = np.zeros((RESAMPLES, 2))
        for number, totals in enumerate(agents.values()):
            each = np.array(list(totals.values()))
            sums += rng.multinomial(times[:, number] * len(each), [1 / len(each)] * len(each)) @ each
        drawn.append(sums)
    free = np.maximum(np.array(units) - 1, 1)
    overall = sum(sums[:, 0].sum() for sums in drawn) / sum(sums[:, 1].sum() for sums in drawn)
    variances = np.array([np.var(sums[:, 0] - overall * sums[:, 1]) for sums in drawn])
    freedom, widening = float(free.sum()), 1.0
    if variances.sum():
        shares = variances / variances.sum()
        freedom, widening = 1 / float((shares**2 / free).sum()), math.sqrt(float((shares * (free + 1) / free).sum()))
    if freedom < 4 - 1e-9:
        return []
    level = float(stats.norm.cdf(widening * stats.t.ppf(0.025, freedom)))
    both = np.sum(drawn, axis=0)
    return [float(q) for q in 100 * np.quantile(both[:, 0] / both[:, 1], (level, 1 - level))]


def of_rows(rows: Iterable[Answered], value: Callable[[Answered], float], stratum: Any = _agent) -> list[Expected]:
    return cluster((stratum(row), row.agent, row.front, float(value(row))) for row in rows)


def found_of(rows: Iterable[Answered], stratum: Any = _agent) -> list[Expected]:
    return of_rows(rows, lambda row: row.found, stratum)


def of_lines(lines: Iterable[dict[str, Any]], value: Callable[[dict[str, Any]], float]) -> list[Expected]:
    return cluster((line["agent"], line["agent"], line["front"], float(value(line))) for line in lines)


def quantile(values: Sequence[float], *shares: float) -> list[Expected]:
    return [float(q) for q in np.quantile(values, shares)] if len(values) else []


def whole_median(values: Iterable[float]) -> int:
    return round(float(np.median(list(values))))


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """Return the p-values with Holm's correction."""
    corrected, largest = {}, 0.0
    for rank, name in enumerate(sorted(p_values, key=lambda name: p_values[name])):
        largest = max(largest, min(1.0, p_values[name] * (len(p_values) - rank)))
        corrected[name] = largest
    return corrected


def newcombe(area: float, good: int, bad: int) -> list[Expected]:
    """Return the areas, in percent, that a two-sided test of level 0.05 / 15 does not reject (Bonferroni)."""
    z = float(stats.norm.ppf(1 - 0.05 / 15 / 2))
    values = np.linspace(0.0, 1.0, 1_000_001)
    half = (good + bad) / 2 - 1
    spread = 1 + half * (1 - values) / (2 - values) + half * values / (1 + values)
    inside = np.abs(values - area) <= z * np.sqrt(values * (1 - values) * spread / (good * bad)) + 1e-12
    return [100 * float(values[inside].min()), 100 * float(values[inside].max())]


class Paired(NamedTuple):
    """Two searches on the same cases."""

    one: int
    """Cases that only the first solves."""
    other: int
    cases: int
    p: float
    """McNemar's."""
    interval: list[Expected]

    @property
    def points(self) -> float:
        return 100 * (self.one - self.other) / self.cases

    @property
    def above(self) -> bool:
        return bool(self.interval) and self.interval[0] > 0  # type: ignore[operator]

    def cells(self, p: float, names: tuple[str, str]) -> dict[str, Any]:
        printed = P_BOUND if p < P_BOUND else float(f"{p:.0e}") if p < 1e-3 else p
        counts = {f"{names[0]} alone": self.one, f"{names[1]} alone": self.other, "difference (points)": self.points}
        return {**counts, "cluster [95 % CI]": self.interval, "p (Holm)": printed}


def paired(first: Sequence[Answered], second: Sequence[Answered], stratum: Any = _agent) -> Paired:
    theirs = {row.case: row.found for row in second}
    more = {row.case: row.found - theirs[row.case] for row in first}
    one, other = sum(v > 0 for v in more.values()), sum(v < 0 for v in more.values())
    p = float(stats.binomtest(one, one + other).pvalue) if one + other else 1.0
    return Paired(one, other, len(more), p, of_rows(first, lambda row: more[row.case], stratum))


def recovery(rows: Sequence[Answered]) -> tuple[dict[str, dict[str, Any]], int, int]:
    """Return the line of each search, the number of known feasible cases, and that of proven distances."""
    feasible = {row.case for row in rows if row.found}
    optimum = {row.case: row.distance for row in rows if row.status == "proven closest" and row.distance is not None}
    lines: dict[str, dict[str, Any]] = {}
    for search in dict.fromkeys(row.search for row in rows):
        mine = [row for row in of(rows, search) if row.case in feasible]
        known = [(row.distance, optimum[row.case]) for row in mine if row.distance and optimum.get(row.case)]
        median, ninety = quantile([distance / best for distance, best in known if distance and best], 0.5, 0.9)
        lines[search] = {
            "recovered [95 % CI]": rate_of(row.found for row in mine),
            "cluster [95 % CI]": found_of(mine),
            "distance / optimum: median": median,
            "90 %": ninety,
            "queries: median": whole_median(row.queries for row in mine),
        }
        if search == "exact":
            lines[search]["bound evaluations: median"] = whole_median(row.boxes() for row in mine)
    return lines, len(feasible), len(optimum)


# Pages


def comparison(rows: Rows) -> Facts:
    facts = Facts()
    study = [row for row in rows.study("comparison") if row.agent in PAPER_REGION.values()]
    paper = {}
    for name, label in GROUPS:
        found = {s: [row.found for row in about(of(study, s), name)] for s in ("exact", ZOO, WHITE, WHITE_05)}
        names = LABELS if name == "all" else [name]
        paper = {m: paper_tables.total_of(paper_tables.COMPARISON[n, m] for n in names) for m in ("cf-zoo", "white-cw")}
        cells: dict[str, Any] = {"cases": len(found[ZOO]), "White-CW, 0.05": percent(found[WHITE_05])}
        for column, search in (("Exact", "exact"), ("CF-ZOO", ZOO), ("White-CW, confidence 0", WHITE)):
            cells[f"{column} [95 % CI]"] = rate_of(found[search])
        for column, method in (("CF-ZOO", "cf-zoo"), ("White-CW", "white-cw")):
            cells[f"paper: {column} [95 % CI]"] = paper_rate(paper[method])
        facts.line("Solved cases by environment", label, cells)
    statuses = [row.status for row in of(study, "exact")]
    white = paired(of(study, ZOO), of(study, WHITE))
    verdict = "CF-ZOO solves fewer cases than White-CW, unlike in the paper"
    if white.interval[1] >= 0:  # type: ignore[operator]
        verdict = (
            f"{'' if white.above else 'It is open whether '}CF-ZOO solves more cases than White-CW, as in the paper"
        )
    facts.say(
        f"**{verdict}**: of {{}} cases, CF-ZOO {{}} % (cluster [{{}},{{}}]; paper: "
        "{} %), White-CW (confidence 0) {} % (cluster [{},{}]; paper: {} %). Boundary solves {} % and Exact {} %; "
        "Exact proves {} cases infeasible and leaves {} undecided.",
        *(len(statuses), rate_of(found[ZOO])[0], found_of(of(study, ZOO)), paper_rate(paper["cf-zoo"])[0]),
        *(rate_of(found[WHITE])[0], found_of(of(study, WHITE)), paper_rate(paper["white-cw"])[0]),
        *(percent(row.found for row in of(study, search)) for search in ("boundary", "exact")),
        *(statuses.count("proven infeasible"), sum(one not in KINDS for one in statuses)),
    )
    recovered, _, optima = recovery(study)
    for search, cells in recovered.items():
        facts.line("Recovery of the feasible cases", search, cells)
    ratio, queries = "distance / optimum: median", "queries: median"
    zoo, boundary, exact = (recovered[search] for search in (ZOO, "boundary", "exact"))
    facts.say(
        "The median answer of CF-ZOO is {} times as far as the closest command, after {} queries** (90 % of its "
        "answers are below {} times). The median of Boundary is {} times after {} queries. Exact proves its "
        "answers with medians of {} queries and {} bound evaluations.",
        *(zoo[ratio], zoo[queries], zoo["90 %"], boundary[ratio], boundary[queries], exact[queries]),
        exact["bound evaluations: median"],
    )
    facts.say("({} cases), over the successes of the search; the proofs leave a gap of 1 % of the distance", optima)
    facts.say("at most 0.001. A bound evaluation")
    tests = {s: paired(of(study, ZOO), of(study, s)) for s in ("boundary", "exact", WHITE_05, WHITE)}
    corrected = holm({search: test.p for search, test in tests.items()})
    for search, test in tests.items():
        cells = test.cells(corrected[search], ("cf-zoo:as-run", "other"))
        facts.line("CF-ZOO as run against each other search", search, cells)
    facts.say("If its interval contains 0, do not")
    width = next(row.commands()[-1] for row in study if row.agent == "minecart" and row.found)
    facts.say("fuel ranges over {} in the region, and an episode needs less than 2.", float(width[2]))
    facts.say("at most 12 commands of each front, 10 steps, and the 2 most probable foils")
    facts.say(", B = 21,000). White-CW has confidence 0, which the authors' published margins show, or 0.05, as")
    times = {
        s: [row.seconds for row in of(rows.study("runtime"), s)] for s in (ZOO, WHITE, WHITE_05, "boundary", "exact")
    }
    seconds = {search: quantile(times[search], 0.5, 0.1, 0.9) for search in times}
    printed = {search: paper_tables.RUNTIME["all", method] for search, method in ((ZOO, "cf-zoo"), (WHITE, "white-cw"))}
    for search, (median, ten, ninety) in seconds.items():
        cells = {"median (s)": median, "10 %": ten, "90 %": ninety, "paper: mean (s)": printed.get(search)}
        facts.line("Seconds per question", search, cells)
    faster = seconds[ZOO][0] < seconds[WHITE][0]  # type: ignore[operator]
    facts.say(
        f"CF-ZOO is {'faster' if faster else 'slower'} than White-CW**: the median time of a question is "
        "{} s for CF-ZOO and {} s for White-CW (paper: means of {} and {} s)",
        *(seconds[ZOO][0], seconds[WHITE][0], printed[ZOO], printed[WHITE]),
    )
    facts.say("{} cases of the comparison, one question at a time", len(times[ZOO]))
    _ablation(rows, facts)
    return facts


def _ablation(rows: Rows, facts: Facts) -> None:
    study, at_0 = rows.study("ablation"), rows.study("ablation-kappa-0")
    reference = {row.case: row.distance for row in of(study, f"{ZOO} at 9,000") if row.found}
    changes = []
    names = ("no cone", "no axis rays", "no front rays", "bisect last", "no ZOO", "no final bisection", "kappa 0")
    for name in names:
        everything = at_0 if name == "kappa 0" else study
        group = of(everything, f"{ZOO if name == 'kappa 0' else name} at 9,000")
        variant = {row.case: row.distance for row in group if row.found}
        lost, gained = len(reference.keys() - variant.keys()), len(variant.keys() - reference.keys())
        ratios = [float(d) / float(reference[c]) for c, d in variant.items() if d is not None and reference.get(c)]  # type: ignore[arg-type]
        cells = {
            "recovered [95 % CI]": rate(len(variant), len({row.case for row in everything if row.found})),
            "only as-run": lost,
            "only this variant": gained,
            "distance / that of as-run": float(np.median(ratios)),
        }
        facts.line("The effect of each component at 9,000 queries", name, cells)
        if lost or gained:
            changes.append((name, lost, gained))
    pieces = ", ".join(f"*{name}* loses {{}} and gains {{}}" for name, _, _ in changes) or "none"
    counts = [(lost, gained) for _, lost, gained in changes]
    facts.say(f"only these change which cases are solved: {pieces}. The sample", *counts)
    agents: dict[str, set[Any]] = defaultdict(set)
    for row in study:
        agents[row.agent].add(row.case)
    facts.say("The sample has {} cases of each environment", max(map(len, agents.values())))
    facts.say("limited to the same number of queries, 9,000 in the table")
    recovered = rate(len(reference), len({row.case for row in study if row.found}))
    facts.say("CF-ZOO as run recovers {} [{},{}] % at 9,000 queries", recovered)


def stress(rows: Rows) -> Facts:
    facts, by_name = Facts(), paper_stress(rows)
    study = [row for group in by_name.values() for row in group]
    groups = {LABELS[name]: group for name, group in by_name.items()} | {"Total": study}
    groups |= {label: [r for r in rows.study("stress-as-run") if r.agent == a] for label, a in ALL_OTHERS.items()}
    printed = {LABELS[name]: row for name, row in paper_tables.STRESS.items()} | {"Total": PAPER_STRESS}
    for label, group in groups.items():
        zoo = of(group, ZOO)
        rates = {"rate [95 % CI]": rate_of(r.found for r in zoo), "cluster [95 % CI]": found_of(zoo)}
        facts.line("Stress test", label, {"cases": len(zoo), **rates})
        if label in printed:
            paper = {"paper: cases": printed[label].cases, "paper: rate [95 % CI]": paper_rate(printed[label])}
            facts.line("Stress test", label, paper)
    zoo = of(study, ZOO)
    solved = sum(row.found for row in zoo)
    facts.say(
        "solves {} % of our cases** ({} of {}; cluster [{},{}]); the paper reports {} % ({} of {}).",
        *(100 * solved / len(zoo), solved, len(zoo), found_of(zoo)),
        *(paper_rate(PAPER_STRESS)[0], PAPER_STRESS.found, PAPER_STRESS.cases),
    )
    _parts(by_name, facts)
    facts.say(
        "B = 3,001 queries for the rays and 3,001 for ZOO, as their published rows show; the paper's text says 9,001."
    )
    own = authors_data.OWN_CODE
    facts.say(
        "On {} of these questions the authors' own code and ours solve the same ones; {} of {} commands agree within "
        "0.1 % of the range and all within {} %",
        *(own["questions"], own["close"], own["solved"], 100 * own["largest"]),
    )
    facts.say("the second grid adds {} Minecart cases", authors_data.PUBLISHED["minecart"].second_grid)
    trees = len(of(by_name["fruit-tree"], ZOO))
    facts.say("Fruit-Tree with {} here and {} in the paper", trees, paper_tables.STRESS["fruit-tree"].cases)
    _examples(rows, facts)
    facts.say("0 if its share of the scaled change is below 5 %")
    _landscapes(rows, facts)
    return facts


def _parts(by_name: Mapping[str, list[Answered]], facts: Facts) -> None:
    """Split the differences from the paper into feasibility and search."""
    counts: dict[str, tuple[Sequence[int], Sequence[int]]] = {}
    for name, label in LABELS.items():
        printed, published = paper_tables.STRESS[name], authors_data.PUBLISHED[name]
        solved = {r.case for r in of(by_name[name], ZOO) if r.found}
        feasible = solved | {r.case for r in of(by_name[name], "exact") if r.found}
        feasible_there = printed.found + published.missed + published.second_grid
        mine = (len(of(by_name[name], ZOO)), len(feasible), len(solved))
        counts[label] = mine, (printed.cases, feasible_there, printed.found)
    totals = [[sum(pair[i][k] for pair in counts.values()) for k in range(3)] for i in range(2)]
    mix = sum(100 * (a[0] / totals[0][0] - b[0] / totals[1][0]) * a[2] / a[0] for a, b in counts.values())
    parts: dict[str, list[float]] = {}
    for label, ((n, f, s), (pn, pf, ps)) in {**counts, "Total": totals}.items():
        share, solved_share, paper_share, paper_solved = f / n, s / f, pf / pn, ps / pf
        of_search = 50 * (solved_share - paper_solved) * (share + paper_share)
        of_feasible = 50 * (share - paper_share) * (solved_share + paper_solved)
        parts[label] = [100 * (s / n - ps / pn), of_feasible, of_search, 100 * share, 100 * paper_share]
        columns = ("difference (points)", "due to feasibility", "due to the search", "feasible here (%)")
        cells = dict(zip((*columns, "feasible in the authors' rows (%)"), parts[label], strict=True))
        facts.line("The difference from the paper, in two parts", label, cells)
    first, second = (max(LABELS.values(), key=lambda label: abs(parts[label][k])) for k in (1, 2))
    facts.say(
        "**Of the difference of {} points, {} come from the share of feasible cases and {} from the share of these "
        f"that is solved.** The first part is largest in {first} ({{}} % feasible here, {{}} % in the authors' rows), "
        f"the second in {second}. The mix of environments alone makes {{}} points.",
        *(parts["Total"][:3], parts[first][3:], mix),
    )


EXAMPLES = {
    "Deep Sea Treasure (introduction)": ("deep-sea-treasure", (8.0, -2.0), (6.328, -1.704)),
    "Branch-Path": ("branch-path", (3.0, 1.0), (0.2953, 1.464)),
    "Collect-Two": ("collect-two", (0.0, 0.0, 0.8, 1.0), (0.0, 0.0, 0.8, 0.8437)),
    "Minecart": ("minecart", (0.28, 1.22, -0.96), (0.3476, 1.22, -0.96)),
}
"""The agent, the remaining command and the counterfactual command of each example in the paper."""


def _examples(rows: Rows, facts: Facts) -> None:
    """Recompute commands, distances and signs; distances are in units of the paper's search region."""
    for line in rows.table("examples.parquet"):
        agent, remaining, printed = EXAMPLES[line["example"]]
        of_paper = line["by"] == "paper"
        command = np.array(printed if of_paper else line["command"])
        region = next(row.commands()[-1] for row in rows.study("stress-as-run") if row.agent == agent and row.found)
        change = command - remaining
        scaled = change / (region if of_paper else training_scale(agent))
        few = np.abs(scaled) <= 0.05 * np.linalg.norm(scaled)
        cells = {
            "counterfactual command": [float(f"{entry:.4g}") for entry in command],
            "in the paper's units": float(np.linalg.norm(change / region)),
            "signs": _numbers("".join("0" if s else "+" if z > 0 else "-" for s, z in zip(few, scaled, strict=True))),
        }
        label = " / ".join((line["example"], line["foil"], line["by"]))
        facts.line("Counterfactual commands of the worked examples", label, cells)


def _numbers(signs: str) -> list[Expected]:
    """Return the numbers that a reader of tables sees in signs: runs of 0 that no letter or digit follows."""
    return [0.0 for run in signs.replace("+", " ").replace("-", " ").split() if run]


def _landscapes(rows: Rows, facts: Facts) -> None:
    """Choose the case of each panel by the rule on the page, and recompute its command and distances."""
    for name, both in (
        ("branch-path", False),
        ("collect-two", True),
        ("minecart", False),
        ("deep-sea-treasure", False),
    ):
        mine = about(rows.study("comparison"), name)
        solved = {row.case: row.distance for row in of(mine, ZOO) if row.found}
        white = {row.case: row.found for row in of(mine, WHITE)}
        cases = [case for case in solved if white[case] == both] or list(solved)
        if not cases:
            continue
        axes: dict[Any, set[int]] = defaultdict(set)
        for row in mine:
            if row.search in (ZOO, WHITE) and row.found:
                original, _, quoted, width = row.commands()
                axes[row.case] |= set(np.flatnonzero(np.abs(quoted - original) > 1e-3 * width).tolist())
        cases = sorted([case for case in cases if len(axes[case]) <= 2] or cases, key=lambda case: (solved[case], case))
        case = cases[len(cases) // 2]
        described, answers = description(name), {row.search: row for row in mine if row.case == case}
        command, width = np.array(described["front"][case[1]]), answers[ZOO].commands()[-1]
        to_front = frozenset(np.linalg.norm((np.array(described["front"]) - command) / width, axis=1).tolist())
        entries = ", ".join("{}" for _ in command)
        foil = described["actions"][case[3]]
        distances = [answers[search].distance for search in (ZOO, WHITE, "exact")]
        shown = ["distance {}" if distance is not None else "not found" for distance in distances]
        start = f"→ {foil}, command ({entries}), t = {{}}"
        ends = [
            f"{ZOO}: {shown[0]}; {WHITE}: {shown[1]}; nearest-front: {front}; exact: {shown[2]}."
            for front in ("distance {}", "not found")
        ]
        fallback = "" if white[case] == both else " (no case as required by the rule)"
        known = [distance for distance in distances if distance is not None]
        place = [*map(float, command), case[2]]
        for end, values in zip(ends, ([*known[:-1], to_front, known[-1]], known), strict=True):
            facts.say(f"{name}: {described['actions'][_chosen(answers[ZOO])]} {start}{fallback}. {end}", place, values)
    facts.say("the foil wins by kappa")


def _chosen(row: Answered) -> int:
    data = json.loads(row.answer or "{}")
    return int(data.get("question", data)["chosen"])


def audit(rows: Rows) -> Facts:
    facts, by_name = Facts(), paper_stress(rows)
    study = [row for group in by_name.values() for row in group]
    status = {row.case: row.status for row in of(study, "exact")}
    failed = {row.case for row in of(study, ZOO) if not row.found}
    infeasible = {case for case in failed if status[case] == "proven infeasible"}
    missed = {case for case in failed if status[case] in ("proven closest", "found")}
    again = {row.case: row for row in rows.study("audit-as-run-thorough")}
    left = failed - {case for case, row in again.items() if row.found}
    grid = {row.case: row.found for row in rows.study("audit-grid-3")}
    limited = {case for case in left if grid.get(case)}
    no_grid = (left & grid.keys() | (left & infeasible)) - limited
    total, success = len(status), len(status) - len(left)
    facts.say(
        "**{} of the {} failures of CF-ZOO as run are proven infeasible** ({} [{},{}] %); {} have a valid command, and "
        "{} are undecided.",
        *(len(infeasible), len(failed), rate(len(infeasible), len(failed)), len(missed)),
        len(failed - infeasible - missed),
    )
    title = "The paper's diagnosis, with the grid"
    for label, count, key in (
        ("Success (with 100k)", success, "success"),
        ("Grid-infeasible foil", len(no_grid), "grid-infeasible"),
        ("Search-limited failure", len(limited), "search-limited"),
    ):
        there = paper_tables.AUDIT
        facts.line(title, label, {"cases": count, "paper: cases": there[key]})
        facts.line(title, label, {"% feasible [95 % CI]": rate(count, success + len(limited))})
        in_paper = rate(there[key], there["success"] + there["search-limited"])
        facts.line(title, label, {"paper: % feasible [95 % CI]": in_paper})
    once = authors_data.TAXONOMY
    facts.say(
        "Success includes {} cases solved at 100k (paper: {}). If each case counts once, by its last result, the "
        "authors' published rows have {}, {} and {} cases with these outcomes, and {} [{},{}] % of the feasible cases "
        "are solved.",
        *(sum(row.found for row in again.values()), paper_tables.AUDIT_RECOVERED),
        *(once["success"], once["grid-infeasible"], once["search-limited"]),
        rate(once["success"], once["success"] + once["search-limited"]),
    )
    known = success + len(left & missed)
    for label, count in (
        ("Success (with 100k)", success),
        ("Proven infeasible foil", len(left & infeasible)),
        ("Search-limited failure (a valid command exists)", len(left & missed)),
        ("Undecided", len(left - infeasible - missed)),
    ):
        cells = {"cases": count, "% all [95 % CI]": rate(count, total), "% feasible [95 % CI]": rate(count, known)}
        facts.line("The same diagnosis, with proofs", label, cells)
    feasible = total - sum(one == "proven infeasible" for one in status.values())
    tried = {f"{b:,}": of(rows.study("audit-as-run-budgets"), f"{ZOO} {b:,}") for b in (9_001, 21_000, 50_000)}
    solved = {}
    for budget, group in {"3,001": [], **tried, "100,000": [again[case] for case in missed]}.items():
        solved[budget] = sum(row.found for row in group)
        cells = {
            "feasible cases missed at first": len(missed),
            "found": solved[budget],
            "of all feasible cases [95 % CI]": rate(feasible - len(missed) + solved[budget], feasible),
            "median queries": whole_median(r.queries for r in group) if group else [],
        }
        facts.line("CF-ZOO as run with larger budgets", budget, cells)
    facts.say(
        "**Of the {} feasible cases that CF-ZOO as run misses with B = 3,001, it solves {} with B = 50,000 and {} with "
        "B = 100,000**. The solved share of all {} feasible cases is {} [{},{}] %, {} [{},{}] % and {} [{},{}] %. The "
        "paper recommends 50,000.",
        *(len(missed), solved["50,000"], solved["100,000"], feasible),
        *(rate(feasible - len(missed) + solved[budget], feasible) for budget in ("3,001", "50,000", "100,000")),
    )
    for name, label in LABELS.items():
        mine = {case: one for case, one in status.items() if case[0] == PAPER_REGION[name]}
        counts = {column: sum(one == kind for one in mine.values()) for kind, column in KINDS.items()}
        ends = {"undecided": len(mine) - sum(counts.values()), "missed by CF-ZOO": len(missed & mine.keys())}
        facts.line("Every case by proof", label, {"cases": len(mine), **counts, **ends})
    columns = ("proven infeasible", "feasible, proven closest", "feasible, with a gap", "undecided")
    for label, valid in (("no valid command", False), ("a valid command", True)):
        kinds = [status[case] for case, found in grid.items() if found == valid]
        counts_of = [kinds.count(kind) for kind in ("proven infeasible", "proven closest", "found")]
        cells = dict(zip(columns, [*counts_of, len(kinds) - sum(counts_of)], strict=True))
        facts.line("The grid against proofs, on the cases with both", label, cells)
    both = [grid[case] for case in grid if status[case] in ("proven closest", "found")]
    none = [grid[case] for case in grid if status[case] == "proven infeasible"]
    facts.say(
        "**A grid of 200 values finds no valid command in {} of {} feasible failures** on which it was run ({} [{},{}] "
        "%), because they lie between its points. The paper calls {} cases infeasible by such a grid. It finds a "
        "command in {} of {} cases that are proven infeasible.",
        *(both.count(False), len(both), rate(both.count(False), len(both)), paper_tables.AUDIT["grid-infeasible"]),
        *(sum(none), len(none)),
    )
    facts.say("The grid has 200 values per objective, for up to 3 objectives")
    reachable, cases, _ = recovery(rows.study("stress") + rows.study("audit-all"))
    for search, line in reachable.items():
        facts.line("Recovery of the feasible cases, in the reachable search region", search, line)
    zoo, local = reachable["cf-zoo"], reachable["local-zoo"]
    facts.say(
        "**Of {} feasible cases in the reachable region, CF-ZOO solves {} [{},{}] % and its ZOO phase alone {} [{},{}] "
        "%**, with medians of {} and {} queries.",
        *(cases, zoo["recovered [95 % CI]"], local["recovered [95 % CI]"]),
        *(zoo["queries: median"], local["queries: median"]),
    )
    return facts


def agents(rows: Rows) -> Facts:
    facts = Facts()
    seeds = {name: rows.study(f"seeds/{PAPER_REGION[name]}-as-run") for name in LABELS}
    together = [row for group in seeds.values() for row in group]
    groups = {LABELS[name]: group for name, group in seeds.items()} | {"Total": together}
    groups |= {label: rows.study(f"seeds/{agent}-as-run") for label, agent in ALL_OTHERS.items()}
    printed = {LABELS[name]: row for name, row in paper_tables.STRESS.items()} | {"Total": PAPER_STRESS}

    def kind(row: Answered) -> str:
        return row.agent.rpartition("-")[0]

    rates: dict[str, dict[str, Any]] = {}
    for label, group in groups.items():
        zoo = of(group, ZOO)
        rates[label] = {
            "agents": len({r.agent for r in zoo}),
            "cases": len(zoo),
            "feasible [95 % CI]": rate(sum(r.found for r in of(group, "exact")), len(zoo)),
            "rate [95 % CI]": rate_of(r.found for r in zoo),
            "cluster [95 % CI]": found_of(zoo, kind),
            "paper: rate [95 % CI]": paper_rate(printed[label]) if label in printed else [],
        }
        facts.line("Stress test of CF-ZOO as run, all agents together", label, rates[label])
    total = rates["Total"]
    facts.say(
        "**With {} agents of other training seeds, CF-ZOO as run solves {} % of {} cases** (cluster [{},{}]; paper: {} "
        "% of {}).",
        *(total["agents"], total["rate [95 % CI]"][0], total["cases"], total["cluster [95 % CI]"]),
        *(paper_rate(PAPER_STRESS)[0], PAPER_STRESS.cases),
    )
    numbers = sorted({int(row.agent.rpartition("-")[2]) for row in together})
    listed = ", ".join("{}" for _ in numbers)
    facts.say(f"the training seeds {listed}; every setting was chosen with the seeds 0 to 3.", numbers)
    _seeding({name: rows.study(f"seeds/{name}") for name in LABELS}, kind, facts)
    authors_agents(rows, rates, facts)
    goals(rows, facts)
    return facts


def _seeding(reachable: Mapping[str, list[Answered]], kind: Any, facts: Facts) -> None:
    tests = {LABELS[n]: paired(of(g, "cf-zoo"), of(g, "local-zoo"), kind) for n, g in reachable.items()}
    corrected = holm({label: test.p for label, test in tests.items()})
    for label, test in tests.items():
        cells = {"cases": test.cases, **test.cells(corrected[label], ("cf-zoo", "local-zoo"))}
        facts.line("CF-ZOO against ZOO without seeding", label, cells)
    together = [row for group in reachable.values() for row in group]
    test = paired(of(together, "cf-zoo"), of(together, "local-zoo"), kind)
    above = [label for label, one in tests.items() if one.above]
    facts.say(
        "**Seeding changes the rate of local search by {} points** (cluster [{},{}]): of {} cases, {} are solved by "
        "CF-ZOO only and {} by ZOO without seeding only. The interval is above 0 in {} of {} environments "
        f"({', '.join(above) or 'none'}).",
        *(test.points, test.interval, test.cases, test.one, test.other, len(above), len(tests)),
    )
    feasible = {row.case for row in of(together, "exact") if row.found}
    parts: list[Any] = []
    for search in ("cf-zoo", "local-zoo", "local-zoo:long"):
        mine = [row for row in of(together, search) if row.case in feasible]
        parts += [percent(row.found for row in mine), found_of(mine, kind)]
    facts.say(
        "Of {} cases that the exact search solves in the reachable region, CF-ZOO as described in the paper solves {} "
        "% [{},{}], ZOO started at the command {} % [{},{}], and ZOO with four times the queries {} % [{},{}].",
        *(len(feasible), parts),
    )


OTHER_LABELS = {
    **{f"authors-{name}": label for name, label in LABELS.items()},
    "authors-fruit-tree-6": "Fruit-Tree (depth 6)",
    "authors-three-tree": "Three-Tree",
    "authors-walkroom-2": "WalkRoom 2",
    "authors-walkroom-3": "WalkRoom 3",
}


def authors_agents(rows: Rows, ours: Mapping[str, Mapping[str, Any]], facts: Facts) -> None:
    answers, proofs = (rows.studies(f"authors-agents{p}", f"authors-agents-more{p}") for p in ("", "-exact"))
    attacks, title = rows.studies("authors-agents-comparison"), "The authors' published agents"
    zoo, infeasible = of(answers, ZOO), {row.case for row in proofs if row.status == "proven infeasible"}
    dst = 0.0
    for agent in dict.fromkeys(row.agent for row in answers):
        label, group = OTHER_LABELS[agent], [row for row in answers if row.agent == agent]
        statuses = [row.status for row in proofs if row.agent == agent]
        shown = ours.get(label.removesuffix(" (depth 6)"), {})
        cells = {
            "cases": len(of(group, ZOO)),
            "CF-ZOO as run [95 % CI]": rate_of(r.found for r in of(group, ZOO)),
            "Boundary [95 % CI]": rate_of(r.found for r in of(group, "boundary")),
            "proven infeasible": statuses.count("proven infeasible"),
            "undecided": sum("not found" in one for one in statuses),
            "our agents: CF-ZOO [95 % CI]": shown.get("rate [95 % CI]", []),
            "paper: CF-ZOO [95 % CI]": shown.get("paper: rate [95 % CI]", []),
        }
        facts.line(title, label, cells)
        if label == "DST":
            dst = 100 * (1 - statuses.count("proven infeasible") / len(of(group, ZOO)))
    parts: list[Any] = []
    for sampled in (False, True):  # whole stress tests, and samples of two commands
        mine = [r for r in zoo if (_agent(r).removeprefix("authors-").startswith(("three", "walk"))) == sampled]
        solved, agents = sum(r.found for r in mine), len({r.agent for r in mine})
        parts.append((agents, solved, len(mine), rate(solved, len(mine)), len(infeasible & {r.case for r in mine})))
    facts.say(
        "**On {} agents that the authors published, CF-ZOO as run solves {} of {} cases** of the whole stress test ({} "
        "[{},{}] %), and {} are proven infeasible. On {} further agents, it solves {} of {} cases of two commands each "
        "({} [{},{}] %), and {} are proven infeasible.",
        parts,
    )
    for agent in [*dict.fromkeys(row.agent for row in attacks), "all"]:
        mine = [row for row in attacks if agent in ("all", row.agent)]
        cases = {row.case for row in mine}
        cells = {
            "cases": len(cases),
            "proven infeasible": len(cases & infeasible),
            "CF-ZOO as run [95 % CI]": rate_of(r.found for r in zoo if r.case in cases),
            "White-CW, confidence 0 [95 % CI]": rate_of(r.found for r in of(mine, WHITE)),
            "White-CW, 0.05 [95 % CI]": rate_of(r.found for r in of(mine, WHITE_05)),
        }
        facts.line("White-CW on the authors' agents", OTHER_LABELS.get(agent, "All"), cells)
    facts.say(
        "Of {} cases of the comparison, CF-ZOO solves {} [{},{}] %, White-CW {} [{},{}] % with confidence 0 and {} "
        "[{},{}] % with 0.05.",
        *(len(cases), list(cells.values())[2:]),
    )
    facts.say("CF-ZOO has the budget of the stress test, B = 3,001.")
    factors(rows, dst, facts)


def factors(rows: Rows, authors: float, facts: Facts) -> None:
    """Recompute the study of training choices; `authors` is the feasible share of the authors' agent."""
    lines, title = rows.table("factors.csv"), "Feasible cases by one choice of the authors"
    share = {(r["environment"], r["variant"], r["seed"]): 100 * int(r["feasible"]) / int(r["cases"]) for r in lines}
    effects: dict[str, tuple[float, float, list[float]]] = {}
    for variant in dict.fromkeys(r["variant"] for r in lines):
        for name in {r["environment"] for r in lines}:
            values = [v for (e, one, _), v in share.items() if (e, one) == (name, variant)]
            facts.line(title, variant, {LABELS[name]: float(np.mean(values)) if values else []})
            if name == "deep-sea-treasure":
                here = values
        mine = [r for r in lines if r["variant"] == variant]
        reached = sum(r["front"] == r["reached"] for r in mine)
        facts.line(title, variant, {"reach their front": [reached, len(mine)]})
        pairs = [
            value - share[name, "ours", seed]
            for (name, one, seed), value in share.items()
            if (name, one) == ("deep-sea-treasure", variant) and variant != "ours"
        ]
        if len(pairs) > 1:
            half = float(stats.t.ppf(0.975, len(pairs) - 1) * np.std(pairs, ddof=1) / math.sqrt(len(pairs)))
            mean = float(np.mean(pairs))
            interval = [mean - half, mean + half]
            facts.line(title, variant, {"DST: difference (points)": mean, "Student [95 % CI]": interval})
            if not variant.startswith("all of"):
                effects[variant] = float(np.mean(here)), mean, interval
    ours = float(np.mean([v for (e, one, _), v in share.items() if (e, one) == ("deep-sea-treasure", "ours")]))
    lower = {name: effect for name, effect in effects.items() if effect[2][1] < 0}
    piece = "{} {{}} % of them are ({{}} points, Student [{{}},{{}}])"
    pieces = " and with ".join(piece.format(name) for name in map(_theirs, lower))
    if lower:
        facts.say(
            f"makes fewer DST cases feasible**: with our training, {{}} % are feasible; with {pieces}.",
            ours,
            list(lower.values()),
        )
    facts.say("With the authors' agent, {} % are feasible.", authors)
    facts.say("We changed {} choices of our training", len(effects))
    higher = {name: effect[1] for name, effect in effects.items() if effect[2][0] > 0}
    raised = " and with ".join(f"{name} ({{}} points)" for name in map(_theirs, higher))
    facts.say(f"More cases are feasible with {raised}.", list(higher.values()))


def _theirs(variant: str) -> str:
    return variant.replace("their", "the authors'")


def goals(rows: Rows, facts: Facts) -> None:
    lines = rows.table("goals.csv")

    def key(line: dict[str, Any]) -> tuple[str, ...]:
        return line["agent"], line["episode"], line["step"], line["foil"]

    best = {key(r): float(r["distance"]) for r in lines if r["search"] == "exact" and r["distance"]}
    feasible = {key(r) for r in lines if r["distance"]}
    for agent, search in dict.fromkeys((r["agent"], r["search"]) for r in lines):
        mine = [r for r in lines if (r["agent"], r["search"]) == (agent, search)]
        found = [r for r in mine if r["distance"]]
        costs = {"queries": "queries", "boxes": "bound evaluations", "seconds": "CPU s"}
        cells = {
            "questions": len(mine),
            "feasible ones solved [95 % CI]": rate(len(found), sum(key(r) in feasible for r in mine)),
            **{s: sum(r["status"] == s for r in mine) for s in ("proven closest", "proven infeasible")},
            "median distance / optimum": quantile([float(r["distance"]) / best[key(r)] for r in found], 0.5),
            **{f"median {label}": quantile([float(r[cost]) for r in mine], 0.5) for cost, label in costs.items()},
            "the model takes the foil": [sum(r["takes_foil"] == "True" for r in found), len(found)],
        }
        facts.line("Agents conditioned on goals or preferences, by search", f"{agent}, {search}", cells)
    exact = [r for r in lines if r["search"] == "exact"]
    agents = {r["agent"]: [float(r[name]) for name in ("size", "reached", "tests")] for r in lines}
    solved = {
        s: rate(sum(bool(r["distance"]) for r in lines if r["search"] == s), len(feasible))
        for s in ("boundary", "cf-zoo")
    }
    facts.say(
        "**The exact search proves {} of {} answers about {} agents conditioned on goals or preferences**",
        *(sum(r["status"].startswith("proven") for r in exact), len(exact), len(agents)),
    )
    facts.say(
        "at a median of {} CPU s. Of {} feasible questions, Boundary solves {} [{},{}] % and CF-ZOO {} [{},{}] %.",
        *(quantile([float(r["seconds"]) for r in exact], 0.5), len(feasible), solved["boundary"], solved["cf-zoo"]),
    )
    for agent, numbers in agents.items():
        if agent == "preferences":
            facts.say("gets {} random weights per episode", numbers[0])
            facts.say("return in {} of {} test episodes", numbers[1:])
        else:
            facts.say(f"*{agent}* ({{}} coordinates) reaches {{}} of {{}} goals", numbers)
    facts.say("all weights whose sum is 1.")


def changed(row: Answered, *, paper: bool) -> int:
    """Return how many entries of the command move by more than a thousandth of their range."""
    original, closest, _, width = row.commands()
    return int((np.abs(closest - original) > 1e-3 * (width if paper else training_scale(row.agent))).sum())


Entries = Sequence[tuple[Answered, int, int]]
"""Answers with the number of entries that change, and that of all entries."""


def claims(rows: Rows) -> Facts:
    facts = Facts()
    study = [row for group in paper_stress(rows).values() for row in group if row.found]
    entries = [(row, changed(row, paper=True), len(row.commands()[0])) for row in study]
    for name, label in GROUPS:
        mine = [one for one in entries if one[0].search == ZOO and about([one[0]], name)]
        cells = {
            "entries": mine[0][2],
            "answers": len(mine),
            "at most two [95 % CI]": rate_of(count <= 2 for _, count, _ in mine),
            "cluster [95 % CI]": _few(mine)[1:],
        }
        facts.line("Number of entries of the command that change, in the paper's search region", label, cells)
    everything = rows.study("stress") + rows.study("audit-all")
    counted = [(row, changed(row, paper=False), len(row.commands()[0])) for row in everything if row.found]
    as_run = [one for one in entries if one[0].search == ZOO]
    share = _few(one for one in as_run if one[2] > 2)
    low, high = share[1:]
    verdict = "contains one half" if low <= 50 <= high else f"is {'above' if low > 50 else 'below'} one half"  # type: ignore[operator]
    whole = "the interval" if low <= 50 <= high else "the whole interval"  # type: ignore[operator]
    facts.say("usually sparse, changing 1 or 2 entries***")
    facts.say(
        "CF-ZOO as run changes at most two entries in {} % (cluster [{},{}]) of its answers, and in {} % (cluster "
        "[{},{}]) "
        f"of its answers about commands with three or more entries ({whole} {verdict}). In the authors' rows it is "
        f"{{}} %",
        *(_few(as_run), share, 100 * authors_data.FEW_ENTRIES),
    )
    facts.say("if it moves by more than 0.1 % of its range")
    groups = ((entries, "exact", "same"), (counted, "cf-zoo", "reachable"), (counted, "exact", "reachable"))
    pieces = "; ".join(
        f"`{search}` in the {region} region {{}} % (cluster [{{}},{{}}])" for _, search, region in groups
    )
    shares = [_few(one for one in group if one[0].search == s and one[2] > 2) for group, s, _ in groups]
    facts.say(f"for commands with three or more: {pieces}.", shares)
    _gradients(rows, everything, facts)
    _horizons(rows, facts)
    _fronts(facts)
    facts.say("Three further claims are on other pages: a budget of 50,000")
    _desiderata(rows, everything, counted, facts)
    _trainings(rows, facts)
    return facts


def _few(entries: Iterable[tuple[Answered, int, int]]) -> list[Expected]:
    """Return the share of answers that change at most two entries, and its cluster interval."""
    few = {(row.case, row.search): (row, count <= 2) for row, count, _ in entries}
    interval = of_rows((row for row, _ in few.values()), lambda row: few[row.case, row.search][1])
    return [percent(is_few for _, is_few in few.values()), *interval]


def _gradients(rows: Rows, everything: Sequence[Answered], facts: Facts) -> None:
    lines = rows.table("claims-gradient.parquet")
    local = {row.case for row in of(everything, "local-zoo") if row.found}
    shares: dict[str, list[Expected]] = {}
    for name, label in GROUPS:
        mine = about(lines, name)
        aligned = [line for line in mine if line["cosine_inside"] is not None and line["cosine_inside"] > 0.5]
        cosines = quantile([line["cosine"] for line in mine if line["cosine"] is not None], 0.5)
        works = [line["line_distance"] is not None for line in aligned]
        shares[label] = [*rate(len(aligned), len(mine)), len(mine)]
        cells = {
            "answers": len(mine),
            "cosine: median": cosines,
            "aligned [95 % CI]": shares[label][:3],
            "if aligned: succeeds [95 % CI]": rate_of(works),
            "local ZOO succeeds [95 % CI]": rate_of(
                (line["agent"], line["front"], line["step"], line["foil"]) in local for line in mine
            ),
        }
        facts.line("Gradient and counterfactual", label, cells)
    facts.say(
        "{} % of {} gradients are aligned with the closest command (median cosine {}), and a line search along an "
        "aligned gradient fails in {} [{},{}] % of the cases.",
        *(shares["All"][0], len(lines), cosines, rate_of(not good for good in works)),
    )
    least = min(LABELS.values(), key=lambda label: shares[label][0])  # type: ignore[arg-type, return-value]
    facts.say(
        "Of {} questions with an answer, {} [{},{}] % have an aligned gradient; the share is lowest in "
        f"{least} ({{}} [{{}},{{}}] % of {{}}).",
        *(len(lines), shares["All"][:3], shares[least]),
    )
    facts.say("Aligned: the cosine is above 0.5, ignoring")


def _horizons(rows: Rows, facts: Facts) -> None:
    lines = rows.table("claims-horizon.parquet")
    other = [line for line in lines if line["factor"] not in (None, 1.0)]
    factors = sorted({line["factor"] for line in other})
    consistent = [line for line in lines if line["factor"] == 1.0]
    groups = ([line for line in lines if line["factor"] is None], consistent, other)
    none, same, others = (percent(line["distance"] <= 0.01 for line in group) for group in groups)
    facts.say(
        f"another horizon ({', '.join('{}' for _ in factors)} times as long) changes {{}} [{{}},{{}}] % of the "
        f"decisions. "
        "Agents with a horizon deliver {} % of their front's {} commands with the front's horizons and {} % with other "
        "horizons; agents without a horizon deliver {} %",
        *(factors, rate(sum(line["changed"] for line in other), sum(line["decisions"] for line in other))),
        *(same, len(consistent), others, none),
    )


def _fronts(facts: Facts) -> None:
    """Count the points of the shipped agents' fronts, and those that their recorded rollouts reach."""
    complete = 0
    for name, known in KNOWN_FRONTS.items():
        front, achieved, error = (np.array(description(name)[key] or 0.0) for key in ("front", "achieved", "error"))
        reached = (np.abs(achieved - front) <= 1e-6 + 3 * error).all(axis=1).sum()
        complete += len(front) == known == reached
    facts.say("learn and reach {} of {} known fronts in full**", complete, len(KNOWN_FRONTS))
    ours = len(description("minecart")["front"])
    facts.say(
        f"is {'' if ours > authors_data.ORIGINAL_MINECART else 'not '}confirmed: ours has {{}} points, the authors' "
        "return-only agent {}, and the front in the code of the original PCN {}.",
        *(ours, authors_data.PUBLISHED["minecart"].fronts, authors_data.ORIGINAL_MINECART),
    )


def _desiderata(rows: Rows, everything: Sequence[Answered], counted: Entries, facts: Facts) -> None:
    recovered, _, _ = recovery(everything)
    for search in ("cf-zoo", "exact", "boundary", "local-zoo", "nearest-front"):
        mine = [line for line in rows.table("desiderata.parquet") if line["search"] == search]
        off = [line["requested_off_front"] for line in mine]
        properties = {
            "validity: feasible cases solved (%)": recovered[search]["recovered [95 % CI]"],
            "proximity: median distance / optimum": recovered[search]["distance / optimum: median"],
            "actionability: the episode delivers the request (%)": rate_of(line["delivers"] for line in mine),
            "sparsity: at most two entries change (%)": rate_of(
                n <= 2 for row, n, _ in counted if row.search == search
            ),
            "data manifold: median distance of the request from the front": quantile(off, 0.5),
            "causality: the agent takes the foil (%)": rate_of(line["takes_foil"] for line in mine),
            "recourse: the episode ends on the front (%)": rate_of(line["off_front"] <= 0.01 for line in mine),
        }
        for name, value in properties.items():
            facts.line("The seven desiderata by search", name, {search: value})


MEASURES = {
    "a valid command exists": "feasible",
    "distance of the closest command": "distance",
    "share of entries that change": "changed",
    "episode under the answer ends on its front": "ends_on_front",
    "foil is still chosen under 1 % noise": "noise",
}


def _trainings(rows: Rows, facts: Facts) -> None:
    """Recompute the areas under the ROC curve by counting pairs, and the fronts of the ablation."""
    lines, title = rows.table("trainings.csv"), "Well-trained and poorly trained agents, told apart by explanations"
    sides: dict[str, set[int]] = defaultdict(set)
    counts = {}
    for name in dict.fromkeys(line["environment"] for line in lines):
        mine = [line for line in lines if line["environment"] == name and line["feasible"]]
        well = [line for line in mine if line["reached"] == line["known"]]
        counts[LABELS[name]] = len(well), len(mine)
        for label, column in MEASURES.items():
            good, bad = ([float(r[column]) for r in mine if (r in well) == side] for side in (True, False))
            good, bad = ([value for value in values if value == value] for values in (good, bad))
            if good and bad:
                area = sum((a > b) + (a == b) / 2 for a in good for b in bad) / (len(good) * len(bad))
                low, high = interval = newcombe(area, len(good), len(bad))
                sides[label].add(1 if low > 50 else -1 if high < 50 else 0)  # type: ignore[operator]
                facts.line(title, label, {LABELS[name]: 100 * area, f"{LABELS[name]} [95 % CI]": interval})
    somewhere = [label for label in MEASURES if sides[label] - {0}]
    everywhere = [label for label in MEASURES if sides[label] in ({1}, {-1})]
    in_some, in_all = (" and ".join(f"*{label}*" for label in labels) for labels in (somewhere, everywhere))
    facts.say(
        f"of {{}} measures, {'{}' if somewhere else 'none'} {'does' if len(somewhere) == 1 else 'do'} in at least one "
        f"of three environments{f' ({in_some})' if somewhere else ''}, and {'{}' if everywhere else 'none'} in the "
        f"same direction in all of them{f': {in_all}' if everywhere else ''} ({{}} agents; the interval of the AUROC, "
        f"corrected "
        "for 15 tests, excludes 50 %).",
        *(len(MEASURES), [len(labels) for labels in (somewhere, everywhere) if labels]),
        sum(bool(line["feasible"]) for line in lines),
    )
    facts.say("trained with 5, 10, 30 or 100 % of the steps")
    facts.say("below 50, it tends")
    pieces = "; ".join(f"{label} {{}} of {{}}" for label in counts)
    facts.say(f"({pieces} agents)", list(counts.values()))
    facts.say("so that all 15 together hold with 95 %")
    for variant in dict.fromkeys(line["variant"] for line in lines):
        mine = [line for line in lines if line["variant"] == variant and not line["feasible"]]
        cells = {"reach the whole front": [sum(r["reached"] == r["known"] for r in mine), len(mine)]}
        for name in dict.fromkeys(line["environment"] for line in mine):
            steps = [float(line["steps"]) for line in mine if line["environment"] == name]
            cells[f"{LABELS[name]}: steps"] = [float(np.mean(steps))]
        facts.line("Trimming and shorter-first", variant, cells)


def worth(rows: Rows) -> Facts:
    facts = Facts()
    lines, exact = rows.table("attainable.parquet"), rows.table("attainable-unrounded.parquet")
    for name, label in GROUPS:
        mine, unrounded = about(lines, name), about(exact, name)
        reached = [line["attainable_distance"] for line in mine if line["attainable_distance"] is not None]
        cells: dict[str, Any] = {
            "answers": len(mine),
            "quoted answer delivers [95 % CI]": rate_of(line["delivers"] for line in mine),
            "unrounded answer delivers [95 % CI]": rate_of(line["delivers"] for line in unrounded),
            "attainable command found [95 % CI]": rate(len(reached), len(mine)),
            "distance: quoted": quantile([line["distance"] for line in mine], 0.5),
            "distance: unrounded": quantile([line["distance"] for line in unrounded], 0.5),
            "distance: attainable": quantile(reached, 0.5),
        }
        facts.line("Attainable commands", label, cells)
    ratios = [r["attainable_distance"] / r["distance"] for r in lines if r["attainable_distance"] and r["distance"]]
    facts.say(
        "**{} of {} quoted commands deliver what they ask for** ({} [{},{}] %), and {} of the unrounded ones. For {} "
        "[{},{}] % (cluster [{},{}]) rollouts found an attainable command, at a median of {} times",
        *(sum(r["delivers"] for r in lines), len(lines), cells["quoted answer delivers [95 % CI]"]),
        *(sum(r["delivers"] for r in exact), cells["attainable command found [95 % CI]"]),
        *(of_lines(lines, lambda line: line["attainable_distance"] is not None), quantile(ratios, 0.5)),
    )
    facts.say("differs from the request by at most 1 % of each objective's range")
    continued = percent(line["continuation"] is not None for line in lines)
    facts.say(
        "They state 95.8 % of 2,534 answers, without publishing the rows; by our reading of their rule it is {} % of",
        continued,
    )
    issued = [line for line in rows.table("consequences.parquet") if line["search"] == "exact"]
    for name, label in GROUPS:
        mine = about(issued, name)
        cells = {
            "answers": len(mine),
            "ends on the front [95 % CI]": rate_of(line["off_front"] <= 0.01 for line in mine),
            "cluster [95 % CI]": of_lines(mine, lambda line: line["off_front"] <= 0.01),
            "original: on the front": rate_of(line["original_off_front"] <= 0.01 for line in mine),
            "ended by the limit": rate_of(line["truncated"] > 0.5 for line in mine),
        }
        facts.line("Outcomes of counterfactual commands", label, cells)
    facts.say(
        "**{} of {} answers make the agent take the foil, and {} [{},{}] % of the episodes then end on the front** "
        "(cluster [{},{}]), compared with {} % under the original command.",
        *(sum(bool(line["takes_foil"]) for line in issued), len(issued), cells["ends on the front [95 % CI]"]),
        *(cells["cluster [95 % CI]"], cells["original: on the front"][0]),
    )
    facts.say("if it is within 1 % (scaled) of one of its points")
    pairs = _moves(rows, facts)
    _transfer(rows, facts, pairs)
    _influence(rows, facts)
    return facts


def _transfer(rows: Rows, facts: Facts, pairs: Mapping[str, Any]) -> None:
    lines = [line for line in rows.table("stability-seeds.parquet") if line["open"]]

    def flips_all(line: dict[str, Any]) -> bool:
        return bool(line["flipped"] == line["open"])

    def share(mine: Sequence[dict[str, Any]]) -> float:
        return 100 * sum(line["flipped"] for line in mine) / sum(line["open"] for line in mine)

    for name in {line["agent"] for line in lines}:
        mine = about(lines, name)
        cells = {
            "answers": len(mine),
            "flipped agents (%)": share(mine),
            "flips every agent [95 % CI]": rate_of(map(flips_all, mine)),
            "cluster [95 % CI]": of_lines(mine, flips_all),
            "flips none [95 % CI]": rate_of(not line["flipped"] for line in mine),
        }
        facts.line("One answer, issued to five retrained agents", LABELS[name], cells)
    facts.say(
        "**An answer flips {} % of the retrained agents**, and every one of them in {} [{},{}] % of {} questions. A "
        "foil with an answer at one step has one at the next in {} [{},{}] % of {} pairs of steps, and the change "
        "moves by a median of {} times its length.",
        *(share(lines), rate_of(map(flips_all, lines)), len(lines), pairs["answer at t + 1, too [95 % CI]"]),
        *(pairs["pairs of steps"], pairs["difference of the changes: median"]),
    )
    facts.say("Agents of the seeds 10, 11, 12, 13, 14, in the same state")


def _moves(rows: Rows, facts: Facts) -> dict[str, Any]:
    """Recompute how answers change from one step to the next; return the last line."""
    answers = {row.case: row for row in of(rows.study("audit-all"), "exact")}
    moves: list[tuple[Answered, float | None, float | None]] = []
    for (agent, front, step, foil), row in answers.items():
        after = answers.get((agent, front, step + 1, foil))
        if row.found and after is not None:
            if not after.found:
                moves.append((row, None, None))
                continue
            first, second = ((a.commands()[1] - a.commands()[0]) / training_scale(agent) for a in (row, after))
            size = float(np.linalg.norm(first))
            if size:
                turn = float(np.linalg.norm(second - first)) / size
                moves.append((row, float(np.linalg.norm(second)) / size, turn))
    for name, label in GROUPS:
        mine = [one for one in moves if about([one[0]], name)]
        kept = {row.case: ratio is not None for row, ratio, _ in mine}
        median, ten, ninety = quantile([ratio for _, ratio, _ in mine if ratio is not None], 0.5, 0.1, 0.9)
        cells = {
            "pairs of steps": len(mine),
            "answer at t + 1, too [95 % CI]": rate_of(kept.values()),
            "cluster [95 % CI]": cluster((r.agent, r.agent, r.front, float(kept[r.case])) for r, _, _ in mine),
            "distance ratio: median": median,
            "10 %": ten,
            "90 %": ninety,
            "difference of the changes: median": quantile([turn for *_, turn in mine if turn is not None], 0.5),
        }
        facts.line("The answer from one step to the next", label, cells)
    facts.say("relative to the distance at t: 0 if the change stays the same, 2 if it is reversed.")
    return cells


def _influence(rows: Rows, facts: Facts) -> None:
    lines = rows.table("influence.parquet")
    for name, label in LABELS.items():
        mine = about(lines, name)
        middle = [(line["lower"] + line["upper"]) / 2 for line in mine]
        cells = {
            "steps": len(mine),
            "mean share that changes": float(np.mean(middle)),
            "proven active [95 % CI]": rate_of(line["lower"] > 0 for line in mine),
            "proven inert [95 % CI]": rate_of(line["inert"] for line in mine),
        }
        for column, score in (("Spearman: KL", "kl"), ("flip", "flip")):
            cells[column] = float(stats.spearmanr([line[score] for line in mine], middle).statistic)
        facts.line("Proven shares, and the scores against them", label, cells)
    active = [line["lower"] > 0 for line in lines]
    facts.say(
        "**It is proven that some command changes the action at {} of {} steps** ({} [{},{}] %), and that none does at "
        "{}.",
        *(sum(active), len(lines), rate_of(active), sum(line["inert"] for line in lines)),
    )
    facts.say("The rest is undecided after 3,000 boxes.")


PAGES = {
    "comparison": comparison,
    "stress": stress,
    "audit": audit,
    "agents": agents,
    "claims": claims,
    "worth": worth,
}
