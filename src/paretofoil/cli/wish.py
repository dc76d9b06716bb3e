"""Wishes as people type them.

Numbers alone are returns, in the order of the objectives: 8,-8. By name they have the user's sign, in which a cost is
a positive size: treasure=8,time=8 is the same command, and time=2:5 the range of returns from -5 to -2.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from paretofoil.cli.console import note
from paretofoil.core.errors import InvalidInput

if TYPE_CHECKING:
    import numpy as np

    from paretofoil.core.command import CommandSpace, Objective


MOST_TIME = 1_000_000
"""No episode has more moments; a range of them is a list."""


def numbers(text: str, what: str) -> list[float]:
    """ "8,-8" -> [8.0, -8.0]."""
    try:
        return [float(part) for part in text.replace(" ", "").strip("()[]").split(",")]
    except ValueError:
        raise InvalidInput.expected(f"{what} as numbers with commas between them, such as 8,-8", repr(text)) from None


def read_command(text: str, space: "CommandSpace", option: str) -> "np.ndarray":
    """A command of returns; one that the agent was not trained on is noted, one with a wrong sign is refused."""
    from paretofoil.core.command import as_vector

    values = _by_name(text, space, option) if "=" in text else numbers(text, option)
    if len(values) != space.dim:
        names = ", ".join(space.names)
        raise InvalidInput.expected(f"{option} with {space.dim} numbers ({names})", f"{len(values)}: {text}")
    command = as_vector(values, option)
    if not _inside(command, space).all():
        _refuse_wrong_sign(command, space, option, text)
        note(f"note: {option} {text} lies outside what the agent was trained on: {_outside(command, space)}.")
    return command


def read_ranges(texts: Sequence[str], space: "CommandSpace", command: "np.ndarray") -> dict[str, tuple[float, float]]:
    """["time=2:5"] -> {"time": (-5.0, -2.0)}; each must hold what the command asks for now."""
    for text in texts:
        objective, low, high = _range(text, space)
        wished = _turned(objective, float(command[space.index(objective.name)]))
        if not low <= wished <= high:
            raise InvalidInput.expected(f"a --range of {objective.name} that holds the command's {wished:g}", text)
    return read_box(texts, space)


def read_box(texts: Sequence[str], space: "CommandSpace") -> dict[str, tuple[float, float]]:
    """["time=2:5"] -> {"time": (-5.0, -2.0)}, whatever the space holds."""
    box = {}
    for text in texts:
        objective, low, high = _range(text, space)
        if objective.name in box:
            raise InvalidInput.expected(f"one --range of {objective.name}", text)
        first, second = _turned(objective, low), _turned(objective, high)
        box[objective.name] = (min(first, second), max(first, second))
    return box


def _range(text: str, space: "CommandSpace") -> "tuple[Objective, float, float]":
    """An objective, and its range in the user's sign."""
    name, _, ends = text.partition("=")
    try:
        low, high = (float(end) for end in ends.split(":"))
    except ValueError:
        raise InvalidInput.expected("--range as NAME=LOW:HIGH, such as treasure=5:10", repr(text)) from None
    if not low <= high:
        raise InvalidInput.expected("--range as NAME=LOW:HIGH, the lower end first", repr(text))
    return space.asked_for[space.index(name.strip())], low, high


def read_steps(text: str) -> list[int]:
    """ "0-2,7" -> [0, 1, 2, 7]."""
    parts = [part.partition("-") for part in text.replace(" ", "").split(",")]
    ends = [(first, last if dash else first) for first, dash, last in parts]
    if not all(end.isdecimal() for pair in ends for end in pair):
        raise InvalidInput.expected("--steps as steps and ranges of them, such as 0-5 or 0,3,7", repr(text))
    if any(len(end) > len(str(MOST_TIME)) or int(end) > MOST_TIME for pair in ends for end in pair):
        raise InvalidInput.expected(f"--steps of at most {MOST_TIME:,}", repr(text))
    ranges = [range(int(first), int(last) + 1) for first, last in ends]
    if not all(ranges):
        raise InvalidInput.expected("--steps with the earlier end of each range first, such as 2-5", repr(text))
    return [time for each in ranges for time in each]


def _turned(objective: "Objective", value: float) -> float:
    """From the user's sign to that of returns, or back."""
    return 0.0 - value if objective.cost else value


def _by_name(text: str, space: "CommandSpace", option: str) -> list[float]:
    """ "treasure=8,time=8" -> [8.0, -8.0]; every objective once."""
    given: dict[str, float] = {}
    for part in text.split(","):
        name, _, number = part.partition("=")
        objective = space.asked_for[space.index(name.strip())]
        if objective.name in given:
            raise InvalidInput.expected(f"{option} with {objective.name} once", repr(text))
        try:
            given[objective.name] = _turned(objective, float(number))
        except ValueError:
            example = f"{objective.name}=8"
            raise InvalidInput.expected(f"{option} as NAME=NUMBER, such as {example}", repr(part)) from None
    missing = [name for name in space.names if name not in given]
    if missing:
        raise InvalidInput.expected(f"{option} with {', '.join(space.names)}", f"{text} without {', '.join(missing)}")
    return [given[name] for name in space.names]


def _inside(command: "np.ndarray", space: "CommandSpace") -> "np.ndarray":
    """(d,) bool: which numbers lie in the agent's box, up to rounding."""
    slack = 1e-9 * space.scale
    return (command >= space.low - slack) & (command <= space.high + slack)


def _refuse_wrong_sign(command: "np.ndarray", space: "CommandSpace", option: str, text: str) -> None:
    """If the command is understood once its costs have the other sign, that is what was meant."""
    import numpy as np

    objectives = space.asked_for
    wrong = np.array([o.cost for o in objectives]) & (command > 0)
    meant = np.where(wrong, -command, command)
    if not wrong.any() or not _inside(meant, space).all():
        return
    costs = ", ".join(o.name for o, is_wrong in zip(objectives, wrong, strict=True) if is_wrong)
    returns = ",".join(f"{value:g}" for value in meant)
    by_name = ",".join(f"{o.name}={_turned(o, float(value)):g}" for o, value in zip(objectives, meant, strict=True))
    raise InvalidInput.expected(
        f"{option} with costs ({costs}) as negative returns, or as positive sizes by name",
        f"{text} (did you mean {returns}, or {by_name}?)",
    )


def _outside(command: "np.ndarray", space: "CommandSpace") -> str:
    """ "time 50 is beyond 1 to 40", in the user's sign."""
    from paretofoil.show.numbers import short

    told = []
    for i, objective in enumerate(space.asked_for):
        if not _inside(command, space)[i]:
            ends = sorted(_turned(objective, float(end)) for end in (space.low[i], space.high[i]))
            wished = _turned(objective, float(command[i]))
            told.append(f"{objective.name} {wished:g} is beyond {short(ends[0])} to {short(ends[1])}")
    return "; ".join(told)
