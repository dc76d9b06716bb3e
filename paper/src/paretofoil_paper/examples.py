"""The paper's four worked examples with our agents: the same state, command and foil."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from paretofoil.agents.agent import Agent, rollout
from paretofoil.core.answer import Answer
from paretofoil.core.decision import Decision
from paretofoil.core.options import Options
from paretofoil.explanation.explain import explain
from paretofoil.study.table import Table
from paretofoil_paper.measurements import measurements
from paretofoil_paper.plan import Plan

SAME_STATE = 0.02
"""States whose entries differ by at most this count as the same (Minecart's are continuous)."""


@dataclass(frozen=True)
class Example:
    """One worked example: figures of the paper and of the authors' published files."""

    title: str
    agent: str
    command: tuple[float, ...]
    """The command at the start."""
    step: int
    remaining: tuple[float, ...]
    """R_t, the command at that step."""
    observation: tuple[float, ...]
    """The raw observation of the environment at that step."""
    chosen: str
    foil: str
    paper_command: tuple[float, ...]
    """R_cf as printed in the paper."""
    probabilities: tuple[tuple[str, float], ...] = ()
    """The probabilities of the authors' agent under R_t."""
    published: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """Other answers to the same question in the authors' published files, by search."""
    checkpoint: str = ""
    """The name of the authors' published checkpoint for this environment, if there is one."""
    authors_agent: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """Our answers for the agent of that checkpoint, by search (`benchmarks/authors_agents.py`)."""
    about_authors_agent: str = ""
    """Sentences about that agent."""


EXAMPLES = (
    Example(  # the command at the start, the step, the cell and the probabilities are from the authors' files
        *("Deep Sea Treasure (introduction)", "deep-sea-treasure", (8.0, -8.0), 6, (8.0, -2.0), (3, 3)),
        *("right", "down", (6.328, -1.704)),
        (("right", 1.0), ("down", 2.1e-8)),
        {"White-CW": (7.432, -1.494)},
        "dst_R",
        {"CF-ZOO as run": (7.075, -1.676), "exact": (7.988, -1.618), "exact, sparse": (8.0, -1.618)},
        "The authors' published agent for this environment also chooses right here, but it is not the agent of the "
        "example: its probability of down is 7.6e-11, and only 36.4 % under the command that the paper prints.",
    ),
    Example(  # the cell is from the authors' files
        *("Branch-Path", "branch-path", (3.0, 1.0), 1, (3.0, 1.0), (1, 3, *[0] * 8)),
        *("up", "down", (0.2953, 1.464)),
        (("up", 0.995), ("down", 0.005)),
        checkpoint="branch-path_R",
        authors_agent={"CF-ZOO as run": (0.6477, 1.509), "exact": (0.858, 1.964), "exact, sparse": (0.4096, 1.0)},
        about_authors_agent="The authors' published agent for this environment also chooses up here (99.6 %, down "
        "0.4 %), and goes down (86.4 %) under the command that the paper prints.",
    ),
    Example(
        *("Collect-Two", "collect-two", (0.0, 0.0, 0.8, 1.0), 0, (0.0, 0.0, 0.8, 1.0), (3, 3, *[0] * 4)),
        *("down", "right", (0.0, 0.0, 0.8, 0.8437)),
        (("right", 0.145), ("up", 0.128), ("left", 0.132), ("down", 0.595)),
        {"CF-ZOO, another run": (0.0, 0.021, 0.801, 0.857)},
    ),
    Example(  # the command at the start is from the authors' files
        *("Minecart", "minecart", (0.28, 1.22, -1.16), 5, (0.28, 1.22, -0.96)),
        (0.4876, 0.1991, 0.03, 0.0872, 0.9962, 0.0, 0.0),
        *("left", "right", (0.3476, 1.22, -0.96)),
        (("left", 0.999860), ("right", 0.000005), ("none", 0.000134)),
        {"CF-ZOO, another run": (0.3432, 1.2099, -0.9567), "CF-ZOO, a third run": (0.3436, 1.2095, -0.9584)},
    ),
)


def vector(values: Sequence[float] | np.ndarray) -> str:
    """Return, for example, "(6.328, -1.704)"."""
    return "(" + ", ".join(f"{float(v) + 0.0:.4g}" for v in values) + ")"


def find_decision(example: Example, agent: Agent) -> Decision:
    """Return our agent's decision in the paper's state under the paper's remaining command."""
    collected = np.array(example.command) - np.array(example.remaining)
    decision = agent.decision_at(np.array(example.observation), example.remaining, collected)
    # decision_at starts an episode in the state; in the paper some steps have passed
    return replace(decision, step=example.step, snapshot={**decision.snapshot, "elapsed": example.step})


def answers_of(example: Example, agent: Agent) -> dict[str, np.ndarray]:
    """Return the closest commands for an agent of the authors, by search."""
    decision = find_decision(example, agent)
    options_of: dict[str, dict[str, Any]] = {
        "CF-ZOO as run": {"search": "cf-zoo:as-run", "options": Options(box="paper")},
        "exact": {"search": "exact"},
        "exact, sparse": {"search": "exact", "options": Options(sparse=True)},
    }
    answers = {by: explain(agent, decision, foil=example.foil, **options) for by, options in options_of.items()}
    return {by: answer.closest.command for by, answer in answers.items() if answer.closest is not None}


def reaches_state(example: Example, agent: Agent) -> bool:
    """Return whether our agent's episode under the paper's command is in the paper's state at the paper's step."""
    episode, decision = rollout(agent, example.command), find_decision(example, agent)
    if len(episode) <= example.step:
        return False
    own = episode[example.step]
    same_state = np.abs(own.state - decision.state).max() <= SAME_STATE
    return bool(same_state and np.allclose(own.command, decision.command, atol=1e-6))


UNCHANGED = 0.05
"""An objective counts as unchanged if its share of the change's length is below this.

It is a share of the change, not of the range: the whole change in Deep Sea Treasure is about 1 % of its range, in the
paper as well."""
COLUMNS = ("example", "foil", "by", "counterfactual command", "change", "distance", "in the paper's units", "signs")
NOTE = (
    "Both columns of distances are scaled: the first by the ranges of the returns in our agent's training, the second "
    "by the ranges of the paper's search region. We searched the reachable region, the authors searched the paper's. "
    "Distances of the paper are computed from its commands. Answers for the authors' agent are ours; the agent was "
    "imported from their checkpoint "
    "(`benchmarks/authors_agents.py`)."
)


@dataclass(frozen=True)
class ExampleAnswer:
    """A counterfactual command of a worked example."""

    example: str
    foil: str
    by: str
    """Who or which search gave the command."""
    command: list[float] | None
    status: str
    """The status of our answer; empty for the authors' commands."""


def examples_table(plan: Plan) -> Table:
    """Answer each example with CF-ZOO at the paper's budget, with Exact, and with the sparsest answer of Exact.

    Our agent is put into the state if it does not reach it. If it already chooses the foil there, the foil is the
    action that the paper's agent chose.
    """
    examples = {example.title: example for example in EXAMPLES if example.agent in plan.agents}
    answers = measurements(
        plan,
        "examples",
        ExampleAnswer,
        lambda: [answer for example in examples.values() for answer in _answers(example, plan)],
        {"examples": list(examples)},
    )
    rows = [_row(examples[answer.example], plan.load(examples[answer.example].agent), answer) for answer in answers]
    rules = tuple(i for i in range(1, len(rows)) if rows[i][0] != rows[i - 1][0])
    return Table("Counterfactual commands of the worked examples", COLUMNS, tuple(rows), NOTE, rules)


def _answers(example: Example, plan: Plan) -> list[ExampleAnswer]:
    agent = plan.load(example.agent)
    decision = find_decision(example, agent)
    foil = example.chosen if agent.actions[decision.action] == example.foil else example.foil
    theirs = {"paper": example.paper_command, **{f"authors' files: {k}": v for k, v in example.published.items()}}
    theirs |= {f"authors' agent, our search: {k}": v for k, v in example.authors_agent.items()}
    answers = [ExampleAnswer(example.title, example.foil, by, list(command), "") for by, command in theirs.items()]
    for by, answer in _ask(agent, decision, foil, plan).items():
        command = None if answer.closest is None else answer.closest.command.tolist()
        answers.append(ExampleAnswer(example.title, foil, by, command, answer.status.value))
    return answers


def _ask(agent: Agent, decision: Decision, foil: str, plan: Plan) -> dict[str, Answer]:
    zoo, exact = (plan.seeded(plan.budgets.comparison[label]) for label in ("cf-zoo", "exact"))
    return {
        "CF-ZOO": explain(agent, decision, foil=foil, search=zoo),
        "exact": explain(agent, decision, foil=foil, search=exact),
        "exact, sparse": explain(agent, decision, foil=foil, search=exact, options=Options(sparse=True)),
    }


def _row(example: Example, agent: Agent, answer: ExampleAnswer) -> tuple[Any, ...]:
    if answer.command is None:
        return answer.example, answer.foil, answer.by, None, None, None, None, answer.status
    original, command = np.array(example.remaining), np.array(answer.command)
    distances = (
        float(agent.space.distance(command, original)) if answer.status else None,
        agent.paper_space.distance(command, original),
    )
    signs = _signs(command - original, (agent.space if answer.status else agent.paper_space).scale)
    return answer.example, answer.foil, answer.by, vector(command), vector(command - original), *distances, signs


def _signs(change: np.ndarray, scale: np.ndarray) -> str:
    """Return the direction of each objective, for example "-+0"."""
    scaled = change / scale
    least = UNCHANGED * float(np.linalg.norm(scaled))
    return "".join("0" if abs(z) <= least else "+" if z > 0 else "-" for z in scaled)
