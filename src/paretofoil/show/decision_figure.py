"""One decision as a picture: the environment in that state, and the landscape of the foil."""

from collections.abc import Sequence
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

from paretofoil.core.answer import Answer
from paretofoil.core.errors import InvalidInput
from paretofoil.show.landscape import draw_landscape, landscape, two_objectives

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def figure_decision(
    answers: Answer | Sequence[Answer],
    path: str | Path | None = None,
    *,
    axes: tuple[str | int, str | int] | None = None,
) -> "Figure":
    """Draw an answer, or several to the same question, on the landscape of the foil; the scene is beside it.

    The axes are two objectives by name or number; by default those that the first answer changes most.
    """
    from matplotlib.figure import Figure

    shown = [answers] if isinstance(answers, Answer) else list(answers)
    found = shown[0]
    if found.asked is None:
        raise InvalidInput.expected("an answer of this process (it knows its question)", "one read from JSON")
    question, scene = found.asked.question, found.asked.scene
    first, second = two_objectives(question, shown) if axes is None else map(question.space.index, axes)
    land = landscape(question, first, second, shown=shown)
    figure = Figure(figsize=(11 if scene is not None else 6.4, 5.4), dpi=150, layout="constrained")
    if scene is None:
        panel = figure.subplots()
    else:
        beside, panel = figure.subplots(1, 2, width_ratios=[1, 1.15])
        beside.imshow(scene())
        beside.set_axis_off()
        chosen, foil = found.actions[found.chosen], found.actions[found.foil]
        beside.set_title(f"{found.agent}, t = {found.time}: why {chosen}, and not {foil}?", fontsize=10)
    image = draw_landscape(panel, land, shown, proven_range=found.proven_range)
    figure.colorbar(image, ax=panel, label=f"margin of {found.actions[found.foil]}", fraction=0.046, extend="both")
    figure.suptitle(fill(str(found), 110 if scene is not None else 66), fontsize=11)
    if path is not None:
        figure.savefig(path)
    return figure
