"""The paper's four worked examples on our agents: the same state, command and foil, and what differs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from paretofoil.agents.agent import Agent
from paretofoil.agents.rollout import rollout
from paretofoil.core.answer import Answer
from paretofoil.core.decision import Decision
from paretofoil.core.options import Options
from paretofoil.core.policy import probabilities, query
from paretofoil.explanation.explain import explain
from paretofoil.search import NearestFront
from paretofoil.show.numbers import percent
from paretofoil.study.table import Table
from paretofoil_paper.plan import Plan
from paretofoil_paper.report import Picture, Report

SAME_STATE = 0.02
"""States whose numbers differ by at most this are the same place (Minecart's are continuous)."""


@dataclass(frozen=True)
class Example:
    """One worked example: what the paper prints, and what the authors' published files add to it."""

    title: str
    agent: str
    command: tuple[float, ...]
    """What was issued at the start."""
    time: int
    remaining: tuple[float, ...]
    """R_t, the command at that moment."""
    observation: tuple[float, ...]
    """The environment's raw observation at that moment."""
    chosen: str
    foil: str
    paper_command: tuple[float, ...]
    """R_cf, as the paper prints it."""
    claim: str
    """What the change means, in the paper's words."""
    added: str
    """What of the above the paper leaves out, and the authors' published files tell."""
    chances: tuple[tuple[str, float], ...] = ()
    """The authors' probabilities under R_t."""
    published: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """Other answers to the same question in the authors' published files, by what gave them."""
    checkpoint: str = ""
    """The name of the authors' checkpoint for that environment, where one is at hand."""
    asked_theirs: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """Our answers to the same question on an agent of the authors, by search (`benchmarks/authors_agents.py`)."""
    theirs_said: str = ""
    """What is to be said of that agent."""


EXAMPLES = (
    Example(
        *("Deep Sea Treasure (introduction)", "deep-sea-treasure", (8.0, -8.0), 6, (8.0, -2.0), (3, 3)),
        *("right", "down", (6.328, -1.704), "less treasure, slightly more pressure to finish sooner"),
        "the command at the start, the moment, the cell and the probabilities",
        (("right", 1.0), ("down", 2.1e-8)),
        {"White-CW": (7.432, -1.494)},
        "dst_R",
        {"CF-ZOO as run": (7.075, -1.676), "exact": (7.988, -1.618), "exact, sparse": (8.0, -1.618)},
        "A checkpoint of theirs for this environment chooses right here as well, but it is not quite the agent of the "
        "example: it gives down a probability of 7.6e-11, and only 36.4 % under the command that the paper prints.",
    ),
    Example(
        *("Branch-Path", "branch-path", (3.0, 1.0), 1, (3.0, 1.0), (1, 3, *[0] * 8)),
        *("up", "down", (0.2953, 1.464), "much less A, somewhat more B", "the cell"),
        (("up", 0.995), ("down", 0.005)),
        checkpoint="branch-path_R",
        asked_theirs={"CF-ZOO as run": (0.6477, 1.509), "exact": (0.8579, 1.964), "exact, sparse": (0.4096, 1.0)},
        theirs_said="A checkpoint of theirs for this environment chooses up here as well (99.6 %, down 0.4 %), and "
        "goes down (86.4 %) under the command that the paper prints.",
    ),
    Example(
        *("Collect-Two", "collect-two", (0.0, 0.0, 0.8, 1.0), 0, (0.0, 0.0, 0.8, 1.0), (3, 3, *[0] * 4)),
        *("down", "right", (0.0, 0.0, 0.8, 0.8437), "D reduced, and nothing else", "another run of the same search"),
        (("right", 0.145), ("up", 0.128), ("left", 0.132), ("down", 0.595)),
        {"CF-ZOO, another run": (0.0, 0.021, 0.801, 0.857)},
    ),
    Example(
        *("Minecart", "minecart", (0.28, 1.22, -1.16), 5, (0.28, 1.22, -0.96)),
        (0.4876, 0.1991, 0.03, 0.0872, 0.9962, 0.0, 0.0),
        *("left", "right", (0.3476, 1.22, -0.96), "slightly more of ore 0, and nothing else"),
        "the command at the start, and two other runs of the same search",
        (("left", 0.999860), ("right", 0.000005), ("none", 0.000134)),
        {"CF-ZOO, another run": (0.3432, 1.2099, -0.9567), "CF-ZOO, a third run": (0.3436, 1.2095, -0.9584)},
    ),
)


def vector(values: Sequence[float] | np.ndarray) -> str:
    """ "(6.328, -1.704)"."""
    return "(" + ", ".join(f"{float(v) + 0.0:.4g}" for v in values) + ")"


def find_decision(example: Example, agent: Agent) -> Decision:
    """What our agent decides in the paper's very state under the paper's remaining command, wherever it goes itself."""
    collected = np.array(example.command) - np.array(example.remaining)
    decision = agent.decision_at(np.array(example.observation), example.remaining, collected)
    # A state that is looked up begins an episode; this one has used up some of its steps.
    return replace(decision, step=example.time, snapshot={**decision.snapshot, "elapsed": example.time})


def answers_of(example: Example, agent: Agent) -> dict[str, np.ndarray]:
    """The closest command of the same question to an agent of the authors, by search."""
    decision = find_decision(example, agent)
    asked: dict[str, dict[str, Any]] = {
        "CF-ZOO as run": {"search": "cf-zoo:as-run", "options": Options(box="paper")},
        "exact": {"search": "exact"},
        "exact, sparse": {"search": "exact", "options": Options(sparse=True)},
    }
    found = {by: explain(agent, decision, foil=example.foil, **options).closest for by, options in asked.items()}
    return {by: closest.command for by, closest in found.items() if closest is not None}


def comes_by(example: Example, agent: Agent) -> bool:
    """Whether our agent's own episode under the paper's command is in the paper's state at the paper's moment."""
    episode, wanted = rollout(agent, example.command), find_decision(example, agent)
    if len(episode) <= example.time:
        return False
    met = episode[example.time]
    near = np.abs(met.state - wanted.state).max() <= SAME_STATE
    return bool(near and np.allclose(met.command, wanted.command, atol=1e-6))


UNCHANGED = 0.05
"""An objective that takes less than this share of a change's length counts as unchanged when signs are compared.

It is a share of the change, not of the range: Deep Sea Treasure's whole change is about 1 % of its range, in the
paper as well."""
COLUMNS = ("example", "foil", "by", "counterfactual command", "change", "distance", "in the paper's box", "signs")
NOTE = (
    "Distances are scaled: by the box of what our agent was trained on, of which what is reachable was searched for "
    "ours, and by the authors' whole box, in which theirs were. A distance that stands for the paper is computed from "
    "its command. Answers on the authors' agent are ours; it was imported from their checkpoint "
    "(`benchmarks/authors_agents.py`)."
)
Answers = Mapping[str, Answer]
"""By search."""


def reproduce_examples(plan: Plan) -> Report:
    """Each example with CF-ZOO at the paper's budget, with the exact search, and with the sparsest exact answer."""
    report = Report("The paper's worked examples on our agents")
    report.say(
        "Box: what is *reachable* for our agents, none of which meets chance here; the paper's box for theirs. "
        "Each question is posed in the paper's state itself, under its remaining command and for its foil, to an agent "
        "that we trained ourselves: another network, so that the sign of each change is compared, not its size. Where "
        "our agent would not come by that state it is put there; where it already chooses the foil there, the question "
        "is turned round and asks for the action that the paper tells of. Printed in the paper are the remaining "
        "command, the actions, the counterfactual command and its meaning, and, but for Deep Sea Treasure, the moment "
        "and the probabilities; what comes from the authors' published "
        "files instead is named with each example; all else is ours. An objective that takes less than "
        f"{UNCHANGED:.0%} of the scaled change's length counts as unchanged (0). Sentences say the command in few "
        "digits, rounded so that it still flips the action."
    )
    rows: list[tuple[Any, ...]] = []
    for example in EXAMPLES:
        if example.agent in plan.agents:
            rows += _add_example(report, example, plan.load(example.agent), plan)
    begins = tuple(i for i in range(1, len(rows)) if rows[i][0] != rows[i - 1][0])
    report.parts.insert(1, Table("Counterfactuals of the worked examples", COLUMNS, tuple(rows), NOTE, begins))
    return report


def _add_example(report: Report, example: Example, agent: Agent, plan: Plan) -> list[tuple[Any, ...]]:
    """What the paper says, what our agent does there, and our answers."""
    decision = find_decision(example, agent)
    chosen = agent.actions[decision.action]
    foil = example.chosen if chosen == example.foil else example.foil
    report.say(f"## {example.title}", _where(example, agent), _policies_compared(example, agent, decision))
    if example.asked_theirs:
        report.say(_on_theirs(example, agent))
    if chosen == example.foil:
        report.say(
            f"Our agent already does what the paper asks for, so that there is no command to look for. Turned round, "
            f"in the same state and under the same command: why not {foil}? Signs cannot be compared then."
        )
    answers = _ask(agent, decision, foil, plan)
    if foil == example.foil:
        report.say(_verdict(example, answers, agent))
    report.say(f"> {answers['exact'].paragraph()}")
    report.add(_picture(example, agent, decision, foil, answers, plan))
    theirs = {"paper": example.paper_command, **{f"authors' files: {k}": v for k, v in example.published.items()}}
    theirs |= {f"authors' agent, asked by us: {k}": v for k, v in example.asked_theirs.items()}
    rows = [_row(example, agent, example.foil, by, np.array(command)) for by, command in theirs.items()]
    return rows + [
        _row(example, agent, foil, by, None if a.closest is None else a.closest.command, a.status.value)
        for by, a in answers.items()
    ]


def _where(example: Example, agent: Agent) -> str:
    met = "comes by there itself" if comes_by(example, agent) else "does not come by there by itself, and is put there"
    return (
        f"The state is {vector(example.observation)}, t = {example.time} of the episode under "
        f"{vector(example.command)}, with {vector(example.remaining)} remaining ({', '.join(agent.space.names)}); our "
        f"agent {met}. The authors' files add {example.added}. What the answer means, in the paper: {example.claim}."
    )


def _policies_compared(example: Example, agent: Agent, decision: Decision) -> str:
    [scores] = query(agent.policy, decision.state[None], decision.command[None])
    shares = probabilities(agent.policy, scores, decision.valid_actions)
    ours = ", ".join(f"{agent.actions[a]} {percent(float(shares[a]))}" for a in decision.valid_actions)
    theirs = ", ".join(f"{name} {percent(p)}" for name, p in example.chances)
    chosen = agent.actions[decision.action]
    text = f"Ours chooses {chosen} ({ours}); the authors' chooses {example.chosen} ({theirs})."
    return text if chosen == example.chosen else f"{text} **Difference:** another action than theirs."


def _on_theirs(example: Example, agent: Agent) -> str:
    """The same question to the authors' own agent, of which nothing is shipped but these figures."""
    box, origin = agent.paper_space, np.array(example.remaining)
    printed, closest = (
        float(box.distance(np.array(command), origin))
        for command in (example.paper_command, example.asked_theirs["exact"])
    )
    return (
        f"{example.theirs_said} Asked the same question, its closest command, proven to 1 %, lies at {closest:.4f} in "
        f"the paper's box; the printed one lies at {printed:.4f}."
    )


def _ask(agent: Agent, decision: Decision, foil: str, plan: Plan) -> dict[str, Answer]:
    zoo, exact = (plan.seeded(plan.budgets.comparison[label]) for label in ("cf-zoo", "exact"))
    return {
        "CF-ZOO": explain(agent, decision, foil=foil, search=zoo),
        "exact": explain(agent, decision, foil=foil, search=exact),
        "exact, sparse": explain(agent, decision, foil=foil, search=exact, options=Options(sparse=True)),
    }


def _row(
    example: Example, agent: Agent, foil: str, by: str, command: np.ndarray | None, outcome: str = ""
) -> tuple[Any, ...]:
    if command is None:
        return example.title, foil, by, None, None, None, None, outcome
    origin = np.array(example.remaining)
    theirs = by.startswith(("paper", "authors"))
    sizes = (
        None if theirs else float(agent.space.distance(command, origin)),
        agent.paper_space.distance(command, origin),
    )
    signs = _signs(command - origin, (agent.paper_space if theirs else agent.space).scale)
    return example.title, foil, by, vector(command), vector(command - origin), *sizes, signs


def _verdict(example: Example, answers: Answers, agent: Agent) -> str:
    """Objective by objective: which of our answers moves it as the paper's does."""
    scale, origin = agent.space.scale, np.array(example.remaining)
    paper = _signs(np.array(example.paper_command) - origin, scale)
    ours = {by: _signs(a.closest.command - origin, scale) for by, a in answers.items() if a.closest is not None}
    if not ours:
        return f"Ours has no command that makes it go {example.foil}: {answers['exact'].status.value}."
    words = []
    for i, name in enumerate(agent.space.names):
        agreeing = [by for by, signs in ours.items() if signs[i] == paper[i]]
        moved = {"+": "up", "-": "down", "0": "unchanged"}[paper[i]]
        who = "all agree" if len(agreeing) == len(answers) else ", ".join(agreeing) or "none agrees"
        words.append(f"{name} {moved}: {who}")
    return f"Against the paper, objective by objective: {'; '.join(words)}."


def _picture(example: Example, agent: Agent, decision: Decision, foil: str, answers: Answers, plan: Plan) -> Picture:
    from paretofoil.show.decision_figure import figure_decision

    front = explain(agent, decision, foil=foil, search=plan.seeded(NearestFront()))
    shown: Sequence[Answer] = [answers["exact"], answers["CF-ZOO"], front]
    figure = figure_decision([replace(found, proven_range=None) for found in shown])
    return Picture.of(figure, f"example-{example.agent}", f"{example.title}: the margin of {foil}")


def _signs(change: np.ndarray, scale: np.ndarray) -> str:
    """ "-+0": the direction of each objective."""
    scaled = change / scale
    least = UNCHANGED * float(np.linalg.norm(scaled))
    return "".join("0" if abs(z) <= least else "+" if z > 0 else "-" for z in scaled)
