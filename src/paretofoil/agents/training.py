"""From a training to an agent that can be saved."""

import platform
from dataclasses import asdict, fields, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from paretofoil import envs
from paretofoil.agents.agent import HORIZON, Agent
from paretofoil.core.command import CommandSpace
from paretofoil.core.errors import InvalidInput, did_you_mean
from paretofoil.core.version import __version__
from paretofoil.pcn.config import PLAIN, PLAIN_DEFAULT, PRESETS, REALISED, Explore, Returns, TrainConfig

if TYPE_CHECKING:
    from paretofoil.pcn.train import Trainer, TrainResult


def preset(entry: envs.CatalogueEntry, explore: Explore = "plans", returns: Returns | None = None) -> TrainConfig:
    """The settings that were found to work for an environment, or the defaults; of plain exploration the authors'.

    An environment that is neither vectorised nor tabulated is stepped one by one: its returns are then averaged
    over fewer rollouts.
    """
    stepped_one_by_one = entry.batch is None and not entry.finite
    default = TrainConfig(rollouts=20, candidates=4) if stepped_one_by_one else TrainConfig()
    found = PRESETS.get(entry.name, default)
    if explore == "plain":
        found = PLAIN.get(entry.name, PLAIN_DEFAULT)
    elif returns == "realised":
        found = REALISED.get(entry.name, found)
    return replace(found, explore=explore, returns=found.returns if returns is None else returns)


def train(environment: str | envs.CatalogueEntry, *, name: str | None = None, seed: int = 0, **settings: Any) -> Agent:
    """Train a Pareto Conditioned Network and give it back as an agent; `save_agent` puts it into a folder.

    Args:
        environment: a name from `paretofoil envs`, or an entry of one's own (`envs.describe` makes one).
        name: the agent's name; that of the environment if not given.
        seed: one seed gives one agent.
        settings: any field of `pcn.config.TrainConfig`, such as steps, minutes, hidden, horizon, explore, returns; the
            rest are those that were found to work for the environment.
    """
    entry = envs.entry(environment)
    known = [field.name for field in fields(TrainConfig)]
    unknown = [setting for setting in settings if setting not in known]
    if unknown:
        raise InvalidInput.expected(f"settings among {', '.join(known)}", did_you_mean(unknown[0], known))
    start = preset(entry, settings.pop("explore", "plans"), settings.pop("returns", None))
    config = replace(start, seed=seed, **settings)
    return make_agent(name or entry.name, entry, make_trainer(entry, config).run())


def make_trainer(entry: envs.CatalogueEntry, config: TrainConfig) -> "Trainer":
    from paretofoil.pcn.train import Trainer  # needs torch

    return Trainer(partial(envs.make_batch, entry), config, _reference(entry), entry.name)


def resume_trainer(entry: envs.CatalogueEntry, checkpoint: Path) -> "Trainer":
    """Continue a training from its checkpoint."""
    from paretofoil.pcn.train import Trainer  # needs torch

    return Trainer.resume(checkpoint, partial(envs.make_batch, entry), _reference(entry), entry.name)


def _reference(entry: envs.CatalogueEntry) -> np.ndarray | None:
    return None if entry.reference is None else np.array(entry.reference)


def make_agent(name: str, entry: envs.CatalogueEntry, result: "TrainResult") -> Agent:
    """The agent with everything that is needed to make it again."""
    objectives = (*entry.objectives, HORIZON) if result.config.horizon else entry.objectives
    order = np.lexsort(result.front.T[::-1])  # by the first objective, then the next: as fronts are read
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
            "versions": {
                "paretofoil": __version__,
                "python": platform.python_version(),
                **{package: version(package) for package in ("torch", "numpy", "gymnasium", "mo-gymnasium")},
            },
        },
    )
