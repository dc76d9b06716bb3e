"""The foil margin over one objective of the command: for commands that have a single number, or can change only one."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from paretofoil.core.answer import Answer
from paretofoil.core.command import Objective
from paretofoil.core.question import Question, QuestionBatch
from paretofoil.show.axis import as_shown, axis_label, slice_note
from paretofoil.show.landscape import window
from paretofoil.show.landscape_figure import (
    DOTS,
    draw_change,
    draw_mark,
    finish,
    margin_label,
    marked,
    missing_note,
    wins_label,
)
from paretofoil.show.palette import INK, MARGIN_COLOURS, ORIGINAL

if TYPE_CHECKING:
    from matplotlib.axes import Axes

POINTS = 601


@dataclass(frozen=True, eq=False)
class MarginLine:
    """The margin along one objective; all others are as in the original command."""

    objectives: tuple[Objective, ...]
    command: np.ndarray
    """R_t, the command that was asked about."""
    kappa: float
    axis: int
    x: np.ndarray  # (POINTS,) true values of the objective, increasing
    margins: np.ndarray  # (POINTS,)
    partner: int | None = None
    """The weight that gives what this one gets, of preferences."""

    @property
    def off(self) -> list[int]:
        """The numbers of a command that do not change along the line."""
        return [i for i in range(self.command.size) if i not in (self.axis, self.partner)]

    def place(self, command: np.ndarray) -> np.ndarray:
        """(2,): where a command lies in the picture."""
        value = command[self.axis]
        return np.array([as_shown(self.objectives[self.axis], value), np.interp(value, self.x, self.margins)])


def margin_line(question: Question, axis: int, shown: Sequence[Answer] = ()) -> MarginLine:
    """Query the margin along one objective."""
    [(low, high)] = window(question, [axis], shown)
    x = np.linspace(low, high, POINTS)
    commands = np.repeat(question.command[None], POINTS, axis=0)
    commands[:, axis] = x
    margins = QuestionBatch([question]).margins_at(np.zeros(POINTS, dtype=int), commands, "landscape")
    return MarginLine(question.space.asked_for, question.command, question.kappa, axis, x, margins)


def weight_line(question: Question, axis: int, partner: int, shown: Sequence[Answer] = ()) -> MarginLine:
    """Query the margin along one weight, where another gives what it gets."""
    both = question.command[axis] + question.command[partner]
    [(low, high)] = window(question, [axis], shown)
    x = np.linspace(max(low, both - question.high[partner]), min(high, both - question.low[partner]), POINTS)
    commands = np.repeat(question.command[None], POINTS, axis=0)
    commands[:, axis], commands[:, partner] = x, both - x
    margins = QuestionBatch([question]).margins_at(np.zeros(POINTS, dtype=int), commands, "landscape")
    names = tuple(replace(o, name=f"weight of {o.name}") for o in question.space.asked_for)
    return MarginLine(names, question.command, question.kappa, axis, x, margins, partner)


def draw_margin_line(axes: "Axes", line: MarginLine, answers: Sequence[Answer], foil: str) -> None:
    """The line, where the foil wins, and the change as an arrow."""
    objective = line.objectives[line.axis]
    x = as_shown(objective, line.x)
    axes.plot(x, line.margins, color=MARGIN_COLOURS[0], linewidth=2.2, zorder=3, label="margin")
    axes.axhline(line.kappa, color=INK, linewidth=1.0, linestyle="--", label=f"{line.kappa:g}: the foil wins above")
    axes.margins(x=0, y=0.1)
    bottom, top = axes.get_ylim()
    wins = line.margins >= line.kappa
    shade: dict[str, Any] = {"facecolor": MARGIN_COLOURS[3], "edgecolor": DOTS, "alpha": 0.5, "linewidth": 0}
    axes.fill_between(x, bottom, top, where=wins, hatch="..", label=wins_label(line.kappa), zorder=0, **shade)
    bounds = np.array([[x.min(), bottom], [x.max(), top]])
    found = marked(answers)
    draw_mark(axes, line.place(line.command), ORIGINAL, True, bounds)
    for command, mark in found:
        inside = not (command - line.command)[line.off].any()
        draw_mark(axes, line.place(command), mark, inside, bounds)
    label = axis_label(objective)
    if line.partner is not None:
        label = f"{label} (and of {line.objectives[line.partner].name.removeprefix('weight of ')} what is left)"
    axes.set(xlim=(x.min(), x.max()), ylim=(bottom, top), xlabel=label, ylabel=margin_label(foil))
    if found:
        draw_change(axes, line.place(line.command), line.place(found[0][0]))
    missing = missing_note(answers) if found else ""
    finish(axes, "", [slice_note(line.objectives, line.command, line.command, line.off), missing])
