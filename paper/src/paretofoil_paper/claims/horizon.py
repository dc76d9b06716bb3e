"""Agents that are also conditioned on a horizon, and commands whose horizon does not fit their return."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from paretofoil import envs
from paretofoil.agents.agent import Agent, rollouts
from paretofoil.agents.training import make_agent, make_trainer, preset
from paretofoil.core.decision import Episode
from paretofoil.study.statistics import Proportion
from paretofoil.study.table import Table
from paretofoil_paper.issued import NEAR, choose_actions
from paretofoil_paper.measurements import measurements, share_and_interval
from paretofoil_paper.other_seed import QUICK
from paretofoil_paper.paper_tables import ENVIRONMENTS
from paretofoil_paper.plan import Plan

FACTORS = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 4.0)
"""Horizons as multiples of the one in which the return was reached; 1 is consistent."""


@dataclass(frozen=True)
class HorizonCommand:
    """One command of a front, issued with a horizon or without one."""

    agent: str
    """The environment."""
    front: int
    factor: float | None
    """None for the agent without a horizon."""
    decisions: int
    """Number of decisions of the episode under the consistent command."""
    changed: int
    """Decisions in which this horizon alone changes the greedy action."""
    distance: float
    """Scaled distance of the achieved return from the requested one."""

    @property
    def delivers(self) -> bool:
        """Whether the episode returns what was requested."""
        return self.distance <= NEAR


def horizon_commands(plan: Plan) -> list[HorizonCommand]:
    """Return the recorded or new measurements; the agents with a horizon are not stored."""
    settings = {"factors": list(FACTORS), "training": dict(plan.training)}
    return measurements(plan, "claims-horizon", HorizonCommand, lambda: measure_horizons(plan), settings)


def measure_horizons(plan: Plan) -> Iterator[HorizonCommand]:
    """Compare the agents of the plan with agents trained with a horizon, where training takes seconds."""
    for environment in QUICK:
        if environment in plan.agents:
            yield from _without_horizon(environment, plan.load(environment), plan.seed)
            yield from _with_horizon(environment, train_with_horizon(plan, environment), plan.seed)


def train_with_horizon(plan: Plan, environment: str) -> Agent:
    """Train an agent with a horizon, with the settings and the seed of the agent without one."""
    entry = envs.entry(environment)
    seed = int(plan.load(environment).provenance.get("seed", plan.seed))
    config = replace(preset(entry), **{**plan.training, "seed": seed, "horizon": True})
    return make_agent(f"{environment}-horizon", entry, make_trainer(entry, config).run())


def _without_horizon(environment: str, agent: Agent, seed: int) -> Iterator[HorizonCommand]:
    for number, episode in enumerate(rollouts(agent, agent.front, seed=seed)):
        distance = _distance(agent, episode, agent.front[number])
        yield HorizonCommand(environment, number, None, len(episode), 0, distance)


def _with_horizon(environment: str, agent: Agent, seed: int) -> Iterator[HorizonCommand]:
    consistent = rollouts(agent, agent.front, seed=seed)
    for factor in FACTORS:
        for number, episode in enumerate(rollouts(agent, _scale_horizon(agent.front, factor), seed=seed)):
            changed = _count_changed(agent, consistent[number], factor)
            distance = _distance(agent, episode, agent.front[number])
            yield HorizonCommand(environment, number, factor, len(consistent[number]), changed, distance)


def _scale_horizon(commands: np.ndarray, factor: float) -> np.ndarray:
    """Return the commands with their horizons scaled, to at least one step."""
    scaled = commands.copy()
    scaled[:, -1] = np.maximum(scaled[:, -1] * factor, 1.0)
    return scaled


def _count_changed(agent: Agent, episode: Episode, factor: float) -> int:
    """Return the number of decisions of an episode in which another horizon alone changes the greedy action."""
    states, commands = (np.stack(values) for values in zip(*((d.state, d.command) for d in episode), strict=True))
    valid: Sequence[Sequence[int]] = [decision.valid_actions for decision in episode]
    actions = choose_actions(agent.discrete_policy, states, _scale_horizon(commands, factor), valid)
    return int((actions != [decision.action for decision in episode]).sum())


def _distance(agent: Agent, episode: Episode, command: np.ndarray) -> float:
    """Return the scaled distance of the achieved return from the requested one, without the horizon."""
    dim = episode.achieved.size
    return float(np.linalg.norm((episode.achieved - command[:dim]) / agent.space.scale[:dim]))


def horizon_table(rows: Sequence[HorizonCommand]) -> Table:
    """Return each environment without a horizon, and with consistent and inconsistent ones."""
    lines: list[tuple[Any, ...]] = []
    rules: list[int] = []
    for name in dict.fromkeys(row.agent for row in rows):
        rules.append(len(lines))
        for factor in (None, *FACTORS):
            group = [row for row in rows if (row.agent, row.factor) == (name, factor)]
            changed = Proportion(sum(row.changed for row in group), sum(row.decisions for row in group))
            distance = float(np.mean([row.distance for row in group]))
            horizon = "none" if factor is None else "consistent" if factor == 1 else f"{factor:g} times"
            delivers = share_and_interval(group, lambda row: row.delivers)
            lines.append(
                (ENVIRONMENTS[name], horizon, len(group), *delivers, distance, None if factor is None else changed)
            )
    columns = (
        *("environment", "horizon", "commands", "return is delivered [95 % CI]", "cluster [95 % CI]", "mean distance"),
        "decisions that change [95 % CI]",
    )
    note = (
        f"Delivered: the episode returns what was requested, within {NEAR:.0%} (scaled). Consistent: the horizon of "
        "the front. Decisions that change: in the episodes with the consistent horizon, the decisions in which scaling "
        "only the horizon changes the greedy action. A horizon is at least one step."
    )
    title = "Consistent and inconsistent horizons"
    return Table(title, columns, tuple(lines), note, tuple(rules[1:]))
