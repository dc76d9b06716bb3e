"""Influence written by hand, for tests of sentences, figures and files."""

from typing import Any

import numpy as np
from answers import ACTIONS, TIME, TREASURE

from paretofoil.core.influence import Influence, InfluenceProfile, Nearest, Scores, Share, SingleObjective, Switch
from paretofoil.core.options import Stop


def influence(**changes: Any) -> Influence:
    """Return the influence of a decision for right under 8 treasure and 2 steps; other commands give down, none up."""
    values: dict[str, Any] = {
        "agent": "mine",
        "step": 4,
        "objectives": (TREASURE, TIME),
        "actions": ACTIONS,
        "chosen": 3,
        "command": np.array([8.0, -2.0]),
        "low": np.array([1.0, -40.0]),
        "high": np.array([124.0, -1.0]),
        "shares": (
            Share(0, 0.0, 0.0, 0, 0.0, 0.0004),
            Share(1, 0.371, 0.379, 3750, 0.3655, 0.3846),
            Share(3, 0.621, 0.629, 6250, 0.6154, 0.6345),
        ),
        "samples": 10_000,
        "inert": False,
        "proven": True,
        "alone": (
            SingleObjective(0, 0.301, 0.302, 0.3018, Switch(5.2, 1), None),
            SingleObjective(1, 0.0, 0.0, 0.0, None, None),
        ),
        "nearest": Nearest(np.array([5.5, -2.1]), 1, 0.0203),
        "scores": Scores(0.4, 0.3, 0.1, 0.35, 298),
        "stop": Stop.PROVEN,
        "boxes": 75,
        "slack": 1e-5,
        "deviation": 2e-6,
        "seconds": 0.1,
    }
    return Influence(**({"assumed": 0.0} | values | changes))


def inert(**changes: Any) -> Influence:
    shares = (Share(1, 0.0, 0.0, 0, 0.0, 0.0004), Share(3, 1.0, 1.0, 10_000, 0.9996, 1.0))
    still = tuple(SingleObjective(i, 0.0, 0.0, 0.0, None, None) for i in range(2))
    values = {
        "shares": shares,
        "inert": True,
        "alone": still,
        "nearest": None,
        "scores": Scores(0.0, 0.0, 0.0, 0.0, 298),
    }
    return influence(**(values | changes))


def black_box(**changes: Any) -> Influence:
    """Return the same for a black-box policy."""
    shares = (Share(1, 0.0, 1.0, 3750, 0.3655, 0.3846), Share(3, 0.0, 1.0, 6250, 0.6154, 0.6345))
    return influence(**({"shares": shares, "proven": False, "alone": (), "stop": Stop.COMPLETE} | changes))


def profile(*moments: Influence) -> InfluenceProfile:
    eight = np.array([8.0, -8.0])
    told = moments or (influence(step=0), inert(step=1), black_box(step=2))
    return InfluenceProfile("mine", (TREASURE, TIME), ACTIONS, eight, eight, told)
