"""The script that recomputes the numbers of the results pages: it confirms them, and it notices a wrong one."""

import re
from functools import cache
from pathlib import Path

import pytest

from paretofoil_paper.check import CODE, NUMBER, check_page, matches, parse
from paretofoil_paper.recompute import PAGES, Facts, Rows, cluster, newcombe, rate

RESULTS = Path(__file__).parents[1] / "results"


@cache
def facts_of(name: str) -> Facts:
    pytest.importorskip("pyarrow", reason="needs the parquet extra")
    return PAGES[name](Rows(RESULTS))


def text_of(name: str) -> str:
    return (RESULTS / f"{name}.md").read_text()


@pytest.mark.long
@pytest.mark.parametrize("name", PAGES)
def test_no_number_of_a_page_contradicts_its_rows(name: str) -> None:
    result = check_page(name, text_of(name), facts_of(name))
    assert not result.wrong
    assert not result.unknown


@pytest.mark.long
def test_an_altered_number_in_a_table_is_noticed() -> None:
    page = text_of("audit")
    line = next(line for line in page.splitlines() if line.startswith("| Minecart"))
    altered = page.replace(line, re.sub(r"\b(\d)(\d*) \|$", lambda m: f"{int(m[1]) % 9 + 1}{m[2]} |", line))
    assert altered != page
    assert check_page("audit", altered, facts_of("audit")).wrong


@pytest.mark.long
@pytest.mark.parametrize("name", PAGES)
def test_an_altered_number_in_a_sentence_is_noticed(name: str) -> None:
    """Its last digit is altered, in each place in turn."""
    _, prose = parse(text_of(name))
    facts = Facts(text=facts_of(name).text)
    plain = CODE.sub(lambda match: " " * len(match[0]), prose)
    ends = [match.end() for match in NUMBER.finditer(plain)]
    assert len(ends) > 10
    unnoticed = []
    for end in ends:
        altered = f"{prose[: end - 1]}{(int(prose[end - 1]) + 1) % 10}{prose[end:]}"
        result = check_page(name, altered, facts)
        if not result.wrong and not result.unknown:
            unnoticed.append(prose[end - 40 : end])
    assert len(unnoticed) <= 0.01 * len(ends), unnoticed


def small_facts() -> Facts:
    facts = Facts()
    facts.say("**{} of {} cases are solved** with B = 3,001", 7, 35)
    return facts


@pytest.mark.parametrize(
    ("sentence", "wrong", "unknown"),
    [
        ("**7 of 35 cases are solved** with B = 3,001.", 0, 0),
        ("**35 of 35 cases are solved** with B = 3,001.", 1, 0),
        ("**35 of 7 cases are solved** with B = 3,001.", 2, 0),
        ("**7 of 35 cases are missed** with B = 3,001.", 0, 3),
        ("**7 of 35 cases are solved** with B = 3,002.", 0, 3),
        ("**7 of 35 cases are solved** with B = 3,001 or 0.5.", 0, 1),
        ("**7 of 35 cases are solved** with B = 3,0012.", 0, 1),
    ],
)
def test_a_number_in_a_sentence_is_checked_by_its_place(sentence: str, wrong: int, unknown: int) -> None:
    result = check_page("p", f"# T\n\n{sentence}\n", small_facts())
    assert (len(result.wrong), len(result.unknown)) == (wrong, unknown)


def test_a_printed_number_matches_up_to_its_rounding() -> None:
    assert matches("0.54", 0.5449)
    assert not matches("0.54", 0.5451)
    assert matches("1,235", 1234.6)
    assert matches("6e-05", 6.1e-5)
    assert matches("0.391", frozenset({0.1, 0.3909}))
    assert not matches("84.8", None)


def test_rates_and_areas_have_known_intervals() -> None:
    assert [round(float(n), 1) for n in rate(7, 35)] == [20.0, 10.0, 35.9]  # type: ignore[arg-type]
    low, high = newcombe(1.0, 10, 10)
    assert high == 100.0
    assert 60 < float(low) < 75, "corrected for 15 tests"  # type: ignore[arg-type]


def test_a_bootstrap_of_equal_episodes_is_a_point_and_few_episodes_have_none() -> None:
    items = [("a", "a", episode, value) for episode in range(6) for value in (0.0, 1.0)]
    assert cluster(items) == [50.0, 50.0]
    assert cluster(items[:6]) == []


def test_tables_and_text_are_read_from_a_page() -> None:
    page = (
        "# T\n\nOf 1,234 cases `7`.\n\n**Title**\n\n| a | b |\n| --- | ---: |\n| x | 1.0 [0.5,2.5] |\n\n---\n\n99 s\n"
    )
    [cell], text = parse(page)
    assert cell == ("Title", "x", "b", ("1.0", "0.5", "2.5"))
    assert "1,234" in text
    assert "`7`" in text
    assert "99" not in text
