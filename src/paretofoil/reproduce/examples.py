"""The paper's four worked examples on our agents: the same state, command and foil, and what differs."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from paretofoil.agents.agent import Agent
from paretofoil.core.answer import Answer
from paretofoil.core.decision import Decision
from paretofoil.core.policy import probabilities
from paretofoil.explanation.explain import explain
from paretofoil.explanation.pose import find_action
from paretofoil.reproduce.example import EXAMPLES, Example, find_decision, find_like, vector
from paretofoil.reproduce.plan import Plan
from paretofoil.reproduce.report import Picture, Report
from paretofoil.search import NearestFront
from paretofoil.show.quantity import percent
from paretofoil.study.table import Table

UNCHANGED = 0.05
"""An objective that takes less than this share of a change's length counts as unchanged when signs are compared.

It is a share of the change, not of the range: Deep Sea Treasure's whole change is about 1 % of its range, in the
paper as well."""


def reproduce_examples(plan: Plan) -> Report:
    """Each example with CF-ZOO at the paper's budget, with the exact search, and with the sparsest exact answer."""
    report = Report("The paper's worked examples on our agents")
    report.say(
        "Each example is asked in the paper's state under the paper's remaining command, on an agent that we trained "
        "ourselves: another network than the paper's, so that the sign of each change is compared, not its size. "
        f"An objective that takes less than {UNCHANGED:.0%} of the scaled change's length counts as unchanged (0). "
        "Sentences say the command in few digits, rounded so that it still flips the action."
    )
    rows: list[tuple[Any, ...]] = []
    for example in EXAMPLES:
        if example.agent not in plan.agents:
            continue
        rows += _add_example(report, example, plan.load(example.agent), plan)
    columns = ("example", "by", "counterfactual command", "change", "distance", "signs", "as in the paper")
    begins = tuple(i for i in range(1, len(rows)) if rows[i][0] != rows[i - 1][0])
    report.parts.insert(1, Table("Counterfactuals of the worked examples", columns, tuple(rows), rules=begins))
    return report


def _add_example(report: Report, example: Example, agent: Agent, plan: Plan) -> list[tuple[Any, ...]]:
    """The paper's state first; where our agent acts differently there, a moment like it as well."""
    decision, where = find_decision(example, agent)
    signs = _signs(example.paper_change, agent.space.scale)
    rows: list[tuple[Any, ...]] = [
        (example.title, "paper", vector(example.paper_command), vector(example.paper_change), None, signs, "")
    ]
    report.say(f"## {example.title}")
    report.say(f"{where} Objectives: {', '.join(agent.space.names)}. The paper: {example.claim}.")
    report.say(_policies_compared(example, agent, decision))
    if agent.actions[decision.action] == example.foil:
        report.say(f"**Difference:** our agent already chooses {example.foil} there, so that there is nothing to ask.")
        rows.append((example.title, "ours", None, None, None, "", "not asked: the foil is chosen"))
    else:
        rows += _ask(report, example, agent, decision, plan)
    like = None if agent.actions[decision.action] == example.chosen else find_like(example, agent)
    if like is not None:
        report.say(
            f"A moment like it: t = {like.time} of the episode of {vector(example.command)}, the latest at which our "
            f"agent goes {example.chosen} and could go {example.foil}; {vector(like.command)} remaining."
        )
        rows += _ask(report, example, agent, like, plan, like=True)
    return rows


def _ask(
    report: Report, example: Example, agent: Agent, decision: Decision, plan: Plan, *, like: bool = False
) -> list[tuple[Any, ...]]:
    """The three answers as rows of the table, in words and as a picture."""
    foil = find_action(example.foil, agent.actions)
    zoo, exact = (plan.seeded(plan.budgets.comparison[label]) for label in ("cf-zoo", "exact"))
    answers = {
        "CF-ZOO": explain(agent, decision, foil=foil, search=zoo),
        "exact": explain(agent, decision, foil=foil, search=exact),
        "exact, sparse": explain(agent, decision, foil=foil, search=exact, sparse=True),
    }
    report.say(_verdict(example, answers, agent), f"> {answers['exact'].paragraph()}")
    suffix = "-like" if like else ""
    front = explain(agent, decision, foil=foil, search=plan.seeded(NearestFront()))
    report.add(_picture(example, [answers["exact"], answers["CF-ZOO"], front], suffix))
    title = f"{example.title}, t = {decision.time}" if like else example.title
    return [(title, by, *_compared(example, found, agent)) for by, found in answers.items()]


def _policies_compared(example: Example, agent: Agent, decision: Decision) -> str:
    scores = agent.policy.log_probs(decision.state[None], decision.command[None])[0]
    shares = probabilities(scores, decision.valid_actions)
    ours = ", ".join(f"{agent.actions[a]} {percent(float(shares[a]))}" for a in decision.valid_actions)
    paper = ", ".join(f"{name} {percent(p)}" for name, p in example.paper_chances) or f"{example.chosen}"
    text = f"Ours chooses {agent.actions[decision.action]} ({ours}); the paper's chooses {example.chosen} ({paper})."
    if agent.actions[decision.action] != example.chosen:
        text += " **Difference:** another action than the paper's."
    return text


def _compared(example: Example, found: Answer, agent: Agent) -> tuple[Any, ...]:
    if found.closest is None:
        return None, None, None, "", found.outcome.value
    change = found.closest - found.original
    signs = _signs(change, agent.space.scale)
    same = signs == _signs(example.paper_change, agent.space.scale)
    return vector(found.closest), vector(change), found.closest_distance, signs, "same signs" if same else "differs"


def _verdict(example: Example, answers: dict[str, Answer], agent: Agent) -> str:
    """Objective by objective: which of our answers moves it as the paper's does."""
    paper = _signs(example.paper_change, agent.space.scale)
    words = []
    for i, name in enumerate(agent.space.names):
        agreeing = [
            by
            for by, found in answers.items()
            if found.closest is not None and _signs(found.closest - found.original, agent.space.scale)[i] == paper[i]
        ]
        moved = {"+": "up", "-": "down", "0": "unchanged"}[paper[i]]
        words.append(
            f"{name} {moved}: {'all agree' if len(agreeing) == len(answers) else ', '.join(agreeing) or 'none agrees'}"
        )
    return f"Against the paper, objective by objective: {'; '.join(words)}."


def _picture(example: Example, answers: Sequence[Answer], suffix: str) -> Picture:
    from paretofoil.show.decision_figure import figure_decision

    figure = figure_decision([replace(found, proven_range=None) for found in answers])
    return Picture.of(figure, f"example-{example.agent}{suffix}", f"{example.title}: the margin of {example.foil}")


def _signs(change: np.ndarray, scale: np.ndarray) -> str:
    """ "-+0": the direction of each objective."""
    scaled = change / scale
    least = UNCHANGED * float(np.linalg.norm(scaled))
    return "".join("0" if abs(z) <= least else "+" if z > 0 else "-" for z in scaled)
