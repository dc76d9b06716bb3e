"""Success rates side by side: a mark with its interval for each series, a band of the figure for each group."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from paretofoil.show.palette import INK, MARKERS
from paretofoil.study.statistics import Proportion

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Series:
    """The rates of one method, by group."""

    label: str
    colour: str
    rates: Mapping[str, Proportion]
    hollow: bool = False
    """Drawn hollow: for figures that others reported."""

    @property
    def marker(self) -> str:
        """Of its colour, so that colour is never the only difference."""
        return MARKERS.get(self.colour, "o")


def figure_rates(
    groups: Sequence[str], series: Sequence[Series], counted: str = "counterfactuals found (% of cases"
) -> "Figure":
    """The first group on top; a group that a series lacks stays empty there."""
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
