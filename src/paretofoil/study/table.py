"""Tables as values, and as Markdown, HTML, LaTeX with booktabs, CSV and JSON."""

import csv
import io
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from paretofoil.core.document import read_document
from paretofoil.core.errors import InvalidInput
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
    """Named columns of values: texts, numbers, proportions, or None where there is nothing to say."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    note: str = ""
    """What a reader must know to read it."""
    rules: tuple[int, ...] = ()
    """Before these rows, which begin a group, a line is drawn in LaTeX and HTML."""

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise InvalidInput.expected(f"rows of {len(self.columns)} cells", f"{len(row)}: {row}")

    def to(self, form: str) -> str:
        """As one of `FORMATS`."""
        if form not in FORMATS:
            raise InvalidInput.expected(f"a format among {', '.join(FORMATS)}", repr(form))
        made: str = getattr(self, f"to_{form}")()
        return made

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
        """With a line between groups, in which the first cell is said once."""
        sides = [' class="number"' if right else "" for right in self.numeric()]
        head = "".join(f"<th{side}>{escape(name)}</th>" for name, side in zip(self.columns, sides, strict=True))
        lines, said = [f"<figure><figcaption>{escape(self.title)}</figcaption>", f"<table><tr>{head}</tr>"], None
        for number, row in enumerate(self.rows):
            begins = number in self.rules
            cells = [escape(text(cell)) for cell in row]
            if self.rules and cells[0] == said and not begins:
                cells[0] = ""
            else:
                said = cells[0]
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
        """Numbers in full; a proportion takes five columns, an interval two."""
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
        """What the cells of a column are made of: the longest of them tells."""
        return max((_PARTS.get(type(row[number]), ("",)) for row in self.rows), key=len, default=("",))

    def to_json(self) -> str:
        rows = [dict(zip(self.columns, map(_plain, row), strict=True)) for row in self.rows]
        return json.dumps({"title": self.title, "note": self.note, "rows": rows}, indent=1, allow_nan=False) + "\n"

    def numeric(self) -> list[bool]:
        """Which columns hold numbers, and are set to the right."""
        kinds = (int, float, np.number, Proportion, Interval)
        return [
            any(isinstance(row[i], kinds) for row in self.rows)
            and not any(isinstance(row[i], str) for row in self.rows)
            for i in range(len(self.columns))
        ]


_PARTS = {Proportion: ("successes", "cases", "rate", "low", "high"), Interval: ("low", "high")}


def text(cell: Any) -> str:
    """A cell as people read it."""
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
        return f"{number:.0e}"  # a p-value of 0.000 would say nothing
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
    """Agents and searches down: cases, successes, rate, distance, queries, time."""
    rows = [
        (agent, search, s.success.cases, s.success.successes, s.success, s.closest_distance, s.queries, s.seconds)
        for (agent, search), s in summaries.items()
    ]
    columns = ("agent", "search", "cases", "found", "rate [95 % CI]", "distance", "queries", "seconds")
    return Table(title, columns, tuple(rows), note)


def paired_table(rows: Iterable[Row], reference: str, *, stratum: Stratum = stratum_of_agent) -> Table:
    """One search against each of the others on the same cases: McNemar's exact test, and the difference of rates."""
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
    """Two searches case by case, in each group: a paired test for each."""
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
"""Smaller ones cannot be told from 0 by a floating-point number."""


def _p(value: float) -> float | str:
    return value if value >= LEAST_P else f"< {LEAST_P:.0e}"


PAIRED_NOTE = (
    "Each search is asked the same cases. McNemar's exact two-sided test looks at the discordant ones (found by one "
    "search alone) and takes them for independent; Holm's correction is for the tests of this table. The interval of "
    "the difference is a cluster bootstrap's, which knows that cases of one episode and of one agent go together: "
    "where it holds 0, do not trust a small p."
)


def rows_table(title: str, rows: Iterable[Row], *, parsed: bool = False) -> Table:
    """Every row of a study, flat; the whole answer is its last column: as text, or parsed, for JSON."""
    columns = (
        "agent",
        "search",
        "front",
        "step",
        "foil",
        "agent_hash",
        "status",
        "closest_distance",
        "queries",
        "seconds",
        "answer",
    )
    cells = tuple(
        (
            *(r.case.agent, r.search, r.case.front, r.case.step, r.case.foil),
            *(r.agent_hash, r.status.value, r.closest_distance, r.queries, r.seconds),
            read_document(r.answer, "an answer") if parsed else r.answer,
        )
        for r in rows
    )
    return Table(title, columns, cells)
