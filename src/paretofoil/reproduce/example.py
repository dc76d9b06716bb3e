"""The paper's worked examples as values, and where our agents meet them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from paretofoil.agents.agent import Agent
from paretofoil.agents.rollout import rollout
from paretofoil.core.decision import Decision
from paretofoil.envs.episode import greedy
from paretofoil.explanation.pose import find_action

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


def vector(values: Sequence[float] | np.ndarray) -> str:
    """ "(6.328, -1.704)"."""
    return "(" + ", ".join(f"{float(v) + 0.0:.4g}" for v in values) + ")"


def find_decision(example: Example, agent: Agent) -> tuple[Decision, str]:
    """The paper's moment of our agent's episode if it comes by there, else the paper's state itself."""
    episode = rollout(agent, example.command)
    expected = None if example.observation is None else agent.environment.encode(np.array(example.observation))
    for decision in episode:
        near = expected is None or np.abs(decision.state - expected).max() <= SAME_STATE
        if decision.time == example.time and near and np.allclose(decision.command, example.remaining, atol=1e-6):
            issued = f"{vector(example.command)} issued at the start, t = {example.time}"
            return decision, f"Our agent comes by the paper's state ({issued}); remaining {vector(decision.command)}."
    if expected is None:
        decision = episode[example.time]
        told = f"Our agent's moment t = {example.time}; remaining {vector(decision.command)}."
        return decision, f"{told} The paper's remaining command is {vector(example.remaining)}."
    valid = tuple(find_action(name, agent.actions) for name in example.valid)
    command, collected = np.array(example.remaining), np.array(example.command) - np.array(example.remaining)
    masks = np.isin(np.arange(len(agent.actions)), valid)[None]
    action = int(greedy(agent.policy)(0, np.zeros(1, int), expected[None], command[None], masks)[0])
    told = f"Our agent does not come by the paper's state at t = {example.time}; the state itself is asked about"
    return (
        Decision(expected, command, valid, action, collected, example.time),
        f"{told}, with {vector(command)} remaining.",
    )


def find_like(example: Example, agent: Agent) -> Decision | None:
    """The latest moment of our agent's episode at which it does what the paper's did, and the foil is valid."""
    chosen, foil = find_action(example.chosen, agent.actions), find_action(example.foil, agent.actions)
    moments = [d for d in rollout(agent, example.command) if d.action == chosen and foil in d.valid_actions]
    return moments[-1] if moments else None
