"""Answers about preferences as pictures: a line of two weights, a triangle of three, bars of more."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from paretofoil.core.answer import Answer
from paretofoil.core.proven_range import ProvenRange
from paretofoil.core.question import Question
from paretofoil.show.landscape_figure import finish, marked, missing_note
from paretofoil.show.margin_line import draw_margin_line, weight_line
from paretofoil.show.palette import INK, ORIGINAL
from paretofoil.show.triangle import draw_triangle, triangle

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BAR = 0.8
"""The share of the room of an objective that its bars take."""


def draw_preferences(axes: "Axes", question: Question, answers: Sequence[Answer], foil: str) -> Any:
    """Draw what suits the number of weights that may change; an image is returned where a colour bar is needed."""
    free, proven = np.flatnonzero(question.high > question.low).tolist(), answers[0].proven_range
    if len(free) == 3:
        return draw_triangle(axes, triangle(question, free, answers), answers, proven)
    if len(free) == 2:
        draw_margin_line(axes, weight_line(question, free[0], free[1], answers), answers, foil)
    else:
        _draw_bars(axes, question, answers, proven)
    return None


def _draw_bars(axes: "Axes", question: Question, answers: Sequence[Answer], proven: ProvenRange | None) -> None:
    """The weights before and after, side by side for each objective; the proven range of the first answer as a line."""
    rows = [(question.command, ORIGINAL), *marked(answers)]
    places, height = np.arange(question.space.size), BAR / len(rows)
    for k, (weights, mark) in enumerate(rows):
        middle = places + (k - (len(rows) - 1) / 2) * height
        hatch: dict[str, Any] = {"hatch": ".."} if k else {}  # to be told apart without colours
        axes.barh(middle, weights, height, color=mark.colour, alpha=0.75, edgecolor="white", label=mark.label, **hatch)
        if k == 1 and proven is not None:
            sides = np.stack([weights - proven.low, proven.high - weights])
            style: dict[str, Any] = {"fmt": "none", "ecolor": INK, "capsize": 3, "linewidth": 1.2}
            axes.errorbar(weights, middle, xerr=np.maximum(sides, 0.0), label="proven range", **style)
    axes.set(yticks=places, yticklabels=question.space.names, xlabel="weight", xlim=(0.0, None))
    axes.invert_yaxis()
    finish(axes, "", [missing_note(answers) if len(rows) > 1 else ""])
