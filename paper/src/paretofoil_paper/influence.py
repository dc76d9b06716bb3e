"""Goal influence: the authors' scores against what the command really decides, and proven shares beside both."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import rankdata, spearmanr

from paretofoil.agents import Agent
from paretofoil.agents.rollout import rollouts
from paretofoil.core.decision import Decision
from paretofoil.core.options import Options
from paretofoil.core.question import Question, QuestionBatch
from paretofoil.explanation.influence import actions_at, influence_scores, random_commands
from paretofoil.explanation.questions import make_question
from paretofoil.proof.shares import ShareEffort, prove_shares
from paretofoil.study.case import evenly
from paretofoil.study.table import Table
from paretofoil_paper.measurements import measurements, share
from paretofoil_paper.paper_tables import ENVIRONMENTS
from paretofoil_paper.plan import Plan
from paretofoil_paper.protocols import EXPECTED_RETURNS, PAPER_REGION
from paretofoil_paper.report import Report

GRID = {1: 100, 2: 100, 3: 50}
"""Values per objective of the scan; the authors have 100 for three as well, and as we do ..."""
DRAWN = 50_000
"""... random commands for more."""
BOXES = 3_000
"""Of commands that a proof may bound."""
FRONTS, STEPS = {"minecart": 10, "fruit-tree": 16}, {"minecart": 20, "fruit-tree": 10}
"""At most so many commands of the front and moments of their episodes, as in the authors' code (112 = 16 x 7 moments
in Fruit-Tree) ..."""
MOST_FRONTS, MOST_STEPS = 12, 40
"""... and in the others; where theirs has 25 moments no episode is longer."""
HALF = 0.5
SCORES = ("kl", "tv", "js", "flip")


@dataclass(frozen=True)
class Scored:
    """One moment of an episode, in the box of the paper's authors."""

    agent: str
    front: int
    time: int
    kl: float
    tv: float
    js: float
    flip: float
    fraction: float
    """The share of the scan's commands under which another action is chosen."""
    nearest: float | None
    """The scaled distance of the nearest of them."""
    lower: float
    upper: float
    """In at least, and at most, which share of the box another action is chosen: proven."""
    inert: bool
    """Whether no command of the box changes the action: proven."""
    boxes: int

    @property
    def active(self) -> bool:
        """Whether the scan met a command that changes the action."""
        return self.nearest is not None

    @property
    def scan_off(self) -> bool:
        """Whether the scan's share is not one that is possible."""
        return not self.lower <= self.fraction <= self.upper

    @property
    def opposed(self) -> bool:
        """Whether most probes say one thing and most of the scan another."""
        return (self.flip > HALF) != (self.fraction > HALF)


def measure_scored(plan: Plan) -> Iterator[Scored]:
    """Moment by moment, of all agents."""
    for environment in plan.agents:
        agent = plan.load(environment)
        numbers = evenly(len(agent.front), FRONTS.get(environment, MOST_FRONTS))
        for number, episode in zip(numbers, rollouts(agent, agent.front[numbers], seed=plan.seed), strict=True):
            for decision in episode.decisions[: STEPS.get(environment, MOST_STEPS)]:
                yield _score(agent, number, decision, plan.seed)


def _score(agent: Agent, front: int, decision: Decision, seed: int) -> Scored:
    question = make_question(agent, decision, decision.action, Options(kappa=0.0, box="paper"))
    batch = QuestionBatch([question])
    commands = _scan(question, seed)
    changed = actions_at(batch, commands, "scan") != decision.action
    distances = question.space.distance(commands[changed], question.command)
    told = influence_scores(batch)
    proven = prove_shares(batch, ShareEffort(max_boxes=BOXES))
    own = question.valid_actions.index(decision.action)
    return Scored(
        agent=agent.name,
        front=front,
        time=decision.step,
        **{name: getattr(told, name) for name in SCORES},
        fraction=float(changed.mean()),
        nearest=float(distances.min()) if len(distances) else None,
        lower=max(0.0, 1.0 - float(proven.upper[own])),
        upper=min(1.0, 1.0 - float(proven.lower[own])),
        inert=proven.inert,
        boxes=proven.boxes,
    )


def _scan(question: Question, seed: int) -> np.ndarray:
    """(N, d): a grid for up to three objectives, random commands for more."""
    low, high = question.low, question.high
    if low.size not in GRID:
        return random_commands(question, DRAWN, np.random.default_rng(seed))
    axes = [np.linspace(*ends, GRID[low.size]) for ends in zip(low, high, strict=True)]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, low.size)


LOUD = 0.001
"""A KL above this says that the command matters."""
EXTREME = 0.02
"""Shares so near to 0 or 1 differ by less than the edge of a grid of 50 values weighs."""

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
"""From their published summary, in the order of the columns below; it is not in the paper."""


Rows = Sequence[Scored]


def reproduce_influence(plan: Plan) -> Report:
    """The authors' table on our agents, and what is proven beside it."""
    settings = {"grid": GRID, "drawn": DRAWN, "boxes": BOXES, "fronts": FRONTS, "steps": STEPS}
    rows = measurements(plan, "influence", Scored, lambda: list(measure_scored(plan)), settings)
    report = Report("Does the wish matter? Goal influence, scored and proven")
    report.say(f"{PAPER_REGION} {EXPECTED_RETURNS}", _method(), _in_words(rows), _scan_in_words(rows))
    tree = [row for row in rows if plan.names[row.agent] == "fruit-tree"]
    if tree:
        report.say(fan_in_words(tree, [row for row in rows if row not in tree]))
    return report.add(_scores_table(plan, rows), _proofs_table(plan, rows))


def spearman(first: Sequence[float], second: Sequence[float]) -> float | None:
    """The rank correlation; None where one of them does not vary."""
    if len(first) < 3 or np.ptp(first) == 0 or np.ptp(second) == 0:
        return None
    return float(spearmanr(first, second).statistic)


def auroc(scores: Sequence[float], active: Sequence[bool]) -> float | None:
    """The probability that an active moment has a larger score than one that is not; None if there are fewer than two "
    "of a kind."""
    flags = np.array(active, dtype=bool)
    count, others = int(flags.sum()), int((~flags).sum())
    if count < 2 or others < 2:
        return None
    return float((rankdata(scores)[flags].sum() - count * (count + 1) / 2) / (count * others))


def _method() -> str:
    return (
        "The authors' repository, not the paper, scores how much the command decides at a moment: the policy's "
        "probabilities against their mean over a fan of 270 (two objectives) to 3,500 (six) probes (KL, TV, JS), and "
        "the share of probes under which another action is chosen (flip). They compare the scores with a scan of the "
        "box: the share of its commands that change the action, whether any does (active), and how near the nearest "
        f"is. Here is the same on our agents, by the limits of their code (at most {MOST_FRONTS} commands and "
        f"{MOST_STEPS} moments of each, in Minecart {_limit('minecart')}, in Fruit-Tree {_limit('fruit-tree')}); where "
        "our fronts and episodes are others, numbers of moments differ. The scan has 50 values of each of three "
        "objectives where theirs has 100. Mean flip is the mean of that score. Beside it stands what needs no scan: "
        f"the share of commands that change the action as a proven interval, from at most {BOXES:,} boxes of commands."
    )


def _limit(environment: str) -> str:
    return f"{FRONTS[environment]} and {STEPS[environment]}"


def _in_words(rows: Rows) -> str:
    inert, changes = [r for r in rows if r.inert], [r for r in rows if r.lower > 0]
    left = [r for r in rows if not r.inert and r.lower == 0]
    met, loud = share(left, lambda r: r.active).successes, share(inert, lambda r: r.kl > LOUD).successes
    silent, missed = share(changes, lambda r: r.flip == 0).successes, share(changes, lambda r: not r.active).successes
    return (
        f"Of {len(rows):,} moments {len(changes):,} are proven to have commands that change the action, {len(inert):,} "
        f"are proven to have none, and {len(left):,} are left open by so few boxes; the scan met a change at "
        f"{'each' if met == len(left) else f'{met:,}'} of these. At {silent:,} of those that are proven to change no "
        f"probe does, so that the flip score is 0; the scan misses {missed:,}. At {loud:,} of those that cannot change "
        f"KL is above {LOUD:g}: probabilities move, and the action does not."
    )


def _scan_in_words(rows: Rows) -> str:
    off = [_beyond(row) for row in rows if row.scan_off]
    nearly = share(rows, lambda r: r.upper <= EXTREME or r.lower >= 1 - EXTREME).successes
    return (
        f"A scan has a mistake of its own. At {len(off):,} moments its share lies outside the proven interval, by up "
        f"to {max(off, default=0.0):.3f}, because a grid counts the edges of the box as much as its inside. It matters "
        f"where shares are extreme: {nearly:,} are proven to lie within {EXTREME:g} of 0 or 1 (Minecart's box, for "
        "one, has 200 of fuel where an episode needs less than 2). There the scan's edge decides how moments rank, and "
        "intervals of this width do not settle it either."
    )


def fan_in_words(tree: Rows, others: Rows) -> str:
    """Why scores rank Fruit-Tree's moments another way than the scan: the probes are no sample of the box."""
    agree = [row for row in tree if not row.opposed]
    ranks = [spearman([r.kl for r in kind], [r.fraction for r in kind]) for kind in (tree, agree)]
    told = ["unknown" if rank is None else f"{rank:.2f}" for rank in ranks]
    against, elsewhere = (share(kind, lambda r: r.opposed) for kind in (tree, others))
    theirs = AUTHORS["fruit-tree"][2]
    return (
        f"In Fruit-Tree KL ranks moments with a Spearman of {told[0]} where the authors' agent has {theirs}. The fan "
        "begins at 0 and its directions have length 1, so that with six objectives its corners reach 41 % of each "
        "range: it probes the low part of the box, where our agent decides otherwise than in the rest. At "
        f"{against.successes:,} of {against.cases:,} moments most probes change the action and most of the scan does "
        f"not, or the other way round (elsewhere at {elsewhere.successes:,} of {elsewhere.cases:,}); at the other "
        f"{len(agree):,} the Spearman is {told[1]}. Why the authors' agent decides alike in both, their summary does "
        "not tell."
    )


def _beyond(row: Scored) -> float:
    """How far the scan's share is from what is possible."""
    return max(row.lower - row.fraction, row.fraction - row.upper, 0.0)


def _scores_table(plan: Plan, rows: Rows) -> Table:
    lines: list[tuple[Any, ...]] = []
    for environment in plan.agents:
        mine = [row for row in rows if plan.names[row.agent] == environment]
        lines.append((ENVIRONMENTS[environment], "ours", *_agreement(mine)))
        lines.append((ENVIRONMENTS[environment], "authors'", *AUTHORS[environment]))
    columns = (
        *("environment", "agents", "moments", "active", "Spearman: KL", "TV", "JS", "flip", "AUROC: KL", "AUROC: flip"),
        *("nearest: KL", "nearest: flip", "mean flip"),
    )
    note = (
        "Spearman: with the share of the scan's commands that change the action; AUROC: of active against other "
        "moments; nearest: Spearman with the distance of the nearest change, where there is one. – where there is but "
        "one kind of moment, or nothing varies."
    )
    rules = tuple(range(2, len(lines), 2))
    return Table("The authors' scores against a scan of the box", columns, tuple(lines), note, rules=rules)


def _agreement(mine: Rows) -> tuple[Any, ...]:
    def column(name: str, of: Rows = mine) -> list[float]:
        return [getattr(row, name) for row in of]

    fraction, active = column("fraction"), [row.active for row in mine]
    near = [row for row in mine if row.active]
    return (
        len(mine),
        float(np.mean(active)),
        *(spearman(column(name), fraction) for name in SCORES),
        *(auroc(column(name), active) for name in ("kl", "flip")),
        *(spearman(column(name, near), column("nearest", near)) for name in ("kl", "flip")),
        float(np.mean(column("flip"))),
    )


def _proofs_table(plan: Plan, rows: Rows) -> Table:
    def line(name: str, mine: Rows) -> tuple[Any, ...]:
        width, middle = [r.upper - r.lower for r in mine], [(r.upper + r.lower) / 2 for r in mine]
        verdicts: tuple[Callable[[Scored], bool], ...]
        verdicts = (lambda r: r.lower > 0, lambda r: r.inert, lambda r: r.scan_off)
        return (
            *(name, len(mine), *(share(mine, verdict) for verdict in verdicts)),
            *(float(np.median(width)), float(np.max(width)), float(np.mean(middle))),
            *(spearman([getattr(r, score) for r in mine], middle) for score in SCORES),
        )

    groups = {ENVIRONMENTS[name]: [r for r in rows if plan.names[r.agent] == name] for name in plan.agents}
    lines = tuple(line(name, mine) for name, mine in groups.items())
    columns = (
        *(
            "environment",
            "moments",
            "proven to change [95 % CI]",
            "proven inert [95 % CI]",
            "scan impossible [95 % CI]",
        ),
        *("width: median", "width: most", "mean share that changes", "Spearman: KL", "TV", "JS", "flip"),
    )
    note = (
        "Scan impossible: its share lies outside the proven interval. Width: of that interval, of the share of "
        "commands that change the action; scores are compared with its middle. With six objectives the interval says "
        "little: what is proven there is that commands change the action, or that none does."
    )
    return Table("What is proven, and the scores against it", columns, lines, note)
