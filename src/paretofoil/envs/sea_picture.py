"""A picture of Deep Sea Treasure in which every treasure can be read, also with the submarine right above it.

MO-Gymnasium's own picture writes the value of a treasure into the cell above, where the submarine comes to lie.
"""

from typing import Any

import numpy as np

from paretofoil.envs.drawing import FLOOR, INK, WALL, YELLOW, Canvas, Colour, mix

CELL, MARGIN = 52, 14
"""Pixels of a cell's side, and around the map."""
SURFACE: Colour = (205, 232, 247)
DEPTH: Colour = (44, 106, 160)
WOOD: Colour = (133, 88, 52)
HULL: Colour = (250, 204, 62)
ROCK = -10


def draw_sea(env: Any) -> np.ndarray:
    """(height, width, 3) uint8."""
    sea = np.asarray(env.sea_map)
    rows, columns = sea.shape
    canvas = Canvas(columns * CELL + 2 * MARGIN, rows * CELL + 2 * MARGIN)
    for row in range(rows):
        water = mix(SURFACE, DEPTH, row / max(rows - 1, 1))
        for column in range(columns):
            canvas.box(*_corner(row, column), CELL, CELL, WALL if sea[row, column] == ROCK else water)
    for row, column in np.argwhere(sea > 0).tolist():
        _chest(canvas, *_corner(row, column), float(sea[row, column]))
    _submarine(canvas, *_corner(*(int(i) for i in env.current_state)))
    return canvas.pixels()


def _corner(row: int, column: int) -> tuple[float, float]:
    return MARGIN + column * CELL, MARGIN + row * CELL


def _chest(canvas: Canvas, x: float, y: float, value: float) -> None:
    """A chest at the bottom of its cell with its value on a plate: nothing is written outside the cell."""
    canvas.box(x + 3, y + 10, CELL - 6, CELL - 11, mix(WOOD, INK, 0.35), radius=7)
    canvas.box(x + 5, y + 12, CELL - 10, 10, WOOD, radius=5)
    canvas.box(x + 5, y + 24, CELL - 10, CELL - 27, WOOD, radius=3)
    canvas.box(x + 8, y + 18, CELL - 16, 24, mix(YELLOW, FLOOR, 0.55), radius=4)
    canvas.text(x + CELL / 2, y + 30, f"{value:g}", 19, INK)


def _submarine(canvas: Canvas, x: float, y: float) -> None:
    """In the upper part of its cell, so that the value of a treasure below it stays free."""
    dark, centre = mix(HULL, INK, 0.55), y + 20
    canvas.box(x + 21, y + 3, 10, 12, dark, radius=2)
    canvas.box(x + 23, y + 5, 6, 10, HULL)
    canvas.polygon([(x + 12, centre), (x + 2, centre - 9), (x + 2, centre + 9)], dark)
    canvas.box(x + 7, centre - 10, CELL - 11, 20, dark, radius=10)
    canvas.box(x + 9, centre - 8, CELL - 15, 16, HULL, radius=8)
    for window in range(3):
        canvas.disc(x + 19 + 9 * window, centre, 3.4, dark)
        canvas.disc(x + 19 + 9 * window, centre, 2.2, SURFACE)
