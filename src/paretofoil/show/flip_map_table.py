"""Flip maps as a table and in words."""

from rich.table import Table

from paretofoil.core.answer import Answer, Outcome
from paretofoil.explanation.flip_map import FlipMap
from paretofoil.show.terminal import table


def flip_map_table(flips: FlipMap) -> Table:
    """Moments down, actions across: what was done, and how far the command must move for each foil."""
    names = flips.actions
    cells = {(t, a.foil): _cell(a) for t, a in zip(flips.times, flips.answers, strict=True)}
    rows = [
        [str(t), names[taken], *(cells.get((t, i), "·" if i != taken else "done") for i in range(len(names)))]
        for t, taken in enumerate(flips.taken)
    ]
    columns = ["t", "chosen", *names]
    return table(f"{flips.agent}: scaled change for each foil", columns, rows, right=[0, *range(2, len(columns))])


def _cell(found: Answer) -> str:
    if found.distance is not None:
        return f"{found.distance:.3f}"
    return "never" if found.outcome is Outcome.PROVEN_INFEASIBLE else "not found"


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
