"""Curves over queries: how much more is found, and how much closer, the more may be asked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from paretofoil.show.palette import INK, MARKERS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Curve:
    """One search: by its number of queries the share that it recovers, and its distance over the optimum."""

    label: str
    colour: str
    recovered: Mapping[int, float]
    ratio: Mapping[int, float]
    """Only where something was found."""


def figure_curves(curves: Sequence[Curve]) -> "Figure":
    """Recovery on the left, distance over the optimum on the right; queries on logarithmic axes.

    The first curve, beside which the others stand, is broad, so that it shows beneath those that cover it.
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
    right.set_ylabel("mean distance / proven optimum")
    right.axhline(1.0, color=INK, linewidth=0.8, alpha=0.5)
    for axes in (left, right):
        axes.set_xscale("log")
        axes.set_xlabel("queries for each question")
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside upper center", ncols=4, frameon=False, fontsize=8.5)
    return figure


def _draw(axes: "Axes", curve: Curve, points: Mapping[int, float], broad: bool, label: str | None = None) -> None:
    """With the marker of its colour, so that colour is never the only difference."""
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
