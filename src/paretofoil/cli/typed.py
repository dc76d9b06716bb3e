"""Read the agents, commands, ranges and steps of the command line.

Plain numbers are returns in the order of the objectives, such as 8,-8. With names, costs are positive:
treasure=8,time=8 is the same command, and time=2:5 is the range of returns from -5 to -2.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from paretofoil.agents import Agent
from paretofoil.agents.store import hiding_folder, load_agent, module_address, own_agent
from paretofoil.cli.console import note
from paretofoil.cli.options import allow_typed
from paretofoil.core.command import CommandSpace, as_vector
from paretofoil.core.errors import InvalidInput
from paretofoil.core.options import Options, describe_options
from paretofoil.show.numbers import as_shown, short

MOST_STEPS = 1_000_000
"""Largest step that can be typed."""


def find_agent(name: str) -> Agent:
    """Return a stored agent, or the agent of a module that is imported (module:object)."""
    address = module_address(name)
    if address is None:
        note_hidden(name)
        return load_agent(name)
    allow_typed([address.partition(":")[0]])
    return own_agent(address)


def note_hidden(name: str) -> None:
    """Print a note if a local agent has the name of a shipped one."""
    folder = hiding_folder(name)
    if folder is not None:
        note(f"note: {name} is the local agent in {folder}, not the shipped agent of that name.")


def read_numbers(text: str, option: str) -> list[float]:
    """Return the numbers of a text such as "8,-8"."""
    try:
        return [float(part) for part in text.replace(" ", "").strip("()[]").split(",")]
    except ValueError:
        raise InvalidInput.expected(f"{option} as numbers separated by commas, such as 8,-8", repr(text)) from None


def read_command(text: str, space: CommandSpace, option: str) -> np.ndarray:
    """Return a command as returns. Print a note if it is outside the training range; raise an error for wrong signs."""
    values = _by_name(text, space, option) if "=" in text else read_numbers(text, option)
    if len(values) != space.dim:
        names = ", ".join(space.names)
        raise InvalidInput.expected(f"{option} with {space.dim} numbers ({names})", f"{len(values)}: {text}")
    command = as_vector(values, option)
    _check_inside(command, space, option, text)
    return command


def read_ranges(
    texts: Sequence[str], space: CommandSpace, command: np.ndarray | None = None
) -> dict[str, tuple[float, float]]:
    """Return ranges of returns: ["time=2:5"] gives {"time": (-5.0, -2.0)}.

    If a command is given, raise an error for a range that does not contain it.
    """
    ranges = {}
    for text in texts:
        name, _, ends = text.partition("=")
        try:
            low, high = (float(end) for end in ends.split(":"))
        except ValueError:
            raise InvalidInput.expected("--range as NAME=LOW:HIGH, such as treasure=5:10", repr(text)) from None
        if not low <= high:
            raise InvalidInput.expected("--range as NAME=LOW:HIGH with LOW at most HIGH", repr(text))
        objective = space.command_objectives[space.index(name.strip())]
        if command is not None:
            number = as_shown(objective, float(command[space.index(objective.name)]))
            if not low <= number <= high:
                expected = f"a --range of {objective.name} that contains the command's value {number:g}"
                raise InvalidInput.expected(expected, text)
        if objective.name in ranges:
            raise InvalidInput.expected(f"one --range of {objective.name}", f"a second one: {text}")
        first, second = sorted(as_shown(objective, end) for end in (low, high))
        ranges[objective.name] = (first, second)
    return ranges


def read_options(typed: Mapping[str, Any], space: CommandSpace, command: np.ndarray | None = None) -> Options:
    """Return the options of the command line; ranges must contain the command, if one is given."""
    ranges = {info.name for info in describe_options() if info.kind == "ranges"}
    values: dict[str, Any] = {name: value for name, value in typed.items() if value is not None}
    values |= {name: read_ranges(value, space, command) for name, value in values.items() if name in ranges}
    return Options(**values)


def read_steps(text: str) -> list[int]:
    """Return the steps of a text such as "0-2,7"."""
    parts = [part.partition("-") for part in text.replace(" ", "").split(",")]
    ends = [(first, last if dash else first) for first, dash, last in parts]
    if not all(end.isdecimal() for pair in ends for end in pair):
        raise InvalidInput.expected("--steps as numbers and ranges, such as 0-5 or 0,3,7", repr(text))
    if any(len(end) > len(str(MOST_STEPS)) or int(end) > MOST_STEPS for pair in ends for end in pair):
        raise InvalidInput.expected(f"--steps of at most {MOST_STEPS:,}", repr(text))
    ranges = [range(int(first), int(last) + 1) for first, last in ends]
    if not all(ranges):
        raise InvalidInput.expected("--steps with the lower end of each range first, such as 2-5", repr(text))
    return [step for each in ranges for step in each]


def _by_name(text: str, space: CommandSpace, option: str) -> list[float]:
    """Return the returns of a text such as "treasure=8,time=8", which names every objective once."""
    returns: dict[str, float] = {}
    for part in text.split(","):
        name, _, number = part.partition("=")
        objective = space.command_objectives[space.index(name.strip())]
        if objective.name in returns:
            raise InvalidInput.expected(f"{option} with {objective.name} once", repr(text))
        try:
            returns[objective.name] = as_shown(objective, float(number))
        except ValueError:
            example = f"{objective.name}=8"
            raise InvalidInput.expected(f"{option} as NAME=NUMBER, such as {example}", repr(part)) from None
    missing = [name for name in space.names if name not in returns]
    if missing:
        raise InvalidInput.expected(f"{option} with {', '.join(space.names)}", f"{text} without {', '.join(missing)}")
    return [returns[name] for name in space.names]


def _check_inside(command: np.ndarray, space: CommandSpace, option: str, text: str) -> None:
    """Print a note about values outside the agent's training range.

    Raise an error for positive costs if the command would be inside with negative ones.
    """
    objectives, outside = space.command_objectives, space.outside(command)
    if not outside.any():
        return
    wrong = np.array([o.cost for o in objectives]) & (command > 0)
    suggestion = np.where(wrong, -command, command)
    if wrong.any() and not space.outside(suggestion).any():
        costs = ", ".join(o.name for o, is_wrong in zip(objectives, wrong, strict=True) if is_wrong)
        returns = ",".join(f"{value:g}" for value in suggestion)
        pairs = zip(objectives, suggestion, strict=True)
        by_name = ",".join(f"{o.name}={as_shown(o, float(value)):g}" for o, value in pairs)
        raise InvalidInput.expected(
            f"{option} with costs ({costs}) as negative returns, or as positive numbers by name",
            f"{text} (did you mean {returns}, or {by_name}?)",
        )
    parts = []
    for i in np.flatnonzero(outside):
        number, *ends = (as_shown(objectives[i], float(value)) for value in (command[i], space.low[i], space.high[i]))
        parts.append(f"{objectives[i].name} {number:g} is outside {short(min(ends))} to {short(max(ends))}")
    note(f"note: {option} {text} lies outside the commands that the agent was trained on: {'; '.join(parts)}.")
