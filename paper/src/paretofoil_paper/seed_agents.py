"""Agents by training seed: read if they exist, otherwise trained; an interrupted training resumes."""

import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from paretofoil import envs
from paretofoil.agents.store import DESCRIPTION, read_agent, save_agent
from paretofoil.agents.training import make_agent, make_trainer, preset, resume_trainer
from paretofoil.core.errors import InvalidInput
from paretofoil.core.files import CHECKPOINT
from paretofoil.pcn.config import TrainConfig
from paretofoil.study import StudyProgress
from paretofoil_paper.plan import REALISED_ENVIRONMENTS, Plan


def seed_agents(plan: Plan, kind: str) -> list[Path]:
    """Return the folders of the agents of a kind, one for each seed of the plan.

    A kind is the name of the shipped agent that is trained in the same way: an environment, with `-realised` for
    training on realised returns.
    """
    show, total = plan.tell(f"training {kind}"), len(plan.agent_seeds)
    folders: list[Path] = []
    for seed in plan.agent_seeds:
        if show:
            show(StudyProgress(len(folders), total, 0, 0, 0.0))
        folders.append(seed_agent(plan, kind, seed))
    return folders


def agent_name(kind: str, seed: int) -> str:
    return f"{kind}-{seed}"


def seed_agent(plan: Plan, kind: str, seed: int) -> Path:
    """Return the folder of the agent of one seed; an interrupted training resumes at the next call."""
    folder, entry = plan.out / "agents" / agent_name(kind, seed), envs.entry(REALISED_ENVIRONMENTS.get(kind, kind))
    settings = preset(entry, returns="realised" if kind in REALISED_ENVIRONMENTS else None)
    config, checkpoint = replace(settings, **{**plan.training, "seed": seed}), folder / CHECKPOINT
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


def _check(folder: Path, stored: Mapping[str, Any] | None, config: TrainConfig) -> None:
    """Refuse an agent that was trained with other settings."""
    expected, actual = json.loads(json.dumps(asdict(config))), json.loads(json.dumps(stored or {}))
    for name, value in expected.items():
        if actual.get(name) != value:
            given = f"{name} = {actual.get(name)}; move the folder away to train a new agent"
            raise InvalidInput.expected(f"an agent in {folder} trained with {name} = {value}", given)
