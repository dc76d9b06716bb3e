"""Training of agents."""

from dataclasses import asdict, fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from paretofoil import envs
from paretofoil.agents.agent import HORIZON, Agent
from paretofoil.core import installed_versions
from paretofoil.core.command import CommandSpace
from paretofoil.core.errors import InvalidInput, did_you_mean
from paretofoil.pcn.config import PLAIN, PLAIN_DEFAULT, PRESETS, REALISED, Explore, Returns, TrainConfig

if TYPE_CHECKING:
    from paretofoil.pcn.train import Trainer, TrainResult


MAX_OBSERVATION = 4000
"""Larger observations count as images, for which a PCN has no layers."""


def preset(entry: envs.CatalogueEntry, explore: Explore = "plans", returns: Returns | None = None) -> TrainConfig:
    """Return the settings for an environment. A slow environment gets fewer rollouts per mean return."""
    slow = entry.batch is None and not entry.finite
    config = PRESETS.get(entry.name, TrainConfig(rollouts=20, candidates=4) if slow else TrainConfig())
    if explore == "plain":
        config = PLAIN.get(entry.name, PLAIN_DEFAULT)
    elif returns == "realised":
        config = REALISED.get(entry.name, config)
    if entry.action_space is not None and returns is None:
        returns = "realised"
    return replace(config, explore=explore, returns=config.returns if returns is None else returns)


def train(environment: str | envs.CatalogueEntry, *, name: str | None = None, seed: int = 0, **settings: Any) -> Agent:
    """Train a Pareto Conditioned Network and return it as an agent.

    Args:
        environment: a name from `paretofoil envs`, or your own entry (see `envs.describe`).
        name: the name of the agent; by default that of the environment.
        seed: the random seed.
        settings: fields of `pcn.config.TrainConfig`, such as steps, minutes, hidden, horizon, explore or returns. The
            defaults are the preset of the environment.
    """
    entry = envs.entry(environment)
    names = [field.name for field in fields(TrainConfig)]
    for setting in settings:
        if setting not in names:
            raise InvalidInput.expected(f"settings among {', '.join(names)}", did_you_mean(setting, names))
    start = preset(entry, settings.pop("explore", "plans"), settings.pop("returns", None))
    config = replace(start, seed=seed, **settings)
    return make_agent(name or entry.name, entry, make_trainer(entry, config).run())


def make_trainer(entry: envs.CatalogueEntry, config: TrainConfig) -> "Trainer":
    """Return the trainer of an agent in an environment."""
    from paretofoil.pcn.train import Trainer

    if entry.observation_size > MAX_OBSERVATION:
        expected = f"observations of at most {MAX_OBSERVATION:,} numbers, because a PCN has no layers for images"
        raise InvalidInput.expected(expected, f"{entry.observation_size:,} in {entry.name}")
    return Trainer(partial(envs.make_batch, entry), config, _reference(entry), entry.name)


def resume_trainer(entry: envs.CatalogueEntry, checkpoint: Path) -> "Trainer":
    """Return the trainer of a stopped training, with the state of its checkpoint."""
    from paretofoil.pcn.train import Trainer

    return Trainer.resume(checkpoint, partial(envs.make_batch, entry), _reference(entry), entry.name)


def _reference(entry: envs.CatalogueEntry) -> np.ndarray | None:
    return None if entry.reference is None else np.array(entry.reference)


def make_agent(name: str, entry: envs.CatalogueEntry, result: "TrainResult") -> Agent:
    """Return the agent of a training, with provenance from which it can be trained again."""
    objectives = (*entry.objectives, HORIZON) if result.config.horizon else entry.objectives
    order = np.lexsort(result.front.T[::-1])  # by the first objective, then the next
    return Agent(
        name=name,
        policy=result.policy,
        environment=entry,
        space=CommandSpace(result.low, result.high, objectives).possible(),
        front=result.front[order],
        achieved=result.achieved[order],
        error=result.achieved_error[order],
        provenance={
            "seed": result.config.seed,
            "steps": result.steps,
            "seconds": round(result.seconds, 1),
            "finished": result.finished,
            "hypervolume": result.hypervolume,
            "reached": int(result.reached.sum()),
            "stopped by the step limit": float(result.truncated.max()),
            "config": asdict(result.config),
            "versions": installed_versions("numpy", "gymnasium", "mo-gymnasium"),
        },
    )
