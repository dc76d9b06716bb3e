"""Colours, markers and files of all figures.

The colours are those of Okabe and Ito, which colour-blind readers can distinguish. Each also has its own marker.
"""

import base64
import io
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

from paretofoil.core.errors import InvalidInput
from paretofoil.core.files import check_file, write_atomically

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


INK = "#222222"
BLUE, ORANGE, GREEN, RED, PURPLE, GREY = "#0072b2", "#e69f00", "#009e73", "#d55e00", "#a0468f", "#6b7280"
SKY = "#56b4e9"
MARKERS = {BLUE: "P", ORANGE: "D", GREEN: "*", RED: "X", PURPLE: "^", GREY: "v", INK: "o", SKY: "s"}
"""The marker of each colour. All markers can be filled or hollow."""
MARGIN_COLOURS = ("#6a5ba6", "#b9b1d8", "#faf9f7", "#fbc987", "#e08a1e")
"""The colours of margins, from a foil that loses to one that wins. A black arrow is visible on all of them."""


@dataclass(frozen=True)
class Mark:
    """How one command is drawn on a landscape."""

    label: str
    colour: str
    size: float

    @property
    def marker(self) -> str:
        return MARKERS[self.colour]


ORIGINAL = Mark("original command", INK, 11)
ATTAINABLE = Mark("attainable command", SKY, 14)
MARKS = {
    "cf-zoo": Mark("CF-ZOO", GREEN, 21),
    "exact": Mark("Exact", BLUE, 9),
    "boundary": Mark("Boundary", PURPLE, 14),
    "nearest-front": Mark("nearest front point", ORANGE, 8),
    "white-cw": Mark("White-CW", RED, 10),
    "local-zoo": Mark("local ZOO", GREY, 12),
}
"""The mark of each search. The sizes differ, so that every mark is visible where searches agree."""


def mark_of(search: str) -> Mark:
    """Return the mark of a search such as "cf-zoo" or "cf-zoo:as-run". An unknown search has a blue mark."""
    name, _, form = search.partition(":")
    if name not in MARKS:
        return Mark(search, BLUE, 11)
    return replace(MARKS[name], label=f"{MARKS[name].label} {form.replace('-', ' ')}".strip())


ENDINGS = ("png", "svg", "pdf", "jpg", "jpeg", "webp", "tif", "tiff", "eps", "ps")
"""File types of figures. They are listed here so that a path can be checked without loading matplotlib."""
BAND = 30
"""Number of steps side by side in a figure. A longer episode continues in a band below."""
TITLE_LETTERS, LEGEND_LETTERS = 11, 15
"""Characters per inch of a title and of a legend."""


def can_draw() -> bool:
    """Return whether matplotlib is installed, which figures need."""
    return find_spec("matplotlib") is not None


def check_figure(path: str | Path | None) -> None:
    """Raise an error if matplotlib is missing, the file type is unknown, or the file cannot be written."""
    if not can_draw():
        raise InvalidInput.missing("matplotlib", "plot")
    if path is None:
        return
    file = Path(path)
    if file.suffix[1:].lower() not in ENDINGS:
        raise InvalidInput.expected(f"a figure file that ends in .{', .'.join(ENDINGS)}", repr(str(path)))
    check_file(file, "a figure file")


def new_figure(width: float, height: float) -> "Figure":
    """Return an empty figure. Sizes are in inches."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), dpi=150, layout="constrained")


def step_figure(
    num_steps: int, title: str, handles: Sequence[Any], *, cell: float, margin: float, height: float
) -> tuple["Figure", list[tuple["Axes", range]]]:
    """Return a figure about the steps of an episode, and its panels with the steps of each. Sizes are in inches."""
    bands = [range(start, min(start + BAND, num_steps)) for start in range(0, max(num_steps, 1), BAND)]
    across = len(bands[0])
    width = max(6.4, cell * across + margin)
    figure = new_figure(width, height * len(bands) + 1.4)
    panels = figure.subplots(len(bands), 1, squeeze=False)[:, 0]
    panels[-1].set_xlabel("step")
    figure.suptitle(fill(title, int(TITLE_LETTERS * width)), fontsize=11)
    columns = _legend_columns([handle.get_label() for handle in handles], width, 6 if across > 14 else 3)
    figure.legend(handles=handles, loc="outside lower center", ncols=columns, frameon=False, fontsize=8)
    return figure, list(zip(panels, bands, strict=True))


def _legend_columns(labels: Sequence[str], width: float, most: int) -> int:
    """Return how many columns of a legend fit into a width in inches, if it is filled column by column."""
    for columns in range(min(len(labels), most), 1, -1):
        rows = -(-len(labels) // columns)
        letters = sum(max(map(len, labels[start : start + rows])) + 7 for start in range(0, len(labels), rows))
        if letters <= LEGEND_LETTERS * width:
            return columns
    return 1


def png_address(figure: "Figure") -> str:
    """Return a figure as a data URL (data:image/png...) for an HTML page."""
    picture = io.BytesIO()
    figure.savefig(picture, format="png")
    return f"data:image/png;base64,{base64.b64encode(picture.getvalue()).decode('ascii')}"


def save_figure(figure: "Figure", path: str | Path | None) -> "Figure":
    """Write the figure if a path is given, and return it."""
    if path is not None:
        file, picture = Path(path), io.BytesIO()
        figure.savefig(picture, format=file.suffix[1:].lower())
        write_atomically(file, picture.getvalue())
    return figure
