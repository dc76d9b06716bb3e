"""Proofs about ReLU networks, proven again in full by mixed-integer programs, which share no code with the bounds."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from networks import LayeredPolicy
from scipy.optimize import Bounds, LinearConstraint, milp
from tiers import long_except

import paretofoil as pf
from paretofoil.core.program import Program
from paretofoil.core.question import Question

TOLERANCE = 1e-5
"""More than the tolerances of the solver, in margins."""


def largest_margin(
    question: Question, layers: Any, rules: list[tuple[np.ndarray, float]], within: float
) -> float | None:
    """Return the largest least margin over the commands of a region within a scaled distance; None if it is empty.

    The variables are the command, |z| of each scaled change z, the units and whether they are active, and the margin.
    """
    (first, first_bias), (last, last_bias) = layers
    dim, units, rivals = first.shape[1], len(first), question.rivals
    command, scale, low, high = question.command, question.space.scale, question.low, question.high
    middle, half = first @ (low + high) / 2 + first_bias, np.abs(first) @ (high - low) / 2
    least, most = np.minimum(middle - half, 0.0) - 1e-6, np.maximum(middle + half, 0.0) + 1e-6
    count = 2 * dim + 2 * units + 1
    ends = np.cumsum([0, dim, dim, units, units, 1])
    r, a, h, b, t = (slice(start, end) for start, end in pairwise(ends.tolist()))
    rows, upper = [], []

    def at_most(limit: float, **parts: Any) -> None:
        row = np.zeros(count)
        for name, part in parts.items():
            row[{"r": r, "a": a, "h": h, "b": b, "t": t}[name]] += part
        rows.append(row)
        upper.append(limit)

    for i in range(units):
        one = np.eye(units)[i]
        at_most(-first_bias[i], r=first[i], h=-one)  # h >= x
        at_most(first_bias[i] - least[i], r=-first[i], h=one, b=-least[i] * one)  # h <= x - least (1 - b)
        at_most(0.0, h=one, b=-most[i] * one)  # h <= most b
    for i in range(dim):
        one = np.eye(dim)[i]
        at_most(command[i] / scale[i], r=one / scale[i], a=-one)
        at_most(-command[i] / scale[i], r=-one / scale[i], a=-one)
    if question.norm == "l1" and np.isfinite(within):
        at_most(within, a=1.0)
    for slopes, bound in rules:
        at_most(bound, r=slopes)
    for k in rivals:
        at_most(last_bias[question.foil] - last_bias[k], h=last[k] - last[question.foil], t=1.0)
    objective, whole = np.zeros(count), np.zeros(count)
    objective[t] = -1.0
    whole[r], whole[b] = question.space.whole, 1.0
    reach = np.full(dim, min(within, 1e9))
    lows = np.concatenate([low, np.zeros(dim), np.zeros(units), np.zeros(units), [-1e6]])
    highs = np.concatenate([high, reach, most, np.ones(units), [1e6]])
    limits = LinearConstraint(np.array(rows), -np.inf, np.array(upper))
    solved = milp(objective, constraints=limits, integrality=whole, bounds=Bounds(lows, highs))
    assert solved.status in (0, 2), solved.message
    return None if solved.status == 2 else float(-solved.fun)


@pytest.mark.parametrize("seed", long_except(range(60), range(12)))
def test_no_program_finds_a_command_that_a_proof_excludes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    dim, units = int(rng.integers(1, 5)), int(rng.integers(4, 13))
    low = rng.uniform(-5.0, 5.0, size=dim)
    whole = rng.random(dim) < 0.4
    low = np.where(whole, np.round(low), low)
    high = low + np.where(whole, rng.integers(1, 12, size=dim), rng.uniform(0.5, 12.0, size=dim))
    command = np.where(whole, np.round(rng.uniform(low, high)), rng.uniform(low, high))
    rules = []
    for _ in range(int(rng.integers(0, 3))):
        slopes = rng.choice([-2.0, -1.0, 1.0, 3.0], size=dim)
        rules.append((slopes, float(slopes @ command + rng.uniform(0.0, 3.0))))
    names = [f"n{i}" for i in range(dim)]
    texts = [
        " ".join(f"{s:+g} {name}" for s, name in zip(slopes, names, strict=True)) + f" <= {bound!r}"
        for slopes, bound in rules
    ]
    objectives = [pf.Objective(name, whole=bool(each)) for name, each in zip(names, whole, strict=True)]
    space = pf.CommandSpace(low, high, objectives, constraints=texts)
    weight = rng.normal(size=(units, dim)) * 3.0 / (high - low)
    layers = (
        (weight, -(weight * rng.uniform(low, high, size=(units, dim))).sum(axis=1)),
        (rng.normal(size=(3, units)), rng.normal(size=3)),
    )
    weights, biases = zip(*layers, strict=True)
    policy = LayeredPolicy(Program.of_layers(weights, biases, ("relu",)), np.float64)
    foil = int(policy.log_probs(np.zeros((1, 1)), command[None])[0].argmin())
    norm = ("l1", "linf")[seed % 2]
    answer = pf.explain(
        policy, state=[0.0], command=command, foil=foil, space=space, search="exact",
        options=pf.Options(norm=norm), limits=pf.Limits(seconds=20.0),
    )  # fmt: skip
    assert answer.live is not None
    question, lower = answer.live.question, answer.lower_bound
    assert answer.status in (pf.Status.PROVEN_CLOSEST, pf.Status.PROVEN_INFEASIBLE)
    if lower > 0:
        margin = largest_margin(question, layers, rules, lower * (1.0 - 1e-4))  # the solver rounds whole numbers
        assert margin is None or margin < question.kappa + TOLERANCE
    if answer.closest is not None:  # and the programs find what is there
        margin = largest_margin(question, layers, rules, answer.closest.distance * (1.0 + 1e-6))
        assert margin is not None
        assert margin >= question.kappa - TOLERANCE
