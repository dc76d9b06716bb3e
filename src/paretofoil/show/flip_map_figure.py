"""Flip maps as a picture: time across, foils down, coloured by how far the command must move."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from paretofoil.core.answer import Outcome
from paretofoil.explanation.flip_map import FlipMap
from paretofoil.show.palette import INK
from paretofoil.show.quantity import values

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LEGEND = "● chosen   ∅ proven impossible   ? not found   grey: not a valid action"


def figure_flip_map(flips: FlipMap, path: str | Path | None = None) -> "Figure":
    """Time across, foils down: how far the command must move for each, and what cannot be reached."""
    from matplotlib.figure import Figure

    distances = flips.distances().T  # (actions, moments)
    names = flips.actions
    figure = Figure(
        figsize=(max(6.0, 0.42 * distances.shape[1] + 2.5), 0.62 * distances.shape[0] + 1.9),
        dpi=150,
        layout="constrained",
    )
    axes = figure.subplots()
    shown = np.where(np.isfinite(distances), distances, np.nan)
    image = axes.imshow(shown, cmap="viridis_r", vmin=0, aspect="auto")
    for found, time in zip(flips.answers, flips.times, strict=True):
        if found.found:
            dark = found.distance > 0.55 * np.nanmax(shown)
            text, colour = f"{found.distance:.2g}", "white" if dark else INK
        else:
            text, colour = ("∅" if found.outcome is Outcome.PROVEN_INFEASIBLE else "?"), INK
        axes.text(time, found.foil, text, ha="center", va="center", fontsize=7, color=colour)
    axes.plot(range(len(flips.taken)), flips.taken, "o", color=INK, markersize=6, label="chosen")
    axes.set_yticks(range(len(names)), names)
    axes.set_xticks(range(distances.shape[1]))
    axes.set_xlabel(f"time step\n{LEGEND}", fontsize=8)
    axes.set_title(f"{flips.agent}, asked for {values(flips.objectives, flips.command)}", fontsize=10)
    axes.set_xticks(np.arange(distances.shape[1] + 1) - 0.5, minor=True)
    axes.set_yticks(np.arange(distances.shape[0] + 1) - 0.5, minor=True)
    axes.grid(which="minor", color="white", linewidth=1.5)
    axes.tick_params(which="minor", length=0)
    axes.set_facecolor("#ececec")
    figure.colorbar(image, ax=axes, label="scaled change of the command", fraction=0.04)
    if path is not None:
        figure.savefig(path)
    return figure
