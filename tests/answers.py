"""Answers written by hand: what they say, show and store is known without any search."""

from typing import Any

import numpy as np

from paretofoil.core.answer import Answer, Status
from paretofoil.core.attainable import Attainable
from paretofoil.core.certificate import Certificate
from paretofoil.core.command import Objective
from paretofoil.core.consequence import Consequence
from paretofoil.core.limit import Stop
from paretofoil.core.proven_range import ProvenRange

TREASURE, TIME = Objective("treasure"), Objective("time", "steps", cost=True)
FUEL = Objective("fuel", cost=True)
ACTIONS = ("up", "down", "left", "right")


def answer(command: Any = None, **changes: Any) -> Answer:
    """Why right, and not down, under 8 treasure and 2 steps? `command` is the one that is quoted; None finds none."""
    quoted = None if command is None else np.array(command, dtype=np.float64)
    found: dict[str, Any] = {
        "command": quoted,
        "distance": None if quoted is None else 0.125,
        "closest": quoted,
        "closest_distance": None if quoted is None else 0.125,
        "margin": None if quoted is None else 0.05,
        "counterfactual_probabilities": None if quoted is None else np.array([0.0, 0.5, 0.0, 0.475]),
    }
    values: dict[str, Any] = {
        "status": Status.NOT_FOUND if quoted is None else Status.FOUND,
        "stop": Stop.COMPLETE,
        "original": [8.0, -2.0],
        "objectives": (TREASURE, TIME),
        "actions": ACTIONS,
        "phrases": tuple(f"gone {action}" for action in ACTIONS),
        "valid_actions": (0, 1, 3),
        "chosen": 3,
        "foil": 1,
        "kappa": 0.05,
        "norm": "l2",
        "probabilities": np.array([0.1, 0.2, 0.0, 0.7]),
        "search": "cf-zoo",
        "seed": 0,
        "queries": {"original": 1, "zoo": 9000},
        "seconds": 0.25,
    }
    values |= found | changes
    original = np.array(values["original"], dtype=np.float64)
    region = {"low": original - 1.0, "high": original + 1.0}
    return Answer(**{**region, **values, "original": original})


def certificate(status: Any = "optimal", lower: float = 0.1241, upper: float = 0.125, **changes: Any) -> Certificate:
    values: dict[str, Any] = {
        "status": status,
        "lower": lower,
        "upper": upper,
        "tolerance": 1e-3,
        "boxes": 7,
        "seconds": 0.5,
        "kappa": 0.05,
        "slack": 1e-4,
        "deviation": 2e-6,
        "pad": 3e-9,
        "norm": "l2",
    }
    return Certificate(**{**values, **changes})


def proven(command: Any = None, **changes: Any) -> Answer:
    """The same, with a proof: that the command is the closest, or that there is none."""
    if command is None:
        proof = certificate("infeasible", np.inf, np.inf)
        outcome, bound = Status.PROVEN_INFEASIBLE, np.inf
    else:
        proof = certificate()
        outcome, bound = Status.PROVEN_CLOSEST, proof.lower
    values = {"status": outcome, "stop": Stop.PROVEN, "certificate": proof, "lower_bound": bound, "search": "exact"}
    return answer(command, **{**values, **changes})


def proven_range(low: Any, high: Any) -> ProvenRange:
    return ProvenRange(np.array(low, dtype=np.float64), np.array(high, dtype=np.float64))


def achieved(*numbers: float, error: Any = None, finished: float = 1.0, repeats: int = 1) -> Consequence:
    """What a command leads to, in five further steps."""
    spread = np.zeros(len(numbers)) if error is None else np.array(error, dtype=np.float64)
    return Consequence(np.array(numbers, dtype=np.float64), spread, 5.0, finished, repeats)


def attainable(command: Any, collected: Any = (0.0, 0.0), missed: float = 0.0, **changes: Any) -> Attainable:
    """What can be had: a command that delivers what it asks for, of 12 that were rolled out."""
    asked = np.add(command, collected)
    values = {"distance": 0.25, "missed": missed, "consequence": achieved(*asked)}
    return Attainable(12, np.array(command, dtype=np.float64), asked, **{**values, **changes})
