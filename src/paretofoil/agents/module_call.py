"""How a torch module is called with states and commands, and which of its outputs are the scores of the actions."""

import inspect
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from paretofoil.core.errors import InvalidInput

Inputs = str | Mapping[str, str]
Head = int | str | None


def check_inputs(inputs: Inputs) -> None:
    named = isinstance(inputs, Mapping) and sorted(inputs.values()) == ["command", "state"]
    if not named and inputs not in ("separate", "concatenated"):
        what = '"separate", "concatenated", or names such as {"observation": "state", "goal": "command"}'
        raise InvalidInput.expected(f"inputs that are {what}", repr(inputs))


def call(module: nn.Module, inputs: Inputs, states: Tensor, commands: Tensor) -> Any:
    """What a module gives for states (N, state size) and commands (N, d)."""
    if not isinstance(inputs, Mapping):
        concatenated = inputs == "concatenated"
        return module(torch.cat([states, commands], dim=-1)) if concatenated else module(states, commands)
    parts = {"state": states, "command": commands}
    named = {name: parts[part] for name, part in inputs.items()}
    return module(**named) if _by_keyword(module, named) else module(named)


def _by_keyword(module: nn.Module, names: Mapping[str, Any]) -> bool:
    """Whether these are the names of a module's own arguments, rather than of what is in a dict."""
    return set(names) <= set(inspect.signature(module.forward).parameters)


def scores_in(given: Any, head: Head) -> Any:
    """The output that is meant: of a tuple by its place, of a dict by its key, of anything else as an attribute."""
    if head is None:
        return given
    several: Any = given
    if not isinstance(given, Tensor):
        try:
            return several[head] if isinstance(given, Mapping | tuple | list) else getattr(given, str(head))
        except (LookupError, TypeError, AttributeError):
            pass
    raise InvalidInput.expected(f"a module with an output {head!r}", outputs_of(given))


def outputs_of(given: Any) -> str:
    """What a module gives instead of one tensor, in words that help to say which is meant."""
    if isinstance(given, Mapping):
        return f"a dict of {', '.join(map(str, given))}"
    if isinstance(given, tuple | list):
        return f"{len(given)} of them"
    return "one tensor" if isinstance(given, Tensor) else type(given).__name__


def described(inputs: Inputs, state_size: int, command_size: int) -> str:
    """What a module is called with."""
    if inputs == "concatenated":
        return f"{state_size + command_size} numbers a row, {state_size} of the state and {command_size} of the command"
    return f"states (N, {state_size}) and commands (N, {command_size})"
