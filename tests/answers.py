"""Answers written by hand, for tests of sentences, figures and files."""

from dataclasses import replace
from typing import Any

import numpy as np

from paretofoil.core.answer import (
    Answer,
    Attainable,
    Certificate,
    Consequence,
    Counterfactual,
    ProvenRange,
    QuestionRecord,
    Rollouts,
    SearchRecord,
    Status,
)
from paretofoil.core.command import Objective
from paretofoil.core.options import Stop

TREASURE, TIME = Objective("treasure"), Objective("time", "steps", cost=True)
FUEL = Objective("fuel", cost=True)
ACTIONS = ("up", "down", "left", "right")


_PARTS: dict[str, tuple[str, str]] = {
    "original": ("question", "command"),
    **{name: ("question", name) for name in QuestionRecord.__dataclass_fields__ if name not in ("command",)},
    **{name: ("search", name) for name in ("seed", "stop", "queries", "seconds")},
    "search": ("search", "name"),
    "closest": ("closest", "command"),
    "closest_distance": ("closest", "distance"),
    "command": ("quoted", "command"),
    "distance": ("quoted", "distance"),
    "margin": ("quoted", "margin"),
    "counterfactual_probabilities": ("quoted", "probabilities"),
    "counterfactual_values": ("quoted", "values"),
    "consequence": ("rollouts", "quoted"),
    "original_consequence": ("rollouts", "original"),
    "start": ("rollouts", "start"),
    "attainable": ("rollouts", "attainable"),
    "scene": ("live", "scene"),
}
"""The part and the field of an answer for each argument of `answer` and `changed`."""


def answer(command: Any = None, **changes: Any) -> Answer:
    """Return an answer for right, not down, under 8 treasure and 2 steps; without `command` nothing was found."""
    original = np.array(changes.pop("original", [8.0, -2.0]), dtype=np.float64)
    quoted = None
    if command is not None:
        shares = np.array([0.0, 0.5, 0.0, 0.475])
        quoted = Counterfactual(np.array(command, dtype=np.float64), 0.125, 0.05, shares)
    question = QuestionRecord(
        command=original,
        objectives=(TREASURE, TIME),
        actions=ACTIONS,
        phrases=tuple(f"gone {action}" for action in ACTIONS),
        valid_actions=(0, 1, 3),
        chosen=3,
        foil=1,
        kappa=0.05,
        norm="l2",
        probabilities=np.array([0.1, 0.2, 0.0, 0.7]),
        low=original - 1.0,
        high=original + 1.0,
    )
    search = SearchRecord("cf-zoo", 0, Stop.COMPLETE, {"original": 1, "zoo": 9000}, 0.25)
    status = Status.NOT_FOUND if quoted is None else Status.FOUND
    return changed(Answer(status, question, search, quoted, quoted), **changes)


def changed(answer: Answer, **changes: Any) -> Answer:
    """Return the answer with other values, given by the names in `_PARTS`, or other parts."""
    inner: dict[str, dict[str, Any]] = {}
    outer: dict[str, Any] = {}
    for name, value in changes.items():
        if name in _PARTS:
            part, entry = _PARTS[name]
            inner.setdefault(part, {})[entry] = np.array(value) if name in ("low", "high") else value
        else:
            outer[name] = value
    for part, values in inner.items():
        if values.get("command", values) is None:  # no counterfactual at all
            outer[part] = None
            continue
        before = getattr(answer, part)
        outer[part] = replace(Rollouts() if before is None and part == "rollouts" else before, **values)
    return replace(answer, **outer)


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
    return Certificate(**{**values, "rounding": "derived", **changes})


def proven(command: Any = None, **changes: Any) -> Answer:
    """Return the same answer with a proof that the command is the closest, or that there is none."""
    if command is None:
        status, proof = Status.PROVEN_INFEASIBLE, certificate("infeasible", np.inf, np.inf)
    else:
        status, proof = Status.PROVEN_CLOSEST, certificate()
    values = {"status": status, "stop": Stop.PROVEN, "proof": proof, "search": "exact"}
    return answer(command, **{**values, **changes})


def proven_range(low: Any, high: Any) -> ProvenRange:
    return ProvenRange(np.array(low, dtype=np.float64), np.array(high, dtype=np.float64))


def achieved(*numbers: float, error: Any = None, finished: float = 1.0, repeats: int = 1) -> Consequence:
    """Return the outcome of a rollout of five steps."""
    spread = np.zeros(len(numbers)) if error is None else np.array(error, dtype=np.float64)
    return Consequence(np.array(numbers, dtype=np.float64), spread, 5.0, finished, repeats)


def attainable(command: Any, collected: Any = (0.0, 0.0), missed: float = 0.0, **changes: Any) -> Attainable:
    """Return an attainable command, the only one of 12 rollouts."""
    asked = np.add(command, collected)
    values = {"distance": 0.25, "deviation": missed, "consequence": achieved(*asked)}
    return Attainable(12, np.array(command, dtype=np.float64), asked, **{**values, **changes})
