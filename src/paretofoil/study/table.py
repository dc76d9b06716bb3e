"""Tables: values in named columns, written as Markdown, HTML, LaTeX (booktabs), CSV or JSON."""

import csv
import io
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from paretofoil.core.errors import InvalidInput
from paretofoil.core.json import read_document
from paretofoil.study.statistics import (
    Interval,
    Proportion,
    Stratum,
    Summary,
    difference_interval,
    holm,
    pair_rows,
    paired_test,
    stratum_of_agent,
)
from paretofoil.study.store import Row

FORMATS = ("markdown", "html", "latex", "csv", "json")


@dataclass(frozen=True)
class Table:
    """Named columns of texts, numbers, proportions, intervals, or None for an empty cell."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    note: str = ""
    """Text below the table."""
    rules: tuple[int, ...] = ()
    """Indices of rows that begin a group; LaTeX and HTML draw a line before them."""

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise InvalidInput.expected(f"rows of {len(self.columns)} cells", f"{len(row)}: {row}")

    def to(self, form: str) -> str:
        """Return the table in one of `FORMATS`."""
        if form not in FORMATS:
            raise InvalidInput.expected(f"a format among {', '.join(FORMATS)}", repr(form))
        written: str = getattr(self, f"to_{form}")()
        return written

    def to_markdown(self) -> str:
        right = self.numeric()
        lines = [
            f"**{self.title}**",
            "",
            _line(self.columns),
            _line("---:" if r else "---" for r in right),
            *(_line(text(cell).replace("|", "\\|") for cell in row) for row in self.rows),
        ]
        return "\n".join([*lines, *(["", self.note] if self.note else [])]) + "\n"

    def to_html(self) -> str:
        """Return HTML with a line between groups; within a group, equal first cells are written once."""
        sides = [' class="number"' if right else "" for right in self.numeric()]
        head = "".join(f"<th{side}>{escape(name)}</th>" for name, side in zip(self.columns, sides, strict=True))
        lines, previous = [f"<figure><figcaption>{escape(self.title)}</figcaption>", f"<table><tr>{head}</tr>"], None
        for number, row in enumerate(self.rows):
            begins = number in self.rules
            cells = [escape(text(cell)) for cell in row]
            if self.rules and cells[0] == previous and not begins:
                cells[0] = ""
            else:
                previous = cells[0]
            inside = "".join(f"<td{side}>{cell}</td>" for cell, side in zip(cells, sides, strict=True))
            lines.append(f'<tr class="begins">{inside}</tr>' if begins else f"<tr>{inside}</tr>")
        return "\n".join([*lines, "</table>", f"<p>{escape(self.note)}</p>" if self.note else "", "</figure>", ""])

    def to_latex(self) -> str:
        layout = "".join("r" if right else "l" for right in self.numeric())
        lines = [r"\begin{table}[ht]", r"\centering", rf"\begin{{tabular}}{{@{{}}{layout}@{{}}}}", r"\toprule"]
        lines.append(" & ".join(map(_latex, self.columns)) + r" \\")
        lines.append(r"\midrule")
        for number, row in enumerate(self.rows):
            if number in self.rules:
                lines.append(r"\midrule")
            lines.append(" & ".join(_latex(text(cell)) for cell in row) + r" \\")
        lines += [
            r"\bottomrule",
            r"\end{tabular}",
            rf"\caption{{{_latex(' '.join([self.title + '.', self.note]).strip())}}}",
        ]
        return "\n".join([*lines, r"\end{table}"]) + "\n"

    def to_csv(self) -> str:
        """Return CSV with numbers in full; a proportion has five columns, an interval two."""
        parts = [self._parts(number) for number in range(len(self.columns))]
        file = io.StringIO()
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(
            [f"{name} {part}".rstrip() for name, ps in zip(self.columns, parts, strict=True) for part in ps]
        )
        for row in self.rows:
            plain = [_plain(cell) for cell in row]
            named = [cell if isinstance(cell, dict) else {ps[0]: cell} for cell, ps in zip(plain, parts, strict=True)]
            cells = [values.get(part) for values, ps in zip(named, parts, strict=True) for part in ps]
            writer.writerow(["" if cell is None else cell for cell in cells])
        return file.getvalue()

    def _parts(self, number: int) -> tuple[str, ...]:
        """Return the parts of a column's cells: those of the cell with most parts."""
        return max((_PARTS.get(type(row[number]), ("",)) for row in self.rows), key=len, default=("",))

    def to_json(self) -> str:
        rows = [dict(zip(self.columns, map(_plain, row), strict=True)) for row in self.rows]
        return json.dumps({"title": self.title, "note": self.note, "rows": rows}, indent=1, allow_nan=False) + "\n"

    def numeric(self) -> list[bool]:
        """Return which columns hold only numbers, and are aligned to the right."""
        kinds = (int, float, np.number, Proportion, Interval)
        return [
            any(isinstance(row[i], kinds) for row in self.rows)
            and not any(isinstance(row[i], str) for row in self.rows)
            for i in range(len(self.columns))
        ]


_PARTS = {Proportion: ("successes", "cases", "rate", "low", "high"), Interval: ("low", "high")}


def text(cell: Any) -> str:
    """Return a cell as text for people."""
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return "–"
    if isinstance(cell, bool | str):
        return str(cell)
    if isinstance(cell, int | np.integer):
        return f"{int(cell):,}"
    if isinstance(cell, float | np.floating):
        return _number(float(cell))
    return str(cell)


def _number(number: float) -> str:
    if 0 < abs(number) < 0.0005:
        return f"{number:.0e}"  # otherwise a small p-value would be 0.000
    return f"{number:.3f}" if abs(number) < 10 else f"{number:,.1f}"


def _plain(cell: Any) -> Any:
    if isinstance(cell, Proportion):
        if not cell.cases:
            return None
        low, high = cell.interval
        return {"successes": cell.successes, "cases": cell.cases, "rate": cell.rate, "low": low, "high": high}
    if isinstance(cell, Interval):
        return None if math.isnan(cell.low) else {"low": cell.low, "high": cell.high}
    if isinstance(cell, np.generic):
        cell = cell.item()
    return None if isinstance(cell, float) and not math.isfinite(cell) else cell


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


_ESCAPES = {"&": r"\&", "%": r"\%", "_": r"\_", "#": r"\#", "~": r"\textasciitilde{}", "–": "--", "×": r"$\times$"}
_ESCAPES |= {"±": r"$\pm$", "≤": r"$\le$", "∅": r"$\emptyset$"}


def _latex(words: str) -> str:
    return "".join(_ESCAPES.get(character, character) for character in words)


def summary_table(title: str, summaries: dict[tuple[str, str], Summary], note: str = "") -> Table:
    """Return one line per agent and search: cases, successes, rate, mean distance, queries and seconds."""
    rows = [
        (agent, search, s.success.cases, s.success.successes, s.success, s.closest_distance, s.queries, s.seconds)
        for (agent, search), s in summaries.items()
    ]
    columns = ("agent", "search", "cases", "found", "rate [95 % CI]", "distance", "queries", "seconds")
    return Table(title, columns, tuple(rows), note)


def paired_table(rows: Iterable[Row], reference: str, *, stratum: Stratum = stratum_of_agent) -> Table:
    """Return the paired tests of one search against each other search on the same cases."""
    by_search: dict[str, list[Row]] = {}
    for row in rows:
        by_search.setdefault(row.search, []).append(row)
    if reference not in by_search:
        raise InvalidInput.expected(f"a search among {', '.join(by_search)}", repr(reference))
    pairs = {name: pair_rows(by_search[reference], by_search[name]) for name in by_search if name != reference}
    title = f"Paired tests: {reference} against each other search"
    return pairs_table(title, "against", pairs, (reference, "other"), stratum=stratum)


def pairs_table(
    title: str,
    group: str,
    pairs: Mapping[str, Sequence[tuple[Row, Row]]],
    searches: tuple[str, str],
    *,
    stratum: Stratum = stratum_of_agent,
) -> Table:
    """Return one paired test of two searches per group."""
    tests = {name: paired_test(paired) for name, paired in pairs.items()}
    adjusted = holm([test.p_value for test in tests.values()])
    lines = []
    for (name, test), p in zip(tests.items(), adjusted, strict=True):
        counts = (test.cases, test.both, test.first, test.second, test.neither)
        interval = difference_interval(pairs[name], stratum)
        lines.append((name, *counts, 100 * test.difference, interval, _p(test.p_value), _p(p)))
    columns = (
        *(group, "cases", "both find", f"{searches[0]} alone", f"{searches[1]} alone", "neither"),
        *("difference (points)", "cluster [95 % CI]", "McNemar p", "p (Holm)"),
    )
    return Table(title, columns, tuple(lines), PAIRED_NOTE)


LEAST_P = 1e-300
"""Smaller p-values are printed as an upper bound: floating-point numbers end near here."""


def _p(value: float) -> float | str:
    return value if value >= LEAST_P else f"< {LEAST_P:.0e}"


PAIRED_NOTE = (
    "All searches answer the same cases. McNemar's exact two-sided test compares the discordant cases (found by one "
    "search only) and assumes that they are independent; Holm's correction covers the tests of this table. The "
    "interval of the difference is that of a cluster bootstrap, which accounts for the dependence of cases of one "
    "episode and of one agent: if it contains 0, do not rely on a small p."
)


ROW_COLUMNS = (
    *("agent", "search", "front", "step", "foil", "agent_hash", "status", "closest_distance", "queries", "seconds"),
    "answer",
)


def rows_table(title: str, rows: Iterable[Row], *, parsed: bool = False) -> Table:
    """Return every row of a study; the last column is the whole answer, as JSON text or (`parsed`) as values."""
    cells = tuple(
        (
            *(r.case.agent, r.search, r.case.front, r.case.step, r.case.foil),
            *(r.agent_hash, r.status.value, r.closest_distance, r.queries, r.seconds),
            read_document(r.answer, "an answer") if parsed else r.answer,
        )
        for r in rows
    )
    return Table(title, ROW_COLUMNS, cells)
