"""Influence along an episode."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from paretofoil.core.command import Objective
from paretofoil.core.display import show
from paretofoil.core.document import (
    objective,
    plain,
    read_document,
    record,
    several,
    sized,
    text,
    whole,
    write_document,
)
from paretofoil.core.errors import InvalidInput
from paretofoil.core.frame import as_frame
from paretofoil.core.influence import Influence

SCHEMA = "paretofoil/influence-profile/1"


@dataclass(frozen=True, eq=False, repr=False)
class InfluenceProfile:
    """How much the command decides at each moment of an episode."""

    agent: str
    objectives: tuple[Objective, ...]
    actions: tuple[str, ...]
    command: np.ndarray
    """The command that was issued at the start."""
    achieved: np.ndarray
    moments: tuple[Influence, ...]

    def inert(self) -> list[int]:
        """The moments at which no command changes the action: proven."""
        return [moment.time for moment in self.moments if moment.inert]

    def __str__(self) -> str:
        return str(show(self, "sentence"))

    def __repr__(self) -> str:
        count = f"{len(self.moments)} moments, {len(self.inert())} of them inert"
        return f"<InfluenceProfile of {self.agent}: {count}>"

    def _repr_html_(self) -> str:
        return str(show(self, "html"))

    def plot(self, path: Any = None) -> Any:
        """The shares of the actions over time, as a matplotlib figure."""
        return show(self, "plot", path)

    def to_frame(self) -> Any:
        """One line for each moment and valid action, as a pandas DataFrame (pandas must be installed)."""
        return as_frame(
            {
                "time": moment.time,
                "verdict": moment.verdict,
                "chosen": moment.actions[moment.chosen],
                **asdict(share),
                "action": moment.actions[share.action],
                "samples": moment.samples,
                **asdict(moment.scores),
            }
            for moment in self.moments
            for share in moment.shares
        )

    def to_dict(self) -> dict[str, Any]:
        names = ("agent", "actions", "command", "achieved", "moments")
        values = {name: plain(getattr(self, name)) for name in names}
        objectives = [asdict(objective) for objective in self.objectives]
        return {"schema": SCHEMA, "sentence": str(self), **values, "objectives": objectives}

    def to_json(self, indent: int | None = None) -> str:
        return write_document(self.to_dict(), indent)

    @classmethod
    def from_json(cls, document: str) -> "InfluenceProfile":
        values = read_document(document, "an influence profile")
        with whole(values, SCHEMA, "influence profile"):
            read = cls(**_PROFILE(values))
            if any(m.objectives != read.objectives or m.actions != read.actions for m in read.moments):
                raise InvalidInput.expected("moments with the same objectives and actions", "others")
            if read.command.size != len(read.objectives):
                raise InvalidInput.expected(f"a command of {len(read.objectives)} numbers", read.command.size)
            return read


_PROFILE = record(
    {
        "agent": text,
        "objectives": several(objective),
        "actions": several(text),
        **dict.fromkeys(("command", "achieved"), sized(None)),
        "moments": several(Influence.from_dict),
    }
)
