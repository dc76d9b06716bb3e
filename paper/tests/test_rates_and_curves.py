"""Figures of rates and curves: each series can be told apart without colours."""

from paretofoil.show.palette import GREEN, INK
from paretofoil.study.statistics import Proportion
from paretofoil_paper.comparison import COLOURS
from paretofoil_paper.figures import Curve, Series, figure_curves, figure_rates


def test_no_two_series_of_the_comparison_share_their_marker_and_filling():
    series = [Series(label, colour, {"all": Proportion(3, 10)}) for label, colour in COLOURS.items()]
    series += [Series("paper", COLOURS["cf-zoo"], {"all": Proportion(4, 10)}, hollow=True)]
    lines = [bars.lines[0] for bars in figure_rates(["all"], series).axes[0].containers]
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
