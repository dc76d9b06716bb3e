"""Agents on disk: a folder with `weights.safetensors` and `agent.json`, shipped with the package or local.

Nothing is unpickled.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, ClassVar

import msgspec
import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as save_tensors

from paretofoil import envs
from paretofoil.agents.agent import Agent, check_commands, require_agent
from paretofoil.core.amounts import ActionSpace
from paretofoil.core.command import CommandSpace, Objective
from paretofoil.core.errors import InvalidInput, did_you_mean
from paretofoil.core.files import write_atomically
from paretofoil.core.json import Document, brief, brief_words, read_document
from paretofoil.envs.catalogue import outline
from paretofoil.pcn.policy import PCN, PCNActor, PCNPolicy

WEIGHTS, DESCRIPTION = "weights.safetensors", "agent.json"
MAX_BYTES = 64 << 20
"""The largest file that is read."""
MAX_ARGUMENT = 1_000_000
"""The largest number in the arguments of an environment, which may allocate as much memory."""
BOX_ORIGIN = (
    "the extremes of every remaining return that training relabelled (the final replay's suffixes and the archive), "
    "within the natural limits of the objectives"
)
_RESERVED = {"id", "gym_id", "name", "max_steps", "max_episode_steps", "disable_env_checker", "render_mode"}
"""Arguments of Gymnasium and of the catalogue that a file must not set: render_mode, for example, can open a window."""

Size = Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]
Numbers = Annotated[list[float], msgspec.Meta(min_length=1)]
Rows = Annotated[list[Numbers], msgspec.Meta(max_length=10_000)]


@dataclass(frozen=True)
class EnvironmentRecord:
    """The environment of a stored agent."""

    name: str
    gym_id: str
    kwargs: dict[str, Any]
    max_steps: Size
    stochastic: bool = True
    phrases: Annotated[tuple[str, ...], msgspec.Meta(max_length=10_000)] = ()
    description: str = ""
    start_seed: Annotated[int, msgspec.Meta(ge=0)] | None = None
    real_returns: bool = False

    @classmethod
    def of(cls, entry: envs.CatalogueEntry) -> "EnvironmentRecord":
        values = {field.name: getattr(entry, field.name) for field in fields(cls)}
        return cls(**values | {"kwargs": dict(entry.kwargs)})


@dataclass(frozen=True)
class NetworkShape:
    """The sizes of a PCN."""

    state_size: Size
    command_size: Size
    hidden: Size
    num_actions: Size

    @classmethod
    def of(cls, policy: PCN) -> "NetworkShape":
        network = policy.network if isinstance(policy, PCNActor) else policy
        return cls(network.state_size, network.command_size, network.hidden_size, network.num_actions)


@dataclass(frozen=True)
class ActionRange:
    """The range of one dimension of continuous actions."""

    unit: str
    low: float
    high: float


@dataclass(frozen=True)
class CommandBox:
    """The range of the commands of a stored agent, and where it comes from."""

    low: Numbers
    high: Numbers
    origin: str = ""


@dataclass(frozen=True, eq=False)
class AgentDocument(Document):
    """The content of agent.json."""

    SCHEMA: ClassVar[str] = "paretofoil/agent/1"

    name: str
    environment: EnvironmentRecord
    objectives: Annotated[tuple[Objective, ...], msgspec.Meta(max_length=1000)]
    actions: Annotated[tuple[str, ...], msgspec.Meta(max_length=10_000)]
    network: NetworkShape
    command_box: CommandBox
    front: Rows
    achieved: Rows | None
    error: Rows | None
    provenance: dict[str, Any]
    ranges: Annotated[tuple[ActionRange, ...], msgspec.Meta(max_length=1000)] = ()
    """The ranges of continuous actions, one per dimension; empty if actions are discrete."""

    @classmethod
    def of(cls, agent: Agent, policy: PCN) -> "AgentDocument":
        entry, space = agent.environment, agent.space
        origin = str(agent.provenance.get("command_box", BOX_ORIGIN))
        return cls(
            name=agent.name,
            environment=EnvironmentRecord.of(entry),
            objectives=tuple(space.objectives),  # type: ignore[arg-type]
            actions=agent.actions,
            network=NetworkShape.of(policy),
            command_box=CommandBox(space.low.tolist(), space.high.tolist(), origin),
            front=agent.front.tolist(),
            achieved=None if agent.achieved is None else agent.achieved.tolist(),
            error=None if agent.error is None else agent.error.tolist(),
            provenance=dict(agent.provenance),
            ranges=_ranges(entry.action_space),
        )

    @classmethod
    def from_dict(cls, values: Any) -> "AgentDocument":
        """Read a document. Only texts in the provenance may have several lines."""
        provenance = values.get("provenance") if isinstance(values, Mapping) else None
        if not isinstance(provenance, Mapping):
            return super().from_dict(values)
        document = super().from_dict({**values, "provenance": _on_one_line(provenance)})
        return replace(document, provenance=dict(provenance))

    def check(self) -> None:
        for name, value in self.environment.kwargs.items():
            if name in _RESERVED:
                raise InvalidInput.expected("arguments of the environment's constructor only", name)
            _check_argument(value)


def _ranges(space: ActionSpace | None) -> tuple[ActionRange, ...]:
    if space is None:
        return ()
    return tuple(map(ActionRange, space.units, space.low.tolist(), space.high.tolist()))


def _on_one_line(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _on_one_line(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_on_one_line(item) for item in value]
    return value.replace("\n", " ").replace("\t", " ") if isinstance(value, str) else value


def _check_argument(value: Any) -> None:
    if isinstance(value, list | dict):
        for item in value.values() if isinstance(value, dict) else value:
            _check_argument(item)
    elif isinstance(value, int | float) and abs(value) > MAX_ARGUMENT:
        raise InvalidInput.expected(f"arguments from {-MAX_ARGUMENT:,} to {MAX_ARGUMENT:,}", f"{value:,}")


def save_agent(agent: Agent, folder: str | Path) -> Path:
    """Write an agent to a folder, each file atomically; return the folder."""
    require_agent(agent)
    if not isinstance(agent.policy, PCNPolicy | PCNActor):
        raise InvalidInput(
            f"expected an agent with a PCN policy, got {type(agent.policy).__name__}: only PCN weights can be stored. "
            "Keep your policy in its own file, and make the agent from it each time: "
            "pf.Agent(name, policy, environment, space, front)"
        )
    document = AgentDocument.of(agent, agent.policy).to_json(indent=1)
    AgentDocument.from_json(document)  # an agent that cannot be read is not written
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    write_atomically(target / WEIGHTS, save_tensors(dict(agent.policy.arrays())))
    write_atomically(target / DESCRIPTION, (document + "\n").encode())
    return target


def read_agent(folder: str | Path) -> Agent:
    """Read an agent from its folder; an error names the file that is wrong."""
    path = Path(folder)
    values = read_document(read_bytes(path / DESCRIPTION), f"{path / DESCRIPTION}")
    network = _read_network(path / WEIGHTS)
    try:
        return _assemble(AgentDocument.from_dict(values), network)
    except InvalidInput as error:
        raise InvalidInput(f"{path}: {error}") from None


def read_bytes(path: Path, what: str = "an agent's file") -> bytes:
    """Return the content of a file of at most MAX_BYTES. Devices and pipes are refused, because they may never end."""
    try:
        if not path.is_file():
            kind = "a folder" if path.is_dir() else "a device or a pipe" if path.exists() else "no file"
            raise InvalidInput.expected(f"{what} at {path}", kind)
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        if isinstance(error, InvalidInput):
            raise
        raise InvalidInput.expected(f"{what} at {path}", error) from None
    if len(content) > MAX_BYTES:
        raise InvalidInput.expected(f"{path} of at most {MAX_BYTES:,} bytes", f"{path.stat().st_size:,} bytes")
    return content


def _read_network(path: Path) -> PCNPolicy:
    content = read_bytes(path)
    try:
        return PCNPolicy.from_arrays(load_tensors(content))
    except InvalidInput as error:
        raise InvalidInput(f"{path}: {brief_words(error)}") from None
    except (SafetensorError, KeyError, ValueError, TypeError, OverflowError, AttributeError) as error:
        got = f"a file that cannot be read ({brief_words(error)})"
        raise InvalidInput.expected(f"{path} to be a safetensors file", got) from None


def _assemble(document: AgentDocument, network: PCNPolicy) -> Agent:
    environment, box = _environment(document), document.command_box
    space = CommandSpace(np.array(box.low), np.array(box.high), document.objectives)
    check_commands(space, environment)
    expected = NetworkShape(environment.observation_size, space.dim, document.network.hidden, len(document.actions))
    if not NetworkShape.of(network) == document.network == expected:
        raise InvalidInput.expected(f"a network of {asdict(expected)}", asdict(NetworkShape.of(network)))
    if document.actions != environment.actions:
        got = brief(list(document.actions))
        raise InvalidInput.expected(f"the actions {list(environment.actions)} of {environment.name}", got)
    space_of_actions = environment.action_space
    if document.ranges != _ranges(space_of_actions):
        raise InvalidInput.expected(f"actions of {space_of_actions!r}", brief(list(map(asdict, document.ranges))))
    return Agent(
        name=document.name,
        policy=network if space_of_actions is None else PCNActor(network, space_of_actions),
        environment=environment,
        space=space,
        front=document.front,  # type: ignore[arg-type]
        achieved=document.achieved,  # type: ignore[arg-type]
        error=document.error,  # type: ignore[arg-type]
        provenance=document.provenance,
    )


def _environment(document: AgentDocument) -> envs.CatalogueEntry:
    """Return the entry of the catalogue, or an entry for the stored Gymnasium id and the stored names."""
    stored, objectives, actions = document.environment, document.objectives, document.actions
    if stored.name in envs.names():
        return envs.entry(stored.name)
    try:
        entry = outline(stored.gym_id, name=stored.name, max_steps=stored.max_steps, **stored.kwargs)
    except InvalidInput:
        raise
    except Exception as error:  # an environment may raise any error for wrong arguments
        got = f"{type(error).__name__} ({brief_words(error)})"
        raise InvalidInput.expected(f"{stored.gym_id} to be made with {brief(stored.kwargs)}", got) from error
    if len(actions) != len(entry.actions) or len(objectives) < len(entry.objectives):
        counts = f"{len(entry.actions)} actions and {len(entry.objectives)} objectives of {entry.name}"
        raise InvalidInput.expected(counts, f"{len(actions)} and {len(objectives)}")
    action_space = entry.action_space
    if action_space is not None:
        units = [one.unit for one in document.ranges]
        phrases = stored.phrases or ("",) * len(actions)
        action_space = replace(action_space, names=actions, units=units, phrases=phrases)
    return replace(
        entry,
        action_space=action_space,
        objectives=objectives[: len(entry.objectives)],
        actions=actions,
        phrases=stored.phrases,
        stochastic=stored.stochastic,
        start_seed=stored.start_seed,
        real_returns=stored.real_returns,
        description=stored.description or entry.description,
    )


_ADDRESS = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")


def shipped_folder() -> Path:
    return Path(str(files("paretofoil.agents"))) / "shipped"


def local_folder() -> Path:
    """Return the folder of trained agents: $PARETOFOIL_AGENTS, or ./agents."""
    return Path(os.environ.get("PARETOFOIL_AGENTS", "agents"))


def list_agents() -> dict[str, Path]:
    """Return the folders of all agents by name. A local agent hides a shipped agent with its name."""
    agents: dict[str, Path] = {}
    for folder in (shipped_folder(), local_folder()):
        if folder.is_dir():
            agents |= {path.parent.name: path.parent for path in sorted(folder.glob(f"*/{DESCRIPTION}"))}
    return agents


def shipped(name: str) -> str:
    """Return the name of a shipped agent, or its folder if a local agent hides it."""
    folder = shipped_folder() / name
    return name if list_agents().get(name) == folder else str(folder)


def hiding_folder(name: str) -> Path | None:
    """Return the folder of the local agent that hides the shipped agent of this name, or None."""
    folder = list_agents().get(name)
    return folder if (shipped_folder() / name / DESCRIPTION).is_file() and shipped(name) != name else None


def load_agent(name: str | Path) -> Agent:
    """Return the agent with this name or in this folder."""
    agents = list_agents()
    if str(name) in agents:
        return read_agent(agents[str(name)])
    if _is_folder(name):
        return read_agent(name)
    names = f"an agent among {', '.join(agents)}, or " if agents else ""
    raise InvalidInput.expected(f"{names}an agent's folder", did_you_mean(name, agents))


def _is_folder(name: str | Path) -> bool:
    try:
        return name != "" and Path(name).is_dir()
    except (OSError, ValueError):  # a name that no file can have, such as one of 10,000 letters
        return False


def module_address(text: str) -> str | None:
    """Return the address module:name of an agent or its function, also for module.py:name; None for other texts."""
    address = text.replace(".py:", ":")
    return address if _ADDRESS.fullmatch(address) else None


def own_agent(address: str) -> Agent:
    """Import a module of the user and return its agent. The caller must check that the module is allowed."""
    agent = own_object(address)
    if not isinstance(agent, Agent):
        raise InvalidInput.expected(f"{address} to be an agent (pf.Agent)", type(agent).__name__)
    return agent


def own_object(address: str) -> Any:
    """Import a module of the user and return its object, or the result of its function."""
    module, _, name = address.partition(":")
    try:
        value = getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise InvalidInput.expected("an agent as module:name", f"{address} ({brief_words(error)})") from None
    return value() if callable(value) else value
