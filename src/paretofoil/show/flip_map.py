"""Flip maps as lines of a table, as sentences and as a figure."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from paretofoil.core.answer import Answer, Status
from paretofoil.explanation.flip_map import FlipMap, format_amounts
from paretofoil.show.numbers import join, name_of, only_features, proven, quantities, unchanged_steps
from paretofoil.show.palette import INK, check_figure, save_figure, step_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


NOT_FOUND, INFEASIBLE = "not found", "infeasible"
CELL = 0.4
"""The side of a cell, in inches."""
GREY_CELL, INVALID = "#d3d3d8", "#f4f4f6"
"""The colours of cells without a counterfactual, and of cells without a question."""


@dataclass(frozen=True)
class FlipMapLines:
    """Formats the lines of a table one by one, each as soon as its step is computed.

    A line is about one step: it has the chosen action, and the scaled distance for each foil.
    """

    actions: tuple[str, ...]
    num_steps: int
    room: int | None = None
    """The width of the terminal; None if there is no limit."""

    @property
    def widths(self) -> list[int]:
        number, longest = len(str(self.num_steps - 1)), max(map(len, self.actions))
        return [number, max(longest, len("chosen")), *(max(len(name), len(INFEASIBLE)) for name in self.actions)]

    @property
    def narrow(self) -> bool:
        """Whether the columns do not fit. Then each line names its foils instead."""
        return self.room is not None and sum(self.widths) + len(self.widths) - 1 > self.room

    @property
    def head(self) -> str:
        return "t: chosen: foils" if self.narrow else self._columns(["t", "chosen", *self.actions])

    def line(self, step: int, chosen: int | Sequence[float], answers: Sequence[Answer]) -> str:
        """Return the line of one step, given its action or amounts, and the answers for all its foils."""
        cells = {a.question.column: _cell(a) for a in answers if a.question.column is not None}
        action = self.actions[chosen] if isinstance(chosen, int) else format_amounts(chosen)
        if self.narrow:
            foils = [f"{self.actions[foil]} {cell}" for foil, cell in sorted(cells.items())]
            return f"{step}: {action}: {', '.join(foils) or 'no other valid action'}"
        others = (cells.get(i, "chosen" if i == chosen else "·") for i in range(len(self.actions)))
        return self._columns([str(step), action, *others])

    def _columns(self, cells: Sequence[str]) -> str:
        """Return cells as a line: the second cell, a word, is aligned to the left, all others to the right."""
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
    """Return the steps with the smallest changes, and the steps at which no command changes the action."""
    lines = []
    easiest = flips.easiest()
    if easiest:
        lines.append("The smallest changes:")
        lines += [f"  t = {step}: {answer}" for step, answer in easiest]
    proven_steps = flips.proven_unsteerable()
    other_steps = [step for step in flips.unsteerable() if step not in proven_steps]
    answers = [answer for answer, step in zip(flips.answers, flips.steps, strict=True) if step in proven_steps]
    assumed = max((answer.proof.assumed for answer in answers if answer.proof is not None), default=0.0)
    how = proven(assumed, max((answer.question.kappa for answer in answers), default=0.0))
    preferences = any(answer.question.preferences for answer in flips.answers)
    lines += unchanged_steps(proven_steps, how, other_steps, preferences, flips.objectives)
    return "\n".join(lines) or "Every step has only one valid action."


def figure_flip_map(flips: FlipMap, path: str | Path | None = None) -> "Figure":
    """Draw the change that each foil needs at each step, as a number and a colour that is darker for larger changes."""
    check_figure(path)
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import LinearSegmentedColormap, Normalize
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    signs = [("o", 7, "chosen action")] if flips.taken else []
    signs += [("$.12$", 14, "smallest change found")]
    signs += [("$\\varnothing$", 7, "proven infeasible"), ("$?$", 7, "none found")]
    marker: dict[str, Any] = {"linestyle": "none", "color": INK}
    handles: list[Any] = [Line2D([], [], marker=m, markersize=size, label=label, **marker) for m, size, label in signs]
    handles.append(Patch(color=INVALID, label="empty: not valid, or not asked"))
    largest = max((a.quoted.distance for a in flips.answers if a.quoted is not None), default=1.0)
    colours = LinearSegmentedColormap.from_list("change", ("#fff3c4", "#f6b44b", "#c4572b", "#5b1f45"))
    scale = ScalarMappable(Normalize(0, largest), colours)
    title = f"{flips.agent}, asked for {quantities(flips.objectives, flips.command)}"
    label = "scaled distance"
    if only_features(flips.objectives):
        title, label = f"changes of {join([name_of(o) for o in flips.objectives])}", "scaled change of the features"
    height = CELL * len(flips.actions) + 0.55
    figure, panels = step_figure(flips.num_steps, title, handles, cell=CELL, margin=2.8, height=height)
    for panel, steps in panels:
        _draw_band(panel, flips, steps, len(panels[0][1]), scale)
    if flips.amounts:
        panels[-1][0].set_xlabel("step, and the amounts that were chosen")
    figure.colorbar(scale, ax=[panel for panel, _ in panels], label=label, fraction=0.04, aspect=22, pad=0.01)
    return save_figure(figure, path)


def _draw_band(axes: "Axes", flips: FlipMap, steps: range, across: int, scale: Any) -> None:
    """Draw a band of steps, as wide as `across` steps."""
    from matplotlib.colors import to_rgba

    cells = np.zeros((len(flips.actions), across, 4))  # transparent after the last step
    cells[:, : len(steps)] = to_rgba(INVALID)
    for answer, step in zip(flips.answers, flips.steps, strict=True):
        foil, place, ink = answer.question.column, step - steps.start, INK
        if step not in steps or foil is None:
            continue
        if answer.quoted is None:
            cells[foil, place], text = to_rgba(GREY_CELL), "∅" if answer.status is Status.PROVEN_INFEASIBLE else "?"
        else:
            distance = answer.quoted.distance
            cells[foil, place] = scale.to_rgba(distance)
            text = "<.01" if distance < 0.005 else f"{distance:.2f}".removeprefix("0")
            ink = "white" if scale.norm(distance) > 0.55 else INK
        axes.text(place, foil, text, ha="center", va="center", fontsize=7, color=ink)
    axes.imshow(cells, aspect="auto")
    if flips.taken:
        axes.plot(range(len(steps)), flips.taken[steps.start : steps.stop], "o", color=INK, markersize=6)
    below = ["\n".join(f"{amount:.3g}" for amount in flips.amounts[step]) if flips.amounts else "" for step in steps]
    axes.set_xticks(range(len(steps)), [f"{step}\n{text}".rstrip() for step, text in zip(steps, below, strict=True)])
    axes.set_yticks(range(len(flips.actions)), flips.actions)
    axes.set_xticks(np.arange(len(steps) + 1) - 0.5, minor=True)
    axes.set_yticks(np.arange(len(flips.actions) + 1) - 0.5, minor=True)
    axes.grid(which="minor", color="white", linewidth=1.5)
    axes.tick_params(which="both", length=0, labelsize=8)
    axes.spines[:].set_visible(False)
