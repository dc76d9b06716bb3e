"""Compare the numbers of the results pages with those that follow from the recorded rows.

    python -m paretofoil_paper.check paper/results

`recompute` has its own code for every table and sentence. A number in a table is compared with that of its line and
column. A number in the text must lie in a known piece of a sentence: it is compared with the number of its place, and
the words and settings around it must be those of the piece. What does not match is listed.
"""

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from paretofoil_paper.recompute import PAGES, Expected, Facts, Rows

_DIGITS = r"[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:e-?\d+)?"
NUMBER = re.compile(rf"(?<![\w.]){_DIGITS}(?![0-9a-z])")
CODE = re.compile(r"`[^`]*`|\]\([^)]*\)")


def matches(text: str, expected: Expected) -> bool:
    """Return whether a printed number is the expected one, rounded."""
    if expected is None:
        return False
    if isinstance(expected, frozenset):
        return any(matches(text, one) for one in expected)
    digits = len(text.partition("e")[0].partition(".")[2])
    unit = 10.0**-digits * (10.0 ** int(text.partition("e")[2]) if "e" in text else 1.0)
    return abs(float(text.replace(",", "")) - expected) <= 0.5 * unit * (1 + 1e-6) + 1e-9


class Cell(NamedTuple):
    """A number in a table: where it stands, and its text."""

    table: str
    line: str
    column: str
    numbers: tuple[str, ...]


def parse(page: str) -> tuple[list[Cell], str]:
    """Return the cells of the tables that hold numbers, and the text without tables and pictures."""
    cells: list[Cell] = []
    text, title, columns = [], "", list[str]()
    for line in page.split("\n---\n")[0].splitlines():
        if line.startswith("|"):
            parts = [part.strip() for part in line.strip("|").split("|")]
            if not columns:
                columns = parts
            elif not set(line) <= set("|-: "):
                label = " / ".join(parts[:3]) if columns[0] == "example" else parts[0]
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
                text.append(line)
    return cells, "\n".join(text)


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


def check_page(name: str, text: str, facts: Facts) -> Result:
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
    _check_prose(name, prose, facts.text, result)
    return result


def _check_prose(name: str, prose: str, pieces: Sequence[tuple[str, list[Expected]]], result: Result) -> None:
    """Find every piece in the text; each number of the text must lie in one."""
    places: dict[tuple[int, int], list[Expected]] = {}
    covered: set[int] = set()
    for piece, expected in pieces:
        pattern = f"({_DIGITS})".join(map(re.escape, piece.split("{}")))
        for match in re.finditer(pattern, prose):
            covered |= set(range(*match.span()))
            for number, value in enumerate(expected, 1):
                places.setdefault(match.span(number), []).append(value)
    plain = CODE.sub(lambda match: " " * len(match[0]), prose)
    for match in NUMBER.finditer(plain):
        where = f"{name}: text: {match[0]} in: ...{prose[max(0, match.start() - 60) : match.end() + 40]!r}"
        values = places.get(match.span())
        if values is None and covered.issuperset(range(*match.span())):
            result.settings += 1
        elif values is None:
            result.unknown.append(where)
        elif all(matches(match[0], value) for value in values):
            result.right += 1
        else:
            result.wrong.append(f"{where}, expected {values}")


def check(folder: Path) -> dict[str, Result]:
    """Check the six pages and the index of a folder; the index repeats sentences of the pages."""
    rows, results, index = Rows(folder), {}, Facts()
    index.say("All intervals are 95 % confidence intervals: Wilson's")
    index.say("by the margin kappa (0.05 in log-probability)")
    for name, compute in PAGES.items():
        facts = compute(rows)
        index.text += facts.text
        results[name] = check_page(name, (folder / f"{name}.md").read_text(), facts)
    results["README"] = check_page("README", (folder / "README.md").read_text(), index)
    return results


def main() -> int:
    results = check(Path(sys.argv[1] if len(sys.argv) > 1 else "paper/results"))
    for name, result in results.items():
        print(
            f"{name}: {result.total} numbers; {result.right} follow from rows, {result.settings} are settings, "
            f"{len(result.unknown)} are not recomputed, {len(result.wrong)} are wrong"
        )
    for result in results.values():
        for line in dict.fromkeys(
            [f"WRONG {w}" for w in result.wrong] + [f"not recomputed: {u}" for u in result.unknown]
        ):
            print(line)
    return int(any(result.wrong or result.unknown for result in results.values()))


if __name__ == "__main__":
    sys.exit(main())
