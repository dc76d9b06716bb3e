"""From a training to an agent that can be saved."""

import platform
from dataclasses import asdict
from functools import partial
from importlib.metadata import version
from pathlib import Path

import numpy as np

from paretofoil import __version__, envs
from paretofoil.agents.agent import Agent
from paretofoil.command import CommandSpace, Objective
from paretofoil.pcn.config import PRESETS, TrainConfig
from paretofoil.pcn.train import Trainer, TrainResult

HORIZON = Objective("horizon", "steps")
"""The last number of a command, for agents that are conditioned on the steps left as well."""


def preset(entry: envs.CatalogueEntry) -> TrainConfig:
    """The settings that were found to work for an environment, or the defaults.

    An environment that is neither vectorised nor tabulated is stepped one by one: its returns are then averaged
    over fewer rollouts.
    """
    stepped_one_by_one = entry.batch is None and not entry.finite
    default = TrainConfig(rollouts=20, candidates=4) if stepped_one_by_one else TrainConfig()
    return PRESETS.get(entry.name, default)


def make_trainer(entry: envs.CatalogueEntry, config: TrainConfig) -> Trainer:
    return Trainer(partial(envs.make_batch, entry), config, _reference(entry))


def resume_trainer(entry: envs.CatalogueEntry, checkpoint: Path) -> Trainer:
    """Take up a training from its checkpoint."""
    return Trainer.resume(checkpoint, partial(envs.make_batch, entry), _reference(entry))


def _reference(entry: envs.CatalogueEntry) -> np.ndarray | None:
    return None if entry.reference is None else np.array(entry.reference)


def make_agent(name: str, entry: envs.CatalogueEntry, result: TrainResult) -> Agent:
    """The agent with everything that is needed to make it again."""
    objectives = (*entry.objectives, HORIZON) if result.config.horizon else entry.objectives
    return Agent(
        name=name,
        policy=result.policy,
        environment=entry,
        space=CommandSpace(result.low, result.high, objectives),
        front=result.front,
        achieved=result.achieved,
        error=result.achieved_error,
        provenance={
            "seed": result.config.seed,
            "steps": result.steps,
            "seconds": round(result.seconds, 1),
            "finished": result.finished,
            "hypervolume": result.hypervolume,
            "reached": int(result.reached.sum()),
            "stopped by the step limit": float(result.truncated.max()),
            "config": asdict(result.config),
            "versions": {
                "paretofoil": __version__,
                "python": platform.python_version(),
                **{package: version(package) for package in ("torch", "numpy", "gymnasium", "mo-gymnasium")},
            },
        },
    )
