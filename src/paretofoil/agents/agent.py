"""An agent: a policy with its environment, command space, front and provenance."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from paretofoil import envs
from paretofoil.core.command import CommandSpace, Objective, as_vector
from paretofoil.core.decision import Decision
from paretofoil.core.display import show
from paretofoil.core.errors import InvalidInput
from paretofoil.core.json import brief
from paretofoil.core.policy import Policy, as_policy
from paretofoil.envs.batch import BatchEnv
from paretofoil.envs.episode import EXACT, greedy
from paretofoil.envs.tabular import locate

HORIZON = Objective("horizon", "steps", natural_low=1.0)
"""The last number of a command, for agents that are conditioned on the steps left as well."""


@dataclass(frozen=True, eq=False, repr=False)
class Agent:
    """What can be asked to explain itself. Make one for your own policy, or load a shipped one."""

    name: str
    policy: Policy
    """An object with `log_probs(states, commands)`, or a plain function of the two."""
    environment: envs.CatalogueEntry
    """Where it acts, or the name of that in the catalogue."""
    space: CommandSpace
    """The commands that it understands; the box of what training relabelled, for a PCN."""
    front: np.ndarray
    """(F, d): the returns that it learned to reach, none worse than another; each can be issued as a command."""
    achieved: np.ndarray | None = None
    """(F, d): what greedy rollouts return under each command of the front (means, if stochastic)."""
    error: np.ndarray | None = None
    """(F, d): the standard errors of those means."""
    provenance: Mapping[str, Any] = field(default_factory=dict)
    """Where it comes from: seed, configuration, steps, versions."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "environment", envs.entry(self.environment))
        object.__setattr__(self, "policy", as_policy(self.policy))
        check_commands(self.space, self.environment)
        returned = len(self.environment.objectives)
        front = _points(self.front, "a front of points", self.space.dim)
        object.__setattr__(self, "front", front)
        for name in ("achieved", "error"):
            if getattr(self, name) is not None:
                measured = _points(
                    getattr(self, name), f"{name} for each point of the front ({len(front)})", returned, len(front)
                )
                object.__setattr__(self, name, measured)

    def __repr__(self) -> str:
        where = self.environment
        size = f"{len(where.objectives)} objectives, {len(self.actions)} actions, a front of {len(self.front)} points"
        return f"<Agent {self.name!r} in {where.name}: {size}>"

    def _repr_html_(self) -> str:
        return str(show(self, "html"))

    @property
    def actions(self) -> tuple[str, ...]:
        return self.environment.actions

    @property
    def phrases(self) -> tuple[str, ...]:
        """What it has done after each action, in words: "gone down", "mined"."""
        return self.environment.phrases or tuple(f"chosen {action}" for action in self.actions)

    @property
    def horizon(self) -> bool:
        """Whether commands have a desired horizon behind the objectives."""
        return self.space.dim > len(self.environment.objectives)

    @property
    def paper_space(self) -> CommandSpace:
        """The box that the paper's authors set by hand for its environment: what their distances are measured in."""
        if self.environment.paper_box is None or self.horizon:
            got = "one with a horizon" if self.horizon else f"one in {self.environment.name}"
            raise InvalidInput.expected("an agent in an environment for which the paper has a box", got)
        low, high = map(np.array, self.environment.paper_box)
        return CommandSpace(low, high, self.space.objectives)

    def batch_env(self) -> BatchEnv:
        """A fresh batch of its environment."""
        return envs.make_batch(self.environment)

    def picture_at(self, decision: Decision) -> np.ndarray:
        """(height, width, 3) uint8: its environment at a decision of a rollout."""
        from paretofoil.envs.pictures import picture_of

        return picture_of(self.environment, decision.snapshot)

    def reached(self) -> np.ndarray:
        """(F,) bool: which points of the front greedy rollouts reach: exactly, or within three standard errors."""
        if self.achieved is None:
            raise InvalidInput.expected("an agent with measured returns", "one without")
        error = np.zeros_like(self.achieved) if self.error is None else self.error
        off = np.abs(self.achieved - self.front[:, : self.achieved.shape[1]])
        return (off <= EXACT + 3 * error).all(axis=1)

    def decision_at(self, state: Any, command: Any, collected: Any = None) -> Decision:
        """What it decides in a state of your own, under a remaining command; zero was collected if not given.

        The state is the environment's observation, raw or as the policy sees it. In the shipped environments it
        is looked up, which gives its valid actions; elsewhere all actions count as valid.
        """
        remaining = as_vector(command, "the remaining command", self.space.dim)
        flat = self._flatten(state)
        valid: np.ndarray = np.ones(len(self.actions), dtype=bool)
        snapshot: Any = None
        if self.environment.finite:
            valid, snapshot = locate(self.environment, flat)
        elif self.environment.locate is not None:
            snapshot = self.environment.locate(flat)
            valid = self.batch_env().restore(snapshot, np.zeros(1, dtype=np.int64)).masks[0]
        asked = np.array([flat]), np.array([remaining])  # copies, for policies that write to what they are given
        [action] = greedy(self.policy)(0, np.zeros(1, dtype=int), *asked, valid[None])
        valid_actions = tuple(np.flatnonzero(valid).tolist())
        before = np.zeros(remaining.size)
        if collected is not None:
            before = as_vector(collected, "what was collected", remaining.size)
        return Decision(flat, remaining, valid_actions, int(action), before, snapshot=snapshot)

    def _flatten(self, state: Any) -> np.ndarray:
        size = self.environment.observation_size
        if np.size(state) == size:
            return as_vector(state, "the state", size).astype(np.float32)
        try:
            return self.environment.encode(state)
        except (IndexError, KeyError, TypeError, ValueError):
            what = f"a state of {size} numbers, or a raw observation of {self.environment.name}"
            raise InvalidInput.expected(what, state) from None


def check_commands(space: CommandSpace, environment: envs.CatalogueEntry) -> None:
    """Refuse commands for other objectives than the environment's; returns may have a horizon behind them."""
    more, count = space.dim - len(environment.objectives), len(environment.objectives)
    if more not in (0, 1) or (more and space.simplex):
        horizon = "" if space.simplex else ", with a horizon or without"
        what = f"commands for the {count} objectives of {environment.name}{horizon}"
        raise InvalidInput.expected(what, f"{space.dim}: {', '.join(space.names)}")


def _points(values: Any, what: str, size: int, count: int | None = None) -> np.ndarray:
    """Finite numbers (count, size), of any count if None, or an error that names them."""
    expected = f"{what} with {size} finite numbers"
    try:
        points = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInput.expected(expected, brief(values)) from None
    if points.ndim != 2 or points.shape[1] != size or count not in (None, len(points)):
        raise InvalidInput.expected(expected, f"shape {points.shape}")
    if not np.isfinite(points).all():
        raise InvalidInput.expected(expected, brief(points.tolist()))
    return points
