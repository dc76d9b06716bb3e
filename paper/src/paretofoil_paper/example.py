"""The paper's worked examples as values, and how the same questions are posed to our agents."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from paretofoil.agents.agent import Agent
from paretofoil.agents.rollout import rollout
from paretofoil.core.decision import Decision
from paretofoil.explanation.explain import explain

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
        "CF-ZOO as run": {"search": "cf-zoo:as-run", "box": "paper"},
        "exact": {"search": "exact"},
        "exact, sparse": {"search": "exact", "sparse": True},
    }
    found = {by: explain(agent, decision, foil=example.foil, **options).closest for by, options in asked.items()}
    return {by: command for by, command in found.items() if command is not None}


def comes_by(example: Example, agent: Agent) -> bool:
    """Whether our agent's own episode under the paper's command is in the paper's state at the paper's moment."""
    episode, wanted = rollout(agent, example.command), find_decision(example, agent)
    if len(episode) <= example.time:
        return False
    met = episode[example.time]
    near = np.abs(met.state - wanted.state).max() <= SAME_STATE
    return bool(near and np.allclose(met.command, wanted.command, atol=1e-6))
