"""A picture of Minecart that shows what matters: what each mine holds, where the cart heads, what it carries.

MO-Gymnasium's own picture draws all mines alike, at angles taken from NumPy's global generator.
"""

from typing import Any

import numpy as np

from paretofoil.envs.drawing import AGENT, FLOOR, INK, LINE, RED, Canvas, Colour, arrow_head, mix

FIELD, MARGIN, LEGEND = 480, 44, 48
"""Pixels of the field's side, of the space around it, and of the legend below."""
ORES: tuple[Colour, ...] = ((22, 88, 140), (240, 176, 60))
"""Dark and light, so that they are told apart without colours too."""
RICHEST = 0.4
"""The yield of the richest mine fills its disc."""


def draw_minecart(env: Any) -> np.ndarray:
    """(height, width, 3) uint8."""
    from mo_gymnasium.envs.minecart import minecart as source

    side = FIELD + 2 * MARGIN
    canvas = Canvas(side, side + LEGEND, mix(LINE, FLOOR, 0.35))
    canvas.box(MARGIN, MARGIN, FIELD, FIELD, FLOOR, radius=8)
    radius = source.BASE_RADIUS * FIELD
    canvas.disc(MARGIN, MARGIN, radius, mix(RED, FLOOR, 0.55))
    canvas.box(0, 0, MARGIN, side, mix(LINE, FLOOR, 0.35))
    canvas.box(0, 0, side, MARGIN, mix(LINE, FLOOR, 0.35))
    canvas.text(MARGIN + radius * 0.64, MARGIN + radius * 0.24, "base", 14)
    for mine in env.mines:
        _mine(canvas, mine, source.MINE_RADIUS * FIELD)
    _cart(canvas, env)
    _legend(canvas, env, side)
    return canvas.pixels()


def _mine(canvas: Canvas, mine: Any, radius: float) -> None:
    """The reach of a mine, and in it a disc as large as its yield, divided between the ores."""
    x, y = (MARGIN + FIELD * coordinate for coordinate in mine.pos)
    canvas.disc(x, y, radius, mix(LINE, FLOOR, 0.3))
    canvas.disc(x, y, radius - 2, mix(LINE, FLOOR, 0.65))
    yields = np.array([distribution.args[0] for distribution in mine.distributions])  # the normal means
    inner = radius * 0.72 * float(np.sqrt(yields.sum() / RICHEST))
    start = -90.0
    for colour, share in zip(ORES, yields / yields.sum(), strict=True):
        canvas.slice(x, y, inner, start, start + 360 * share, colour)
        start += 360 * share


def _cart(canvas: Canvas, env: Any) -> None:
    x, y = (MARGIN + FIELD * coordinate for coordinate in env.cart.pos)
    canvas.polygon(arrow_head(x, y, 44, env.cart.angle), FLOOR)
    canvas.polygon(arrow_head(x, y, 36, env.cart.angle), mix(AGENT, INK, 0.25))


def _legend(canvas: Canvas, env: Any, side: int) -> None:
    """The ores' colours, and how much of each is on the cart."""
    y = side + LEGEND / 2 - 10
    for ore, colour in enumerate(ORES):
        left = MARGIN + ore * 130
        canvas.disc(left + 8, y, 8, colour)
        canvas.text(left + 24, y, f"ore {ore}: {env.cart.content[ore]:.2f}", 15, anchor="lm")
    free, right = 130, side - MARGIN
    canvas.text(right - free - 10, y, "cart", 15, anchor="rm")
    canvas.box(right - free, y - 8, free, 16, LINE, radius=3)
    left = right - free
    for ore, colour in enumerate(ORES):
        width = free * float(env.cart.content[ore]) / env.capacity
        if width >= 1:
            canvas.box(left, y - 8, width, 16, colour, radius=3)
        left += width
