"""Agents by seed: read if they are there, gone on with if their training was stopped, trained if not."""

import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from paretofoil import envs
from paretofoil.agents.storage import DESCRIPTION, read_agent, save_agent
from paretofoil.agents.training import make_agent, make_trainer, preset, resume_trainer
from paretofoil.core.constants import CHECKPOINT
from paretofoil.core.errors import InvalidInput
from paretofoil.pcn.config import TrainConfig
from paretofoil.reproduce.plan import Plan
from paretofoil.study import Progress


def seed_agents(plan: Plan, environment: str) -> list[Path]:
    """The folders of an environment's agents, one for each seed of the plan."""
    show, total = plan.tell(f"training {environment}"), len(plan.agent_seeds)
    folders: list[Path] = []
    for seed in plan.agent_seeds:
        if show:
            show(Progress(len(folders), total, 0, 0, 0.0))
        folders.append(seed_agent(plan, environment, seed))
    return folders


def agent_name(environment: str, seed: int) -> str:
    return f"{environment}-{seed}"


def seed_agent(plan: Plan, environment: str, seed: int) -> Path:
    """The folder of the agent of one seed; a training that is stopped or killed goes on at the next call."""
    folder, entry = plan.out / "agents" / agent_name(environment, seed), envs.entry(environment)
    config, checkpoint = replace(preset(entry), **{**plan.training, "seed": seed}), folder / CHECKPOINT
    if (folder / DESCRIPTION).is_file() and not checkpoint.exists():
        _check(folder, read_agent(folder).provenance.get("config"), config)
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    trainer = resume_trainer(entry, checkpoint) if checkpoint.exists() else make_trainer(entry, config)
    _check(folder, asdict(trainer.config), config)
    result = trainer.run(checkpoint=checkpoint)
    if not result.finished:
        raise KeyboardInterrupt
    save_agent(make_agent(folder.name, entry, result), folder)
    checkpoint.unlink()
    return folder


def _check(folder: Path, found: Mapping[str, Any] | None, wanted: TrainConfig) -> None:
    """An agent of other settings is not taken for this one."""
    plain, told = json.loads(json.dumps(asdict(wanted))), json.loads(json.dumps(found or {}))
    for name, value in plain.items():
        if told.get(name) != value:
            got = f"one with {told.get(name)}; move it away"
            raise InvalidInput.expected(f"the agent in {folder} to be trained with {name} = {value}", got)
