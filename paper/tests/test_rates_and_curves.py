"""Figures of rates, curves and gradients: each series can be distinguished without colours."""

import numpy as np
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from paretofoil.core.command import CommandSpace, Objective
from paretofoil.core.question import Question
from paretofoil.show.landscape import draw_landscape, landscape
from paretofoil.show.palette import GREEN, INK
from paretofoil.study.statistics import Proportion
from paretofoil_paper.comparison import SERIES
from paretofoil_paper.figures import Curve, Series, figure_curves, figure_rates
from paretofoil_paper.landscapes import _draw_gradient


def test_no_two_series_of_the_comparison_share_their_marker_and_filling():
    series = [Series(label, colour, {"all": Proportion(3, 10)}) for label, colour in SERIES.values()]
    series += [Series("paper", SERIES["exact"][1], {"all": Proportion(4, 10)}, hollow=True)]
    lines = [bars.lines[0] for bars in figure_rates(["all"], series).axes[0].containers]  # type: ignore[attr-defined]
    looks = [(line.get_marker(), line.get_markerfacecolor() == "white") for line in lines]
    assert len(set(looks)) == len(series)


def test_curves_show_what_was_measured_with_a_marker_of_their_own_each():
    curves = [
        Curve(label, colour, {100: 0.25, 300: 0.5}, {300: 1.5})  # at 100 nothing has an optimum
        for label, colour in (("a", GREEN), ("b", INK))
    ]
    left, right = figure_curves(curves).axes
    assert [line.get_ydata().tolist() for line in left.lines] == [[25, 50]] * 2
    assert [line.get_xdata().tolist() for line in right.lines[:2]] == [[300]] * 2
    assert len({line.get_marker() for line in left.lines}) == 2
    assert [line.get_label() for line in left.lines] == ["a", "b"]


class Plane:
    """The foil wins where 10 share + time > 0."""

    def log_probs(self, states: np.ndarray, commands: np.ndarray) -> np.ndarray:
        return np.stack([np.zeros(len(commands)), commands @ np.array([10.0, 1.0])], axis=1)


def test_the_gradient_points_to_where_the_margin_grows_in_the_users_sign():
    space = CommandSpace([0.0, -10.0], [1.0, 0.0], [Objective("share"), Objective("time", "steps", cost=True)])
    question = Question(Plane(), np.zeros(1), np.array([0.2, -6.0]), 1, (0, 1), space)
    axes, land = Figure().subplots(), landscape(question)
    draw_landscape(axes, land)
    before = len(axes.collections)
    _draw_gradient(axes, question, land)
    everywhere, at_original = axes.collections[before:]
    for arrows in (everywhere, at_original):
        assert (np.asarray(arrows.U) > 0).all()  # type: ignore[attr-defined]  # more share
        assert (np.asarray(arrows.V) < 0).all()  # type: ignore[attr-defined]  # fewer steps
    assert to_hex(at_original.get_facecolor()[0]) != INK
    assert "direction in which the margin grows" in axes.get_legend_handles_labels()[1]
