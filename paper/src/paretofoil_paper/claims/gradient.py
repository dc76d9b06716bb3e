"""Which way the margin rises at the command, and whether the counterfactual lies that way (paper, landscapes)."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from paretofoil.agents.agent import Agent
from paretofoil.agents.rollout import rollouts
from paretofoil.core.question import Question, QuestionBatch
from paretofoil.proof.networks import margin_network, require_white_box
from paretofoil.study import Case, Row
from paretofoil.study.case import make_case_question
from paretofoil.study.study import describe_search
from paretofoil.study.table import Table
from paretofoil_paper.measurements import mean_interval, measurements, share
from paretofoil_paper.paper_tables import ENVIRONMENTS
from paretofoil_paper.plan import Plan
from paretofoil_paper.searches.stacked import smallest_and_slopes

STEPS = np.geomspace(1e-4, 1e3, 400)
"""How far a line search goes along a direction of length 1: what leaves the region is put back onto its edge, so that
the longest steps end in a corner."""
BISECTIONS = 16
ALIGNED = 0.5
"""A gradient whose cosine with the way to the answer is above this seems useful: it is less than 60 degrees off."""


@dataclass(frozen=True)
class Slope:
    """The gradient of the foil's margin at the original command of one question, in scaled coordinates."""

    agent: str
    front: int
    time: int
    foil: int
    steepness: float
    """How much the margin rises over the whole range of an objective, if it went on rising as it does here."""
    cosine: float | None
    """Between the gradient and the way to the closest answer; None where the margin is flat."""
    inside: float | None
    """The same without what of the gradient leads out of the region at once."""
    line: float | None
    """The distance of the first valid command along the gradient; None if there is none."""
    optimum: float
    """The distance of the closest answer, by the exact search."""

    @property
    def aligned(self) -> bool:
        return self.inside is not None and self.inside > ALIGNED

    @property
    def case(self) -> Case:
        return Case(self.agent, self.front, self.time, self.foil)


def slopes(plan: Plan, rows: Sequence[Row]) -> list[Slope]:
    """Of every answer of the exact search."""

    def measure() -> Iterator[Slope]:
        for name, environment in plan.names.items():
            mine = [row for row in rows if row.search == "exact" and row.found and row.case.agent == name]
            yield from measure_slopes(plan.load(environment), mine, plan.seed)

    settings = {"exact": describe_search(plan.seeded(plan.budgets.exact)), "steps": len(STEPS)}
    return measurements(plan, "claims-gradient", Slope, measure, settings)


def measure_slopes(agent: Agent, rows: Sequence[Row], seed: int) -> Iterator[Slope]:
    """One for each answer of the exact search."""
    if not rows:
        return
    episodes = rollouts(agent, agent.front, seed=seed)
    questions = [make_case_question(agent, row.case, episodes[row.case.front][row.case.step]) for row in rows]
    gradients = np.stack([_gradient(question) for question in questions])
    lines = _line_search(questions, gradients)
    for row, question, gradient, line in zip(rows, questions, gradients, lines, strict=True):
        closest = row.full_answer().closest
        assert closest is not None
        way = (closest.command - question.command) / question.space.scale
        cosines = _cosine(gradient, way), _cosine(_inside(question, gradient), way)
        case, steepness = row.case, float(np.linalg.norm(gradient))
        found = None if np.isnan(line) else float(line)
        place = (case.agent, case.front, case.step, case.foil)
        yield Slope(*place, steepness, *cosines, found, float(row.closest_distance or 0.0))


def _gradient(question: Question) -> np.ndarray:
    """(d,): of the margin over the strongest rival."""
    policy = require_white_box(question.policy, ", whose gradient can be told")
    network = margin_network(policy.fold(question.state), question)
    slope: np.ndarray = smallest_and_slopes(network, np.zeros((1, question.space.dim)))[1][0]
    return slope


def _inside(question: Question, gradient: np.ndarray) -> np.ndarray:
    """What is left of it where the command lies on the edge of the region."""
    out = ((gradient < 0) & (question.command <= question.low)) | ((gradient > 0) & (question.command >= question.high))
    return np.where(out, 0.0, gradient)


def _cosine(one: np.ndarray, other: np.ndarray) -> float | None:
    size = float(np.linalg.norm(one) * np.linalg.norm(other))
    return float(one @ other) / size if size > 0 else None


def _line_search(questions: Sequence[Question], gradients: np.ndarray) -> np.ndarray:
    """(N,): the distance of the first valid command along each gradient, nan if there is none."""
    batch = QuestionBatch(questions)
    sizes = np.linalg.norm(gradients, axis=1, keepdims=True)
    ways = np.divide(gradients, sizes, out=np.zeros_like(gradients), where=sizes > 0)

    def valid(rows: np.ndarray, steps: np.ndarray) -> np.ndarray:
        z = batch.project(rows, steps[:, None] * ways[rows])
        return batch.margins(rows, z, "line") >= batch.kappa[rows]

    everything = np.arange(batch.num_questions)
    flips = valid(np.repeat(everything, len(STEPS)), np.tile(STEPS, batch.num_questions)).reshape(
        batch.num_questions, -1
    )
    rows, first = np.flatnonzero(flips.any(axis=1)), flips.argmax(axis=1)
    found = np.full(batch.num_questions, np.nan)
    if not rows.size:  # not every policy can be asked nothing
        return found
    high, low = STEPS[first[rows]], np.where(first[rows] > 0, STEPS[first[rows] - 1], 0.0)
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        reached = valid(rows, middle)
        low, high = np.where(reached, low, middle), np.where(reached, middle, high)
    found[rows] = batch.distances(batch.project(rows, high[:, None] * ways[rows]))
    return found


def gradient_table(plan: Plan, rows: Sequence[Slope], local: Collection[Case]) -> Table:
    """`local` are the cases that local ZOO finds, which follows gradients step by step."""
    lines = []
    for name in [*plan.agents, "all"]:
        mine = [row for row in rows if name in ("all", plan.names[row.agent])]
        cosines = [row.cosine for row in mine if row.cosine is not None]
        spread = map(float, np.quantile(cosines, (0.5, 0.1, 0.9))) if cosines else (None,) * 3
        aligned = [row for row in mine if row.aligned]
        ratios = [row.line / row.optimum for row in mine if row.line is not None and row.optimum]
        found = (share(mine, _aligned), mean_interval(mine, _aligned), share(mine, _finds), mean_interval(mine, _finds))
        steps = (share(aligned, _finds), share(mine, lambda r: r.case in local))
        ratio = float(np.median(ratios)) if ratios else None
        lines.append((ENVIRONMENTS.get(name, "All"), len(mine), *spread, *found, *steps, ratio))
    columns = (
        *("environment", "answers", "cosine: median", "10 %", "90 %", "aligned [95 % CI]", "cluster [95 % CI]"),
        *("line finds [95 % CI]", "line finds: cluster [95 % CI]", "if aligned: line finds [95 % CI]"),
        *("local ZOO finds [95 % CI]", "line / optimum: median"),
    )
    note = (
        "Cosine: between the gradient of the margin at the original command and the way to the closest answer (exact), "
        f"scaled. Aligned: above {ALIGNED:g}, without what leads out of the region at once. Line: the first valid "
        "command straight along the gradient, which is kept inside the region. Local ZOO: gradient steps from the "
        "original command, at the budget of the audit."
    )
    return Table("Gradient and counterfactual", columns, tuple(lines), note, rules=(len(lines) - 1,))


def gradient_in_words(rows: Sequence[Slope]) -> str:
    """The two halves of the claim: poor alignment, and alignment that does not help."""
    aligned = [row for row in rows if row.aligned]
    missed = share(aligned, lambda r: r.line is None)
    cosines = [row.cosine for row in rows if row.cosine is not None]
    return (
        "**This direction is poorly aligned with a nearby valid region**, says the paper of the gradient in one of its "
        "landscapes, and of another that **even an apparently useful local direction does not guarantee success**. "
        f"Over all {len(rows):,} questions that have an answer the median cosine between the gradient and the way to "
        f"the closest answer is {float(np.median(cosines)) if cosines else 0.0:.2f}; "
        f"{100 * share(rows, _aligned).rate:.1f} % of the gradients are aligned (cosine above {ALIGNED:g}), and of "
        f"those {100 * missed.rate:.1f} % lead to no valid command along a straight line."
    )


def _aligned(row: Slope) -> bool:
    return row.aligned


def _finds(row: Slope) -> bool:
    return row.line is not None
