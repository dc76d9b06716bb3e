"""Objectives on axes: costs as the positive sizes that users think of, with their units."""

from collections.abc import Sequence

import numpy as np

from paretofoil.core.command import Objective
from paretofoil.show.quantity import counted, short


def as_shown(objective: Objective, numbers: np.ndarray) -> np.ndarray:
    """Returns of one objective in the user's sign: -2 of a cost is 2."""
    return 0.0 - numbers if objective.cost else numbers  # not -numbers: an axis that begins at -0 would say so


def axis_label(objective: Objective) -> str:
    """ "time (steps)", "treasure"."""
    return f"{objective.name} ({objective.unit})" if objective.unit else objective.name


def setting(objective: Objective, number: float) -> str:
    """ "time = 2 steps"."""
    shown = short(float(as_shown(objective, np.array(number))))
    return f"{objective.name} = {counted(objective, shown)}"


def slice_note(objectives: Sequence[Objective], through: np.ndarray, original: np.ndarray, off: Sequence[int]) -> str:
    """What a picture over some objectives holds fixed: "slice at ore 1 = 1.22, the original's"."""
    if not off:
        return ""
    fixed = ", ".join(setting(objectives[i], float(through[i])) for i in off)
    moved = [i for i in off if through[i] != original[i]]
    if not moved:
        return f"slice at {fixed}, the original's"
    before = ", ".join(setting(objectives[i], float(original[i])) for i in moved)
    return f"slice at {fixed}, the answer's (the original has {before})"
