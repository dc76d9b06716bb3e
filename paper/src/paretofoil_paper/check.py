"""Recompute the numbers of the results pages from the recorded rows, without the code that writes the pages.

    python -m paretofoil_paper.check paper/results

The script reads the printed pages and the files in `rows`, and has its own statistics. Of the package it uses only the
numbers of the paper and of the authors' rows. A number in a table must follow from the rows; a number in the text must
be one of those, a number of the paper, or a setting. What does not match is listed. Cluster intervals are drawn again
with another seed, so they may differ by the noise of a bootstrap.
"""

import csv
import json
import math
import re
import sys
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
REALISED = {"breakable-bottles", "resource-gathering"}
PAPER_REGION = {name: f"{name}-realised" if name in REALISED else name for name in LABELS}
"""The agent of each environment in the paper's experiment; the others are trained on expected returns."""
ALL_OTHERS = {"B-Bottles, expected returns": "breakable-bottles", "R-Gather, expected returns": "resource-gathering"}
ZOO, WHITE, WHITE_05 = "cf-zoo:as-run", "white-cw:as-run-0", "white-cw:as-run"
NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:e-?\d+)?(?![0-9a-z])")
RESAMPLES = 4_000


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

    def commands(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the original command, the closest one, and the width of the search region."""
        data = json.loads(self.answer or "{}")
        asked = data.get("question", data)
        closest = data["closest"]["command"] if isinstance(data["closest"], dict) else data["closest"]
        original = asked.get("command") if "question" in data else data["original"]
        return np.array(original), np.array(closest), np.subtract(asked["high"], asked["low"])

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

    def has(self, name: str) -> bool:
        return (self.folder / name).is_file()


def of(rows: Iterable[Answered], search: str) -> list[Answered]:
    return [row for row in rows if row.search == search]


def ours(environment: str) -> Callable[[Any], bool]:
    return lambda row: environment == "all" or _agent(row) == environment


def _agent(row: Any) -> str:
    return str(row["agent"] if isinstance(row, dict) else row.agent)


# Numbers


@dataclass(frozen=True)
class Near:
    """A number that a bootstrap gives, with its noise."""

    value: float
    noise: float


Expected = float | Near | None


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


def cluster(items: Iterable[tuple[str, str, int, float]]) -> list[Expected]:
    """Return the bootstrap interval in percent; items are stratum, agent, episode and value."""
    episodes: dict[str, dict[str, dict[int, list[float]]]] = defaultdict(lambda: defaultdict(dict))
    for stratum, agent, episode, value in items:
        total = episodes[stratum][agent].setdefault(episode, [0.0, 0.0])
        total[0] += value
        total[1] += 1
    rng, drawn, units = np.random.default_rng(12345), [], []
    for agents in episodes.values():
        arrays = [np.array(list(of_agent.values())) for of_agent in agents.values()]
        units.append(len(arrays) if len(arrays) > 1 else len(arrays[0]))
        sums = np.zeros((RESAMPLES, 2))
        for _ in arrays:  # as many draws as there are agents
            chosen = rng.integers(len(arrays), size=RESAMPLES)
            for number, array in enumerate(arrays):
                rows = np.flatnonzero(chosen == number)
                sums[rows] += array[rng.integers(len(array), size=(len(rows), len(array)))].sum(axis=1)
        drawn.append(sums)
    if sum(units) - len(units) < 4:
        return []
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
    totals = np.sum(drawn, axis=0)
    low, high = 100 * np.quantile(totals[:, 0] / totals[:, 1], (level, 1 - level))
    noise = 0.3 + 0.08 * (high - low)
    return [Near(float(low), noise), Near(float(high), noise)]


def of_rows(rows: Iterable[Answered], value: Callable[[Answered], float], stratum: Any = None) -> list[Expected]:
    return cluster((stratum(r) if stratum else r.agent, r.agent, r.front, float(value(r))) for r in rows)


def of_lines(lines: Iterable[dict[str, Any]], value: Callable[[dict[str, Any]], float]) -> list[Expected]:
    return cluster((line["agent"], line["agent"], line["front"], float(value(line))) for line in lines)


def quantile(values: Sequence[float], *shares: float) -> list[Expected]:
    return [float(q) for q in np.quantile(values, shares)] if len(values) else []


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """Return the p-values with Holm's correction."""
    corrected, largest = {}, 0.0
    for rank, name in enumerate(sorted(p_values, key=lambda name: p_values[name])):
        largest = max(largest, min(1.0, p_values[name] * (len(p_values) - rank)))
        corrected[name] = largest
    return corrected


def matches(text: str, expected: Expected) -> bool:
    """Return whether a printed number is the expected one, rounded."""
    if expected is None:
        return False
    digits = len(text.partition("e")[0].partition(".")[2])
    printed, value = float(text.replace(",", "")), expected.value if isinstance(expected, Near) else expected
    noise = expected.noise if isinstance(expected, Near) else 0.0
    unit = 10.0**-digits * (10.0 ** int(text.partition("e")[2]) if "e" in text else 1.0)
    return abs(printed - value) <= 0.5 * unit * (1 + 1e-6) + 1e-9 + noise


# Pages


class Cell(NamedTuple):
    """A number in a table: where it stands, and its text."""

    table: str
    line: str
    column: str
    numbers: tuple[str, ...]


def parse(page: str) -> tuple[list[Cell], str]:
    """Return the cells of the tables that hold numbers, and the text without tables, pictures and code."""
    cells: list[Cell] = []
    text, title, columns = [], "", list[str]()
    for line in page.split("\n---\n")[0].splitlines():
        if line.startswith("|"):
            parts = [part.strip() for part in line.strip("|").split("|")]
            if not columns:
                columns = parts
            elif not set(line) <= set("|-: "):
                label = " / ".join(parts[:2]) if columns[:2] == ["environment", "measure (%)"] else parts[0]
                label = " / ".join(parts[:3]) if columns[0] == "example" else label
                cells += [
                    Cell(title, label, column, tuple(NUMBER.findall(part)))
                    for column, part in zip(columns[1:], parts[1:], strict=True)
                    if NUMBER.search(part) and part != label
                ]
        else:
            columns = []
            if line.startswith("**") and line.endswith("**") and line.count("**") == 2:
                title = line.strip("*")
            elif not line.startswith(("![", "[![", "*")) or line.startswith("**"):
                text.append(re.sub(r"`[^`]*`|\]\([^)]*\)", " ", line))
    return cells, "\n".join(text)


Table = dict[tuple[str, str], list[Expected]]
"""By line and column."""


@dataclass
class Facts:
    """What a page should print."""

    tables: dict[str, Table] = field(default_factory=dict)
    more: list[Expected] = field(default_factory=list)
    """Other numbers of the text that follow from rows."""
    settings: Sequence[float] = ()
    """Numbers of the text that are settings, names or numbers of the paper."""

    def values(self) -> list[Expected]:
        return [value for table in self.tables.values() for cell in table.values() for value in cell] + self.more


PAPER_RATES = [100 * 637 / 797, 100 * 322 / 797, 100 * 2422 / 3195]
P_BOUND = 1e-6


def paper_cell(row: paper_tables.PaperRow) -> list[Expected]:
    return rate(row.found, row.cases)


def paired(first: Sequence[Answered], second: Sequence[Answered], stratum: Any = None) -> tuple[int, int, float, Any]:
    """Return the cases that only one of two searches solves, McNemar's p, and the interval of the difference."""
    theirs = {row.case: row.found for row in second}
    more = {row.case: row.found - theirs[row.case] for row in first}
    one, other = sum(v > 0 for v in more.values()), sum(v < 0 for v in more.values())
    p = float(stats.binomtest(one, one + other).pvalue) if one + other else 1.0
    return one, other, p, of_rows(first, lambda row: more[row.case], stratum)


def p_cell(p: float) -> list[Expected]:
    return [P_BOUND if p < P_BOUND else float(f"{p:.0e}") if p < 1e-3 else p]


def recovery(rows: Sequence[Answered]) -> tuple[Table, int, int]:
    feasible = {row.case for row in rows if row.found}
    optimum = {row.case: row.distance for row in rows if row.status == "proven closest" and row.distance is not None}
    table: Table = {}
    for search in dict.fromkeys(row.search for row in rows):
        mine = [row for row in of(rows, search) if row.case in feasible]
        ratios = [
            row.distance / optimum[row.case] for row in mine if row.distance is not None and optimum.get(row.case)
        ]
        table[search, "recovered [95 % CI]"] = rate_of(row.found for row in mine)
        table[search, "cluster [95 % CI]"] = of_rows(mine, lambda row: row.found)
        median, ninety = quantile(ratios, 0.5, 0.9)
        table[search, "distance / optimum: median"], table[search, "90 %"] = [median], [ninety]
        table[search, "queries: median"] = [round(float(np.median([row.queries for row in mine])))]
        if search == "exact":
            table[search, "bound evaluations: median"] = [round(float(np.median([row.boxes() for row in mine])))]
    return table, len(feasible), len(optimum)


def comparison(rows: Rows) -> Facts:
    agents = set(PAPER_REGION.values())
    study = [row for row in rows.study("comparison") if row.agent in agents]
    solved: Table = {}
    for name, label in [*LABELS.items(), ("all", "All")]:
        group = [row for row in study if name == "all" or row.agent == PAPER_REGION[name]]
        found = {s: [row.found for row in of(group, s)] for s in ("exact", ZOO, WHITE, WHITE_05)}
        solved[label, "cases"] = [len(found[ZOO])]
        for column, search in (("Exact", "exact"), ("CF-ZOO", ZOO), ("White-CW, confidence 0", WHITE)):
            solved[label, f"{column} [95 % CI]"] = rate_of(found[search])
        solved[label, "White-CW, 0.05"] = [100 * float(np.mean(found[WHITE_05]))]
        for column, method in (("paper: CF-ZOO", "cf-zoo"), ("paper: White-CW", "white-cw")):
            parts = [paper_tables.COMPARISON[n, method] for n in (LABELS if name == "all" else [name])]
            solved[label, f"{column} [95 % CI]"] = paper_cell(paper_tables.total_of(parts))
    recovered, _, optima = recovery(study)
    against: Table = {}
    tests = {s: paired(of(study, ZOO), of(study, s)) for s in ("boundary", "exact", WHITE_05, WHITE)}
    corrected = holm({search: test[2] for search, test in tests.items()})
    for search, (one, other, _, interval) in tests.items():
        against[search, "cf-zoo:as-run alone"], against[search, "other alone"] = [one], [other]
        against[search, "difference (points)"] = [100 * (one - other) / len(of(study, ZOO))]
        against[search, "cluster [95 % CI]"], against[search, "p (Holm)"] = interval, p_cell(corrected[search])
    seconds: Table = {}
    for search in (ZOO, WHITE, WHITE_05, "boundary", "exact"):
        times = [row.seconds for row in of(rows.study("runtime"), search)]
        for column, share in (("median (s)", 0.5), ("10 %", 0.1), ("90 %", 0.9)):
            seconds[search, column] = quantile(times, share)
    seconds[ZOO, "paper: mean (s)"] = [paper_tables.RUNTIME["all", "cf-zoo"]]
    seconds[WHITE, "paper: mean (s)"] = [paper_tables.RUNTIME["all", "white-cw"]]
    effects, as_run = ablation(rows)
    more = [*of_rows(of(study, ZOO), lambda r: r.found), *of_rows(of(study, WHITE), lambda r: r.found), optima, *as_run]
    more += [100 * float(np.mean([r.found for r in of(study, "boundary")])), len(times)]
    return Facts(
        {
            "Solved cases by environment": solved,
            "Recovery of the feasible cases": recovered,
            "CF-ZOO as run against each other search": against,
            "The effect of each component at 9,000 queries": effects,
            "Seconds per question": seconds,
        },
        more,
        (0, 0.05, 1, 2, 10, 12, 16, 90, 200, 9000, 21000, 0.001),
    )


def ablation(rows: Rows) -> tuple[Table, list[Expected]]:
    study, at_0 = rows.study("ablation"), rows.study("ablation-kappa-0")
    reference = {row.case: row.distance for row in of(study, f"{ZOO} at 9,000") if row.found}
    feasible, feasible_at_0 = ({row.case for row in group if row.found} for group in (study, at_0))
    table: Table = {}
    names = ("no cone", "no axis rays", "no front rays", "bisect last", "no ZOO", "no final bisection", "kappa 0")
    for name in names:
        group = of(at_0, f"{ZOO} at 9,000") if name == "kappa 0" else of(study, f"{name} at 9,000")
        variant = {row.case: row.distance for row in group if row.found}
        cases = len(feasible_at_0 if name == "kappa 0" else feasible)
        table[name, "recovered [95 % CI]"] = rate(len(variant), cases)
        table[name, "only as-run"] = [len(reference.keys() - variant.keys())]
        table[name, "only this variant"] = [len(variant.keys() - reference.keys())]
        ratios = [float(d) / float(reference[c]) for c, d in variant.items() if d is not None and reference.get(c)]  # type: ignore[arg-type]
        table[name, "distance / that of as-run"] = [float(np.median(ratios))]
    return table, rate(len(reference), len(feasible))


def _paper_stress(rows: Rows) -> dict[str, list[Answered]]:
    return {name: [r for r in rows.study("stress-as-run") if r.agent == PAPER_REGION[name]] for name in LABELS}


def stress(rows: Rows) -> Facts:
    by_name = _paper_stress(rows)
    test: Table = {}
    parts: Table = {}
    study = [row for group in by_name.values() for row in group]
    groups = {LABELS[name]: group for name, group in by_name.items()} | {"Total": study}
    groups |= {label: [r for r in rows.study("stress-as-run") if r.agent == a] for label, a in ALL_OTHERS.items()}
    for label, group in groups.items():
        zoo = of(group, ZOO)
        test[label, "cases"], test[label, "rate [95 % CI]"] = [len(zoo)], rate_of(r.found for r in zoo)
        test[label, "cluster [95 % CI]"] = of_rows(zoo, lambda row: row.found)
    counts: dict[str, tuple[tuple[int, int, int], tuple[int, int, int]]] = {}
    for name, label in LABELS.items():
        printed, published = paper_tables.STRESS[name], authors_data.PUBLISHED[name]
        test[label, "paper: cases"], test[label, "paper: rate [95 % CI]"] = [printed.cases], paper_cell(printed)
        solved = {r.case for r in of(by_name[name], ZOO) if r.found}
        feasible = solved | {r.case for r in of(by_name[name], "exact") if r.found}
        feasible_there = printed.found + published.missed + published.second_grid
        mine = (len(of(by_name[name], ZOO)), len(feasible), len(solved))
        counts[label] = mine, (printed.cases, feasible_there, printed.found)
    totals = [[sum(pair[i][k] for pair in counts.values()) for k in range(3)] for i in range(2)]
    mix = sum(100 * (a[0] / totals[0][0] - b[0] / totals[1][0]) * a[2] / a[0] for a, b in counts.values())
    test["Total", "paper: cases"], test["Total", "paper: rate [95 % CI]"] = [3195], rate(2422, 3195)
    for label, ((n, f, s), (pn, pf, ps)) in {**counts, "Total": totals}.items():
        share, solved_share, paper_share, paper_solved = f / n, s / f, pf / pn, ps / pf
        parts[label, "difference (points)"] = [100 * (s / n - ps / pn)]
        parts[label, "due to feasibility"] = [50 * (share - paper_share) * (solved_share + paper_solved)]
        parts[label, "due to the search"] = [50 * (solved_share - paper_solved) * (share + paper_share)]
        parts[label, "feasible here (%)"], parts[label, "feasible in the authors' rows (%)"] = (
            [100 * share],
            [100 * paper_share],
        )
    more: list[Expected] = [totals[0][2], totals[0][0], mix]
    more += _landscapes(rows)
    own = authors_data.OWN_CODE
    settings = (2422, 3195, 3001, 9001, 87, 96, 128, 5, own["questions"], own["solved"], own["close"], 6, 0.1)
    tables = {"Stress test": test, "The difference from the paper, in two parts": parts}
    tables["Counterfactual commands of the worked examples"] = _examples(rows)
    return Facts(tables, more, settings)


EXAMPLES = {
    "Deep Sea Treasure (introduction)": ("deep-sea-treasure", (8.0, -2.0), (6.328, -1.704)),
    "Branch-Path": ("branch-path", (3.0, 1.0), (0.2953, 1.464)),
    "Collect-Two": ("collect-two", (0.0, 0.0, 0.8, 1.0), (0.0, 0.0, 0.8, 0.8437)),
    "Minecart": ("minecart", (0.28, 1.22, -0.96), (0.3476, 1.22, -0.96)),
}
"""The agent, the remaining command and the counterfactual command of each example in the paper."""


def _examples(rows: Rows) -> Table:
    """Return commands, distances and signs; distances are in units of the paper's search region."""
    table: Table = {}
    for line in rows.table("examples.parquet"):
        agent, remaining, printed = EXAMPLES[line["example"]]
        of_paper, label = line["by"] == "paper", " / ".join((line["example"], line["foil"], line["by"]))
        command = np.array(printed if of_paper else line["command"])
        region = next(row.commands()[2] for row in rows.study("stress-as-run") if row.agent == agent and row.found)
        change = command - remaining
        table[label, "counterfactual command"] = [float(f"{entry:.4g}") for entry in command]
        table[label, "in the paper's units"] = [float(np.linalg.norm(change / region))]
        scaled = change / (region if of_paper else training_scale(agent))
        few = np.abs(scaled) <= 0.05 * np.linalg.norm(scaled)
        signs = "".join("0" if small else "+" if entry > 0 else "-" for small, entry in zip(few, scaled, strict=True))
        table[label, "signs"] = [float(number) for number in NUMBER.findall(signs)]
    return table


PANEL = re.compile(r"\(\w\) ([\w-]+): [\w-]+ → ([\w-]+), command \(([^)]*)\), t = (\d+)")


def _landscapes(rows: Rows) -> list[Expected]:
    """Return the distances of the questions that the landscapes of the page show."""
    values: list[Expected] = []
    for agent, foil, command, step in PANEL.findall((rows.folder.parent / "stress.md").read_text()):
        described = description(agent)
        asked = [float(number) for number in command.split(",")]
        front = int(np.abs(np.array(described["front"]) - asked).max(axis=1).argmin())
        case = (agent, front, int(step), described["actions"].index(foil))
        answers = [row for row in rows.study("comparison") if row.case == case and row.found]
        values += [row.distance for row in answers]
        to_front = (np.array(described["front"]) - asked) / answers[0].commands()[2]
        values += [*asked, float(step), *np.linalg.norm(to_front, axis=1).tolist()]
    return values


def audit(rows: Rows) -> Facts:
    by_name = _paper_stress(rows)
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
    with_grid: Table = {}
    for label, count, printed in (
        ("Success (with 100k)", success, "success"),
        ("Grid-infeasible foil", len(no_grid), "grid-infeasible"),
        ("Search-limited failure", len(limited), "search-limited"),
    ):
        with_grid[label, "cases"], with_grid[label, "paper: cases"] = [count], [paper_tables.AUDIT[printed]]
        with_grid[label, "% feasible [95 % CI]"] = rate(count, success + len(limited))
        with_grid[label, "paper: % feasible [95 % CI]"] = rate(paper_tables.AUDIT[printed], 2515 + 149)
    with_proofs: Table = {}
    known = success + len(left & missed)
    for label, count in (
        ("Success (with 100k)", success),
        ("Proven infeasible foil", len(left & infeasible)),
        ("Search-limited failure (a valid command exists)", len(left & missed)),
        ("Undecided", len(left - infeasible - missed)),
    ):
        with_proofs[label, "cases"], with_proofs[label, "% all [95 % CI]"] = [count], rate(count, total)
        with_proofs[label, "% feasible [95 % CI]"] = rate(count, known)
    feasible = total - sum(one == "proven infeasible" for one in status.values())
    budgets: Table = {}
    tried = {f"{b:,}": of(rows.study("audit-as-run-budgets"), f"{ZOO} {b:,}") for b in (9_001, 21_000, 50_000)}
    for budget, group in {"3,001": [], **tried, "100,000": [again[case] for case in missed]}.items():
        found = sum(row.found for row in group)
        budgets[budget, "feasible cases missed at first"], budgets[budget, "found"] = [len(missed)], [found]
        budgets[budget, "of all feasible cases [95 % CI]"] = rate(feasible - len(missed) + found, feasible)
        budgets[budget, "median queries"] = [round(float(np.median([r.queries for r in group])))] if group else []
    every: Table = {}
    kinds = {"proven closest": "proven closest", "found": "found, with a gap", "proven infeasible": "proven infeasible"}
    for name, label in LABELS.items():
        mine = {case: one for case, one in status.items() if case[0] == PAPER_REGION[name]}
        every[label, "cases"], every[label, "missed by CF-ZOO"] = [len(mine)], [len(missed & mine.keys())]
        for kind, column in kinds.items():
            every[label, column] = [sum(one == kind for one in mine.values())]
        every[label, "undecided"] = [sum(one not in kinds for one in mine.values())]
    against: Table = {}
    columns = {
        "proven infeasible": "proven infeasible",
        "proven closest": "feasible, proven closest",
        "found": "feasible, with a gap",
    }
    for label, valid in (("no valid command", False), ("a valid command", True)):
        for kind, column in columns.items():
            against[label, column] = [sum(status[case] == kind and found == valid for case, found in grid.items())]
        against[label, "undecided"] = [sum(status[c] not in columns and found == valid for c, found in grid.items())]
    reachable, cases, _ = recovery(rows.study("stress") + rows.study("audit-all"))
    both = [case for case in grid if status[case] in ("proven closest", "found")]
    nothing = sum(not grid[case] for case in both)
    more = [len(infeasible), len(failed), *rate(len(infeasible), len(failed)), len(missed), len(both), nothing]
    more += [*rate(nothing, len(both)), cases, sum(row.found for row in again.values())]
    taxonomy = authors_data.TAXONOMY
    more += [*rate(taxonomy["success"], taxonomy["success"] + taxonomy["search-limited"]), *taxonomy.values()]
    tables = {
        "The paper's diagnosis, with the grid": with_grid,
        "The same diagnosis, with proofs": with_proofs,
        "CF-ZOO as run with larger budgets": budgets,
        "Every case by proof": every,
        "The grid against proofs, on the cases with both": against,
        "Recovery of the feasible cases, in the reachable search region": reachable,
    }
    return Facts(tables, more, (0, 200, 531, 3001, 50_000, 100_000, 93, 3, 100))


def agents(rows: Rows) -> Facts:
    seeds = {name: rows.study(f"seeds/{PAPER_REGION[name]}-as-run") for name in LABELS}
    groups = {LABELS[name]: group for name, group in seeds.items()}
    groups["Total"] = [row for group in seeds.values() for row in group]
    groups |= {label: rows.study(f"seeds/{agent}-as-run") for label, agent in ALL_OTHERS.items()}

    def kind(row: Answered) -> str:
        return row.agent.rpartition("-")[0]

    test: Table = {}
    for label, group in groups.items():
        zoo = of(group, ZOO)
        test[label, "agents"], test[label, "cases"] = [len({r.agent for r in zoo})], [len(zoo)]
        test[label, "feasible [95 % CI]"] = rate(sum(r.found for r in of(group, "exact")), len(zoo))
        test[label, "rate [95 % CI]"] = rate_of(r.found for r in zoo)
        test[label, "cluster [95 % CI]"] = of_rows(zoo, lambda r: r.found, kind)
    for name, label in LABELS.items():
        test[label, "paper: rate [95 % CI]"] = paper_cell(paper_tables.STRESS[name])
    test["Total", "paper: rate [95 % CI]"] = rate(2422, 3195)
    reachable = {name: rows.study(f"seeds/{name}") for name in LABELS}
    seeding: Table = {}
    tests = {LABELS[n]: paired(of(g, "cf-zoo"), of(g, "local-zoo"), kind) for n, g in reachable.items()}
    corrected = holm({label: one[2] for label, one in tests.items()})
    for (label, (one, other, _, interval)), group in zip(tests.items(), reachable.values(), strict=True):
        cases = len(of(group, "cf-zoo"))
        seeding[label, "cases"], seeding[label, "cf-zoo alone"], seeding[label, "local-zoo alone"] = (
            [cases],
            [one],
            [other],
        )
        seeding[label, "difference (points)"] = [100 * (one - other) / cases]
        seeding[label, "cluster [95 % CI]"], seeding[label, "p (Holm)"] = interval, p_cell(corrected[label])
    together = [row for group in reachable.values() for row in group]
    one, other, _, interval = paired(of(together, "cf-zoo"), of(together, "local-zoo"), kind)
    more: list[Expected] = [one, other, 100 * (one - other) / len(of(together, "cf-zoo")), *interval]
    more += [sum(bool(t[3]) and t[3][0].value > 0.05 for t in tests.values()), len(tests)]
    feasible = {row.case for row in of(together, "exact") if row.found}
    more.append(len(feasible))
    for search in ("cf-zoo", "local-zoo", "local-zoo:long"):
        mine = [row for row in of(together, search) if row.case in feasible]
        more += [100 * float(np.mean([r.found for r in mine])), *of_rows(mine, lambda r: r.found, kind)]
    tables = {"Stress test of CF-ZOO as run, all agents together": test, "CF-ZOO against ZOO without seeding": seeding}
    tables["The authors' published agents"], white, numbers = authors_agents(rows, test)
    tables["White-CW on the authors' agents"] = white
    tables["Agents conditioned on goals or preferences, by search"], of_goals = goals(rows)
    choices, effects = factors(rows)
    tables["Feasible cases by one choice of the authors"] = choices
    settings = (2422, 3195, 10, 11, 12, 13, 14, 0, 3, 0.05, 0.3, 4, 2, 6, 3001, 1000, 8000, 256)
    return Facts(tables, more + numbers + effects + of_goals, settings)


OTHER_LABELS = {
    **{f"authors-{name}": label for name, label in LABELS.items()},
    "authors-fruit-tree-6": "Fruit-Tree (depth 6)",
    "authors-three-tree": "Three-Tree",
    "authors-walkroom-2": "WalkRoom 2",
    "authors-walkroom-3": "WalkRoom 3",
}


def authors_agents(rows: Rows, seeds: Table) -> tuple[Table, Table, list[Expected]]:
    def study(part: str) -> list[Answered]:
        names = (f"authors-agents{more}{part}" for more in ("", "-more"))
        return [row for name in names if rows.has(f"{name}.parquet") for row in rows.study(name)]

    table: Table = {}
    white: Table = {}
    numbers: list[Expected] = []
    answers, proofs, attacks = study(""), study("-exact"), study("-comparison")
    parts = {row.agent: row.agent.removeprefix("authors-").startswith(("three", "walk")) for row in answers}
    for agent in dict.fromkeys(row.agent for row in answers):
        label, group = OTHER_LABELS[agent], [row for row in answers if row.agent == agent]
        zoo, statuses = of(group, ZOO), [row.status for row in proofs if row.agent == agent]
        table[label, "cases"], table[label, "CF-ZOO as run [95 % CI]"] = [len(zoo)], rate_of(r.found for r in zoo)
        table[label, "Boundary [95 % CI]"] = rate_of(r.found for r in of(group, "boundary"))
        table[label, "proven infeasible"] = [statuses.count("proven infeasible")]
        table[label, "undecided"] = [sum("not found" in one for one in statuses)]
        name = {"Fruit-Tree (depth 6)": "Fruit-Tree"}.get(label, label)
        table[label, "our agents: CF-ZOO [95 % CI]"] = seeds.get((name, "rate [95 % CI]"), [])
        table[label, "paper: CF-ZOO [95 % CI]"] = seeds.get((name, "paper: rate [95 % CI]"), [])
        if label == "DST":
            numbers.append(100 * (1 - statuses.count("proven infeasible") / len(zoo)))
    zoo, infeasible = of(answers, ZOO), {r.case for r in proofs if r.status == "proven infeasible"}
    for part in (False, True):  # whole stress tests, and samples of two commands
        mine = [r for r in zoo if parts[r.agent] == part]
        numbers += [
            sum(r.found for r in mine),
            len(mine),
            *rate_of(r.found for r in mine),
            len({r.agent for r in mine}),
        ]
        numbers.append(sum(parts[case[0]] == part for case in infeasible))
    for agent in [*dict.fromkeys(row.agent for row in attacks), "all"]:
        mine = [row for row in attacks if agent in ("all", row.agent)]
        cases, label = {row.case for row in mine}, OTHER_LABELS.get(agent, "All")
        white[label, "cases"], white[label, "proven infeasible"] = [len(cases)], [len(cases & infeasible)]
        white[label, "CF-ZOO as run [95 % CI]"] = rate_of(r.found for r in zoo if r.case in cases)
        white[label, "White-CW, confidence 0 [95 % CI]"] = rate_of(r.found for r in of(mine, WHITE))
        white[label, "White-CW, 0.05 [95 % CI]"] = rate_of(r.found for r in of(mine, WHITE_05))
    return table, white, numbers


def goals(rows: Rows) -> tuple[Table, list[Expected]]:
    table: Table = {}
    lines = rows.table("goals.csv") if rows.has("goals.csv") else []
    if not lines:
        return table, []

    def key(line: dict[str, Any]) -> tuple[str, ...]:
        return line["agent"], line["episode"], line["step"], line["foil"]

    best = {key(r): float(r["distance"]) for r in lines if r["search"] == "exact" and r["distance"]}
    feasible = {key(r) for r in lines if r["distance"]}
    for agent, search in dict.fromkeys((r["agent"], r["search"]) for r in lines):
        mine, label = [r for r in lines if (r["agent"], r["search"]) == (agent, search)], f"{agent}, {search}"
        found = [r for r in mine if r["distance"]]
        table[label, "questions"] = [len(mine)]
        table[label, "feasible ones solved [95 % CI]"] = rate(len(found), sum(key(r) in feasible for r in mine))
        for status in ("proven closest", "proven infeasible"):
            table[label, status] = [sum(r["status"] == status for r in mine)]
        ratios = [float(r["distance"]) / best[key(r)] for r in found if key(r) in best]
        table[label, "median distance / optimum"] = quantile(ratios, 0.5)
        costs = {"queries": "queries", "boxes": "bound evaluations", "seconds": "CPU s"}
        for column, cost in costs.items():
            table[label, f"median {cost}"] = quantile([float(r[column]) for r in mine], 0.5)
        table[label, "the model takes the foil"] = [sum(r["takes_foil"] == "True" for r in found), len(found)]
    more: list[Expected] = [len(feasible), len({r["agent"] for r in lines})]
    exact = [r for r in lines if r["search"] == "exact"]
    more += [sum(r["status"].startswith("proven") for r in exact), len(exact)]
    more += quantile([float(r["seconds"]) for r in exact], 0.5)
    for search in dict.fromkeys(r["search"] for r in lines):
        found = [r for r in lines if r["search"] == search and r["distance"]]
        more += [len(found), sum(r["takes_foil"] == "True" for r in found), *rate(len(found), len(feasible))]
    for agent in dict.fromkeys(r["agent"] for r in lines):
        more += [float(next(r for r in lines if r["agent"] == agent)[name]) for name in ("size", "reached", "tests")]
    return table, more


def factors(rows: Rows) -> tuple[Table, list[Expected]]:
    lines, table, numbers = rows.table("factors.csv"), dict[tuple[str, str], list[Expected]](), list[Expected]()
    share = {(r["environment"], r["variant"], r["seed"]): 100 * int(r["feasible"]) / int(r["cases"]) for r in lines}
    variants = dict.fromkeys(r["variant"] for r in lines)
    for variant in variants:
        for name in {r["environment"] for r in lines}:
            values = [v for (e, one, _), v in share.items() if (e, one) == (name, variant)]
            table[variant, LABELS[name]] = [float(np.mean(values))] if values else []
        mine = [r for r in lines if r["variant"] == variant]
        table[variant, "reach their front"] = [sum(r["front"] == r["reached"] for r in mine), len(mine)]
        pairs = [
            v - share[e, "ours", seed]
            for (e, one, seed), v in share.items()
            if (e, one) == ("deep-sea-treasure", variant) and variant != "ours"
        ]
        if len(pairs) > 1:
            half = float(stats.t.ppf(0.975, len(pairs) - 1) * np.std(pairs, ddof=1) / math.sqrt(len(pairs)))
            table[variant, "DST: difference (points)"] = [float(np.mean(pairs))]
            table[variant, "Student [95 % CI]"] = [float(np.mean(pairs)) - half, float(np.mean(pairs)) + half]
    return table, [*numbers, len([v for v in variants if v != "ours" and not v.startswith("all of")])]


@cache
def description(agent: str) -> Any:
    """Return what the file of a shipped agent says."""
    return json.loads((files("paretofoil") / "agents" / "shipped" / agent / "agent.json").read_text())


def training_scale(agent: str) -> np.ndarray:
    """Return the width of the commands of an agent's training."""
    box = description(agent)["command_box"]
    return np.subtract(box["high"], box["low"])


def changed(row: Answered, *, paper: bool) -> int:
    """Return how many entries of the command move by more than a thousandth of their range."""
    original, closest, width = row.commands()
    return int((np.abs(closest - original) > 1e-3 * (width if paper else training_scale(row.agent))).sum())


def claims(rows: Rows) -> Facts:
    study = [row for group in _paper_stress(rows).values() for row in group if row.found]
    entries = [(row, changed(row, paper=True), len(row.commands()[0])) for row in study]
    sparse: Table = {}
    for name, label in [*LABELS.items(), ("all", "All")]:
        mine = [one for one in entries if one[0].search == ZOO and name in ("all", _environment(one[0].agent))]
        sparse[label, "entries"], sparse[label, "answers"] = [mine[0][2]], [len(mine)]
        sparse[label, "at most two [95 % CI]"] = rate_of(count <= 2 for _, count, _ in mine)
        few = {row.case: count <= 2 for row, count, _ in mine}
        sparse[label, "cluster [95 % CI]"] = of_rows((row for row, _, _ in mine), lambda row, few=few: few[row.case])  # type: ignore[misc]
    everything = rows.study("stress") + rows.study("audit-all")
    counted = [(row, changed(row, paper=False), len(row.commands()[0])) for row in everything if row.found]
    more: list[Expected] = []
    for group, search in ((entries, ZOO), (entries, "exact"), (counted, "cf-zoo"), (counted, "exact")):
        long = {row.case: (row, count <= 2) for row, count, size in group if row.search == search and size > 2}
        more.append(100 * float(np.mean([few for _, few in long.values()])))
        more += of_rows((row for row, _ in long.values()), lambda row, long=long: long[row.case][1])  # type: ignore[misc]
    gradients, numbers = _gradients(rows, everything)
    trainings, counts = _trainings(rows)
    tables = {
        "Number of entries of the command that change, in the paper's search region": sparse,
        "Gradient and counterfactual": gradients,
        "The seven desiderata by search": _desiderata(rows, everything, counted),
        **trainings,
    }
    fronts = (6, 7, 22)  # they are counted by rollouts of the shipped agents
    return Facts(
        tables, more + numbers + counts + _horizons(rows), (64, 1, 2, 0.1, 50_000, 0.5, 5, 10, 30, 100, 60, *fronts)
    )


def _environment(agent: str) -> str:
    return agent.removesuffix("-realised")


def _gradients(rows: Rows, everything: Sequence[Answered]) -> tuple[Table, list[Expected]]:
    lines, table = rows.table("claims-gradient.parquet"), dict[tuple[str, str], list[Expected]]()
    local = {row.case for row in of(everything, "local-zoo") if row.found}
    more: list[Expected] = []
    for name, label in [*LABELS.items(), ("all", "All")]:
        mine = [line for line in lines if name in ("all", line["agent"])]
        aligned = [line for line in mine if line["cosine_inside"] is not None and line["cosine_inside"] > 0.5]
        table[label, "answers"] = [len(mine)]
        table[label, "cosine: median"] = quantile([line["cosine"] for line in mine if line["cosine"] is not None], 0.5)
        table[label, "aligned [95 % CI]"] = rate(len(aligned), len(mine))
        works = [line["line_distance"] is not None for line in aligned]
        table[label, "if aligned: succeeds [95 % CI]"] = rate_of(works)
        solved = [(line["agent"], line["front"], line["step"], line["foil"]) in local for line in mine]
        table[label, "local ZOO succeeds [95 % CI]"] = rate_of(solved)
        more = rate_of(not good for good in works)
    return table, more


def _horizons(rows: Rows) -> list[Expected]:
    lines = rows.table("claims-horizon.parquet")
    other = [line for line in lines if line["factor"] not in (None, 1.0)]
    numbers = rate(sum(line["changed"] for line in other), sum(line["decisions"] for line in other))
    consistent = [line for line in lines if line["factor"] == 1.0]
    none = [line for line in lines if line["factor"] is None]
    for group in (consistent, other, none):
        numbers.append(100 * float(np.mean([line["distance"] <= 0.01 for line in group])))
    return [*numbers, len(consistent), *{line["factor"] for line in other}]


def _desiderata(rows: Rows, everything: Sequence[Answered], counted: Sequence[tuple[Answered, int, int]]) -> Table:
    table, (recovered, _, _) = dict[tuple[str, str], list[Expected]](), recovery(everything)
    for search in ("cf-zoo", "exact", "boundary", "local-zoo", "nearest-front"):
        mine = [line for line in rows.table("desiderata.parquet") if line["search"] == search]
        table["validity: feasible cases solved (%)", search] = recovered[search, "recovered [95 % CI]"]
        table["proximity: median distance / optimum", search] = recovered[search, "distance / optimum: median"]
        delivered = rate_of(line["delivers"] for line in mine)
        table["actionability: the episode delivers the request (%)", search] = delivered
        few = [count <= 2 for row, count, _ in counted if row.search == search]
        table["sparsity: at most two entries change (%)", search] = rate_of(few)
        off = [line["requested_off_front"] for line in mine]
        table["data manifold: median distance of the request from the front", search] = quantile(off, 0.5)
        table["causality: the agent takes the foil (%)", search] = rate_of(line["takes_foil"] for line in mine)
        ends = rate_of(line["off_front"] <= 0.01 for line in mine)
        table["recourse: the episode ends on the front (%)", search] = ends
    return table


MEASURES = {
    "a valid command exists": "feasible",
    "distance of the closest command": "distance",
    "share of entries that change": "changed",
    "episode under the answer ends on its front": "ends_on_front",
    "foil is still chosen under 1 % noise": "noise",
}


def _trainings(rows: Rows) -> tuple[dict[str, Table], list[Expected]]:
    """Return the areas under the ROC curve by counting pairs, and the fronts of the ablation."""
    stages: Table = {}
    ablation: Table = {}
    more: list[Expected] = []
    lines = rows.table("trainings.csv")
    for name in dict.fromkeys(line["environment"] for line in lines):
        mine = [line for line in lines if line["environment"] == name and line["feasible"]]
        well = [line for line in mine if line["reached"] == line["known"]]
        more += [len(well), len(mine)]
        for label, column in MEASURES.items():
            good, bad = ([float(r[column]) for r in mine if (r in well) == side] for side in (True, False))
            good, bad = ([value for value in values if value == value] for values in (good, bad))
            if len(good) > 1 and len(bad) > 1:
                area = sum((a > b) + (a == b) / 2 for a in good for b in bad) / (len(good) * len(bad))
                stages[label, LABELS[name]] = [100 * area]
                stages[label, f"{LABELS[name]} [95 % CI]"] = newcombe(area, len(good), len(bad))
    for variant in dict.fromkeys(line["variant"] for line in lines):
        mine = [line for line in lines if line["variant"] == variant and not line["feasible"]]
        ablation[variant, "reach the whole front"] = [sum(r["reached"] == r["known"] for r in mine), len(mine)]
        for name in dict.fromkeys(line["environment"] for line in mine):
            steps = [float(line["steps"]) for line in mine if line["environment"] == name]
            ablation[variant, f"{LABELS[name]}: steps"] = [float(np.mean(steps))]
    title = "Well-trained and poorly trained agents, told apart by explanations"
    more.append(sum(bool(line["feasible"]) for line in lines))
    return {title: stages, "Trimming and shorter-first": ablation}, more


def newcombe(area: float, good: int, bad: int) -> list[Expected]:
    """Return the areas, in percent, that a two-sided test of level 0.05 / 15 does not reject (Bonferroni)."""
    z = float(stats.norm.ppf(1 - 0.05 / 15 / 2))
    values = np.linspace(0.0, 1.0, 1_000_001)
    half = (good + bad) / 2 - 1
    spread = 1 + half * (1 - values) / (2 - values) + half * values / (1 + values)
    inside = np.abs(values - area) <= z * np.sqrt(values * (1 - values) * spread / (good * bad)) + 1e-12
    return [100 * float(values[inside].min()), 100 * float(values[inside].max())]


def worth(rows: Rows) -> Facts:
    lines, exact = rows.table("attainable.parquet"), rows.table("attainable-unrounded.parquet")
    attainable: Table = {}
    for name, label in [*LABELS.items(), ("all", "All")]:
        mine, unrounded = ([line for line in group if name in ("all", line["agent"])] for group in (lines, exact))
        attainable[label, "answers"] = [len(mine)]
        attainable[label, "quoted answer delivers [95 % CI]"] = rate_of(line["delivers"] for line in mine)
        attainable[label, "unrounded answer delivers [95 % CI]"] = rate_of(line["delivers"] for line in unrounded)
        reached = [line["attainable_distance"] for line in mine if line["attainable_distance"] is not None]
        attainable[label, "attainable command found [95 % CI]"] = rate(len(reached), len(mine))
        attainable[label, "distance: quoted"] = quantile([line["distance"] for line in mine], 0.5)
        attainable[label, "distance: unrounded"] = quantile([line["distance"] for line in unrounded], 0.5)
        attainable[label, "distance: attainable"] = quantile(reached, 0.5)
    ratios = [r["attainable_distance"] / r["distance"] for r in lines if r["attainable_distance"] and r["distance"]]
    more: list[Expected] = [
        sum(r["delivers"] for r in lines),
        sum(r["delivers"] for r in exact),
        *quantile(ratios, 0.5),
    ]
    more += of_lines(lines, lambda line: line["attainable_distance"] is not None)
    more.append(100 * float(np.mean([line["continuation"] is not None for line in lines])))
    issued = [line for line in rows.table("consequences.parquet") if line["search"] == "exact"]
    outcomes: Table = {}
    for name, label in [*LABELS.items(), ("all", "All")]:
        mine = [line for line in issued if name in ("all", line["agent"])]
        outcomes[label, "answers"] = [len(mine)]
        outcomes[label, "ends on the front [95 % CI]"] = rate_of(line["off_front"] <= 0.01 for line in mine)
        outcomes[label, "cluster [95 % CI]"] = of_lines(mine, lambda line: line["off_front"] <= 0.01)
        outcomes[label, "original: on the front"] = rate_of(line["original_off_front"] <= 0.01 for line in mine)
        outcomes[label, "ended by the limit"] = rate_of(line["truncated"] > 0.5 for line in mine)
    transfer, numbers = _transfer(rows)
    tables = {
        "Attainable commands": attainable,
        "Outcomes of counterfactual commands": outcomes,
        "One answer, issued to five retrained agents": transfer,
        "The answer from one step to the next": _moves(rows),
        "Proven shares, and the scores against them": _influence(rows),
    }
    steps = rows.table("influence.parquet")
    more += [sum(line["inert"] for line in steps), len(steps), *rate_of(line["lower"] > 0 for line in steps)]
    more += [sum(line["lower"] > 0 for line in steps), *numbers]
    return Facts(tables, more, (1, 0, 2, 95.8, 2534, 3000, 10, 11, 12, 13, 14))


def _transfer(rows: Rows) -> tuple[Table, list[Expected]]:
    lines, table = rows.table("stability-seeds.parquet"), dict[tuple[str, str], list[Expected]]()
    for name in {line["agent"] for line in lines}:
        mine = [line for line in lines if line["agent"] == name and line["open"]]
        label = LABELS[name]
        table[label, "answers"] = [len(mine)]
        share = 100 * sum(line["flipped"] for line in mine) / sum(line["open"] for line in mine)
        table[label, "flipped agents (%)"] = [share]
        table[label, "flips every agent [95 % CI]"] = rate_of(line["flipped"] == line["open"] for line in mine)
        table[label, "cluster [95 % CI]"] = of_lines(mine, lambda line: line["flipped"] == line["open"])
        table[label, "flips none [95 % CI]"] = rate_of(not line["flipped"] for line in mine)
    known = [line for line in lines if line["open"]]
    share = 100 * sum(line["flipped"] for line in known) / sum(line["open"] for line in known)
    return table, [share, *rate_of(line["flipped"] == line["open"] for line in known)]


def _moves(rows: Rows) -> Table:
    answers = {row.case: row for row in of(rows.study("audit-all"), "exact")}
    moves: list[tuple[Answered, float | None, float | None]] = []
    for (agent, front, step, foil), row in answers.items():
        after = answers.get((agent, front, step + 1, foil))
        if row.found and after is not None:
            if not after.found:
                moves.append((row, None, None))
                continue
            changes = [(one.commands()[1] - one.commands()[0]) / training_scale(agent) for one in (row, after)]
            sizes = [float(np.linalg.norm(change)) for change in changes]
            if sizes[0]:
                turn = float(np.linalg.norm(changes[1] - changes[0])) / sizes[0]
                moves.append((row, sizes[1] / sizes[0], turn))
    table: Table = {}
    for name, label in [*LABELS.items(), ("all", "All")]:
        mine = [one for one in moves if name in ("all", one[0].agent)]
        kept = {row.case: ratio is not None for row, ratio, _ in mine}
        table[label, "pairs of steps"], table[label, "answer at t + 1, too [95 % CI]"] = (
            [len(mine)],
            rate_of(kept.values()),
        )
        table[label, "cluster [95 % CI]"] = of_rows((m[0] for m in mine), lambda row, kept=kept: kept[row.case])  # type: ignore[misc]
        ratios = [ratio for _, ratio, _ in mine if ratio is not None]
        for column, share in (("distance ratio: median", 0.5), ("10 %", 0.1), ("90 %", 0.9)):
            table[label, column] = quantile(ratios, share)
        turns = [turn for _, _, turn in mine if turn is not None]
        table[label, "difference of the changes: median"] = quantile(turns, 0.5)
    return table


def _influence(rows: Rows) -> Table:
    table: Table = {}
    for name, label in LABELS.items():
        mine = [line for line in rows.table("influence.parquet") if _environment(line["agent"]) == name]
        middle = [(line["lower"] + line["upper"]) / 2 for line in mine]
        table[label, "steps"], table[label, "mean share that changes"] = [len(mine)], [float(np.mean(middle))]
        table[label, "proven active [95 % CI]"] = rate_of(line["lower"] > 0 for line in mine)
        table[label, "proven inert [95 % CI]"] = rate_of(line["inert"] for line in mine)
        for column, score in (("Spearman: KL", "kl"), ("flip", "flip")):
            table[label, column] = [float(stats.spearmanr([line[score] for line in mine], middle).statistic)]
    return table


PAGES = {
    "comparison": comparison,
    "stress": stress,
    "audit": audit,
    "agents": agents,
    "claims": claims,
    "worth": worth,
}


@dataclass
class Result:
    """The numbers of one page."""

    right: int = 0
    settings: int = 0
    wrong: list[str] = field(default_factory=list)
    """Numbers that the rows contradict."""
    unknown: list[str] = field(default_factory=list)
    """Numbers that are not recomputed."""

    @property
    def total(self) -> int:
        return self.right + self.settings + len(self.wrong) + len(self.unknown)


def check_page(name: str, text: str, facts: Facts, others: Sequence[Expected] = ()) -> Result:
    """Compare the numbers of a page with those that follow from rows."""
    result, (cells, prose) = Result(), parse(text)
    for cell in cells:
        expected = facts.tables.get(cell.table, {}).get((cell.line, cell.column))
        where = f"{name}: {cell.table}: {cell.line}, {cell.column}: {' '.join(cell.numbers)}"
        if not expected:
            result.unknown += [where] * len(cell.numbers)
        elif len(expected) == len(cell.numbers) and all(map(matches, cell.numbers, expected)):
            result.right += len(expected)
        else:
            result.wrong += [f"{where}, expected {expected}"] * len(cell.numbers)
    known = [*facts.values(), *others]
    for line in prose.splitlines():
        for number in NUMBER.findall(line):
            if any(matches(number.lstrip("+"), value) or matches(number, value) for value in known):
                result.right += 1
            elif any(matches(number, value) for value in (*facts.settings, *PAPER_RATES, 95)):
                result.settings += 1
            else:
                result.unknown.append(f"{name}: text: {number} in: {line[:110]}")
    return result


def check(folder: Path) -> dict[str, Result]:
    """Check the six pages and the index of a folder."""
    rows, results, values = Rows(folder), {}, list[Expected]()
    settings: list[float] = []
    for name, compute in PAGES.items():
        facts = compute(rows)
        values += facts.values()
        settings += facts.settings
        results[name] = check_page(name, (folder / f"{name}.md").read_text(), facts)
    index = Facts(more=values, settings=settings)
    results["README"] = check_page("README", (folder / "README.md").read_text(), index)
    return results


def main() -> int:
    results = check(Path(sys.argv[1] if len(sys.argv) > 1 else "paper/results"))
    for name, result in results.items():
        print(
            f"{name}: {result.total} numbers; {result.right} follow from rows, {result.settings} are settings or the "
            f"paper's, {len(result.unknown)} are not recomputed, {len(result.wrong)} are wrong"
        )
    for result in results.values():
        print(*(f"WRONG {line}" for line in dict.fromkeys(result.wrong)), sep="\n")
        print(*(f"not recomputed: {line}" for line in dict.fromkeys(result.unknown)), sep="\n")
    return int(any(result.wrong for result in results.values()))


if __name__ == "__main__":
    sys.exit(main())
