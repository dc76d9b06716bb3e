"""Certificates: what was proven about a question, as values that serialise and can be checked again."""

from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from paretofoil.core.command import Norm
from paretofoil.core.document import MAX_INTEGER, Reader, finite, integer, one_of, record, within

ProofStatus = Literal["optimal", "infeasible", "gap"]


@dataclass(frozen=True, repr=False)
class Certificate:
    """No command of the region closer than `lower` makes the foil win by kappa."""

    status: ProofStatus
    """optimal: upper - lower <= tolerance; infeasible: the whole region holds none; gap: a limit came first, or float32
    cannot tell commands apart that finely."""
    lower: float
    """The proven lower bound of the scaled distance; infinite if the region holds no valid command."""
    upper: float
    """The scaled distance of the answer, checked on the policy; infinite if there is none."""
    tolerance: float
    """The gap that was asked for."""
    boxes: int
    """How many boxes of commands were bounded."""
    seconds: float
    """How long the proof took."""
    kappa: float
    """The margin by which the foil must win."""
    slack: float
    """How far the deployed policy's margin may be from the folded one's: proven for kappa - slack."""
    deviation: float
    """The largest such distance that was measured, on random commands and on the answers."""
    pad: float
    """How far the bounds of the margins were pushed outwards to cover float64 rounding."""
    norm: Norm
    """How distance is measured."""

    @property
    def gap(self) -> float:
        """How much closer another answer could be at most; 0 where there is none."""
        return 0.0 if np.isinf(self.lower) else self.upper - self.lower

    @property
    def assumptions(self) -> str:
        """What the proof rests on."""
        return (
            f"The policy at this state was bounded in float64, with {self.pad:.1e} added for rounding. "
            f"The proof is for margins of {self.kappa:g} - {self.slack:g}: it holds for the deployed policy as long as "
            f"its margins differ from the float64 ones by at most {self.slack:g} (measured: {self.deviation:.1e})."
        )

    def __repr__(self) -> str:
        return f"<Certificate: {self.status}, distance {self.lower:.4g} to {self.upper:.4g}, {self._boxes}>"

    @property
    def _boxes(self) -> str:
        return "1 box" if self.boxes == 1 else f"{self.boxes} boxes"

    def __str__(self) -> str:
        if self.status == "infeasible":
            return f"proven: no command of the region makes the foil win ({self._boxes}, {self.seconds:.2f} s)"
        if self.status == "optimal":
            claim = f"no valid command is closer than {self.lower:.4f}, and one is found at {self.upper:.4f}"
            return f"proven: {claim} ({self._boxes}, {self.seconds:.2f} s)"
        found = f"one is found at {self.upper:.4f}" if np.isfinite(self.upper) else "none is found"
        return f"proven so far: no valid command is closer than {self.lower:.4f}, and {found} ({self._boxes})"

    def to_dict(self) -> dict[str, Any]:
        """Plain values only: an infinite bound is written as null."""
        values = asdict(self)
        for name in ("lower", "upper"):
            values[name] = values[name] if np.isfinite(values[name]) else None
        return {**values, "gap": self.gap if np.isfinite(self.gap) else None, "assumptions": self.assumptions}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Certificate":
        return cls(**record(_READERS, what="certificate")(values))


def _bound(value: Any) -> float:
    return np.inf if value is None else finite(value)


_READERS: dict[str, Reader] = {
    "status": one_of("optimal", "infeasible", "gap"),
    **dict.fromkeys(("lower", "upper"), _bound),
    **dict.fromkeys(("tolerance", "seconds", "kappa", "slack", "deviation", "pad"), finite),
    "boxes": within(integer, 0, MAX_INTEGER),
    "norm": one_of("l1", "l2", "linf"),
}
