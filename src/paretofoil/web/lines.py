"""The Python lines that give the same answer: what the page does can be done without it."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from paretofoil.agents.agent import Agent
from paretofoil.agents.own_agent import module_address
from paretofoil.agents.shelf import shipped_folder

_USUAL: dict[str, Any] = {
    "search": "auto",
    "box": "reachable",
    "kappa": None,
    "norm": "l2",
    "keep": [],
    "ranges": {},
    "sparse": False,
    "k": 1,
    "min_change": 0.0,
    "seed": 0,
    "times": None,
}
"""What the library does if it is not told: lines say only what differs."""


def answer_lines(agent: Agent, address: str, asked: Mapping[str, Any]) -> str:
    """`pf.explain` at a moment of an episode."""
    moment = f"pf.decision_in(agent, {_numbers(asked['command'])}, {asked['time']}{_seed(asked)})"
    foil = repr(agent.actions[asked["foil"]])
    options = _options(asked, ("search", "box", "kappa", "norm", "keep", "ranges", "sparse", "k", "min_change", "seed"))
    call = f"answer = pf.explain(agent, decision, foil={foil}, {_limits(asked)}{options})"
    return "\n".join([*_opening(address), f"decision = {moment}", call, "print(answer.paragraph())", ""])


def flip_map_lines(agent: Agent, address: str, asked: Mapping[str, Any]) -> str:
    """`pf.explain_episode`."""
    call = f"pf.explain_episode(agent, {_numbers(asked['command'])}, {_limits(asked)}"
    options = _options(asked, ("times", "search", "seed"))
    return "\n".join([*_opening(address), f"flips = {call}{options})", "print(flips)", ""])


def influence_lines(agent: Agent, address: str, asked: Mapping[str, Any]) -> str:
    """`pf.influence_episode`."""
    call = f"pf.influence_episode(agent, {_numbers(asked['command'])}, seconds={asked['seconds']:g}"
    options = _options(asked, ("times", "seed"))
    return "\n".join([*_opening(address), f"profile = {call}{options})", "print(profile)", ""])


def _opening(address: str) -> list[str]:
    if module_address(address) is not None:
        module, _, name = address.partition(":")
        made = "" if isinstance(getattr(import_module(module), name), Agent) else "()"
        return ["import paretofoil as pf", f"import {module}", "", f"agent = {module}.{name}{made}"]
    folder = Path(address)
    shown = folder.name if folder.parent == shipped_folder() else address
    return ["import paretofoil as pf", "", f"agent = pf.load_agent({shown!r})"]


def _limits(asked: Mapping[str, Any]) -> str:
    queries = f", queries={asked['queries']}" if asked.get("queries") is not None else ""
    return f"limits=pf.Limits(seconds={asked['seconds']:g}{queries})"


def _options(asked: Mapping[str, Any], names: Sequence[str]) -> str:
    given = ((name, asked[name]) for name in names if asked[name] != _USUAL[name])
    return "".join(f", {name}={value!r}" for name, value in given)


def _seed(asked: Mapping[str, Any]) -> str:
    return f", seed={asked['seed']}" if asked["seed"] else ""


def _numbers(command: Sequence[float]) -> str:
    """ "(8, -8)": whole numbers without a point, all others in all their digits."""
    told = [str(int(number)) if number == int(number) and abs(number) < 1e15 else repr(number) for number in command]
    return f"({', '.join(told)}{',' if len(told) == 1 else ''})"
