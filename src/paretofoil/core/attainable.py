"""What can be had: a command under which an agent takes the foil and then delivers what it was asked for."""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from paretofoil.core.consequence import Consequence
from paretofoil.core.document import MAX_INTEGER, Reader, finite, integer, optional, plain, record, sized, within
from paretofoil.core.errors import InvalidInput

DELIVERED = 0.01
"""An episode delivers what was asked if it misses each objective by at most this share of its range."""


@dataclass(frozen=True, eq=False)
class Attainable:
    """The closest command that is known to make the agent take the foil and deliver, in the end, what was asked.

    It was rolled out from the very state. That none is known does not prove that there is none.
    """

    tried: int
    """How many commands that make the agent take the foil were rolled out."""
    command: np.ndarray | None = None
    """What to ask for from here on; None, as all that follows, if none is known."""
    asked: np.ndarray | None = None
    """What that asks of the whole episode: what had been collected before, and the command."""
    distance: float | None = None
    """The scaled distance of the command from the original one."""
    missed: float | None = None
    """By how much the episode misses what was asked: the largest share of an objective's range."""
    consequence: Consequence | None = None
    """What the agent achieves under it, rolled out once more by itself."""

    def __post_init__(self) -> None:
        told = [getattr(self, name) is not None for name in _KNOWN]
        if any(told) != all(told):
            raise InvalidInput.expected(f"all of {', '.join(_KNOWN)}, or none", "some of them")

    @property
    def known(self) -> bool:
        return self.command is not None

    def to_dict(self) -> dict[str, Any]:
        return {entry.name: plain(getattr(self, entry.name)) for entry in fields(self)}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Attainable":
        return cls(**record(_READERS, what="attainable command")(values))


_KNOWN = ("command", "asked", "distance", "missed", "consequence")
"""What there is if a command is known."""
_READERS: dict[str, Reader] = {
    "tried": within(integer, 0, MAX_INTEGER),
    **dict.fromkeys(("command", "asked"), optional(sized(None))),
    **dict.fromkeys(("distance", "missed"), optional(finite)),
    "consequence": optional(Consequence.from_dict),
}
