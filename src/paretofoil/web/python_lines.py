"""The lines of Python that give the result that the page shows."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from paretofoil.agents.agent import Agent
from paretofoil.agents.store import module_address, shipped_folder
from paretofoil.core.options import DEFAULTS, Options

_DEFAULTS: dict[str, Any] = {"search": "auto", "seed": 0, "steps": None}
"""The library's defaults: the lines name only what differs."""


def answer_lines(agent: Agent, address: str, request: Mapping[str, Any]) -> str:
    """Return the lines that call `pf.explain`."""
    seed = f", seed={request['seed']}" if request["seed"] else ""
    decision = f"pf.rollout(agent, {_numbers(request['command'])}{seed})[{request['step']}]"
    foil = repr(agent.actions[request["foil"]])
    arguments = _arguments(request, ("search", "seed"))
    call = f"answer = pf.explain(agent, decision, foil={foil}, {_limits(request)}{arguments}{_options(request)})"
    return "\n".join([*_load_lines(address), f"decision = {decision}", call, "print(answer.paragraph())", ""])


def flip_map_lines(agent: Agent, address: str, request: Mapping[str, Any]) -> str:
    """Return the lines that call `pf.explain_episode`."""
    call = f"pf.explain_episode(agent, {_numbers(request['command'])}, {_limits(request)}"
    arguments = f"{_arguments(request, ('steps', 'search', 'seed'))}{_options(request)}"
    return "\n".join([*_load_lines(address), f"flips = {call}{arguments})", "print(flips)", ""])


def influence_lines(agent: Agent, address: str, request: Mapping[str, Any]) -> str:
    """Return the lines that call `pf.influence_episode`."""
    call = f"pf.influence_episode(agent, {_numbers(request['command'])}, seconds={request['seconds']:g}"
    call += _arguments(request, ("steps", "seed"))
    return "\n".join([*_load_lines(address), f"profile = {call})", "print(profile)", ""])


def _load_lines(address: str) -> list[str]:
    """Return the lines that import the library and load the agent."""
    if module_address(address) is not None:
        module, _, name = address.partition(":")
        call = "" if isinstance(getattr(import_module(module), name), Agent) else "()"
        return ["import paretofoil as pf", f"import {module}", "", f"agent = {module}.{name}{call}"]
    folder = Path(address)
    name = folder.name if folder.parent == shipped_folder() else address
    return ["import paretofoil as pf", "", f"agent = pf.load_agent({name!r})"]


def _limits(request: Mapping[str, Any]) -> str:
    queries = f", queries={request['queries']}" if request.get("queries") is not None else ""
    return f"limits=pf.Limits(seconds={request['seconds']:g}{queries})"


def _arguments(request: Mapping[str, Any], names: Sequence[str]) -> str:
    given = ((name, request[name]) for name in names if request[name] != _DEFAULTS[name])
    return "".join(f", {name}={value!r}" for name, value in given)


def _options(request: Mapping[str, Any]) -> str:
    options = Options(**request["options"])
    return "" if options == DEFAULTS else f", options=pf.{options!r}"


def _numbers(command: Sequence[float]) -> str:
    """Return "(8, -8)": whole numbers without a decimal point, other numbers with all their digits."""
    texts = [str(int(number)) if number == int(number) and abs(number) < 1e15 else repr(number) for number in command]
    return f"({', '.join(texts)}{',' if len(texts) == 1 else ''})"
