"""The four moves of grid worlds, numbered as in Deep Sea Treasure."""

Cell = tuple[int, int]
"""(row, column), counted from the upper left corner."""

MOVES = ("up", "down", "left", "right")
_STEPS = ((-1, 0), (1, 0), (0, -1), (0, 1))


def neighbours(cell: Cell) -> tuple[Cell, ...]:
    """Where each move leads from a cell, inside the map or not."""
    row, column = cell
    return tuple((row + down, column + right) for down, right in _STEPS)
