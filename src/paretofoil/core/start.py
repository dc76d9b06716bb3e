"""Starts: what an answer means for the command that was issued when its episode began."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from paretofoil.core.document import flag, optional, plain, record, sized


@dataclass(frozen=True, eq=False)
class Start:
    """An answer, seen from the start of its episode."""

    issued: np.ndarray
    """The command that was issued at the start."""
    command: np.ndarray
    """The counterfactual command and what had been collected before: what to issue at the start instead."""
    leads_here: bool | None
    """Whether issuing that at the start leads through the state of the decision; None where chance decides."""

    def to_dict(self) -> dict[str, Any]:
        return {"issued": plain(self.issued), "command": plain(self.command), "leads_here": self.leads_here}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Start":
        return cls(**_START(values))


_START = record({"issued": sized(None), "command": sized(None), "leads_here": optional(flag)}, what="start")
