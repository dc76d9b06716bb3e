"""The paper's worked examples as values, and how the same questions are posed to our agents."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from paretofoil.agents.agent import Agent
from paretofoil.agents.rollout import rollout
from paretofoil.core.decision import Decision

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


EXAMPLES = (
    Example(
        *("Deep Sea Treasure (introduction)", "deep-sea-treasure", (8.0, -8.0), 6, (8.0, -2.0), (3, 3)),
        *("right", "down", (6.328, -1.704), "less treasure, slightly more pressure to finish sooner"),
        "the command at the start, the moment, the cell and the probabilities",
        (("right", 1.0), ("down", 2.1e-8)),
        {"White-CW": (7.432, -1.494)},
    ),
    Example(
        *("Branch-Path", "branch-path", (3.0, 1.0), 1, (3.0, 1.0), (1, 3, *[0] * 8)),
        *("up", "down", (0.2953, 1.464), "much less A, somewhat more B", "the cell"),
        (("up", 0.995), ("down", 0.005)),
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
    return replace(decision, time=example.time, snapshot={**decision.snapshot, "elapsed": example.time})


def comes_by(example: Example, agent: Agent) -> bool:
    """Whether our agent's own episode under the paper's command is in the paper's state at the paper's moment."""
    episode, wanted = rollout(agent, example.command), find_decision(example, agent)
    if len(episode) <= example.time:
        return False
    met = episode[example.time]
    near = np.abs(met.state - wanted.state).max() <= SAME_STATE
    return bool(near and np.allclose(met.command, wanted.command, atol=1e-6))
