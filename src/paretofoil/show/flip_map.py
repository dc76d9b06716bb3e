"""Flip maps in lines and in words."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from paretofoil.core.answer import Answer, Status
from paretofoil.explanation.flip_map import FlipMap
from paretofoil.show.numbers import values
from paretofoil.show.palette import INK, check_figure_path, save_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


NOT_FOUND, NEVER = "not found", "never"


@dataclass(frozen=True)
class FlipMapLines:
    """One line for each moment, which can be printed before the next one is known: all widths are fixed.

    Moments go down and actions across: what was done, and how far the command must move for each foil.
    """

    actions: tuple[str, ...]
    moments: int
    """How many moments the episode has."""
    room: int | None = None
    """The width of the window; None if there is no limit."""

    @property
    def widths(self) -> list[int]:
        number, longest = len(str(self.moments - 1)), max(map(len, self.actions))
        return [number, max(longest, len("chosen")), *(max(len(name), len(NOT_FOUND)) for name in self.actions)]

    @property
    def narrow(self) -> bool:
        """Whether columns do not fit, so that each line names its foils instead."""
        return self.room is not None and sum(self.widths) + len(self.widths) - 1 > self.room

    @property
    def head(self) -> str:
        return "t: chosen: foils" if self.narrow else self._columns(["t", "chosen", *self.actions])

    def line(self, time: int, taken: int, answers: Sequence[Answer]) -> str:
        """One moment; its answers are those of all its foils."""
        cells = {found.foil: _cell(found) for found in answers}
        if self.narrow:
            told = [f"{self.actions[foil]} {cell}" for foil, cell in sorted(cells.items())]
            return f"{time}: {self.actions[taken]}: {', '.join(told) or 'no other valid action'}"
        others = (cells.get(i, "done" if i == taken else "·") for i in range(len(self.actions)))
        return self._columns([str(time), self.actions[taken], *others])

    def _columns(self, cells: Sequence[str]) -> str:
        """Numbers to the right; the second cell, a word, to the left."""
        placed = [
            cell.ljust(width) if i == 1 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(cells, self.widths, strict=True))
        ]
        return " ".join(placed)


def _cell(found: Answer) -> str:
    if found.distance is not None:
        return f"{found.distance:.3f}"
    return NEVER if found.status is Status.PROVEN_INFEASIBLE else NOT_FOUND


def summary(flips: FlipMap) -> str:
    """The moments at which the agent is easiest to steer, and those at which it cannot be."""
    lines = []
    easiest = flips.easiest()
    if easiest:
        lines.append("Easiest to steer:")
        lines += [f"  t = {t}: {found}" for t, found in easiest]
    proven = set(flips.proven_unsteerable())
    unsure = [t for t in flips.unsteerable() if t not in proven]
    if proven:
        lines.append(f"No command steers it (proven) at t = {', '.join(map(str, sorted(proven)))}.")
    if unsure:
        lines.append(f"No foil was found at t = {', '.join(map(str, unsure))}.")
    return "\n".join(lines) or "The agent never had a choice: one valid action at every moment."


BAND = 30
"""Moments side by side; a longer episode goes on in a further band below, so that its numbers can still be read."""
CELL = 0.4
"""Inches of a cell's side."""
IMPOSSIBLE, INVALID = "#d3d3d8", "#f4f4f6"


def figure_flip_map(flips: FlipMap, path: str | Path | None = None) -> "Figure":
    """Draw how large a change each foil needs at each moment: a number and a colour, the darker, the larger."""
    from matplotlib.colors import LinearSegmentedColormap, Normalize
    from matplotlib.figure import Figure

    if path is not None:
        check_figure_path(path)
    moments, actions = len(flips.taken), len(flips.actions)
    bands = max(1, -(-moments // BAND))
    across = min(moments, BAND)
    size = (max(6.4, CELL * across + 2.8), bands * (CELL * actions + 0.55) + 1.4)
    figure = Figure(figsize=size, dpi=150, layout="constrained")
    panels = figure.subplots(bands, 1, squeeze=False)[:, 0]
    largest = max((a.distance for a in flips.answers if a.distance is not None), default=1.0)
    colours = LinearSegmentedColormap.from_list("change", ("#fff3c4", "#f6b44b", "#c4572b", "#5b1f45"))
    norm = Normalize(0, largest)
    images = [_draw_band(panel, flips, band * BAND, across, colours, norm) for band, panel in enumerate(panels)]
    panels[-1].set_xlabel("time step")
    figure.colorbar(
        images[0], ax=list(panels), label="scaled change of the command", fraction=0.04, aspect=22, pad=0.01
    )
    figure.suptitle(f"{flips.agent}, asked for {values(flips.objectives, flips.command)}", fontsize=11)
    figure.legend(
        handles=_legend(), loc="outside lower center", ncols=5 if across > 14 else 3, frameon=False, fontsize=8
    )
    return save_figure(figure, path)


def _draw_band(axes: "Axes", flips: FlipMap, start: int, across: int, colours: Any, norm: Any) -> Any:
    """The moments from `start` on; all bands are equally wide."""
    from matplotlib.patches import Rectangle

    actions, end = len(flips.actions), min(start + across, len(flips.taken))
    distances = flips.distances().T  # (actions, moments)
    shown = np.full((actions, across), np.nan)
    shown[:, : end - start] = np.where(np.isfinite(distances), distances, np.nan)[:, start:end]
    frame = (start - 0.5, start + across - 0.5, actions - 0.5, -0.5)
    axes.add_patch(Rectangle((start - 0.5, -0.5), end - start, actions, color=INVALID, zorder=0))
    image = axes.imshow(shown, cmap=colours, norm=norm, extent=frame, aspect="auto", zorder=1)
    for found, time in zip(flips.answers, flips.steps, strict=True):
        if not start <= time < end:
            continue
        text, colour = _picture_cell(found, norm)
        if not found.found:
            axes.add_patch(Rectangle((time - 0.5, found.foil - 0.5), 1, 1, color=IMPOSSIBLE, linewidth=0, zorder=1))
        axes.text(time, found.foil, text, ha="center", va="center", fontsize=7, color=colour, zorder=3)
    axes.plot(range(start, end), flips.taken[start:end], "o", color=INK, markersize=6, zorder=3)
    axes.set_yticks(range(actions), flips.actions)
    axes.set_xticks(range(start, end))
    axes.tick_params(which="both", length=0, labelsize=8)
    for line in range(start, end + 1):
        axes.vlines(line - 0.5, -0.5, actions - 0.5, color="white", linewidth=1.5, zorder=2)
    axes.hlines(np.arange(actions + 1) - 0.5, start - 0.5, end - 0.5, color="white", linewidth=1.5, zorder=2)
    axes.spines[:].set_visible(False)
    axes.set(xlim=frame[:2], ylim=frame[2:])
    return image


def _picture_cell(found: Any, norm: Any) -> tuple[str, str]:
    """What stands in a cell, and in which colour."""
    if found.distance is None:
        return ("∅" if found.status is Status.PROVEN_INFEASIBLE else "?"), INK
    text = "<.01" if found.distance < 0.005 else f"{found.distance:.2f}".removeprefix("0")
    return text, "white" if norm(found.distance) > 0.55 else INK


def _legend() -> list[Any]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    def sign(marker: str, label: str, size: float = 7) -> Line2D:
        return Line2D([], [], linestyle="none", marker=marker, markersize=size, color=INK, label=label)

    return [
        sign("o", "chosen"),
        sign("$.12$", "change that makes it the choice", 14),
        sign("$\\varnothing$", "proven impossible"),
        sign("$?$", "none found"),
        Patch(color=INVALID, label="empty: not valid, or not asked"),
    ]
