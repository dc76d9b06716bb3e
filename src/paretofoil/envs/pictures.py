"""Pictures of the environments of the catalogue, drawn with Pillow."""

import math
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from paretofoil.core.errors import InvalidInput
from paretofoil.envs.batch import GymnasiumSnapshot, clone, set_attributes, tabulate
from paretofoil.envs.catalogue import CatalogueEntry, entry, make_raw

if TYPE_CHECKING:
    from paretofoil.envs.gridworld import Cell, GridWorld


Colour = tuple[int, int, int]
Point = tuple[float, float]

SMOOTH = 4
"""Pictures are drawn at this multiple of their size and scaled down, which smooths the edges."""
PAPER: Colour = (252, 251, 248)
FLOOR: Colour = (255, 255, 255)
LINE: Colour = (222, 219, 212)
WALL: Colour = (74, 80, 92)
INK: Colour = (45, 49, 58)
AGENT: Colour = (44, 107, 196)
RED: Colour = (214, 69, 65)
GREEN: Colour = (60, 152, 94)
YELLOW: Colour = (236, 181, 48)
PURPLE: Colour = (134, 84, 172)
OBJECTIVE_COLOURS = (RED, GREEN, YELLOW, PURPLE)
FADED = 0.82
"""The share of the floor in the colour of a collected item."""


def mix(a: Colour, b: Colour, share: float) -> Colour:
    """Return the colour between a (share 0) and b (share 1)."""
    red, green, blue = (round(x + (y - x) * share) for x, y in zip(a, b, strict=True))
    return red, green, blue


@cache
def _font(size: int) -> Any:
    return ImageFont.load_default(size)


class Canvas:
    """An image with drawing functions; coordinates are pixels of the final picture."""

    def __init__(self, width: int, height: int, background: Colour = PAPER) -> None:
        self._image = Image.new("RGB", (width * SMOOTH, height * SMOOTH), background)
        self._draw = ImageDraw.Draw(self._image)
        self._size = (width, height)

    def polygon(self, points: Sequence[Point], fill: Colour, outline: Colour | None = None, width: float = 0) -> None:
        scaled = [(x * SMOOTH, y * SMOOTH) for x, y in points]
        self._draw.polygon(scaled, fill=fill)
        if outline is not None:
            self._draw.line([*scaled, *scaled[:2]], fill=outline, width=round(width * SMOOTH), joint="curve")

    def box(self, x: float, y: float, width: float, height: float, fill: Colour, radius: float = 0) -> None:
        corners = (x * SMOOTH, y * SMOOTH, (x + width) * SMOOTH - 1, (y + height) * SMOOTH - 1)
        self._draw.rounded_rectangle(corners, radius=radius * SMOOTH, fill=fill)

    def disc(self, x: float, y: float, radius: float, fill: Colour) -> None:
        self.slice(x, y, radius, 0, 360, fill)

    def slice(self, x: float, y: float, radius: float, start: float, end: float, fill: Colour) -> None:
        """Draw the part of a disc between two angles in degrees, clockwise from the right."""
        corners = ((x - radius) * SMOOTH, (y - radius) * SMOOTH, (x + radius) * SMOOTH, (y + radius) * SMOOTH)
        if end - start >= 360:
            self._draw.ellipse(corners, fill=fill)
        elif end > start:
            self._draw.pieslice(corners, start, end, fill=fill)

    def line(self, start: Point, end: Point, fill: Colour, width: float) -> None:
        points = [(x * SMOOTH, y * SMOOTH) for x, y in (start, end)]
        self._draw.line(points, fill=fill, width=round(width * SMOOTH))

    def text(self, x: float, y: float, words: str, size: float, fill: Colour = INK, anchor: str = "mm") -> None:
        self._draw.text((x * SMOOTH, y * SMOOTH), words, fill=fill, font=_font(round(size * SMOOTH)), anchor=anchor)

    def pixels(self) -> np.ndarray:
        """Return a (height, width, 3) uint8 array."""
        return np.array(self._image.resize(self._size, Image.Resampling.BOX))


def square(canvas: Canvas, x: float, y: float, size: float, colour: Colour) -> None:
    canvas.box(x - size / 2, y - size / 2, size, size, colour, radius=size * 0.12)


def triangle(canvas: Canvas, x: float, y: float, size: float, colour: Colour) -> None:
    half, height = size * 0.56, size * 0.97
    corners = [(x, y - height / 2), (x - half, y + height / 2), (x + half, y + height / 2)]
    canvas.polygon(corners, colour, outline=colour, width=size * 0.1)


def face(canvas: Canvas, x: float, y: float, size: float) -> None:
    """Draw the agent: a round face."""
    canvas.disc(x, y, size / 2, mix(AGENT, INK, 0.35))
    canvas.disc(x, y, size * 0.44, AGENT)
    for side in (-1, 1):
        canvas.disc(x + side * size * 0.16, y - size * 0.06, size * 0.11, FLOOR)
        canvas.disc(x + side * size * 0.16, y - size * 0.04, size * 0.055, INK)


def arrow_head(x: float, y: float, size: float, degrees: float) -> list[Point]:
    """Return the corners of an arrow that points along an angle (clockwise from the right)."""
    shape = ((0.62, 0.0), (-0.42, 0.36), (-0.24, 0.0), (-0.42, -0.36))
    sine, cosine = math.sin(math.radians(degrees)), math.cos(math.radians(degrees))
    return [(x + size * (a * cosine - b * sine), y + size * (a * sine + b * cosine)) for a, b in shape]


ENLARGE_TO = 640
"""Pixels. A smaller picture is enlarged by an integer factor."""


def picture_of(name: str | CatalogueEntry, snapshot: Any = None) -> np.ndarray:
    """Return a (height, width, 3) uint8 picture of the state in a batch's snapshot, or of the start if it is None."""
    item = entry(name)
    if isinstance(snapshot, GymnasiumSnapshot):
        copy = clone(snapshot.env).unwrapped
        copy.render_mode = "rgb_array"  # the environments of a batch have none
        return _draw(item, copy)
    env = _stage(item)
    env.reset(seed=0)
    if snapshot is not None:
        if item.set_state is not None:
            item.set_state(env.unwrapped, snapshot)
        elif item.finite:
            set_attributes(env.unwrapped, tabulate(item).states[snapshot["state"]])
        else:
            raise InvalidInput.expected(f"a snapshot of a batch of {item.name}", repr(snapshot))
    return _draw(item, env.unwrapped)


@cache
def _stage(item: CatalogueEntry) -> Any:
    """Return an environment to draw with. It is cached, because loading its images takes longer than drawing."""
    return make_raw(item, render_mode="rgb_array" if item.draw is None else None)


def _draw(item: CatalogueEntry, unwrapped: Any) -> np.ndarray:
    if item.draw is not None:
        return item.draw(unwrapped)
    pixels = unwrapped.render()
    if not isinstance(pixels, np.ndarray) or pixels.ndim != 3 or pixels.shape[2] != 3:
        raise InvalidInput.expected(f"{item.name} to draw an rgb_array of shape (height, width, 3)", type(pixels))
    factor = max(1, round(ENLARGE_TO / max(pixels.shape[:2])))
    return pixels.astype(np.uint8).repeat(factor, axis=0).repeat(factor, axis=1)


CELL = 64
"""The side of a cell, in pixels."""
GAP, MARGIN, LEGEND = 2, 16, 44
"""Pixels between cells, around the map, and for the legend below it."""


def draw_grid_world(env: "GridWorld") -> np.ndarray:
    """Return a picture like the paper's figure: coloured squares and triangles, walls, the agent."""
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
    """Draw an item with its letter, for readers who cannot tell the colours apart; a collected item is pale."""
    colour = OBJECTIVE_COLOURS[objective]
    colour = mix(colour, FLOOR, FADED) if taken else colour
    is_triangle = bool(env.layout.shapes) and env.layout.shapes[objective] == "triangle"
    (triangle if is_triangle else square)(canvas, x, y, size, colour)
    if env.layout.items and size > CELL / 3:
        canvas.text(x, y + size * (0.17 if is_triangle else 0.02), env.layout.objectives[objective], size / 2, FLOOR)


def _exit(canvas: Canvas, cell: "Cell", payment: tuple[float, ...]) -> None:
    """Draw a terminal cell: one bar per objective, as high as its reward, and the number below."""
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
    """Draw the shapes and names of the objectives in one centred line."""
    names = env.layout.objectives
    step = 52 + 9 * max(len(name) for name in names)
    left = x - step * len(names) / 2
    for objective, name in enumerate(names):
        _mark(canvas, env, objective, left + 12, y, 18, taken=False)
        canvas.text(left + 28, y, name, 17, INK, anchor="lm")
        left += step


SEA_CELL, SEA_MARGIN = 52, 14
"""The side of a cell and the space around the map, in pixels."""
SURFACE: Colour = (205, 232, 247)
DEPTH: Colour = (44, 106, 160)
WOOD: Colour = (133, 88, 52)
HULL: Colour = (250, 204, 62)
ROCK = -10


def draw_sea(env: Any) -> np.ndarray:
    """Return a picture of Deep Sea Treasure in which every value is readable.

    MO-Gymnasium writes the value of a treasure into the cell above it, where the submarine covers it.
    """
    sea = np.asarray(env.sea_map)
    rows, columns = sea.shape
    canvas = Canvas(columns * SEA_CELL + 2 * SEA_MARGIN, rows * SEA_CELL + 2 * SEA_MARGIN)
    for row in range(rows):
        water = mix(SURFACE, DEPTH, row / max(rows - 1, 1))
        for column in range(columns):
            canvas.box(*_sea_corner(row, column), SEA_CELL, SEA_CELL, WALL if sea[row, column] == ROCK else water)
    for row, column in np.argwhere(sea > 0).tolist():
        _chest(canvas, *_sea_corner(row, column), float(sea[row, column]))
    _submarine(canvas, *_sea_corner(*(int(i) for i in env.current_state)))
    return canvas.pixels()


def _sea_corner(row: int, column: int) -> tuple[float, float]:
    return SEA_MARGIN + column * SEA_CELL, SEA_MARGIN + row * SEA_CELL


def _chest(canvas: Canvas, x: float, y: float, value: float) -> None:
    """Draw a chest at the bottom of its cell, with its value on a plate."""
    canvas.box(x + 3, y + 10, SEA_CELL - 6, SEA_CELL - 11, mix(WOOD, INK, 0.35), radius=7)
    canvas.box(x + 5, y + 12, SEA_CELL - 10, 10, WOOD, radius=5)
    canvas.box(x + 5, y + 24, SEA_CELL - 10, SEA_CELL - 27, WOOD, radius=3)
    canvas.box(x + 8, y + 18, SEA_CELL - 16, 24, mix(YELLOW, FLOOR, 0.55), radius=4)
    canvas.text(x + SEA_CELL / 2, y + 30, f"{value:g}", 19, INK)


def _submarine(canvas: Canvas, x: float, y: float) -> None:
    """Draw the submarine in the upper part of its cell, above the value of a treasure in the same cell."""
    dark, centre = mix(HULL, INK, 0.55), y + 20
    canvas.box(x + 21, y + 3, 10, 12, dark, radius=2)
    canvas.box(x + 23, y + 5, 6, 10, HULL)
    canvas.polygon([(x + 12, centre), (x + 2, centre - 9), (x + 2, centre + 9)], dark)
    canvas.box(x + 7, centre - 10, SEA_CELL - 11, 20, dark, radius=10)
    canvas.box(x + 9, centre - 8, SEA_CELL - 15, 16, HULL, radius=8)
    for window in range(3):
        canvas.disc(x + 19 + 9 * window, centre, 3.4, dark)
        canvas.disc(x + 19 + 9 * window, centre, 2.2, SURFACE)


TREE_WIDTH, TREE_LEFT, TREE_RIGHT, TREE_TOP = 1220, 84, 20, 26
"""The width of the picture and the space beside and above the tree, in pixels."""
ROW, SHADE = 44, 17
"""Pixels between two rows of the tree, and the height of a nutrient."""
TREE_FULL = 10.0
"""The largest amount of a nutrient in a fruit."""
BRANCH: Colour = (150, 126, 100)


def draw_tree(env: Any) -> np.ndarray:
    """Return a picture of the whole tree, the path taken, and every fruit as a column of six shades."""
    nutrients = [objective.name for objective in entry("fruit-tree").objectives]
    depth = env.tree_depth
    row, place = here = int(env.current_state[0]), int(env.current_state[1])
    canvas = Canvas(TREE_WIDTH, TREE_TOP + depth * ROW + SHADE * len(nutrients) + 40)
    for r in range(depth):
        for p in range(2**r):
            for child in (2 * p, 2 * p + 1):
                colour = _node_colour((r + 1, child), here)
                width = {AGENT: 3.5, BRANCH: 1.8}.get(colour, 1.0)
                canvas.line(_node_centre(r, p), _node_centre(r + 1, child), colour, width)
    for r in range(depth):
        for p in range(2**r):
            canvas.disc(*_node_centre(r, p), 3.5 if r < 6 else 2.5, _node_colour((r, p), here))
    _fruits(canvas, env, nutrients, row, place)
    face(canvas, *_node_centre(row, place), 28)
    return canvas.pixels()


def _node_centre(row: int, place: int) -> tuple[float, float]:
    return TREE_LEFT + (TREE_WIDTH - TREE_LEFT - TREE_RIGHT) * (place + 0.5) / 2**row, TREE_TOP + row * ROW


def _node_colour(node: tuple[int, int], here: tuple[int, int]) -> Colour:
    """Return blue for the path taken, brown for nodes that can be reached, and a pale colour for others."""
    rows = node[0] - here[0]
    if rows <= 0:
        return AGENT if here[1] >> -rows == node[1] else LINE
    return BRANCH if node[1] >> rows == here[1] else LINE


def _fruits(canvas: Canvas, env: Any, nutrients: Sequence[str], row: int, place: int) -> None:
    """Draw the fruits: a darker shade is a larger amount; fruits that cannot be reached are pale."""
    depth = env.tree_depth
    width = (TREE_WIDTH - TREE_LEFT - TREE_RIGHT) / 2**depth
    top = TREE_TOP + depth * ROW + 16
    for nutrient, name in enumerate(nutrients):
        canvas.text(TREE_LEFT - 8, top + (nutrient + 0.5) * SHADE, name, 13, INK, anchor="rm")
    for p in range(2**depth):
        in_reach = p >> (depth - row) == place
        x = _node_centre(depth, p)[0] - width / 2
        for nutrient, amount in enumerate(env.tree[env.get_ind((depth, p))]):
            colour = mix(mix(FLOOR, GREEN, 0.08), mix(GREEN, INK, 0.35), min(amount / TREE_FULL, 1.0))
            colour = colour if in_reach else mix(colour, FLOOR, 0.75)
            canvas.box(x + 0.5, top + nutrient * SHADE, width - 1, SHADE - 1, colour)


MINE_FIELD, MINE_MARGIN, MINE_LEGEND = 480, 44, 48
"""The side of the field, the space around it and the height of the legend, in pixels."""
ORES: tuple[Colour, ...] = ((22, 88, 140), (240, 176, 60))
"""One dark and one light colour, for readers who cannot tell colours apart."""
RICHEST = 0.4
"""The yield whose disc fills a mine."""


def draw_minecart(env: Any) -> np.ndarray:
    """Return a picture with the yield of each mine, the heading of the cart and its content.

    MO-Gymnasium draws all mines alike, at angles from NumPy's global generator.
    """
    from mo_gymnasium.envs.minecart import minecart as source

    side = MINE_FIELD + 2 * MINE_MARGIN
    canvas = Canvas(side, side + MINE_LEGEND, mix(LINE, FLOOR, 0.35))
    canvas.box(MINE_MARGIN, MINE_MARGIN, MINE_FIELD, MINE_FIELD, FLOOR, radius=8)
    radius = source.BASE_RADIUS * MINE_FIELD
    canvas.disc(MINE_MARGIN, MINE_MARGIN, radius, mix(RED, FLOOR, 0.55))
    canvas.box(0, 0, MINE_MARGIN, side, mix(LINE, FLOOR, 0.35))
    canvas.box(0, 0, side, MINE_MARGIN, mix(LINE, FLOOR, 0.35))
    canvas.text(MINE_MARGIN + radius * 0.64, MINE_MARGIN + radius * 0.24, "base", 14)
    for mine in env.mines:
        _draw_mine(canvas, mine, source.MINE_RADIUS * MINE_FIELD)
    _draw_cart(canvas, env)
    _minecart_legend(canvas, env, side)
    return canvas.pixels()


def _draw_mine(canvas: Canvas, mine: Any, radius: float) -> None:
    """Draw the reach of a mine, and a disc as large as its yield, divided between the ores."""
    x, y = (MINE_MARGIN + MINE_FIELD * coordinate for coordinate in mine.pos)
    canvas.disc(x, y, radius, mix(LINE, FLOOR, 0.3))
    canvas.disc(x, y, radius - 2, mix(LINE, FLOOR, 0.65))
    yields = np.array([distribution.args[0] for distribution in mine.distributions])  # the normal means
    inner = radius * 0.72 * float(np.sqrt(yields.sum() / RICHEST))
    start = -90.0
    for colour, share in zip(ORES, yields / yields.sum(), strict=True):
        canvas.slice(x, y, inner, start, start + 360 * share, colour)
        start += 360 * share


def _draw_cart(canvas: Canvas, env: Any) -> None:
    x, y = (MINE_MARGIN + MINE_FIELD * coordinate for coordinate in env.cart.pos)
    canvas.polygon(arrow_head(x, y, 44, env.cart.angle), FLOOR)
    canvas.polygon(arrow_head(x, y, 36, env.cart.angle), mix(AGENT, INK, 0.25))


def _minecart_legend(canvas: Canvas, env: Any, side: int) -> None:
    """Draw the colours of the ores and the content of the cart."""
    y = side + MINE_LEGEND / 2 - 10
    for ore, colour in enumerate(ORES):
        left = MINE_MARGIN + ore * 130
        canvas.disc(left + 8, y, 8, colour)
        canvas.text(left + 24, y, f"ore {ore}: {env.cart.content[ore]:.2f}", 15, anchor="lm")
    free, right = 130, side - MINE_MARGIN
    canvas.text(right - free - 10, y, "cart", 15, anchor="rm")
    canvas.box(right - free, y - 8, free, 16, LINE, radius=3)
    left = right - free
    for ore, colour in enumerate(ORES):
        width = free * float(env.cart.content[ore]) / env.capacity
        if width >= 1:
            canvas.box(left, y - 8, width, 16, colour, radius=3)
        left += width
