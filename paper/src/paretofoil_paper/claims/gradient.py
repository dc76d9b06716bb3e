"""Whether the gradient of the margin at the command points to the counterfactual (paper, landscapes)."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from paretofoil.agents.agent import Agent, rollouts
from paretofoil.core.question import Question, QuestionBatch
from paretofoil.proof.networks import margin_network, require_white_box
from paretofoil.study import Case, Row
from paretofoil.study.case import make_case_question
from paretofoil.study.study import describe_search
from paretofoil.study.table import Table
from paretofoil_paper.measurements import measurements, share, share_and_interval
from paretofoil_paper.paper_tables import ENVIRONMENTS
from paretofoil_paper.plan import Plan

STEPS = np.geomspace(1e-4, 1e3, 400)
"""Step lengths of the line search. Commands outside the search region are projected, so the longest end in a corner."""
BISECTIONS = 16
ALIGNED = 0.5
"""A gradient is aligned if its cosine with the direction of the answer is above this (an angle below 60 degrees)."""


@dataclass(frozen=True)
class Gradient:
    """The gradient of the foil's margin at the original command of one question, in scaled coordinates."""

    agent: str
    front: int
    step: int
    foil: int
    norm: float
    """Increase of the margin over the whole range of an objective, if it were linear."""
    cosine: float | None
    """Cosine of the gradient and the direction of the closest command; None if the margin is flat."""
    cosine_inside: float | None
    """The same, ignoring components of the gradient that point out of the search region."""
    line_distance: float | None
    """Distance of the first valid command along the gradient; None if there is none."""
    optimum: float
    """Distance of the closest command, by the exact search."""

    @property
    def aligned(self) -> bool:
        return self.cosine_inside is not None and self.cosine_inside > ALIGNED

    @property
    def line_succeeds(self) -> bool:
        return self.line_distance is not None

    @property
    def case(self) -> Case:
        return Case(self.agent, self.front, self.step, self.foil)


def gradients(plan: Plan, rows: Sequence[Row]) -> list[Gradient]:
    """Return the gradient of every question that the exact search answered with a command."""

    def measure() -> Iterator[Gradient]:
        for name, environment in plan.names.items():
            of_agent = [row for row in rows if row.search == "exact" and row.found and row.case.agent == name]
            yield from measure_gradients(plan.load(environment), of_agent, plan.seed)

    settings = {"exact": describe_search(plan.seeded(plan.budgets.exact)), "steps": len(STEPS)}
    return measurements(plan, "claims-gradient", Gradient, measure, settings)


def measure_gradients(agent: Agent, rows: Sequence[Row], seed: int) -> Iterator[Gradient]:
    """Measure the gradient of each answer of the exact search."""
    if not rows:
        return
    episodes = rollouts(agent, agent.front, seed=seed)
    questions = [make_case_question(agent, row.case, episodes[row.case.front][row.case.step]) for row in rows]
    slopes = np.stack([_gradient(question) for question in questions])
    lines = _line_search(questions, slopes)
    for row, question, slope, line in zip(rows, questions, slopes, lines, strict=True):
        closest = row.full_answer().closest
        assert closest is not None
        direction = (closest.command - question.command) / question.space.scale
        yield Gradient(
            *(row.case.agent, row.case.front, row.case.step, row.case.foil),
            norm=float(np.linalg.norm(slope)),
            cosine=_cosine(slope, direction),
            cosine_inside=_cosine(_inside(question, slope), direction),
            line_distance=None if np.isnan(line) else float(line),
            optimum=float(row.closest_distance or 0.0),
        )


def _gradient(question: Question) -> np.ndarray:
    """Return the gradient (d,) of the margin over the strongest rival."""
    policy = require_white_box(question.policy, ", to compute its gradient")
    network = margin_network(policy.fold(question.state), question)
    slope: np.ndarray = network.smallest_and_slopes(np.zeros((1, question.space.dim)))[1][0]
    return slope


def _inside(question: Question, gradient: np.ndarray) -> np.ndarray:
    """Return the gradient without the components that lead out of the search region from its edge."""
    out = ((gradient < 0) & (question.command <= question.low)) | ((gradient > 0) & (question.command >= question.high))
    return np.where(out, 0.0, gradient)


def _cosine(one: np.ndarray, other: np.ndarray) -> float | None:
    norms = float(np.linalg.norm(one) * np.linalg.norm(other))
    return float(one @ other) / norms if norms > 0 else None


def _line_search(questions: Sequence[Question], slopes: np.ndarray) -> np.ndarray:
    """Return the distance (N,) of the first valid command along each gradient, nan if there is none."""
    batch = QuestionBatch(questions)
    norms = np.linalg.norm(slopes, axis=1, keepdims=True)
    directions = np.divide(slopes, norms, out=np.zeros_like(slopes), where=norms > 0)

    def valid(rows: np.ndarray, steps: np.ndarray) -> np.ndarray:
        z = batch.project(rows, steps[:, None] * directions[rows])
        return batch.margins(rows, z, "line") >= batch.kappa[rows]

    count = batch.num_questions
    flips = valid(np.repeat(np.arange(count), len(STEPS)), np.tile(STEPS, count)).reshape(count, -1)
    rows, first = np.flatnonzero(flips.any(axis=1)), flips.argmax(axis=1)
    distances = np.full(count, np.nan)
    if not rows.size:  # some policies refuse an empty batch
        return distances
    high, low = STEPS[first[rows]], np.where(first[rows] > 0, STEPS[first[rows] - 1], 0.0)
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        is_valid = valid(rows, middle)
        low, high = np.where(is_valid, low, middle), np.where(is_valid, middle, high)
    distances[rows] = batch.distances(batch.project(rows, high[:, None] * directions[rows]))
    return distances


def gradient_table(plan: Plan, rows: Sequence[Gradient], solved_locally: Collection[Case]) -> Table:
    """Return cosines and line searches by environment; `solved_locally` are the cases that local ZOO solves."""
    lines = []
    for name in [*plan.agents, "all"]:
        group = [row for row in rows if name in ("all", plan.names[row.agent])]
        cosines = [row.cosine for row in group if row.cosine is not None]
        spread = map(float, np.quantile(cosines, (0.5, 0.1, 0.9))) if cosines else (None,) * 3
        aligned = [row for row in group if row.aligned]
        ratios = [row.line_distance / row.optimum for row in group if row.line_distance is not None and row.optimum]
        rates = (
            *share_and_interval(group, lambda row: row.aligned),
            *share_and_interval(group, lambda row: row.line_succeeds),
            share(aligned, lambda row: row.line_succeeds),
            share(group, lambda row: row.case in solved_locally),
        )
        ratio = float(np.median(ratios)) if ratios else None
        lines.append((ENVIRONMENTS.get(name, "All"), len(group), *spread, *rates, ratio))
    columns = (
        *("environment", "answers", "cosine: median", "10 %", "90 %", "aligned [95 % CI]", "cluster [95 % CI]"),
        *("line search succeeds [95 % CI]", "line search: cluster [95 % CI]", "if aligned: succeeds [95 % CI]"),
        *("local ZOO succeeds [95 % CI]", "line / optimum: median"),
    )
    note = (
        "Cosine: between the gradient of the margin at the original command and the direction of the closest command "
        f"of `exact`, both in scaled units. Aligned: the cosine is above {ALIGNED:g}, ignoring components of the "
        "gradient that point out of the search region. If aligned: the line search along the gradient, projected to "
        "the search region, finds a valid command. Local ZOO starts at the original command."
    )
    return Table("Gradient and counterfactual", columns, tuple(lines), note, rules=(len(lines) - 1,))
