"""Every number of the results pages follows from the recorded rows."""

import re
from functools import cache
from pathlib import Path

import pytest

from paretofoil_paper import PAGES, Plan, Report, page
from paretofoil_paper.differences import case_mix, differences
from paretofoil_paper.pages.index import index
from paretofoil_paper.plan import provenance

pytest.importorskip("pyarrow", reason="needs the parquet extra")
RESULTS = Path(__file__).parents[1] / "results"
END = "\n---\n"
"""Between a report and the paragraph about how it was made."""
MOST_WORDS, MOST_ROWS = 12_000, 12


@cache
def made_again(name: str) -> tuple[Report, str]:
    """Return a report made from recorded rows, and its last paragraph."""
    plan = Plan(RESULTS, recorded=True)
    report = page(name)(plan)
    return report, provenance(name, plan, 0.0)


@pytest.mark.long
@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_what_its_rows_give(name: str) -> None:
    report, how = made_again(name)
    said, end = (RESULTS / f"{name}.md").read_text().rsplit(END, 1)
    assert said.strip() == report.to_markdown().strip()
    assert end.strip() == how


@pytest.mark.long
@pytest.mark.parametrize("name", PAGES)
def test_table_files_are_those_of_the_page_and_its_appendix(name: str) -> None:
    files = made_again(name)[0].table_files(name)
    for path, content in files.items():
        assert (RESULTS / path).read_text() == content
    written = {
        f"tables/{file.name}"
        for file in (*RESULTS.glob(f"tables/{name}-*"), *RESULTS.glob(f"tables/appendix-{name}-*"))
    }
    assert written == set(files), "tables of an older report"


@pytest.mark.long
def test_the_index_has_the_findings_of_all_pages() -> None:
    assert (RESULTS / "README.md").read_text() == index({name: made_again(name)[0] for name in PAGES}).to_markdown()


def test_there_are_six_pages_and_an_index_of_few_words_with_short_tables() -> None:
    pages = {file.stem: file.read_text() for file in RESULTS.glob("*.md")}
    assert set(pages) == {*PAGES, "README"}
    assert sum(len(text.split()) for text in pages.values()) <= MOST_WORDS
    for text in pages.values():
        lengths = [block.count("\n") - 2 for block in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)]
        assert max(lengths, default=0) <= MOST_ROWS


@pytest.mark.parametrize("name", PAGES)
def test_a_page_begins_with_a_finding_and_its_pictures_exist(name: str) -> None:
    text = (RESULTS / f"{name}.md").read_text()
    assert text.split("\n\n")[1].startswith("**")
    pictures = re.findall(r"\]\((figures/[\w-]+\.png)\)", text)
    assert pictures
    assert all((RESULTS / picture).is_file() for picture in pictures)


@pytest.mark.parametrize("name", PAGES)
def test_a_page_names_its_search_region_before_its_first_table(name: str) -> None:
    top = (RESULTS / f"{name}.md").read_text().split("\n|")[0]
    assert re.search(r"in the (paper's|reachable) search region", top)
    assert re.search(r"trained on (expected|realised) returns", top)


@pytest.mark.parametrize("name", PAGES)
def test_no_page_has_a_name_where_a_number_belongs(name: str) -> None:
    assert not re.search(r"\{\w+", (RESULTS / f"{name}.md").read_text())


@pytest.mark.long
def test_the_parts_of_a_difference_leave_no_rest() -> None:
    all_differences = differences(Plan(RESULTS, recorded=True))
    for difference in all_differences:
        assert difference.from_feasible + difference.from_recovery == pytest.approx(difference.points, abs=1e-9)
        assert difference.ours.solved <= difference.ours.feasible <= difference.ours.cases
    *parts, total = [d for d in all_differences if d.table == "Stress test"]
    with_their_mix = sum(d.paper.cases * d.ours.rate.rate for d in parts) / total.paper.cases
    assert case_mix(parts) == pytest.approx(100 * (total.ours.rate.rate - with_their_mix))
