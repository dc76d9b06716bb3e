"""A picture of Fruit-Tree: the whole tree, the way taken, and every fruit as a column of six shades."""

from typing import Any

import numpy as np

from paretofoil.envs.drawing import AGENT, FLOOR, GREEN, INK, LINE, Canvas, Colour, face, mix
from paretofoil.envs.fruit import NUTRIENTS

WIDTH, LEFT, RIGHT, TOP = 1220, 84, 20, 26
"""Pixels: the picture, and the space beside and above the tree."""
ROW, SHADE = 44, 17
"""Pixels between two rows of the tree, and of one nutrient's height."""
FULL = 10.0
"""The most of a nutrient that a fruit may have."""
BRANCH: Colour = (150, 126, 100)


def draw_tree(env: Any) -> np.ndarray:
    """(height, width, 3) uint8."""
    depth = env.tree_depth
    row, place = here = int(env.current_state[0]), int(env.current_state[1])
    canvas = Canvas(WIDTH, TOP + depth * ROW + SHADE * len(NUTRIENTS) + 40)
    for r in range(depth):
        for p in range(2**r):
            for child in (2 * p, 2 * p + 1):
                colour = _colour((r + 1, child), here)
                width = {AGENT: 3.5, BRANCH: 1.8}.get(colour, 1.0)
                canvas.line(_centre(r, p), _centre(r + 1, child), colour, width)
    for r in range(depth):
        for p in range(2**r):
            canvas.disc(*_centre(r, p), 3.5 if r < 6 else 2.5, _colour((r, p), here))
    _fruits(canvas, env, row, place)
    face(canvas, *_centre(row, place), 28)
    return canvas.pixels()


def _centre(row: int, place: int) -> tuple[float, float]:
    return LEFT + (WIDTH - LEFT - RIGHT) * (place + 0.5) / 2**row, TOP + row * ROW


def _colour(node: tuple[int, int], here: tuple[int, int]) -> Colour:
    """Blue where the agent came from, brown where it can still go, pale elsewhere."""
    rows = node[0] - here[0]
    if rows <= 0:
        return AGENT if here[1] >> -rows == node[1] else LINE
    return BRANCH if node[1] >> rows == here[1] else LINE


def _fruits(canvas: Canvas, env: Any, row: int, place: int) -> None:
    """The darker, the more of the nutrient; fruits out of reach are pale."""
    depth = env.tree_depth
    width = (WIDTH - LEFT - RIGHT) / 2**depth
    top = TOP + depth * ROW + 16
    for nutrient, name in enumerate(NUTRIENTS):
        canvas.text(LEFT - 8, top + (nutrient + 0.5) * SHADE, name, 13, INK, anchor="rm")
    for p in range(2**depth):
        in_reach = p >> (depth - row) == place
        x = _centre(depth, p)[0] - width / 2
        for nutrient, amount in enumerate(env.tree[env.get_ind((depth, p))]):
            colour = mix(mix(FLOOR, GREEN, 0.08), mix(GREEN, INK, 0.35), min(amount / FULL, 1.0))
            colour = colour if in_reach else mix(colour, FLOOR, 0.75)
            canvas.box(x + 0.5, top + nutrient * SHADE, width - 1, SHADE - 1, colour)
