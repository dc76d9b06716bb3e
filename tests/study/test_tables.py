"""Success rates, summaries and tables."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from studies import small_study

from paretofoil.core.answer import Status
from paretofoil.core.errors import InvalidInput
from paretofoil.search import NearestFront
from paretofoil.study import Case, Row, read_rows, run_study
from paretofoil.study.statistics import Proportion, summarise
from paretofoil.study.table import Table, rows_table, text

TABLE = Table("A & B", ("name", "n", "rate"), (("x_1", 1234, Proportion(1, 2)), ("y", None, None)), "50 % of it.", (1,))


@pytest.mark.parametrize(
    ("successes", "cases", "text"),
    [
        (7, 35, "20.0 [10.0,35.9]"),
        (136, 136, "100.0 [97.3,100.0]"),
        (0, 10, "0.0 [0.0,27.8]"),
        (2422, 3195, "75.8 [74.3,77.3]"),
    ],
)
def test_intervals_are_those_of_the_paper(successes: int, cases: int, text: str) -> None:
    assert str(Proportion(successes, cases)) == text


def test_no_cases_give_no_rate() -> None:
    assert str(Proportion(0, 0)) == "–"
    assert summarise([]).closest_distance is None
    with pytest.raises(InvalidInput):
        Proportion(3, 2)


def test_a_table_as_html_writes_a_group_once_and_escapes() -> None:
    table = Table("A & B", ("who", "n"), (("x", 1), ("x", 2), ("<y>", 3)), rules=(2,))
    html = table.to("html")
    assert html.count("<td>x</td>") == 1
    assert '<tr class="begins"><td>&lt;y&gt;</td><td class="number">3</td></tr>' in html
    assert "A &amp; B" in html


def test_a_table_as_markdown() -> None:
    assert "| x_1 | 1,234 | 50.0 [9.5,90.5] |" in TABLE.to("markdown")
    assert "| y | – | – |" in TABLE.to("markdown")
    assert "| --- | ---: | ---: |" in TABLE.to("markdown")


def test_a_table_as_latex_has_booktabs_and_escapes() -> None:
    latex = TABLE.to("latex")
    for part in (r"\toprule", r"\midrule", r"\bottomrule", r"x\_1 & 1,234", r"A \& B. 50 \% of it."):
        assert part in latex
    assert latex.count(r"\midrule") == 2


def test_names_cannot_act_in_markdown_or_latex() -> None:
    name = "\\input{x} $a^b$ #1 50% A&B_c ~ | <script>alert(1)</script> [a](http://b)\n<b> < 1"
    table = Table(name, (name, "n"), ((name, 1),), name)
    latex = (
        r"\textbackslash{}input\{x\} \$a\textasciicircum{}b\$ \#1 50\% A\&B\_c \textasciitilde{} | "
        "<script>alert(1)</script> [a](http://b) <b> < 1"
    )
    markdown = r"\\input{x} $a^b$ #1 50% A&B_c ~ \| &lt;script>alert(1)&lt;/script> [a]\(http://b) &lt;b> < 1"
    assert table.to("latex").count(latex) == 4
    assert table.to("markdown").count(markdown) == 4
    assert len(table.to("markdown").splitlines()) == 7


def test_a_table_as_csv_and_json_keeps_numbers() -> None:
    lines = list(csv.DictReader(io.StringIO(TABLE.to("csv"))))
    assert lines[0]["n"] == "1234"
    assert float(lines[0]["rate rate"]) == 0.5
    assert lines[1]["rate rate"] == ""
    rows = json.loads(TABLE.to("json"))["rows"]
    assert rows[0]["rate"]["successes"] == 1
    assert rows[1]["rate"] is None


def test_a_ragged_row_or_an_unknown_format_is_an_error() -> None:
    with pytest.raises(InvalidInput, match="rows of 2 cells"):
        Table("", ("a", "b"), ((1,),))
    with pytest.raises(InvalidInput, match="a format among"):
        TABLE.to("word")


def test_rows_are_exported_whole(tmp_path: Path) -> None:
    run_study(small_study(tmp_path, {"front": NearestFront()}), tmp_path / "s.sqlite", workers=1)
    rows = read_rows(tmp_path / "s.sqlite")
    lines = list(csv.DictReader(io.StringIO(rows_table("s", rows).to("csv"))))
    assert len(lines) == len(rows)
    assert [line["status"] for line in lines] == [row.status.value for row in rows]
    assert json.loads(lines[0]["answer"])["schema"].startswith("paretofoil/answer")


def row(seconds: float, distance: float | None, queries: int) -> Row:
    outcome = Status.NOT_FOUND if distance is None else Status.FOUND
    return Row(Case("a", 0, 0, 1), "s", "hash", outcome, distance, queries, "{}", seconds)


def test_a_summary_averages_distances_over_successes_and_the_rest_over_all() -> None:
    summary = summarise([row(1.0, 0.2, 10), row(2.0, 0.4, 20), row(6.0, None, 60)])
    assert summary.success == Proportion(2, 3)
    assert summary.closest_distance == pytest.approx(0.3)
    assert (summary.seconds, summary.median_seconds, summary.queries) == (3.0, 2.0, 30.0)
    assert summary.std_seconds == pytest.approx(np.sqrt(14 / 3))


@pytest.mark.parametrize(
    ("cell", "told"), [(9.9996, "10.000"), (10.0, "10.0"), (-12345.678, "-12,345.7"), (1234, "1,234"), (None, "–")]
)
def test_numbers_in_tables_have_three_decimals_below_ten(cell: Any, told: str) -> None:
    assert text(cell) == told


def test_a_missing_proportion_shifts_no_column() -> None:
    table = Table("", ("rate", "n"), ((Proportion(1, 2), 1), (None, 2)))
    assert [line["n"] for line in csv.DictReader(io.StringIO(table.to("csv")))] == ["1", "2"]
