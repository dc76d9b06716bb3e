"""Draw the figures of the results pages: success rates with intervals, and curves over the number of queries."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from paretofoil.show.palette import INK, MARKERS
from paretofoil.study.statistics import Proportion

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Series:
    """The rates of one method, by group."""

    label: str
    colour: str
    rates: Mapping[str, Proportion]
    hollow: bool = False
    """Draw hollow markers: for figures that others reported."""

    @property
    def marker(self) -> str:
        """The marker of the colour, so that series differ in more than colour."""
        return MARKERS.get(self.colour, "o")


def figure_rates(groups: Sequence[str], series: Sequence[Series], counted: str = "solved cases (% of all") -> "Figure":
    """Draw rates with intervals, the first group on top; a series may lack a group."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.2, 0.9 + len(groups) * (0.15 * len(series) + 0.2)), dpi=130, layout="constrained")
    axes = figure.subplots()
    step = 0.8 / len(series)
    for number, one in enumerate(series):
        known = [(i, one.rates[g]) for i, g in enumerate(groups) if g in one.rates and one.rates[g].cases]
        places = [i - 0.4 + step * (number + 0.5) for i, _ in known]
        rates = [100 * rate.rate for _, rate in known]
        reach = [[100 * abs(rate.rate - rate.interval[side]) for _, rate in known] for side in (0, 1)]
        inside = "white" if one.hollow else one.colour
        style: dict[str, Any] = {"fmt": one.marker, "color": one.colour, "elinewidth": 1.2}
        bars = axes.errorbar(rates, places, xerr=reach, label=one.label, **style)
        bars.lines[0].set(markerfacecolor=inside, markersize=10 if one.marker == "*" else 7, markeredgewidth=1.1)
    for i in range(0, len(groups), 2):
        axes.axhspan(i - 0.5, i + 0.5, color=INK, alpha=0.05, linewidth=0)
    axes.set_yticks(range(len(groups)), groups)
    axes.set_ylim(len(groups) - 0.5, -0.5)
    axes.set_xlim(-2, 102)
    axes.set_xlabel(f"{counted}, with 95 % Wilson intervals)")
    axes.grid(axis="x", alpha=0.3)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    figure.legend(loc="outside upper center", ncols=min(len(series), 4), frameon=False, fontsize=8.5)
    return figure


@dataclass(frozen=True)
class Curve:
    """Recovery and relative distance of one search, by the number of queries."""

    label: str
    colour: str
    recovered: Mapping[int, float]
    ratio: Mapping[int, float]
    """Distance / proven optimum; only where at least one case was solved."""


def figure_curves(curves: Sequence[Curve]) -> "Figure":
    """Draw recovery on the left and relative distance on the right, over a logarithmic axis of queries.

    The first curve is the reference: it is broad, so that it stays visible below the others.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.6, 4.4), dpi=130, layout="constrained")
    left, right = figure.subplots(1, 2)
    for curve in curves:
        broad = curve is curves[0]
        _draw(left, curve, {queries: 100 * share for queries, share in curve.recovered.items()}, broad, curve.label)
        _draw(right, curve, curve.ratio, broad)
    left.set_ylabel("recovered (% of known-feasible cases)")
    left.set_ylim(top=102)
    right.set_ylabel("median distance / proven optimum")
    right.axhline(1.0, color=INK, linewidth=0.8, alpha=0.5)
    for axes in (left, right):
        axes.set_xscale("log")
        axes.set_xlabel("queries per question")
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside upper center", ncols=4, frameon=False, fontsize=8.5)
    return figure


def _draw(axes: "Axes", curve: Curve, points: Mapping[int, float], broad: bool, label: str | None = None) -> None:
    """Draw one curve with the marker of its colour."""
    axes.plot(
        list(points),
        list(points.values()),
        color=curve.colour,
        marker=MARKERS.get(curve.colour, "o"),
        markersize=10 if broad else 6,
        linewidth=5 if broad else 1.3,
        alpha=0.4 if broad else 1.0,
        label=label,
    )
