"""The influence of the command: the authors' scores, a scan of the search region, and proven shares."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import rankdata, spearmanr

from paretofoil.agents import Agent
from paretofoil.agents.agent import rollouts
from paretofoil.core.decision import Decision
from paretofoil.core.options import Options
from paretofoil.core.question import Question, QuestionBatch
from paretofoil.explanation.influence import actions_at, influence_scores, random_commands
from paretofoil.explanation.questions import make_questions
from paretofoil.proof.shares import ShareEffort, prove_shares
from paretofoil.study.case import evenly
from paretofoil.study.table import Table
from paretofoil_paper.measurements import measurements, share
from paretofoil_paper.paper_tables import ENVIRONMENTS
from paretofoil_paper.plan import Plan

GRID = {1: 100, 2: 100, 3: 50}
"""Values per objective of the scan; the authors use 100 for three objectives, too."""
DRAWN = 50_000
"""Number of random commands of the scan for more objectives, as in the authors' code."""
BOXES = 3_000
"""Number of boxes of commands that a proof may bound."""
FRONTS, STEPS = {"minecart": 10, "fruit-tree": 16}, {"minecart": 20, "fruit-tree": 10}
"""Limits of commands and steps as in the authors' code (Fruit-Tree has 112 = 16 x 7 steps)."""
MOST_FRONTS, MOST_STEPS = 12, 40
"""The limits in the other environments. Where the authors' limit is 25 steps, no episode is longer."""
SCORES = ("kl", "tv", "js", "flip")
WIDE = 0.1
"""If the proven bounds of the shares have a larger median difference, their middle says nothing."""

AUTHORS: dict[str, tuple[float | None, ...]] = {
    "branch-path": (39, 0.82, 0.79, 0.81, 0.78, 0.82, 0.96, 0.94, -0.17, -0.35, 0.30),
    "breakable-bottles": (40, 0.53, 0.69, 0.69, 0.69, 0.08, 0.96, 0.64, -0.81, -0.76, 0.04),
    "collect-two": (108, 1.0, 0.73, 0.75, 0.71, 0.84, None, None, -0.68, -0.63, 0.71),
    "deep-sea-treasure": (96, 0.70, 0.67, 0.64, 0.67, 0.86, 0.81, 0.97, -0.37, -0.50, 0.19),
    "fruit-tree": (112, 1.0, 0.80, 0.80, 0.80, 0.80, None, None, -0.17, -0.18, 0.51),
    "minecart": (184, 1.0, 0.42, 0.41, 0.40, 0.67, None, None, -0.66, -0.57, 0.64),
    "resource-gathering": (12, 0.67, 0.72, 0.74, 0.67, 0.90, 0.97, 1.0, -0.12, -0.67, 0.12),
    "reward-line": (74, 0.97, 0.74, 0.72, 0.64, 0.94, 0.76, 1.0, -0.08, -0.46, 0.55),
}
"""The figures of the authors' published summary, in the order of the columns below; they are not in the paper."""


@dataclass(frozen=True)
class StepInfluence:
    """The influence of the command at one step of an episode, in the paper's search region."""

    agent: str
    front: int
    step: int
    kl: float
    tv: float
    js: float
    flip: float
    fraction: float
    """Share of the scanned commands under which another action is chosen."""
    nearest: float | None
    """Scaled distance of the nearest of these commands."""
    lower: float
    """Proven lower bound of the share of the region in which another action is chosen."""
    upper: float
    """Proven upper bound of that share."""
    inert: bool
    """Whether it is proven that no command changes the action."""
    boxes: int

    @property
    def active(self) -> bool:
        """Whether a scanned command changes the action."""
        return self.nearest is not None

    @property
    def proven_active(self) -> bool:
        """Whether it is proven that commands change the action."""
        return self.lower > 0

    @property
    def contradicted(self) -> bool:
        """Whether the scan's share is outside the proven interval."""
        return not self.lower <= self.fraction <= self.upper


Rows = Sequence[StepInfluence]


def measure_influence(plan: Plan) -> Iterator[StepInfluence]:
    """Measure the steps of all agents."""
    for environment in plan.agents:
        agent = plan.load(environment)
        numbers = evenly(len(agent.front), FRONTS.get(environment, MOST_FRONTS))
        for number, episode in zip(numbers, rollouts(agent, agent.front[numbers], seed=plan.seed), strict=True):
            for decision in episode.decisions[: STEPS.get(environment, MOST_STEPS)]:
                yield _measure_step(agent, number, decision, plan.seed)


def _measure_step(agent: Agent, front: int, decision: Decision, seed: int) -> StepInfluence:
    [question] = make_questions(agent, decision, [decision.action], Options(kappa=0.0, box="paper"))
    batch = QuestionBatch([question])
    commands = _scan(question, seed)
    changed = actions_at(batch, commands, "scan") != decision.action
    distances = question.space.distance(commands[changed], question.command)
    scores = influence_scores(batch)
    shares = prove_shares(batch, ShareEffort(max_boxes=BOXES))
    own = question.valid_actions.index(decision.action)
    return StepInfluence(
        agent=agent.name,
        front=front,
        step=decision.step,
        **{name: getattr(scores, name) for name in SCORES},
        fraction=float(changed.mean()),
        nearest=float(distances.min()) if len(distances) else None,
        lower=max(0.0, 1.0 - float(shares.upper[own])),
        upper=min(1.0, 1.0 - float(shares.lower[own])),
        inert=shares.inert,
        boxes=shares.boxes,
    )


def _scan(question: Question, seed: int) -> np.ndarray:
    """Return a grid of commands (N, d) for up to three objectives, random commands for more."""
    low, high = question.low, question.high
    if low.size not in GRID:
        return random_commands(question, DRAWN, np.random.default_rng(seed))
    axes = [np.linspace(*ends, GRID[low.size]) for ends in zip(low, high, strict=True)]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, low.size)


def step_influences(plan: Plan) -> list[StepInfluence]:
    """Return the influence of the command at every step, with our agents."""
    settings = {"grid": GRID, "drawn": DRAWN, "boxes": BOXES, "fronts": FRONTS, "steps": STEPS}
    return measurements(plan, "influence", StepInfluence, lambda: measure_influence(plan), settings)


def influence_tables(plan: Plan, rows: Rows) -> list[Table]:
    """Return the authors' table with our agents, and the proven shares."""
    return [_scores_table(plan, rows), _proofs_table(plan, rows)]


def spearman(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Return the rank correlation; None if one of the sequences does not vary."""
    if len(first) < 3 or np.ptp(first) == 0 or np.ptp(second) == 0:
        return None
    return float(spearmanr(first, second).statistic)


def auroc(scores: Sequence[float], active: Sequence[bool]) -> float | None:
    """Return the probability that an active step has a larger score than an inactive one.

    None if there are fewer than two steps of a kind.
    """
    flags = np.array(active, dtype=bool)
    count, others = int(flags.sum()), int((~flags).sum())
    if count < 2 or others < 2:
        return None
    return float((rankdata(scores)[flags].sum() - count * (count + 1) / 2) / (count * others))


def _scores_table(plan: Plan, rows: Rows) -> Table:
    lines: list[tuple[Any, ...]] = []
    for environment in plan.agents:
        group = [row for row in rows if plan.names[row.agent] == environment]
        lines.append((ENVIRONMENTS[environment], "ours", *_agreement(group)))
        lines.append((ENVIRONMENTS[environment], "authors'", *AUTHORS[environment]))
    columns = (
        *("environment", "agents", "steps", "active", "Spearman: KL", "TV", "JS", "flip", "AUROC: KL", "AUROC: flip"),
        *("nearest: KL", "nearest: flip", "mean flip"),
    )
    note = (
        "Spearman: with the share of the scanned commands that change the action. AUROC: of active against other "
        "steps. Nearest: Spearman with the distance of the nearest change, for active steps. A dash means that there "
        "is only one kind of step, or that nothing varies."
    )
    rules = tuple(range(2, len(lines), 2))
    return Table("The authors' scores against a scan of the search region", columns, tuple(lines), note, rules=rules)


def _agreement(group: Rows) -> tuple[Any, ...]:
    def column(name: str, rows: Rows = group) -> list[float]:
        return [getattr(row, name) for row in rows]

    fraction, active = column("fraction"), [row.active for row in group]
    active_rows = [row for row in group if row.active]
    return (
        len(group),
        float(np.mean(active)),
        *(spearman(column(name), fraction) for name in SCORES),
        *(auroc(column(name), active) for name in ("kl", "flip")),
        *(spearman(column(name, active_rows), column("nearest", active_rows)) for name in ("kl", "flip")),
        float(np.mean(column("flip"))),
    )


def _proofs_table(plan: Plan, rows: Rows) -> Table:
    def line(name: str, group: Rows) -> tuple[Any, ...]:
        width, middle = [r.upper - r.lower for r in group], [(r.upper + r.lower) / 2 for r in group]
        verdicts: tuple[Callable[[StepInfluence], bool], ...]
        verdicts = (lambda r: r.proven_active, lambda r: r.inert, lambda r: r.contradicted)
        known = float(np.median(width)) <= WIDE
        scores = [spearman([getattr(r, score) for r in group], middle) if known else None for score in SCORES]
        return (
            *(name, len(group), *(share(group, verdict) for verdict in verdicts)),
            *(float(np.median(width)), float(np.max(width)), float(np.median(middle)) if known else None, *scores),
        )

    groups = {ENVIRONMENTS[name]: [r for r in rows if plan.names[r.agent] == name] for name in plan.agents}
    lines = tuple(line(name, group) for name, group in groups.items())
    columns = (
        *("environment", "steps", "proven active [95 % CI]", "proven inert [95 % CI]"),
        *("scan contradicted [95 % CI]", "width: median", "width: largest", "median share that changes"),
        *("Spearman: KL", "TV", "JS", "flip"),
    )
    note = (
        "Scan contradicted: its share is outside the proven interval of the share of commands that change the action. "
        "Width: the width of that interval; the scores are compared with its middle, unless the median width is above "
        f"{WIDE:g}. With six objectives the interval is wide: the proof shows only whether commands change the action."
    )
    return Table("Proven shares, and the scores against them", columns, lines, note)
