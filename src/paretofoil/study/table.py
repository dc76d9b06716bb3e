"""Tables: values in named columns, written as Markdown, HTML, LaTeX (booktabs), CSV or JSON."""

import csv
import io
import json
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from paretofoil.core.errors import InvalidInput
from paretofoil.core.json import read_document
from paretofoil.study.statistics import Summary
from paretofoil.study.store import COLUMNS, Row

FORMATS = ("markdown", "html", "latex", "csv", "json")


@dataclass(frozen=True)
class Table:
    """Named columns of texts, numbers, or None for an empty cell.

    A cell may have several numbers, such as a proportion: any value with `PARTS`, their names, and `parts()`.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    note: str = ""
    """Text below the table."""
    rules: tuple[int, ...] = ()
    """Indices of rows that begin a group. LaTeX and HTML draw a line before such a row."""

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
            f"**{_markdown(self.title)}**",
            "",
            _line(map(_markdown, self.columns)),
            _line("---:" if r else "---" for r in right),
            *(_line(_markdown(text(cell)) for cell in row) for row in self.rows),
        ]
        return "\n".join([*lines, *(["", _markdown(self.note)] if self.note else [])]) + "\n"

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
        """Return CSV with unrounded numbers. A cell of several numbers, such as an interval, fills several columns."""
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
        """Return the names of the numbers in a column, which are those of the cell with the most numbers."""
        return max((getattr(row[number], "PARTS", ("",)) for row in self.rows), key=len, default=("",))

    def to_json(self) -> str:
        rows = [dict(zip(self.columns, map(_plain, row), strict=True)) for row in self.rows]
        return json.dumps({"title": self.title, "note": self.note, "rows": rows}, indent=1, allow_nan=False) + "\n"

    def numeric(self) -> list[bool]:
        """Return which columns hold only numbers. These are aligned to the right."""

        def is_number(cell: Any) -> bool:
            return isinstance(cell, int | float | np.number) or hasattr(cell, "PARTS")

        return [
            any(map(is_number, column)) and not any(isinstance(cell, str) for cell in column)
            for column in ([row[i] for row in self.rows] for i in range(len(self.columns)))
        ]


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
    if hasattr(cell, "PARTS"):
        values = cell.parts()
        return None if any(map(math.isnan, values)) else dict(zip(cell.PARTS, values, strict=True))
    if isinstance(cell, np.generic):
        cell = cell.item()
    return None if isinstance(cell, float) and not math.isfinite(cell) else cell


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _markdown(words: str) -> str:
    """Escape characters that would end a cell, begin an HTML tag, or begin the address of a link."""
    escaped = re.sub(r"[\\|]|(?<=\])\(", r"\\\g<0>", " ".join(words.splitlines()))
    return re.sub(r"<(?=[A-Za-z/!?])", "&lt;", escaped)


_LATEX = {character: rf"\{character}" for character in "&%_#${}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "–": "--",
    "×": r"$\times$",
    "±": r"$\pm$",
    "≤": r"$\le$",
    "∅": r"$\emptyset$",
}


def _latex(words: str) -> str:
    return "".join(_LATEX.get(character, character) for character in " ".join(words.splitlines()))


def summary_table(title: str, summaries: dict[tuple[str, str], Summary], note: str = "") -> Table:
    """Return one line per agent and search: cases, successes, rate, mean distance, queries and seconds."""
    rows = [
        (agent, search, s.success.cases, s.success.successes, s.success, s.closest_distance, s.queries, s.seconds)
        for (agent, search), s in summaries.items()
    ]
    columns = ("agent", "search", "cases", "found", "rate [95 % CI]", "distance", "queries", "seconds")
    return Table(title, columns, tuple(rows), note)


def rows_table(title: str, rows: Iterable[Row], *, parsed: bool = False) -> Table:
    """Return every row of a study; the last column is the whole answer, as JSON text or (`parsed`) as values."""
    *columns, answer_column, seconds_column = COLUMNS
    cells = []
    for row in rows:
        *values, answer, seconds = row.cells()
        cells.append((*values, seconds, read_document(answer, "an answer") if parsed else answer))
    return Table(title, (*columns, seconds_column, answer_column), tuple(cells))
