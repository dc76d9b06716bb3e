"""How much the command decides at a moment: the authors' scores, a scan of the box, and what is proven of it."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from paretofoil.agents import Agent
from paretofoil.agents.rollout import rollouts
from paretofoil.core.decision import Decision
from paretofoil.core.question import Question, QuestionBatch
from paretofoil.explanation.influence import actions_at, influence_scores, random_commands
from paretofoil.explanation.pose import pose
from paretofoil.proof.share import ShareEffort, prove_shares
from paretofoil.study.case import evenly
from paretofoil_paper.plan import Plan

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
    question = pose(agent.policy, decision, decision.action, agent.space, kappa=0.0, box=agent.paper_space)
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
