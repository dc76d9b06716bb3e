"""Colours, markers and files of all figures.

The colours are Okabe and Ito's, which colour-blind readers can distinguish; each also has its own marker.
"""

import io
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from paretofoil.core.errors import InvalidInput
from paretofoil.core.files import check_file, write_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure


INK = "#222222"
BLUE, ORANGE, GREEN, RED, PURPLE, GREY = "#0072b2", "#e69f00", "#009e73", "#d55e00", "#a0468f", "#6b7280"
SKY = "#56b4e9"
MARKERS = {BLUE: "P", ORANGE: "D", GREEN: "*", RED: "X", PURPLE: "^", GREY: "v", INK: "o", SKY: "s"}
"""The marker of each colour: all can be filled or hollow."""
MARGIN_COLOURS = ("#6a5ba6", "#b9b1d8", "#faf9f7", "#fbc987", "#e08a1e")
"""From a foil that loses to one that wins; none so dark that it would hide an arrow."""


@dataclass(frozen=True)
class Mark:
    """How one command is drawn on a landscape."""

    name: str
    """The name of the search, "original" or "attainable"."""
    label: str
    colour: str
    size: float

    @property
    def marker(self) -> str:
        return MARKERS[self.colour]


ORIGINAL = Mark("original", "original command", INK, 11)
ATTAINABLE = Mark("attainable", "attainable command", SKY, 14)
MARKS = (
    Mark("cf-zoo", "CF-ZOO", GREEN, 21),
    Mark("exact", "Exact", BLUE, 9),
    Mark("boundary", "Boundary", PURPLE, 14),
    Mark("nearest-front", "nearest front point", ORANGE, 8),
    Mark("white-cw", "White-CW", RED, 10),
    Mark("local-zoo", "local ZOO", GREY, 12),
)
"""The sizes differ, so that every mark is visible where searches agree."""


def mark_of(search: str) -> Mark:
    """Return the mark of a search or of a form of it; an unknown search is drawn in blue under its own name."""
    name, _, form = search.partition(":")
    mark = next((mark for mark in MARKS if mark.name == name), None)
    if mark is None:
        return Mark(search, search, BLUE, 11)
    return replace(mark, name=search, label=f"{mark.label} {form.replace('-', ' ')}".strip())


ENDINGS = ("png", "svg", "pdf", "jpg", "jpeg", "webp", "tif", "tiff", "eps", "ps")
"""File types of figures; listed here so that a path can be checked without loading matplotlib."""


def can_draw() -> bool:
    """Tell whether figures can be drawn: matplotlib is installed."""
    return find_spec("matplotlib") is not None


def check_figure(path: str | Path | None) -> None:
    """Raise an error if no figure can be drawn and written here: no matplotlib, an unknown file type, or no folder."""
    if not can_draw():
        raise InvalidInput.missing("matplotlib", "plot")
    if path is None:
        return
    file = Path(path)
    if file.suffix[1:].lower() not in ENDINGS:
        raise InvalidInput.expected(f"a figure file that ends in .{', .'.join(ENDINGS)}", repr(str(path)))
    check_file(file, "a figure file")


def save_figure(figure: "Figure", path: str | Path | None) -> "Figure":
    """Write the figure if a path is given, and return it."""
    if path is not None:
        file, picture = Path(path), io.BytesIO()
        figure.savefig(picture, format=file.suffix[1:].lower())
        write_whole(file, picture.getvalue())
    return figure
