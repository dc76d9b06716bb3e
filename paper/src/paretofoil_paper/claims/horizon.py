"""Agents that are conditioned on a horizon as well: what becomes of a command whose horizon does not fit its return."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from paretofoil import envs
from paretofoil.agents.agent import Agent
from paretofoil.agents.rollout import rollouts
from paretofoil.agents.training import make_agent, make_trainer, preset
from paretofoil.core.decision import Episode
from paretofoil.study.statistics import Proportion
from paretofoil.study.table import Table
from paretofoil_paper.issued import NEAR, choose
from paretofoil_paper.measurements import mean_interval, measurements, share
from paretofoil_paper.other_seed import QUICK
from paretofoil_paper.paper_tables import ENVIRONMENTS
from paretofoil_paper.plan import Plan

FACTORS = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 4.0)
"""The horizons that are asked for, as multiples of the one in which the return was reached; 1 is consistent."""


@dataclass(frozen=True)
class Pair:
    """One command of a front with a horizon, or without."""

    agent: str
    """The environment."""
    front: int
    factor: float | None
    """None for the agent that knows no horizon."""
    decisions: int
    """Of the episode under the consistent pair."""
    flipped: int
    """Those in which this horizon, with nothing else changed, changes the greedy action."""
    off: float
    """The scaled distance from the return that is asked for to what is achieved."""

    @property
    def kept(self) -> bool:
        """What was asked for is achieved."""
        return self.off <= NEAR


def pairs(plan: Plan) -> list[Pair]:
    """Kept as rows: the agents with a horizon are not."""
    settings = {"factors": list(FACTORS), "training": dict(plan.training)}
    return measurements(plan, "claims-horizon", Pair, lambda: measure_pairs(plan), settings)


def measure_pairs(plan: Plan) -> Iterator[Pair]:
    """Where training takes seconds: of the plan's agents, and of ones with a horizon that are trained for it."""
    for environment in QUICK:
        if environment in plan.agents:
            yield from _without(environment, plan.load(environment), plan.seed)
            yield from _with(environment, train_with_horizon(plan, environment), plan.seed)


def train_with_horizon(plan: Plan, environment: str) -> Agent:
    """With the settings and the seed of the agent that it is compared with."""
    entry = envs.entry(environment)
    seed = int(plan.load(environment).provenance.get("seed", plan.seed))
    config = replace(preset(entry), **{**plan.training, "seed": seed, "horizon": True})
    return make_agent(f"{environment}-horizon", entry, make_trainer(entry, config).run())


def _without(environment: str, agent: Agent, seed: int) -> Iterator[Pair]:
    for number, episode in enumerate(rollouts(agent, agent.front, seed=seed)):
        yield Pair(environment, number, None, len(episode), 0, _off(agent, episode, agent.front[number]))


def _with(environment: str, agent: Agent, seed: int) -> Iterator[Pair]:
    own = rollouts(agent, agent.front, seed=seed)
    for factor in FACTORS:
        issued = _stretched(agent.front, factor)
        for number, episode in enumerate(rollouts(agent, issued, seed=seed)):
            flipped = _flipped(agent, own[number], factor)
            off = _off(agent, episode, agent.front[number])
            yield Pair(environment, number, factor, len(own[number]), flipped, off)


def _stretched(commands: np.ndarray, factor: float) -> np.ndarray:
    """The same returns, in another time of at least one step."""
    changed = commands.copy()
    changed[:, -1] = np.maximum(changed[:, -1] * factor, 1.0)
    return changed


def _flipped(agent: Agent, episode: Episode, factor: float) -> int:
    """In how many decisions of an episode another horizon alone changes the greedy action."""
    states, commands = (np.stack(values) for values in zip(*((d.state, d.command) for d in episode), strict=True))
    valid: Sequence[Sequence[int]] = [decision.valid_actions for decision in episode]
    chosen = choose(agent.policy, states, _stretched(commands, factor), valid)
    return int((chosen != [decision.action for decision in episode]).sum())


def _off(agent: Agent, episode: Episode, command: np.ndarray) -> float:
    """Over the objectives: a horizon is asked for, not achieved."""
    size = episode.achieved.size
    return float(np.linalg.norm((episode.achieved - command[:size]) / agent.space.scale[:size]))


def horizon_table(rows: Sequence[Pair]) -> Table:
    """Each environment without a horizon, and with consistent and inconsistent ones."""
    lines: list[tuple[Any, ...]] = []
    begins: list[int] = []
    for name in dict.fromkeys(row.agent for row in rows):
        begins.append(len(lines))
        for factor in (None, *FACTORS):
            mine = [row for row in rows if (row.agent, row.factor) == (name, factor)]
            flips = Proportion(sum(row.flipped for row in mine), sum(row.decisions for row in mine))
            off = float(np.mean([row.off for row in mine]))
            asked = "return only" if factor is None else "its own" if factor == 1 else f"{factor:g} times its own"
            kept = (len(mine), share(mine, lambda r: r.kept), mean_interval(mine, lambda r: r.kept))
            lines.append((ENVIRONMENTS[name], asked, *kept, off, None if factor is None else flips))
    columns = (
        *("environment", "horizon", "commands", "return is delivered [95 % CI]", "cluster [95 % CI]", "mean distance"),
        "decisions that change [95 % CI]",
    )
    note = (
        "Delivered: the episode returns what was asked for, within "
        f"{NEAR:.0%} (scaled). Decisions that change: of the episodes under the consistent pairs, those whose greedy "
        "action changes if the horizon alone is multiplied. A horizon is at least one step."
    )
    return Table(
        "Consistent and inconsistent pairs of return and horizon", columns, tuple(lines), note, tuple(begins[1:])
    )


def horizon_in_words(rows: Sequence[Pair]) -> str:
    """The remark of the paper, and how far it holds."""
    without, own = ([row for row in rows if row.factor == factor] for factor in (None, 1.0))
    other = [row for row in rows if row.factor not in (None, 1.0)]
    flips = Proportion(sum(row.flipped for row in other), sum(row.decisions for row in other))
    where = " and ".join(", ".join(ENVIRONMENTS[n] for n in dict.fromkeys(r.agent for r in rows)).rsplit(", ", 1))
    rates = [100 * share(kind, lambda r: r.kept).rate for kind in (without, own, other)]
    return (
        "**Changing only the desired horizon could sometimes produce unstable or unintuitive action choices**, says "
        f"the paper, which therefore removes it. On {where}, one agent of each and so one seed, those without a "
        f"horizon deliver {rates[0]:.1f} % of the {len(without)} commands of their fronts. Those with one deliver, of "
        f"the {len(own)} of theirs, {rates[1]:.1f} % if it is the time of the return itself, and {rates[2]:.1f} % if "
        f"it is another ({', '.join(f'{factor:g}' for factor in FACTORS if factor != 1)} times as long). Another "
        f"horizon alone changes the greedy action in {100 * flips.rate:.1f} % of the decisions. Settings and seeds are "
        "those of the agents without a horizon; no box is searched here. In DST, where time is a part of the return, "
        "and in Branch-Path, where all episodes last as long, such a pair contradicts itself, and nobody could fulfil "
        "it; in Reward-Line a longer one could be fulfilled."
    )
