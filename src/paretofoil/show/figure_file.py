"""Where a figure is written: checked before anything is computed for it."""

from pathlib import Path
from typing import TYPE_CHECKING

from paretofoil.core.atomic import check_file
from paretofoil.core.errors import InvalidInput

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ENDINGS = ("png", "svg", "pdf", "jpg", "jpeg", "webp", "tif", "tiff", "eps", "ps")
"""What a figure's file may end in; named here so that a path can be checked without loading matplotlib."""


def check_figure_path(path: str | Path) -> Path:
    """The path of a figure that can be written: its ending is known and its folder exists."""
    file = Path(path)
    if file.suffix[1:].lower() not in ENDINGS:
        raise InvalidInput.expected(f"a figure's file that ends in .{', .'.join(ENDINGS)}", repr(str(path)))
    check_file(file, "a figure's file")
    return file


def save_figure(figure: "Figure", path: str | Path | None) -> "Figure":
    """Write the figure, if there is a path, and hand it back."""
    if path is not None:
        figure.savefig(check_figure_path(path))
    return figure
