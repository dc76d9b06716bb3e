"""Agents on disk: a folder with `weights.safetensors` and `agent.json`. Nothing is ever unpickled."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as save_tensors

from paretofoil import envs
from paretofoil.agents.agent import Agent, check_commands
from paretofoil.core.atomic import write_whole
from paretofoil.core.command import CommandSpace, Objective
from paretofoil.core.document import (
    Reader,
    by_name,
    finite,
    integer,
    objective,
    optional,
    record,
    several,
    sized,
    text,
    whole,
    within,
)
from paretofoil.core.errors import InvalidInput
from paretofoil.core.json import brief, brief_words, read_document, write_document
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
    document = write_document(_describe(agent), indent=1)
    read_description(read_document(document, "the agent"))  # what could not be read back is not written
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    write_whole(target / WEIGHTS, save_tensors(dict(agent.policy.arrays())))
    write_whole(target / DESCRIPTION, (document + "\n").encode())
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
        "command_box": {
            "low": space.low.tolist(),
            "high": space.high.tolist(),
            "origin": agent.provenance.get("command_box", BOX_ORIGIN),
        },
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
    values = read_document(read_bytes(path / DESCRIPTION), f"{path / DESCRIPTION}")
    policy = _read_policy(path / WEIGHTS)
    try:
        return _assemble(read_description(values), policy)
    except InvalidInput as error:
        raise InvalidInput(f"{path}: {error}") from None


def read_bytes(path: Path, what: str = "an agent's file") -> bytes:
    """The bytes of a file of sensible size; no device or pipe, which might never end."""
    try:
        if not path.is_file():
            raise InvalidInput.expected(f"{what} at {path}", "something else" if path.exists() else "no file")
        with path.open("rb") as file:
            read = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        if isinstance(error, InvalidInput):
            raise
        raise InvalidInput.expected(f"{what} at {path}", error) from None
    if len(read) > MAX_BYTES:
        raise InvalidInput.expected(f"{path} of at most {MAX_BYTES} bytes", "more")
    return read


def _read_policy(path: Path) -> PCNPolicy:
    try:
        arrays: Mapping[str, np.ndarray] = load_tensors(read_bytes(path))
    except InvalidInput:
        raise
    except (SafetensorError, KeyError, ValueError, TypeError, OverflowError, AttributeError) as error:
        told = f"one that cannot be read ({brief_words(error)})"
        raise InvalidInput.expected(f"{path} to be a safetensors file", told) from None
    try:
        return PCNPolicy.from_arrays(arrays)
    except InvalidInput as error:
        raise InvalidInput(f"{path}: {brief_words(error)}") from None


def _value(value: Any) -> Any:
    """A number, a flag, words, or lists and objects of them."""
    if isinstance(value, list):
        return [_value(item) for item in value]
    if isinstance(value, Mapping):
        return {text(name): _value(item) for name, item in value.items()}
    if isinstance(value, str):
        text(value.replace("\n", " ").replace("\t", " "))
        return value
    if value is None or isinstance(value, bool):
        return value
    return integer(value) if isinstance(value, int) else finite(value)


def _argument(value: Any) -> Any:
    """A value for somebody else's constructor, which may make room for as many things as a number says."""
    if isinstance(value, list):
        return [_argument(item) for item in value]
    if isinstance(value, int | float) and not isinstance(value, bool):
        return within(integer if isinstance(value, int) else finite, -1_000_000, 1_000_000)(value)
    return _value(value)


_size = within(integer, 1, 1_000_000)
_ENVIRONMENT = {
    "name": text,
    "gym_id": text,
    "kwargs": by_name(_argument),
    "max_steps": within(integer, 1, 1_000_000),
}
_NETWORK = dict.fromkeys(("state_size", "command_size", "hidden", "num_actions"), _size)
_DESCRIPTION: dict[str, Reader] = {
    "name": text,
    "environment": record(_ENVIRONMENT),
    "objectives": several(objective, most=1000),
    "actions": several(text, most=10_000),
    "network": record(_NETWORK),
    "command_box": record({"low": sized(None), "high": sized(None)}),
    "front": several(sized(None), most=10_000),
    "achieved": optional(several(sized(None), most=10_000)),
    "error": optional(several(sized(None), most=10_000)),
    "provenance": by_name(_value),
}
"""All of an agent's JSON, field by field."""


def read_description(values: Any) -> dict[str, Any]:
    """The fields of an agent's JSON."""
    with whole(values, SCHEMA, "agent"):
        read = record(_DESCRIPTION)(values)
        for name in set(read["environment"]["kwargs"]) & _RESERVED:
            raise InvalidInput.expected("arguments of the environment itself", name)
        return read


_RESERVED = {"id", "gym_id", "name", "max_steps", "max_episode_steps", "disable_env_checker", "render_mode"}
"""Arguments of Gymnasium and of the catalogue, which are not for a file to set: one of them opens a window."""


def _assemble(values: dict[str, Any], policy: PCNPolicy) -> Agent:
    objectives, box = values["objectives"], values["command_box"]
    environment = _environment(values["environment"], objectives, values["actions"])
    space = CommandSpace(box["low"], box["high"], objectives)
    check_commands(space, environment)
    expected = {
        "state_size": environment.observation_size,
        "command_size": space.dim,
        "hidden": values["network"]["hidden"],
        "num_actions": len(values["actions"]),
    }
    if network_shape(policy) != expected or values["network"] != expected:
        raise InvalidInput.expected(f"a network of {expected}", network_shape(policy))
    if values["actions"] != environment.actions:
        got = brief(list(values["actions"]))
        raise InvalidInput.expected(f"the actions {list(environment.actions)} of {environment.name}", got)
    shape = (len(values["front"]), len(environment.objectives))
    return Agent(
        name=values["name"],
        policy=policy,
        environment=environment,
        space=space,
        front=_returns(values["front"], "front", (shape[0], space.dim)),  # type: ignore[arg-type]
        achieved=_returns(values["achieved"], "achieved", shape),
        error=_returns(values["error"], "error", shape),
        provenance=values["provenance"],
    )


def _returns(rows: Any, what: str, shape: tuple[int, int]) -> np.ndarray | None:
    if rows is None:
        return None
    if len(rows) != shape[0] or any(row.size != shape[1] for row in rows):
        raise InvalidInput.expected(f"{what} returns of shape {shape}", brief([row.tolist() for row in rows[:2]]))
    return np.array(rows, dtype=np.float64).reshape(shape)


def _environment(
    values: dict[str, Any], objectives: tuple[Objective, ...], actions: tuple[str, ...]
) -> envs.CatalogueEntry:
    """From the catalogue by name, or described anew from its Gymnasium id, with the names that were stored."""
    if values["name"] in envs.names():
        return envs.entry(values["name"])
    try:
        found = envs.describe(values["gym_id"], name=values["name"], max_steps=values["max_steps"], **values["kwargs"])
    except InvalidInput:
        raise
    except Exception as error:  # an environment may raise whatever it likes at arguments that it does not like
        got = f"{type(error).__name__} ({brief_words(error)})"
        raise InvalidInput.expected(f"{values['gym_id']} to be made with {brief(values['kwargs'])}", got) from error
    if len(actions) != len(found.actions) or len(objectives) < len(found.objectives):
        many = f"{len(found.actions)} actions and {len(found.objectives)} objectives of {found.name}"
        raise InvalidInput.expected(many, f"{len(actions)} and {len(objectives)}")
    return replace(found, objectives=objectives[: len(found.objectives)], actions=actions)
