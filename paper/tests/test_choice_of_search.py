"""What the page on the choice of a search quotes is what the results say."""

import csv
import re
from collections import defaultdict
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from paretofoil.core.answer import Status
from paretofoil.study import Row
from paretofoil.study.parquet import read_parquet
from paretofoil.study.table import text
from paretofoil_paper import Plan
from paretofoil_paper.comparison import comparison_rows

pytest.importorskip("pyarrow", reason="needs the parquet extra")
RESULTS = Path(__file__).parents[1] / "results"
PAGE = (Path(__file__).parents[2] / "docs" / "how-to-choose-a-search.md").read_text()
WORTH, MEASURED = re.findall(r"(?:^\| .*\n\|-.*\n)((?:\|.*\n)+)", PAGE, re.MULTILINE)[1:]
LABELS = {"cf-zoo:as-run-comparison": "cf-zoo:as-run", "cf-zoo:comparison": "cf-zoo"}
"""What the comparison calls a search that is registered by another name."""
RECOVERY, SECONDS = (
    f"appendix-comparison-{title}" for title in ("recovery-of-the-feasible-cases", "mean-seconds-per-question")
)
AGENTS = {"fruit-tree,-depth-7": "fruit-tree"}


def cells(table: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()]


def made(name: str, **chosen: str) -> dict[str, dict[str, str]]:
    """The lines of a table of the results with these cells, by their search."""
    with (RESULTS / "tables" / f"{name}.csv").open() as file:
        lines = [line for line in csv.DictReader(file) if chosen.items() <= line.items()]
    return {line["search"]: line for line in lines}


@pytest.mark.parametrize("line", cells(WORTH), ids=lambda line: line[0])
def test_what_a_search_is_worth_stands_in_the_comparison_and_the_runtimes(line: list[str]) -> None:
    name = re.match(r"`([\w:-]+)`", line[0])[1]  # type: ignore[index]
    label = LABELS.get(name, name)
    compared, timed = made(RECOVERY)[label], made(SECONDS, environment="All")[label]
    recovered = f"{100 * float(compared['recovered [95 % CI] rate']):.1f} %"
    ratios = [compared[column] for column in ("distance / optimum: median", "90 %", "largest")]
    numbers = [*ratios, timed["alone (s)"]]
    assert line[2:7] == [recovered, *(text(float(number)) for number in numbers)]


@pytest.mark.long
def test_the_words_about_the_comparison_count_its_rows() -> None:
    rows = [row for row in comparison_rows(Plan(RESULTS, recorded=True)) if row.search == "exact"]
    outcomes = [row.status for row in rows]
    proven, infeasible = (outcomes.count(kind) for kind in (Status.PROVEN_CLOSEST, Status.PROVEN_INFEASIBLE))
    words = " ".join(PAGE.split())
    assert f"has {len(rows)} questions" in words
    assert f"exists for {len(rows) - infeasible} of them" in words
    assert f"known to 1 % for {proven} of the {len(rows) - infeasible} questions" in words
    assert f"for the other {infeasible}, `exact` proves that there is none" in words


@cache
def audited() -> dict[str, list[tuple[Row, Row]]]:
    """By agent, what Exact and Boundary say about each case of the stress test."""
    rows = read_parquet(RESULTS / "rows" / "audit-all.parquet").rows
    asked = {search: {row.case: row for row in rows if row.search == search} for search in ("exact", "boundary")}
    found = defaultdict(list)
    for case, exact in asked["exact"].items():
        found[case.agent].append((exact, asked["boundary"][case]))
    return found


@pytest.mark.long
@pytest.mark.parametrize("line", cells(MEASURED), ids=lambda line: line[0])
def test_what_was_measured_follows_from_the_rows_of_the_audit(line: list[str]) -> None:
    name = line[0].lower().replace(" ", "-")
    pairs = audited()[AGENTS.get(name, name)]
    optimal = [pair for pair in pairs if pair[0].status is Status.PROVEN_CLOSEST]
    infeasible = [pair for pair in pairs if pair[0].status is Status.PROVEN_INFEASIBLE]
    assert len(optimal) + len(infeasible) == len(pairs)
    boxes = [exact.full_answer().proof.boxes for exact, _ in pairs]  # type: ignore[union-attr]
    ratios = [boundary.closest_distance / exact.closest_distance for exact, boundary in optimal if boundary.found]
    seconds = np.mean([[row.seconds for row in pair] for pair in pairs], axis=0)
    assert line[2:] == [
        f"{len(optimal):,} / {len(infeasible)}",
        f"{seconds[0]:.3f}",
        f"{np.median(boxes):,.0f}",
        f"{len(ratios):,} of {len(optimal):,}",
        f"{np.mean(ratios):.4f}",
        f"{max(ratios):.3f}",
        f"{seconds[1]:.3f}",
    ]
