"""What we print as the paper's is what the paper prints."""

import re
from collections.abc import Iterator
from pathlib import Path

import printed
import pytest

from paretofoil.study.statistics import Proportion
from paretofoil.study.table import text
from paretofoil_paper.authors_data import PUBLISHED
from paretofoil_paper.paper_tables import (
    AUDIT,
    AUDIT_RECOVERED,
    BUDGET_RUNTIME,
    COMPARISON,
    RUNTIME,
    STRESS,
    PaperRow,
    total_of,
)

DOCS, RESULTS = Path(__file__).parents[2] / "docs", Path(__file__).parents[1] / "results"
PAGES = sorted([*RESULTS.glob("*.md"), *DOCS.glob("*.md")])
ENTRANCES = [DOCS.parent / name for name in ("README.md", "CHANGELOG.md")]
REPORTS = sorted(RESULTS.glob("*.md"))


def test_the_comparison_is_as_printed() -> None:
    read = {
        (printed.NAMES[env], printed.NAMES[method]): PaperRow(int(cases), int(found), printed.number(distance))
        for env, method, cases, found, _, distance in printed.lines(printed.COMPARISON)
    }
    for method in ("white-cw", "cf-zoo"):
        assert read.pop(("all", method)) == total_of(row for key, row in COMPARISON.items() if key[1] == method)
    assert read == COMPARISON


def test_the_stress_test_is_as_printed() -> None:
    read = {
        printed.NAMES[env]: PaperRow(int(cases), int(found), printed.number(distance))
        for env, cases, found, _, distance in printed.lines(printed.STRESS)
    }
    assert read.pop("all") == total_of(STRESS.values())
    assert read == STRESS


def test_the_diagnosis_is_as_printed() -> None:
    assert {kind: int(cases) for kind, cases, *_ in printed.lines(printed.DIAGNOSIS)} == AUDIT
    assert printed.RECOVERED_AT_100K == AUDIT_RECOVERED


def test_both_tables_of_times_are_as_printed() -> None:
    read = {(printed.NAMES[env], printed.NAMES[m]): float(s) for env, m, s in printed.lines(printed.RUNTIME)}
    assert read == RUNTIME
    assert {int(b): tuple(map(float, rest)) for b, *rest in printed.lines(printed.BUDGETS)} == BUDGET_RUNTIME


def test_the_papers_intervals_are_wilsons() -> None:
    tables = [line[2:5] for line in printed.lines(printed.COMPARISON)]
    tables += [line[1:4] for line in printed.lines(printed.STRESS)]
    for cases, found, rate in tables:
        assert str(Proportion(int(found), int(cases))).replace(" ", "") == rate


def cells_of(page: str) -> Iterator[tuple[str, str]]:
    """Every cell of every table of a page, with the name of its column."""
    header: list[str] = []
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")] if line.startswith("|") else []
        if not cells:
            header = []
        elif not header:
            header = cells
        else:
            yield from zip(header, cells, strict=True)


def sayable() -> set[str]:
    """Every figure of the paper, as our tables would write it."""
    tables = (printed.COMPARISON, printed.STRESS, printed.DIAGNOSIS, printed.RUNTIME)
    cells = [cell for table in tables for line in printed.lines(table) for cell in line]
    said = {cell.replace("[", " [") for cell in cells if "[" in cell}
    said |= {text(int(cell)) for cell in cells if cell.isdecimal()} | {
        form(n) for n in printed.SETTINGS for form in (text, "{:g}".format)
    }
    said |= {text(float(cell)) for cell in cells if re.fullmatch(r"\d+\.\d+", cell)}
    for budget, mean, deviation, median in printed.lines(printed.BUDGETS):
        said |= {text(int(budget)), f"{mean} ± {deviation}", text(float(median))}
    return said | {text(printed.RECOVERED_AT_100K), "–", "---", "---:"}


@pytest.mark.parametrize("page", REPORTS, ids=lambda page: page.stem)
def test_every_cell_under_the_papers_name_is_printed_in_the_paper(page: Path) -> None:
    known = sayable()
    for column, cell in cells_of(page.read_text()):
        if re.match(r"paper(:|$| \(s\))", column):
            assert cell in known, f"{page.name}: {column}: {cell}"


ATTRIBUTED = re.compile(r"[Tt]he paper(?:'s)?(?: (?!by\b)[a-z]+){0,3}:? \(?(\d[\d,]*(?:\.\d+)?)")
""" "the paper 75.8", "the paper's budget of 21,000"; but not "differs from the paper's by 5"."""


def words_of(page: Path) -> str:
    """A page without its code, on one line."""
    return " ".join(re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE).split())


def test_a_number_is_seen_to_be_called_the_papers() -> None:
    told = (
        "the paper 75.8 %",
        "(the paper: 93)",
        "The paper's budget of 21,000;",
        "the paper's budget (9,001 directions",
    )
    assert [ATTRIBUTED.search(words)[1] for words in told] == ["75.8", "93", "21,000", "9,001"]
    assert ATTRIBUTED.search("differ from the paper's by more than 5 points") is None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_number_that_is_called_the_papers_is_printed_in_the_paper(page: Path) -> None:
    numbers = set(re.findall(r"\d[\d,]*(?:\.\d+)?", " ".join(sayable())))
    numbers |= {str(theirs.fronts) for theirs in PUBLISHED.values()}  # known from the authors' files
    for found in ATTRIBUTED.finditer(words_of(page)):
        assert found[1].rstrip(",") in numbers, f"{page.name}: {found[0]}"


def test_what_the_claims_quote_from_the_paper_is_printed_there_word_for_word() -> None:
    said = " ".join(printed.CLAIMS.split()).lower()
    quoted = re.findall(r"\*\*\*(.+?)\*\*\*", (RESULTS / "claims.md").read_text())
    assert len(quoted) == 5
    for words in quoted:
        assert words.lower() in said, words


THE_PAPERS = {
    "action": "of a worked example",
    "agents": "its trained networks",
    "audit": "Table 3 with its grid",
    "authors": "who wrote it",
    "box": "R_min, R_max",
    "budget": "the maximum of queries and the random directions",
    "cases": "Tables 1 and 2",
    "comparison": "Table 1",
    "claims": "what it says in words",
    "claim": "seeding across the boundary, not local optimisation",
    "chooses": "the action of a worked example",
    "direction": "of a change in a worked example",
    "distances": "Tables 1 and 2",
    "eight environments": "Tables 1 and 2",
    "agent chose": "of a worked example",
    "answer": "of a worked example",
    "experiments": "Section 5",
    "figures": "of its tables",
    "foil": "of a worked example",
    "grid": "200 values per objective",
    "hardware": "not told",
    "mean": "Table of runtimes",
    "method": "CF-ZOO",
    "other budgets": "of the comparison and the diagnosis",
    "remaining command": "of a worked example",
    "diagnosis": "Table 3",
    "rates?": "Tables 1 and 2",
    "remark": "that the horizon is no reliable signal",
    "search": "CF-ZOO",
    "signs": "of a worked example's change",
    "state": "of a worked example",
    "(search )?region": "R_min, R_max",
    "stress (test|table|distances|budget)": "Table 2",
    "tables?": "one of its tables",
    "text": "what it says in words",
    "times": "Table of runtimes",
    "hollow": "a marker",
    "times by budget": "Table of runtimes",
    "units": "of its search region",
    "very states?": "of its worked examples",
    "(white-box )?baseline": "White-CW in Table 1",
    "white-box comparison": "Table 1",
    "whole stress test": "Table 2",
    "(four )?worked examples": "of its Section 4",
}
"""What may be called the paper's, as a pattern of the next words, and where it is in it; an adjective stands with its
noun, or else it would let anything pass. Settings are not among them: what ours are called after must be in the paper
or in the authors' code, and is then said in full."""
LISTED = re.compile(rf"(?:{'|'.join(THE_PAPERS)}|Table \d)\b")
ALONE = re.compile(r"(?:and|by|include)\b|\d")
""" "ours and the paper's and ...", "the paper's 93": nothing is called its."""


def wrongly_the_papers(words: str) -> list[str]:
    """What is called the paper's and is not listed."""
    called = [words[found.end() :] for found in re.finditer(r"\bthe paper's (?=\w)", words, re.IGNORECASE)]
    return [rest[:40] for rest in called if not (LISTED.match(rest) or ALONE.match(rest))]


def test_what_is_not_the_papers_is_seen_to_be_called_its() -> None:
    for wrong in ("own exploration", "loop", "other settings", "very seeds", "worked hours", "boxes", "searches"):
        assert wrongly_the_papers(f"and the paper's {wrong} differ") == [f"{wrong} differ"]
    for right in ("worked examples", "box", "very states", "Table 1", "by 5 points", "white-box baseline", "93"):
        assert not wrongly_the_papers(f"The paper's {right}, too")


@pytest.mark.parametrize("page", [*PAGES, *ENTRANCES], ids=lambda page: page.stem)
def test_nothing_is_called_the_papers_that_is_not_listed(page: Path) -> None:
    assert not wrongly_the_papers(words_of(page))
