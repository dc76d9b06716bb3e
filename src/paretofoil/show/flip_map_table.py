"""Flip maps in lines and in words."""

from collections.abc import Sequence
from dataclasses import dataclass

from paretofoil.core.answer import Answer, Outcome
from paretofoil.explanation.flip_map import FlipMap

NOT_FOUND, NEVER = "not found", "never"


@dataclass(frozen=True)
class FlipMapLines:
    """One line for each moment, which can be printed before the next one is known: all widths are fixed.

    Moments go down and actions across: what was done, and how far the command must move for each foil.
    """

    actions: tuple[str, ...]
    moments: int
    """How many moments the episode has."""
    room: int | None = None
    """The width of the window; None if there is no limit."""

    @property
    def widths(self) -> list[int]:
        number, longest = len(str(self.moments - 1)), max(map(len, self.actions))
        return [number, max(longest, len("chosen")), *(max(len(name), len(NOT_FOUND)) for name in self.actions)]

    @property
    def narrow(self) -> bool:
        """Whether columns do not fit, so that each line names its foils instead."""
        return self.room is not None and sum(self.widths) + len(self.widths) - 1 > self.room

    @property
    def head(self) -> str:
        return "t: chosen: foils" if self.narrow else self._columns(["t", "chosen", *self.actions])

    def line(self, time: int, taken: int, answers: Sequence[Answer]) -> str:
        """One moment; its answers are those of all its foils."""
        cells = {found.foil: _cell(found) for found in answers}
        if self.narrow:
            told = [f"{self.actions[foil]} {cell}" for foil, cell in sorted(cells.items())]
            return f"{time}: {self.actions[taken]}: {', '.join(told) or 'no other valid action'}"
        others = (cells.get(i, "done" if i == taken else "·") for i in range(len(self.actions)))
        return self._columns([str(time), self.actions[taken], *others])

    def _columns(self, cells: Sequence[str]) -> str:
        """Numbers to the right; the second cell, a word, to the left."""
        placed = [
            cell.ljust(width) if i == 1 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(cells, self.widths, strict=True))
        ]
        return " ".join(placed)


def _cell(found: Answer) -> str:
    if found.distance is not None:
        return f"{found.distance:.3f}"
    return NEVER if found.outcome is Outcome.PROVEN_INFEASIBLE else NOT_FOUND


def summary(flips: FlipMap) -> str:
    """The moments at which the agent is easiest to steer, and those at which it cannot be."""
    lines = []
    easiest = flips.easiest()
    if easiest:
        lines.append("Easiest to steer:")
        lines += [f"  t = {t}: {found}" for t, found in easiest]
    proven = set(flips.proven_unsteerable())
    unsure = [t for t in flips.unsteerable() if t not in proven]
    if proven:
        lines.append(f"No command steers it (proven) at t = {', '.join(map(str, sorted(proven)))}.")
    if unsure:
        lines.append(f"No foil was found at t = {', '.join(map(str, unsure))}.")
    return "\n".join(lines) or "The agent never had a choice: one valid action at every moment."
