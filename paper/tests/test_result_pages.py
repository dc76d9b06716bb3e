"""Every number of the results pages follows from the recorded rows."""

import re
from functools import cache
from pathlib import Path

import pytest

from paretofoil.study.statistics import Proportion
from paretofoil_paper import EXPERIMENTS, SEPARATE, Plan, Report, experiment
from paretofoil_paper.authors_data import PUBLISHED
from paretofoil_paper.differences import NOTABLE, differences
from paretofoil_paper.paper_tables import ENVIRONMENTS, STRESS
from paretofoil_paper.plan import REALISED, provenance
from paretofoil_paper.stress import CaseCounts, paper_rows

pytest.importorskip("pyarrow", reason="needs the parquet extra")
RESULTS = Path(__file__).parents[1] / "results"
MADE = [name for name in EXPERIMENTS if name not in SEPARATE or (RESULTS / f"{name}.md").exists()]
QUICK = ("runtime",)
"""Pages that are made from their rows within seconds."""
EACH = [name if name in QUICK else pytest.param(name, marks=pytest.mark.long) for name in MADE]
END = "\n---\n"
"""Between a report and the paragraph about how it was made."""


@cache
def made_again(name: str) -> tuple[Report, str]:
    """Return a report made from recorded rows, and its last paragraph ("" for pages without a study)."""
    plan = Plan(RESULTS, recorded=True)
    report = experiment(name)(plan)
    return report, provenance(name, plan, 0.0) if plan.log.studies else ""


@pytest.mark.parametrize("name", EACH)
def test_a_page_is_what_its_rows_give(name: str) -> None:
    report, how = made_again(name)
    said, end = (RESULTS / f"{name}.md").read_text().rsplit(END, 1)
    assert said.strip() == report.to_markdown().strip()
    if how:
        assert end.strip() == how


@pytest.mark.parametrize("name", EACH)
def test_a_pages_tables_are_the_same_in_every_format(name: str) -> None:
    report, _ = made_again(name)
    for number, table in enumerate(report.tables, 1):
        for form, suffix in (("csv", "csv"), ("json", "json"), ("latex", "tex")):
            assert (RESULTS / "tables" / f"{name}-{number}.{suffix}").read_text() == table.to(form)
    left = set(RESULTS.glob(f"tables/{name}-{len(report.tables) + 1}.*"))
    assert not left, "tables of an older report"


@pytest.mark.long
def test_case_counts_are_near_the_papers_or_follow_from_the_front() -> None:
    """Of the six environments without chance, by the rows of the paper's own experiment on our agents."""
    plan, page = Plan(RESULTS, recorded=True), (RESULTS / "stress.md").read_text()
    rows = paper_rows(plan)
    for name in [name for name in plan.agents if name not in REALISED]:
        ours = CaseCounts.of(row for row in rows if plan.environment_of(row) == name)
        paper, fronts = STRESS[name].cases, PUBLISHED[name].fronts
        if abs(ours.more_than(paper)) > 10:
            assert f"{ENVIRONMENTS[name]} has {ours.more_than(paper):+.0f} %, because our front has" in page
            assert ours.cases / ours.commands == pytest.approx(paper / fronts, rel=0.1)


NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")


def test_what_the_index_quotes_stands_on_the_page_that_it_names() -> None:
    for line in (RESULTS / "README.md").read_text().splitlines():
        link = re.match(r"\| \[[\w-]+\]\(([\w-]+\.md)\) \|", line)
        if link:
            there = set(NUMBER.findall((RESULTS / link[1]).read_text()))
            missing = [number for number in NUMBER.findall(line) if number.rstrip(",") not in there]
            assert not missing, f"{link[1]} does not say {missing}"


SEARCHED = ("ablation", "attainable", "claims", "examples", "influence", "landscapes", "runtime", "consequences")


@pytest.mark.parametrize("name", SEARCHED)
def test_a_page_names_its_search_region_before_its_first_table(name: str) -> None:
    top = (RESULTS / f"{name}.md").read_text().split("\n|")[0]
    assert re.search(r"Search region: (the \*paper's\*|\*reachable\*)", top)
    assert re.search(r"trained on (expected|realised) returns|None of the environments is stochastic", top)


@pytest.mark.parametrize("name", MADE)
def test_no_page_has_a_name_where_a_number_belongs(name: str) -> None:
    assert not re.search(r"\{\w+", (RESULTS / f"{name}.md").read_text())


def test_every_page_is_in_the_index() -> None:
    index = (RESULTS / "README.md").read_text()
    for name in MADE:
        assert f"({name}.md)" in index


def far_from_the_paper(name: str) -> set[tuple[str, str, str]]:
    """The rates of a page's tables that differ from the paper's beside them by more than five points."""
    found = set()
    for table in made_again(name)[0].tables:
        for line in table.rows:
            cells = dict(zip(table.columns, line, strict=True))
            for column, ours in cells.items():
                paper = cells.get(f"paper: {column}")
                both = isinstance(ours, Proportion) and isinstance(paper, Proportion)
                if both and 100 * abs(ours.rate - paper.rate) > 5:
                    found.add((table.title, str(line[0]), str(cells.get("search", ""))))
    return found


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "title", "alone"),
    [
        ("stress", "Stress test", "cf-zoo:as-run"),
        ("comparison", "Comparison", ""),
        ("audit", "Diagnosis", "cf-zoo:as-run"),
    ],
)
def test_every_difference_above_five_points_has_a_sentence_with_a_measured_reason(
    name: str, title: str, alone: str
) -> None:
    page = (RESULTS / "differences.md").read_text()
    for _, environment, search in far_from_the_paper(name):
        assert f"- **{title}, {environment}, {search or alone}**: " in page


@pytest.mark.long
def test_there_are_differences_to_explain() -> None:
    """Or the test above would hold whatever it looks for."""
    assert {environment for _, environment, _ in far_from_the_paper("stress")} >= {"DST", "Total"}


@pytest.mark.long
def test_the_parts_of_a_difference_leave_no_rest() -> None:
    for difference in differences(Plan(RESULTS, recorded=True)):
        assert difference.from_feasible + difference.from_recovery == pytest.approx(difference.points, abs=1e-9)
        assert difference.ours.solved <= difference.ours.feasible <= difference.ours.cases
        assert difference.notable == (round(abs(difference.points), 6) > NOTABLE)
