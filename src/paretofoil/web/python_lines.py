"""Lines of Python that compute the result that the page shows."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from paretofoil.agents.store import module_address, shipped_folder
from paretofoil.core.options import DEFAULTS, Options
from paretofoil.explanation.outcome import Outcome
from paretofoil.web.agent_store import IN_MEMORY, Shown
from paretofoil.web.state_policy import StatePolicy

_DEFAULTS: dict[str, Any] = {"steps": None, "search": "auto", "seed": 0}
"""The library's defaults, which the lines leave out."""


def python_lines(kind: str, agent: Shown, address: str, request: Mapping[str, Any]) -> str:
    """Return the lines that load the agent, repeat the computation of a job, and print its result."""
    seconds = f"seconds={request['seconds']:g}"
    if kind == "atlas":
        return "\n".join([*_load_lines(address), f"outcomes = pf.atlas(agent, {seconds})", "print(outcomes)", ""])
    command = _numbers(request["command"])
    queries = "" if request.get("queries") is None else f", queries={request['queries']}"
    limits = f"limits=pf.Limits({seconds}{queries})"
    changes = {name: request[name] for name, default in _DEFAULTS.items() if request.get(name, default) != default}
    others = [f"{name}={value!r}" for name, value in changes.items()]
    options = Options(**request.get("options", {}))
    if options != DEFAULTS:
        others.append(f"options=pf.{options!r}")
    if kind == "answer":
        seed = [f"seed={request['seed']}"] if request["seed"] else []
        if request["outcome"] is None:
            foil = f"foil={request['foil'] if agent.actor else agent.actions[request['foil']]!r}"
        else:
            share = "" if request["share"] == Outcome.share else f", share={request['share']:g}"
            foil = f"foil=pf.outcome({request['outcome']!r}{share})"
        if isinstance(agent, StatePolicy):
            foil = foil if agent.features.actions else f"foil={request['foil']}"
            numbers, count = request["command"], agent.features.num_commands
            place = [f"state={_numbers(numbers[count:])}", *([f"command={_numbers(numbers[:count])}"] if count else [])]
            calls = [f"answer = pf.explain({', '.join(['agent', *place, foil, limits, *others])})"]
        else:
            calls = [
                f"decision = pf.rollout({', '.join(['agent', command, *seed])})[{request['step']}]",
                f"answer = pf.explain({', '.join(['agent', 'decision', foil, limits, *others])})",
            ]
        calls.append("print(answer.paragraph())")
    elif kind == "flip-map":
        calls = [f"flips = pf.explain_episode({', '.join(['agent', command, limits, *others])})", "print(flips)"]
    elif agent.actor is not None:
        calls = [
            f"for decision in pf.rollout(agent, {command}):",
            f"    print(pf.influence(agent, decision, {', '.join([seconds, *others])}))",
        ]
    else:
        calls = [f"profile = pf.influence_episode({', '.join(['agent', command, seconds, *others])})", "print(profile)"]
    return "\n".join([*_load_lines(address), *calls, ""])


def _load_lines(address: str) -> list[str]:
    """Return the lines that import the library and load the agent."""
    if address.startswith(IN_MEMORY):
        return ["import paretofoil as pf", "", "# `agent` is the agent that you explore"]
    if module_address(address) is not None:
        module, _, name = address.partition(":")
        call = "()" if callable(getattr(import_module(module), name)) else ""
        return ["import paretofoil as pf", f"import {module}", "", f"agent = {module}.{name}{call}"]
    folder = Path(address)
    name = folder.name if folder.parent == shipped_folder() else address
    return ["import paretofoil as pf", "", f"agent = pf.load_agent({name!r})"]


def _numbers(command: Sequence[float]) -> str:
    """Return a command as "(8, -8)": whole numbers without a decimal point, other numbers with all digits."""
    return str(tuple(int(number) if number == int(number) and abs(number) < 1e15 else number for number in command))
