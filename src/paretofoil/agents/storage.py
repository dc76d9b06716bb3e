"""Agents on disk: a folder with `weights.safetensors` and `agent.json`. Nothing is ever unpickled."""

import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as save_tensors

from paretofoil import envs
from paretofoil.agents.agent import Agent
from paretofoil.core.atomic import write_whole
from paretofoil.core.command import CommandSpace, Objective
from paretofoil.core.errors import InvalidInput
from paretofoil.pcn.policy import PCNPolicy

SCHEMA = "paretofoil/agent/1"
WEIGHTS, DESCRIPTION = "weights.safetensors", "agent.json"
MAX_BYTES = 64 << 20
"""Far more than any agent needs; a larger file is refused before it is read."""


def save_agent(agent: Agent, folder: str | Path) -> Path:
    """Write an agent; each file appears whole or not at all."""
    if not isinstance(agent.policy, PCNPolicy):
        raise InvalidInput(
            f"expected an agent with a PCN policy, got one with a {type(agent.policy).__name__}: only PCN weights can "
            "be stored as safetensors. Keep your policy in its own file, and make the agent around it each time: "
            "pf.Agent(name, policy, environment, space, front)"
        )
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    write_whole(target / WEIGHTS, save_tensors(dict(agent.policy.arrays())))
    write_whole(target / DESCRIPTION, (json.dumps(_describe(agent), indent=1, allow_nan=False) + "\n").encode())
    return target


def _describe(agent: Agent) -> dict[str, Any]:
    entry, space = agent.environment, agent.space
    return {
        "schema": SCHEMA,
        "name": agent.name,
        "environment": {
            "name": entry.name,
            "gym_id": entry.gym_id,
            "kwargs": dict(entry.kwargs),
            "max_steps": entry.max_steps,
        },
        "objectives": [asdict(o) for o in space.objectives],  # type: ignore[arg-type]
        "actions": list(agent.actions),
        "network": network_shape(agent.policy),  # type: ignore[arg-type]
        "command_box": {"low": space.low.tolist(), "high": space.high.tolist(), "origin": BOX_ORIGIN},
        "front": agent.front.tolist(),
        "achieved": None if agent.achieved is None else agent.achieved.tolist(),
        "error": None if agent.error is None else agent.error.tolist(),
        "provenance": dict(agent.provenance),
    }


BOX_ORIGIN = (
    "the extremes of every remaining return that training relabelled (the final replay's suffixes and the archive), "
    "within the natural limits of the objectives"
)


def network_shape(policy: PCNPolicy) -> dict[str, int]:
    return {
        "state_size": policy.state_size,
        "command_size": policy.command_size,
        "hidden": policy.state_bias.size,
        "num_actions": policy.num_actions,
    }


def read_agent(folder: str | Path) -> Agent:
    """Read an agent; whatever does not fit is refused with a sentence that says what and why."""
    path = Path(folder)
    description = _read_description(path / DESCRIPTION)
    policy = _read_policy(path / WEIGHTS)
    try:
        return _assemble(description, policy)
    except InvalidInput as error:
        raise InvalidInput(f"{path}: {error}") from None
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InvalidInput(
            f"{path / DESCRIPTION}: expected a whole agent of schema {SCHEMA}, got one with a bad or missing {error}"
        ) from None


def _read_bytes(path: Path) -> bytes:
    try:
        if path.stat().st_size > MAX_BYTES:
            raise InvalidInput.expected(f"{path} of at most {MAX_BYTES} bytes", path.stat().st_size)
        return path.read_bytes()
    except OSError as error:
        raise InvalidInput.expected(f"an agent's file at {path}", error.strerror) from None


def _read_description(path: Path) -> dict[str, Any]:
    try:
        values = json.loads(_read_bytes(path))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise InvalidInput.expected(f"{path} to be JSON", f"a file that is not ({error})") from None
    if not isinstance(values, dict) or values.get("schema") != SCHEMA:
        got = values.get("schema") if isinstance(values, dict) else type(values).__name__
        raise InvalidInput.expected(f"{path} to have the schema {SCHEMA}", got)
    return values


def _read_policy(path: Path) -> PCNPolicy:
    try:
        arrays: Mapping[str, np.ndarray] = load_tensors(_read_bytes(path))
    except (SafetensorError, KeyError, ValueError) as error:
        raise InvalidInput.expected(f"{path} to be a safetensors file", f"one that cannot be read ({error})") from None
    try:
        return PCNPolicy.from_arrays(arrays)
    except InvalidInput as error:
        raise InvalidInput(f"{path}: {error}") from None


def _assemble(values: dict[str, Any], policy: PCNPolicy) -> Agent:
    objectives = tuple(Objective(**item) for item in values["objectives"])
    box = values["command_box"]
    environment = _environment(values["environment"], objectives, tuple(values["actions"]))
    space = CommandSpace(np.array(box["low"]), np.array(box["high"]), objectives)
    expected = {
        "state_size": environment.observation_size,
        "command_size": space.size,
        "hidden": values["network"]["hidden"],
        "num_actions": len(values["actions"]),
    }
    if network_shape(policy) != expected or values["network"] != expected:
        raise InvalidInput.expected(f"a network of {expected}", network_shape(policy))
    if tuple(values["actions"]) != environment.actions:
        raise InvalidInput.expected(f"the actions {list(environment.actions)} of {environment.name}", values["actions"])
    front = np.array(values["front"], dtype=np.float64).reshape(-1, space.size)
    shape = (len(front), len(environment.objectives))
    return Agent(
        name=values["name"],
        policy=policy,
        environment=environment,
        space=space,
        front=front,
        achieved=_returns(values["achieved"], "achieved", shape),
        error=_returns(values["error"], "error", shape),
        provenance=values["provenance"],
    )


def _returns(rows: Any, what: str, shape: tuple[int, int]) -> np.ndarray | None:
    if rows is None:
        return None
    returns = np.array(rows, dtype=np.float64)
    if returns.shape != shape or not np.isfinite(returns).all():
        raise InvalidInput.expected(f"{what} returns of shape {shape}, all finite", returns.shape)
    return returns


def _environment(
    values: dict[str, Any], objectives: tuple[Objective, ...], actions: tuple[str, ...]
) -> envs.CatalogueEntry:
    """From the catalogue by name, or described anew from its Gymnasium id, with the names that were stored."""
    if values["name"] in envs.names():
        return envs.entry(values["name"])
    found = envs.describe(values["gym_id"], name=values["name"], max_steps=values["max_steps"], **values["kwargs"])
    if len(actions) != len(found.actions):
        raise InvalidInput.expected(f"{len(found.actions)} actions of {found.name}", list(actions))
    return replace(found, objectives=objectives[: len(found.objectives)], actions=actions)
