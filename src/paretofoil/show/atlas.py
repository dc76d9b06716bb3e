"""Atlases as sentences and as maps."""

from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np

from paretofoil.explanation.atlas import Atlas, AtlasOutcome
from paretofoil.show.influence import tenths
from paretofoil.show.landscape import axis_label
from paretofoil.show.numbers import as_shown, number_of, proven, quantities, short
from paretofoil.show.palette import BLUE, GREEN, GREY, INK, ORANGE, RED, SKY, check_figure, new_figure, save_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = (BLUE, ORANGE, GREEN, RED, "#cc79a7", SKY, "#f0e442", "#7b5ea7", "#a6761d", "#8dd3c7")
"""The colours of the outcomes on the front, in the order of the front. With more outcomes, they repeat."""
OTHER = "#d5d8dc"
"""The colour of all other outcomes."""
LISTED = 12
"""Largest number of outcomes in a legend or table."""


def atlas_sentence(atlas: Atlas) -> str:
    """Return text such as "Under 43.2 to 44.2 % of the commands the episode ends on the front ... (proven)." """
    fixed = np.flatnonzero(atlas.high <= atlas.low)
    asking = quantities([atlas.objectives[i] for i in fixed], atlas.low[fixed]) if len(fixed) else ""
    text = _shares(atlas, f" that ask for {asking}" if asking else "")
    if atlas.samples:
        return f"{text} (95 % intervals of {atlas.samples:,} sampled commands; {nothing_proven(atlas)})."
    _, undecided = tenths(0.0, atlas.undecided)
    open_part = f"; the outcome of {undecided} % of the commands is undecided" if atlas.undecided > 1e-6 else ""
    text = f"{text} ({proven(atlas.assumed)}{open_part})."
    if atlas.sampled is None:
        return text
    samples = f"95 % intervals of {atlas.sampled.samples:,} sampled commands; not proven"
    return f"{text} {_shares(atlas.sampled)} ({samples})."


def _shares(atlas: Atlas, which: str = "") -> str:
    """Return text about the shares of commands that end on the front, deliver, and run into the step limit."""
    front, delivers, unfinished = (
        share_span(atlas, share) for share in (atlas.on_front, atlas.delivers, atlas.unfinished)
    )
    parts = [
        f"Under {front} of the commands{which} the episode ends on the front of {atlas.agent}",
        f"under {delivers} it achieves at least what was asked for",
    ]
    if atlas.unfinished and not all_unfinished(atlas):
        parts.append(f"under {unfinished} it lasts until the step limit")
    return f"{', '.join(parts[:-1])}, and {parts[-1]}"


def nothing_proven(atlas: Atlas) -> str:
    """Return "nothing is proven", with the difference up to which returns count as equal, if it is not 0."""
    equal = f"; returns that differ by at most {short(100 * atlas.tolerance)} % of the range count as equal"
    return f"nothing is proven{equal if atlas.tolerance else ''}"


def outcome_text(atlas: Atlas, outcome: AtlasOutcome) -> str:
    """Return the outcome as text: "50 treasure in 14 steps", "2 A and 1 B (step limit)"."""
    objectives = atlas.objectives[: len(outcome.achieved)]
    limit = "" if outcome.finished or all_unfinished(atlas) else " (step limit)"
    return f"{quantities(objectives, outcome.achieved)}{limit}"


def share_span(atlas: Atlas, share: float) -> str:
    """Return the bounds of a share in percent, rounded outwards: "43.2 to 44.2 %"."""
    return span_text(*atlas.interval(share))


def span_text(least: float, most: float) -> str:
    """Return two shares in percent, rounded outwards: "43.2 to 44.2 %"."""
    low, high = tenths(least, most)
    return f"{low} %" if low == high else f"{low} to {high} %"


def figure_atlas(atlas: Atlas, path: str | Path | None = None) -> "Figure":
    """Draw the outcome of each command: coloured if it is on the front, else grey; undecided commands are black."""
    check_figure(path)
    from matplotlib.patches import Patch

    figure = new_figure(9.4, 5.6)
    if atlas.samples or atlas.boxes is not None:
        draw_frequent(figure.subplots(), atlas)
        sampled = f"the outcomes of {number_of(atlas.samples, 'sampled command')}"
        _set_titles(figure, f"{atlas.agent}: {sampled if atlas.samples else 'the outcomes of all commands'}", atlas)
        return save_figure(figure, path)
    draw_map(figure.subplots(), atlas)
    handles = [Patch(color=colour, label=label) for colour, label in map_legend(atlas)]
    figure.legend(handles=handles, loc="outside right upper", frameon=False, fontsize=8, title="outcome (commands)")
    _set_titles(figure, f"{atlas.agent}: the outcome of each command", atlas)
    return save_figure(figure, path)


def draw_map(axes: "Axes", atlas: Atlas) -> None:
    """Draw the outcome of each command in the colours of `map_legend`."""
    colours = _front_colours(atlas)
    of_outcomes = np.array([colours.get(number, OTHER) for number in range(len(atlas.outcomes))] + [INK])
    draw_cells(axes, atlas, atlas.cells, of_outcomes[atlas.outcome_of])
    set_ranges(axes, atlas)


def map_legend(atlas: Atlas) -> list[tuple[str, str]]:
    """Return the colours of a map of outcomes, with their labels."""
    listed = [(colour, atlas.outcomes[number]) for number, colour in _front_colours(atlas).items()][:LISTED]
    legend = [(colour, f"{outcome_text(atlas, one)} ({100 * one.share:.1f} %)") for colour, one in listed]
    legend.append((OTHER, "other outcomes"))
    return [*legend, (INK, "undecided")] if atlas.undecided > 1e-6 else legend


def _front_colours(atlas: Atlas) -> dict[int, str]:
    """Return the colour of each outcome on the front by the number of the outcome, in the order of the front."""
    on_front = [number for number, outcome in enumerate(atlas.outcomes) if outcome.on_front]
    on_front.sort(key=lambda number: tuple(atlas.outcomes[number].achieved))
    return {number: COLOURS[i % len(COLOURS)] for i, number in enumerate(on_front)}


def draw_cells(axes: "Axes", atlas: Atlas, cells: np.ndarray, colours: np.ndarray) -> None:
    """Draw polygons (N, 12, 2) of commands in their colours (N,): one shape for each colour, the black one on top."""
    from matplotlib.collections import PathCollection
    from matplotlib.path import Path as Outline

    shown = [as_shown(atlas.objectives[which], cells[:, :, i]) for i, which in enumerate(_varied(atlas))]
    corners = np.stack(shown, axis=2)
    for colour in sorted(set(colours.tolist()), key=lambda colour: colour == INK):
        loops = merge_cells(corners[colours == colour])
        codes = [
            np.repeat([Outline.MOVETO, Outline.LINETO, Outline.CLOSEPOLY], [1, len(loop) - 2, 1]) for loop in loops
        ]
        outline = Outline(np.concatenate(loops), np.concatenate(codes))
        shape = PathCollection([outline], facecolors=colour, linewidths=0.0, antialiaseds=colour == INK)
        axes.add_collection(shape, autolim=False)


def merge_cells(cells: np.ndarray) -> list[np.ndarray]:
    """Return closed loops (n, 2) around the union of polygons (N, 12, 2) of one orientation.

    Edges that two polygons share in opposite directions are left out. The other edges form closed loops, which contain
    the same points as the polygons.
    """
    points, number = np.unique(cells @ [1.0, 1.0j], return_inverse=True)
    start = number.reshape(cells.shape[:2])
    edges = np.stack([start, np.roll(start, -1, axis=1)], axis=2).reshape(-1, 2)
    edges = edges[edges[:, 0] != edges[:, 1]]
    forward, backward = edges @ [len(points), 1], edges @ [1, len(points)]
    following: dict[int, list[int]] = {}
    for first, second in edges[~np.isin(forward, backward)].tolist():
        following.setdefault(first, []).append(second)
    loops = []
    while following:
        loop = [next(iter(following))]
        while (ends := following.get(loop[-1])) is not None:
            loop.append(ends.pop())
            if not ends:
                del following[loop[-2]]
        loops.append(np.stack([points[loop].real, points[loop].imag], axis=1))
    return loops


def set_ranges(axes: "Axes", atlas: Atlas) -> None:
    """Set the ranges and labels of the two axes of a map of commands."""
    for which, side in zip(_varied(atlas), ("x", "y"), strict=True):
        ends = np.sort(as_shown(atlas.objectives[which], np.array([atlas.low[which], atlas.high[which]])))
        getattr(axes, f"set_{side}lim")(*ends)
        getattr(axes, f"set_{side}label")(axis_label(atlas.objectives[which]))


def _varied(atlas: Atlas) -> list[int]:
    """Return the objectives in which the commands of an atlas differ."""
    return np.flatnonzero(atlas.high > atlas.low).tolist()


def draw_frequent(axes: "Axes", atlas: Atlas) -> None:
    """Draw the shares of the most frequent outcomes as bars with their bounds, and those of samples as points."""
    outcomes = atlas.outcomes[:LISTED]
    places = np.arange(len(outcomes))
    colours = [BLUE if outcome.on_front else OTHER for outcome in outcomes]
    shares, errors = _with_errors(atlas, [outcome.share for outcome in outcomes])
    axes.barh(places, shares, xerr=errors, color=colours, ecolor=INK, capsize=2)
    if atlas.sampled is not None:
        share_of = {(*o.achieved, o.finished): o.share for o in atlas.sampled.outcomes}
        sampled = [share_of.get((*o.achieved, o.finished), 0.0) for o in outcomes]
        shares, errors = _with_errors(atlas.sampled, sampled)
        axes.errorbar(shares, places + 0.25, xerr=errors, fmt="o", color=ORANGE, markersize=4, capsize=2)
    axes.set_yticks(places, [outcome_text(atlas, outcome) for outcome in outcomes])
    axes.invert_yaxis()
    if atlas.samples:
        axes.set_xlabel("share of the sampled commands (%)\nwith 95 % intervals; blue: on the front")
    else:
        also = "" if atlas.sampled is None else "\npoints: of sampled commands, with 95 % intervals"
        axes.set_xlabel(f"proven share of the commands (%), with its upper bound; blue: on the front{also}")


def _with_errors(atlas: Atlas, shares: list[float]) -> tuple[np.ndarray, np.ndarray]:
    """Return shares in percent, and the distances of their bounds."""
    bounds = np.array([atlas.interval(share) for share in shares])
    return 100 * np.array(shares), 100 * np.abs(bounds.T - shares)


def _set_titles(figure: "Figure", title: str, atlas: Atlas) -> None:
    figure.suptitle(title, fontsize=11)
    figure.axes[0].set_title(fill(atlas_sentence(atlas), 100), fontsize=8, color=GREY)


def all_unfinished(atlas: Atlas) -> bool:
    """Return whether no episode ends before the step limit."""
    return not any(outcome.finished for outcome in atlas.outcomes)
