"""Flip maps as lines of a table, in words and as a figure."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from paretofoil.core.answer import Answer, Status
from paretofoil.explanation.flip_map import FlipMap
from paretofoil.show.numbers import quantities
from paretofoil.show.palette import INK, check_figure, save_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


NOT_FOUND, INFEASIBLE = "not found", "infeasible"
BAND = 30
"""Steps side by side in a figure; a longer episode continues in a further band below."""
CELL = 0.4
"""The side of a cell, in inches."""
GREY_CELL, INVALID = "#d3d3d8", "#f4f4f6"


@dataclass(frozen=True)
class FlipMapLines:
    """One line for each step, which can be printed before the next one is known: all widths are fixed.

    Steps go down and actions across: the chosen action, and the scaled distance that each foil needs.
    """

    actions: tuple[str, ...]
    num_steps: int
    room: int | None = None
    """The width of the window; None if there is no limit."""

    @property
    def widths(self) -> list[int]:
        number, longest = len(str(self.num_steps - 1)), max(map(len, self.actions))
        return [number, max(longest, len("chosen")), *(max(len(name), len(INFEASIBLE)) for name in self.actions)]

    @property
    def narrow(self) -> bool:
        """Whether columns do not fit, so that each line names its foils instead."""
        return self.room is not None and sum(self.widths) + len(self.widths) - 1 > self.room

    @property
    def head(self) -> str:
        return "t: chosen: foils" if self.narrow else self._columns(["t", "chosen", *self.actions])

    def line(self, step: int, chosen: int, answers: Sequence[Answer]) -> str:
        """Return one step; its answers are those of all its foils."""
        cells = {answer.question.foil: _cell(answer) for answer in answers}
        if self.narrow:
            foils = [f"{self.actions[foil]} {cell}" for foil, cell in sorted(cells.items())]
            return f"{step}: {self.actions[chosen]}: {', '.join(foils) or 'no other valid action'}"
        others = (cells.get(i, "chosen" if i == chosen else "·") for i in range(len(self.actions)))
        return self._columns([str(step), self.actions[chosen], *others])

    def _columns(self, cells: Sequence[str]) -> str:
        """Align numbers to the right, and the second cell, a word, to the left."""
        aligned = [
            cell.ljust(width) if i == 1 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(cells, self.widths, strict=True))
        ]
        return " ".join(aligned)


def _cell(answer: Answer) -> str:
    if answer.quoted is not None:
        return f"{answer.quoted.distance:.3f}"
    return INFEASIBLE if answer.status is Status.PROVEN_INFEASIBLE else NOT_FOUND


def summary(flips: FlipMap) -> str:
    """Return the steps at which the smallest change is enough, and those at which none is."""
    lines = []
    easiest = flips.easiest()
    if easiest:
        lines.append("The smallest changes:")
        lines += [f"  t = {step}: {answer}" for step, answer in easiest]
    proven = set(flips.proven_unsteerable())
    unsure = [step for step in flips.unsteerable() if step not in proven]
    if proven:
        steps = ", ".join(map(str, sorted(proven)))
        lines.append(f"No command in the search region changes the action (proven) at t = {steps}.")
    if unsure:
        lines.append(f"No command was found that changes the action at t = {', '.join(map(str, unsure))} (not proven).")
    return "\n".join(lines) or "Every step has only one valid action."


def figure_flip_map(flips: FlipMap, path: str | Path | None = None) -> "Figure":
    """Draw how large a change each foil needs at each step: a number and a colour; darker is larger."""
    check_figure(path)
    from matplotlib.colors import LinearSegmentedColormap, Normalize
    from matplotlib.figure import Figure

    num_steps, actions = len(flips.taken), len(flips.actions)
    bands = max(1, -(-num_steps // BAND))
    across = min(num_steps, BAND)
    size = (max(6.4, CELL * across + 2.8), bands * (CELL * actions + 0.55) + 1.4)
    figure = Figure(figsize=size, dpi=150, layout="constrained")
    panels = figure.subplots(bands, 1, squeeze=False)[:, 0]
    largest = max((a.quoted.distance for a in flips.answers if a.quoted is not None), default=1.0)
    colours = LinearSegmentedColormap.from_list("change", ("#fff3c4", "#f6b44b", "#c4572b", "#5b1f45"))
    norm = Normalize(0, largest)
    images = [_draw_band(panel, flips, band * BAND, across, colours, norm) for band, panel in enumerate(panels)]
    panels[-1].set_xlabel("step")
    figure.colorbar(
        images[0], ax=list(panels), label="scaled distance of the command", fraction=0.04, aspect=22, pad=0.01
    )
    figure.suptitle(f"{flips.agent}, asked for {quantities(flips.objectives, flips.command)}", fontsize=11)
    figure.legend(
        handles=_legend(), loc="outside lower center", ncols=5 if across > 14 else 3, frameon=False, fontsize=8
    )
    return save_figure(figure, path)


def _draw_band(axes: "Axes", flips: FlipMap, start: int, across: int, colours: Any, norm: Any) -> Any:
    """Draw the steps from `start` on; all bands are equally wide."""
    from matplotlib.patches import Rectangle

    actions, end = len(flips.actions), min(start + across, len(flips.taken))
    distances = flips.distances().T  # (actions, steps)
    shown = np.full((actions, across), np.nan)
    shown[:, : end - start] = np.where(np.isfinite(distances), distances, np.nan)[:, start:end]
    frame = (start - 0.5, start + across - 0.5, actions - 0.5, -0.5)
    axes.add_patch(Rectangle((start - 0.5, -0.5), end - start, actions, color=INVALID, zorder=0))
    image = axes.imshow(shown, cmap=colours, norm=norm, extent=frame, aspect="auto", zorder=1)
    for answer, step in zip(flips.answers, flips.steps, strict=True):
        if not start <= step < end:
            continue
        text, colour = _figure_cell(answer, norm)
        if not answer.found:
            axes.add_patch(
                Rectangle((step - 0.5, answer.question.foil - 0.5), 1, 1, color=GREY_CELL, linewidth=0, zorder=1)
            )
        axes.text(step, answer.question.foil, text, ha="center", va="center", fontsize=7, color=colour, zorder=3)
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


def _figure_cell(answer: Answer, norm: Any) -> tuple[str, str]:
    """Return the text of a cell, and its colour."""
    if answer.quoted is None:
        return ("∅" if answer.status is Status.PROVEN_INFEASIBLE else "?"), INK
    distance = answer.quoted.distance
    text = "<.01" if distance < 0.005 else f"{distance:.2f}".removeprefix("0")
    return text, "white" if norm(distance) > 0.55 else INK


def _legend() -> list[Any]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    def sign(marker: str, label: str, size: float = 7) -> Line2D:
        return Line2D([], [], linestyle="none", marker=marker, markersize=size, color=INK, label=label)

    return [
        sign("o", "chosen action"),
        sign("$.12$", "smallest change found", 14),
        sign("$\\varnothing$", "proven infeasible"),
        sign("$?$", "none found"),
        Patch(color=INVALID, label="empty: not valid, or not asked"),
    ]
