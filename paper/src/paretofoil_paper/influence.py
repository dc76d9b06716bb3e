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
from paretofoil_paper.protocols import EXPECTED_RETURNS, PAPER_REGION
from paretofoil_paper.report import Report

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
HALF = 0.5
SCORES = ("kl", "tv", "js", "flip")
LARGE_KL = 0.001
"""A KL above this suggests that the command matters."""
EXTREME = 0.02
"""Shares this close to 0 or 1 differ by less than the weight of the edge of a grid of 50 values."""

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
    def scan_error(self) -> float:
        """The distance of the scan's share from the proven interval; 0 inside."""
        return max(self.lower - self.fraction, self.fraction - self.upper, 0.0)

    @property
    def contradicted(self) -> bool:
        """Whether the scan's share is outside the proven interval."""
        return not self.lower <= self.fraction <= self.upper

    @property
    def opposed(self) -> bool:
        """Whether the majority of the probes and the majority of the scan disagree."""
        return (self.flip > HALF) != (self.fraction > HALF)


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


def reproduce_influence(plan: Plan) -> Report:
    """Repeat the authors' table with our agents, and compare it with proofs."""
    settings = {"grid": GRID, "drawn": DRAWN, "boxes": BOXES, "fronts": FRONTS, "steps": STEPS}
    rows = measurements(plan, "influence", StepInfluence, lambda: measure_influence(plan), settings)
    report = Report("Influence of the command")
    report.say(_findings(rows), f"{PAPER_REGION} {EXPECTED_RETURNS}", _method(), _describe_scan(rows))
    tree = [row for row in rows if plan.names[row.agent] == "fruit-tree"]
    if tree:
        report.say(describe_probes(tree, [row for row in rows if row not in tree]))
    return report.add(_scores_table(plan, rows), _proofs_table(plan, rows))


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


def _findings(rows: Rows) -> str:
    inert, active = [r for r in rows if r.inert], [r for r in rows if r.proven_active]
    undecided = [r for r in rows if not r.inert and not r.proven_active]
    scanned = share(undecided, lambda r: r.active).successes
    loud = share(inert, lambda r: r.kl > LARGE_KL).successes
    silent, missed = share(active, lambda r: r.flip == 0).successes, share(active, lambda r: not r.active).successes
    which = "all" if scanned == len(undecided) else f"{scanned:,}"
    return (
        f"Proven: some command changes the action at {len(active):,} of {len(rows):,} steps, and none does at "
        f"{len(inert):,}; {len(undecided):,} are undecided with this number of boxes, and the scan found a change at "
        f"{which} of these. The authors' scores, explained below, can mislead: at {silent:,} of the {len(active):,} "
        f"steps no probe changes the action, so the flip score is 0; at {loud:,} of the {len(inert):,} inert steps KL "
        f"is above {LARGE_KL:g}, because probabilities change and the action does not. The scan misses the change at "
        f"{missed:,} of the {len(active):,} steps."
    )


def _method() -> str:
    return (
        "The scores are in the authors' repository, not in the paper. KL, TV and JS compare the policy's probabilities "
        "with their mean over a set of commands along fixed directions, the probes: 270 for two objectives, up to "
        "3,500 for six. Flip is the share of probes under which another action is chosen. The authors compare the "
        "scores with a scan of the search region: the share of "
        "its commands that change the action, whether any does (active), and the distance of the nearest. We repeat "
        f"this with our agents and the limits of their code: at most {MOST_FRONTS} commands and {MOST_STEPS} steps of "
        f"each, {_limit('minecart')} in Minecart, {_limit('fruit-tree')} in Fruit-Tree. The numbers of steps differ "
        "from theirs because fronts and episodes do. For three objectives, our scan has 50 values per objective and "
        f"theirs has 100. In addition we prove an interval of the share of commands that change the action, from at "
        f"most {BOXES:,} boxes of commands."
    )


def _limit(environment: str) -> str:
    return f"{FRONTS[environment]} and {STEPS[environment]}"


def _describe_scan(rows: Rows) -> str:
    errors = [row.scan_error for row in rows if row.contradicted]
    extreme = share(rows, lambda r: r.upper <= EXTREME or r.lower >= 1 - EXTREME).successes
    return (
        f"The scan has an error of its own: at {len(errors):,} steps its share is outside the proven interval, by up "
        f"to {max(errors, default=0.0):.3f}, because a grid gives the edges of the region the same weight as its "
        f"inside. This matters for extreme shares: {extreme:,} are proven to be within {EXTREME:g} of 0 or 1 "
        "(Minecart's search region, for example, has 200 of fuel, and an episode needs less than 2). There the ranks "
        "of the steps depend on the edges of the grid, and the proven intervals are too wide to rank the steps."
    )


def describe_probes(tree: Rows, others: Rows) -> str:
    """Explain why the scores rank the steps of Fruit-Tree differently from the scan: the probes are no sample."""
    agree = [row for row in tree if not row.opposed]
    ranks = [spearman([r.kl for r in group], [r.fraction for r in group]) for group in (tree, agree)]
    ours, ours_agreeing = ("unknown" if rank is None else f"{rank:.2f}" for rank in ranks)
    opposed, elsewhere = (share(group, lambda r: r.opposed) for group in (tree, others))
    return (
        f"In Fruit-Tree the Spearman correlation of KL is {ours} for our agent and {AUTHORS['fruit-tree'][2]} for the "
        "authors'. The probes start at 0 along directions of length 1, so with six objectives they reach at most 41 % "
        "of the range in all objectives at once. They cover the low part of the search region, where our "
        "agent acts differently than in the "
        f"rest. At {opposed.successes:,} of {opposed.cases:,} steps the majority of the probes and the majority of the "
        f"scan disagree (elsewhere at {elsewhere.successes:,} of {elsewhere.cases:,}); at the other {len(agree):,} "
        f"steps the correlation is {ours_agreeing}. The authors' summary does not show why their agent acts alike in "
        "both parts."
    )


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
        return (
            *(name, len(group), *(share(group, verdict) for verdict in verdicts)),
            *(float(np.median(width)), float(np.max(width)), float(np.mean(middle))),
            *(spearman([getattr(r, score) for r in group], middle) for score in SCORES),
        )

    groups = {ENVIRONMENTS[name]: [r for r in rows if plan.names[r.agent] == name] for name in plan.agents}
    lines = tuple(line(name, group) for name, group in groups.items())
    columns = (
        *("environment", "steps", "proven active [95 % CI]", "proven inert [95 % CI]"),
        *("scan contradicted [95 % CI]", "width: median", "width: largest", "mean share that changes"),
        *("Spearman: KL", "TV", "JS", "flip"),
    )
    note = (
        "Scan contradicted: its share is outside the proven interval of the share of commands that change the action. "
        "Width: the width of that interval; the scores are compared with its middle. With six objectives the interval "
        "is wide: the proof shows only whether commands change the action."
    )
    return Table("Proven shares, and the scores against them", columns, lines, note)
