"""The paper's four worked examples on our agents: the same state, command and foil, and what differs."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from paretofoil.agents.agent import Agent
from paretofoil.counterfactual import Counterfactual
from paretofoil.decision import Decision
from paretofoil.episode import greedy, rollout
from paretofoil.explanation import explain, find_action
from paretofoil.reproduce.report import Picture, Report
from paretofoil.reproduce.setting import Setting
from paretofoil.search import CFZoo, Exact
from paretofoil.show.sentence import percent
from paretofoil.study.table import Table

UNCHANGED = 5e-3
"""A change below this share of an objective's range counts as none when signs are compared."""
SAME_STATE = 0.02
"""States whose numbers differ by at most this are the same place (Minecart's are continuous)."""


@dataclass(frozen=True)
class Example:
    """One worked example, as the paper prints it."""

    title: str
    agent: str
    command: tuple[float, ...]
    """What was issued at the start."""
    time: int
    remaining: tuple[float, ...]
    """R_t, the command at that moment."""
    observation: Any
    """The environment's observation at that moment, or None for wherever the agent is then."""
    valid: tuple[str, ...]
    chosen: str
    foil: str
    paper_command: tuple[float, ...]
    """R_cf, as the paper found it."""
    paper_chances: tuple[tuple[str, float], ...]
    """The paper's probabilities under R_t."""
    claim: str
    """What the change means, in the paper's words."""

    @property
    def paper_change(self) -> np.ndarray:
        return np.array(self.paper_command) - np.array(self.remaining)


MINECART_STATE = (0.4876, 0.1991, 0.03, 0.0872, 0.9962, 0.0, 0.0)
MINECART_ACTIONS = ("mine", "left", "right", "accelerate", "brake", "none")

EXAMPLES = (
    Example(
        *("Deep Sea Treasure (introduction)", "deep-sea-treasure", (8.0, -8.0), 6, (8.0, -2.0), (3, 3)),
        *(("up", "down", "left", "right"), "right", "down", (6.328, -1.704), ()),
        "less treasure, sooner",
    ),
    Example(
        *("Branch-Path", "branch-path", (3.0, 1.0), 1, (3.0, 1.0), None),
        *(("up", "down"), "up", "down", (0.2953, 1.464), (("up", 0.995), ("down", 0.005))),
        "much less A, somewhat more B",
    ),
    Example(
        *("Collect-Two", "collect-two", (0.0, 0.0, 0.8, 1.0), 0, (0.0, 0.0, 0.8, 1.0), None),
        *(("up", "down", "left", "right"), "down", "right", (0.0, 0.0, 0.8, 0.8437)),
        (("right", 0.145), ("up", 0.128), ("left", 0.132), ("down", 0.595)),
        "D reduced",
    ),
    Example(
        *("Minecart", "minecart", (0.28, 1.22, -1.16), 5, (0.28, 1.22, -0.96), MINECART_STATE),
        *(MINECART_ACTIONS, "left", "right", (0.3476, 1.22, -0.96)),
        (("left", 0.999860), ("right", 0.000005), ("none", 0.000134)),
        "slightly more of ore 0",
    ),
)


def reproduce_examples(setting: Setting) -> Report:
    """Each example with CF-ZOO at the paper's budget, with the exact search, and with the sparsest exact answer."""
    report = Report("The paper's worked examples on our agents")
    report.say(
        "Each example is asked in the paper's state under the paper's remaining command, on an agent that we trained "
        "ourselves: another network than the paper's, so that the sign of each change is compared, not its size. "
        f"Changes below {UNCHANGED:.1%} of an objective's range count as none."
    )
    rows: list[tuple[Any, ...]] = []
    for example in EXAMPLES:
        if example.agent not in setting.agents:
            continue
        rows += _add_example(report, example, setting.load(example.agent), setting)
    columns = ("example", "by", "counterfactual command", "change", "distance", "signs", "as in the paper")
    report.parts.insert(1, Table("Counterfactuals of the worked examples", columns, tuple(rows)))
    return report


def _add_example(report: Report, example: Example, agent: Agent, setting: Setting) -> list[tuple[Any, ...]]:
    decision, where = find_decision(example, agent)
    foil = find_action(example.foil, agent.actions)
    names = ", ".join(agent.space.names)
    signs = _signs(example.paper_change, agent.space.scale)
    rows: list[tuple[Any, ...]] = [
        (example.title, "paper", _vector(example.paper_command), _vector(example.paper_change), None, signs, "")
    ]
    report.say(f"## {example.title}", f"{where} Objectives: {names}. The paper: {example.claim}.")
    report.say(_policies_compared(example, agent, decision))
    if decision.action == foil:
        report.say(f"**Difference:** our agent already chooses {example.foil} there, so that there is nothing to ask.")
        other = find_like(example, agent)
        if other is None:
            return [*rows, (example.title, "ours", None, None, None, "", "not asked: the foil is chosen")]
        decision = other
        report.say(
            f"Asked instead: t = {decision.time} of the same episode, the latest moment at which it goes {example.chosen} "
            f"and could go {example.foil}, with {_vector(decision.command)} remaining."
        )
    answers = {
        "CF-ZOO": explain(agent, decision, foil=foil, search=CFZoo.preset("comparison", setting.seed)),
        "exact": explain(agent, decision, foil=foil, search=Exact(seed=setting.seed)),
        "exact, sparse": explain(agent, decision, foil=foil, search=Exact(seed=setting.seed), sparse=True),
    }
    for by, found in answers.items():
        rows.append((example.title, by, *_compared(example, found, agent)))
    report.say(_verdict(example, answers, agent))
    report.say(f"> {answers['exact'].paragraph()}")
    report.add(_picture(example, agent, decision, [answers["CF-ZOO"], answers["exact"]]))
    return rows


def find_decision(example: Example, agent: Agent) -> tuple[Decision, str]:
    """The paper's moment of our agent's episode if it comes by there, else the paper's state itself."""
    episode = rollout(agent, example.command)
    expected = None if example.observation is None else agent.environment.encode(np.array(example.observation))
    for decision in episode:
        near = expected is None or np.abs(decision.state - expected).max() <= SAME_STATE
        if decision.time == example.time and near and np.allclose(decision.command, example.remaining, atol=1e-6):
            issued = f"{_vector(example.command)} issued at the start, t = {example.time}"
            return decision, f"Our agent comes by the paper's state ({issued}); remaining {_vector(decision.command)}."
    if expected is None:
        decision = episode[example.time]
        told = f"Our agent's moment t = {example.time}; remaining {_vector(decision.command)}."
        return decision, f"{told} The paper's remaining command is {_vector(example.remaining)}."
    valid = tuple(find_action(name, agent.actions) for name in example.valid)
    command, collected = np.array(example.remaining), np.array(example.command) - np.array(example.remaining)
    masks = np.isin(np.arange(len(agent.actions)), valid)[None]
    action = int(greedy(agent.policy)(0, np.zeros(1, int), expected[None], command[None], masks)[0])
    told = f"Our agent does not come by the paper's state at t = {example.time}; the state itself is asked about"
    return (
        Decision(expected, command, valid, action, collected, example.time),
        f"{told}, with {_vector(command)} remaining.",
    )


def find_like(example: Example, agent: Agent) -> Decision | None:
    """The latest moment of our agent's episode at which it does what the paper's did, and the foil is valid."""
    chosen, foil = find_action(example.chosen, agent.actions), find_action(example.foil, agent.actions)
    moments = [d for d in rollout(agent, example.command) if d.action == chosen and foil in d.valid_actions]
    return moments[-1] if moments else None


def _policies_compared(example: Example, agent: Agent, decision: Decision) -> str:
    valid = list(decision.valid_actions)
    scores = agent.policy.log_probs(decision.state[None], decision.command[None])[0][valid]
    chances = np.exp(scores - scores.max()) / np.exp(scores - scores.max()).sum()
    ours = ", ".join(f"{agent.actions[a]} {percent(float(p))}" for a, p in zip(valid, chances, strict=True))
    paper = ", ".join(f"{name} {percent(p)}" for name, p in example.paper_chances) or f"{example.chosen}"
    text = f"Ours chooses {agent.actions[decision.action]} ({ours}); the paper's chooses {example.chosen} ({paper})."
    if agent.actions[decision.action] != example.chosen:
        text += " **Difference:** another action than the paper's."
    return text


def _compared(example: Example, found: Counterfactual, agent: Agent) -> tuple[Any, ...]:
    if found.change is None or found.command is None:
        return None, None, None, "", found.outcome.value
    signs = _signs(found.change, agent.space.scale)
    same = signs == _signs(example.paper_change, agent.space.scale)
    return _vector(found.command), _vector(found.change), found.distance, signs, "same signs" if same else "differs"


def _verdict(example: Example, answers: dict[str, Counterfactual], agent: Agent) -> str:
    """Objective by objective: which of our answers moves it as the paper's does."""
    paper = _signs(example.paper_change, agent.space.scale)
    words = []
    for i, name in enumerate(agent.space.names):
        agreeing = [
            by
            for by, found in answers.items()
            if found.change is not None and _signs(found.change, agent.space.scale)[i] == paper[i]
        ]
        moved = {"+": "up", "-": "down", "0": "unchanged"}[paper[i]]
        words.append(
            f"{name} {moved}: {'all agree' if len(agreeing) == len(answers) else ', '.join(agreeing) or 'none agrees'}"
        )
    return f"Against the paper, objective by objective: {'; '.join(words)}."


def _picture(example: Example, agent: Agent, decision: Decision, answers: Sequence[Counterfactual]) -> Picture:
    from paretofoil.show.decision_figure import draw_decision

    shown = [replace(found, region=None) for found in answers]
    figure = draw_decision(agent, decision, shown)
    return Picture.of(figure, f"example-{example.agent}", f"{example.title}: the margin of {example.foil}")


def _signs(change: np.ndarray, scale: np.ndarray) -> str:
    """ "-+0": the direction of each objective."""
    scaled = change / scale
    return "".join("0" if abs(z) < UNCHANGED else "+" if z > 0 else "-" for z in scaled)


def _vector(values: Sequence[float] | np.ndarray) -> str:
    return "(" + ", ".join(f"{float(v) + 0.0:.4g}" for v in values) + ")"
