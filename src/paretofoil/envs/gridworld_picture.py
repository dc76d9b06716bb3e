"""Pictures of the three grid worlds, after the paper's figure: coloured squares and triangles, walls, the agent."""

from typing import TYPE_CHECKING

import numpy as np

from paretofoil.envs.drawing import (
    FADED,
    FLOOR,
    INK,
    LINE,
    OBJECTIVE_COLOURS,
    WALL,
    Canvas,
    Colour,
    face,
    mix,
    square,
    triangle,
)

if TYPE_CHECKING:
    from paretofoil.envs.gridworld import GridWorld
    from paretofoil.envs.move import Cell

CELL = 64
"""Pixels of a cell's side."""
GAP, MARGIN, LEGEND = 2, 16, 44
"""Pixels between cells, around the map, and for the legend below it."""


def draw_grid_world(env: "GridWorld") -> np.ndarray:
    """(height, width, 3) uint8."""
    layout = env.layout
    width, height = layout.columns * CELL, layout.rows * CELL
    canvas = Canvas(width + 2 * MARGIN, height + MARGIN + LEGEND)
    canvas.box(MARGIN - GAP, MARGIN - GAP, width + 2 * GAP, height + 2 * GAP, LINE, radius=6)
    for row in range(layout.rows):
        for column in range(layout.columns):
            _floor(canvas, (row, column), WALL if (row, column) in layout.walls else FLOOR)
    for exit_cell, payment in layout.exits.items():
        _exit(canvas, exit_cell, payment)
    for item, taken in zip(env.layout.items, env.taken, strict=True):
        _mark(canvas, env, item.objective, *_centre(item.cell), CELL * 0.56, taken)
    face(canvas, *_centre(env.cell), CELL * 0.6)
    _legend(canvas, env, MARGIN + width / 2, height + MARGIN + LEGEND / 2)
    return canvas.pixels()


def _centre(cell: "Cell") -> tuple[float, float]:
    return MARGIN + (cell[1] + 0.5) * CELL, MARGIN + (cell[0] + 0.5) * CELL


def _floor(canvas: Canvas, cell: "Cell", colour: Colour) -> None:
    x, y = _centre(cell)
    side = CELL - GAP
    canvas.box(x - side / 2, y - side / 2, side, side, colour, radius=4)


def _mark(canvas: Canvas, env: "GridWorld", objective: int, x: float, y: float, size: float, taken: bool) -> None:
    """An item with its letter (colours alone do not reach everybody); a taken one leaves a pale shape behind."""
    colour = OBJECTIVE_COLOURS[objective]
    colour = mix(colour, FLOOR, FADED) if taken else colour
    is_triangle = bool(env.layout.shapes) and env.layout.shapes[objective] == "triangle"
    (triangle if is_triangle else square)(canvas, x, y, size, colour)
    if env.layout.items and size > CELL / 3:
        canvas.text(x, y + size * (0.17 if is_triangle else 0.02), env.layout.objectives[objective], size / 2, FLOOR)


def _exit(canvas: Canvas, cell: "Cell", payment: tuple[float, ...]) -> None:
    """A terminal cell: one bar per objective, as high as what it pays, and the number below."""
    _floor(canvas, cell, mix(FLOOR, LINE, 0.45))
    x, y = _centre(cell)
    bars, foot = CELL * 0.44, y + CELL * 0.16
    for objective, amount in enumerate(payment):
        left = x + (objective - len(payment) / 2) * CELL * 0.4
        colour = OBJECTIVE_COLOURS[objective]
        canvas.box(left + 2, foot - bars, CELL * 0.4 - 4, bars, mix(colour, FLOOR, FADED), radius=2)
        if amount:
            canvas.box(left + 2, foot - bars * amount, CELL * 0.4 - 4, bars * amount, colour, radius=2)
        canvas.text(left + CELL * 0.2, foot + 11, f"{amount:g}", 12)


def _legend(canvas: Canvas, env: "GridWorld", x: float, y: float) -> None:
    """The objectives' shapes and names in one line, centred."""
    names = env.layout.objectives
    step = 52 + 9 * max(len(name) for name in names)
    left = x - step * len(names) / 2
    for objective, name in enumerate(names):
        _mark(canvas, env, objective, left + 12, y, 18, taken=False)
        canvas.text(left + 28, y, name, 17, INK, anchor="lm")
        left += step
