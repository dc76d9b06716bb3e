"""Pictures of the environments of the catalogue, drawn with Pillow."""

import math
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from functools import cache
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from paretofoil.core.errors import InvalidInput
from paretofoil.envs.batch import GymnasiumSnapshot, make_batch, set_attributes, tabulate
from paretofoil.envs.catalogue import CatalogueEntry, entry, make_raw
from paretofoil.envs.four_room import LAYOUT as FOUR_ROOMS
from paretofoil.envs.gridworld import Cell, Layout
from paretofoil.envs.minecart import BASE_RADIUS, CAPACITY, MINE_RADIUS, MINES, YIELDS
from paretofoil.envs.mountain_car import GOAL, LEFTMOST, RIGHTMOST
from paretofoil.envs.three_tree import DEPTH as CHOICES
from paretofoil.envs.three_tree import NAMES
from paretofoil.envs.water_reservoir import FLOODING

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
"""The share of the floor's colour that is mixed into the colour of a collected item."""


def mix(a: Colour, b: Colour, share: float) -> Colour:
    """Return the colour between a (share 0) and b (share 1)."""
    red, green, blue = (round(x + (y - x) * share) for x, y in zip(a, b, strict=True))
    return red, green, blue


@cache
def _font(size: int) -> Any:
    return ImageFont.load_default(size)


_only_place: ContextVar[bool] = ContextVar("only_place", default=False)
"""Whether only the place of the agent is needed, and no picture."""


class PlaceFound(Exception):
    """Ends a drawing of which only the place of the agent is needed."""

    def __init__(self, place: Point) -> None:
        self.place = place


class Canvas:
    """An image with drawing functions, and the place of the `agent`. Coordinates are pixels of the final picture."""

    def __init__(self, width: int, height: int, agent: Point, background: Colour = PAPER) -> None:
        if _only_place.get():
            raise PlaceFound((float(agent[0] / width), float(agent[1] / height)))
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


def house(canvas: Canvas, x: float, y: float, size: float, colour: Colour) -> None:
    half = size / 2
    canvas.box(x - half * 0.7, y, size * 0.7, half, mix(colour, FLOOR, 0.55), radius=2)
    canvas.box(x - size * 0.09, y + half * 0.4, size * 0.18, half * 0.6, colour)
    canvas.polygon([(x, y - half), (x - half, y + 2), (x + half, y + 2)], colour)


def circle(canvas: Canvas, x: float, y: float, size: float, colour: Colour) -> None:
    canvas.disc(x, y, size / 2, colour)


def diamond(canvas: Canvas, x: float, y: float, size: float, colour: Colour) -> None:
    half = size * 0.6
    canvas.polygon([(x, y - half), (x + half, y), (x, y + half), (x - half, y)], colour)


def bottle(canvas: Canvas, x: float, y: float, size: float, colour: Colour) -> None:
    canvas.box(x - size * 0.1, y - size / 2, size * 0.2, size * 0.5, colour, radius=size * 0.05)
    canvas.box(x - size * 0.24, y - size * 0.18, size * 0.48, size * 0.68, colour, radius=size * 0.13)
    canvas.box(x - size * 0.24, y + size * 0.05, size * 0.48, size * 0.2, mix(colour, FLOOR, 0.7))


MOST_NUMBERS = 12
"""The most numbers of an observation that are shown in the place of a picture."""
ENLARGE_TO = 640
"""Pixels. A smaller picture is enlarged by an integer factor."""


def picture_of(name: str | CatalogueEntry, snapshot: Any = None) -> np.ndarray:
    """Return a (height, width, 3) uint8 picture of the state in a batch's snapshot, or of the start if it is None.

    If the environment cannot draw itself, the picture shows the numbers of the observation.
    """
    item = entry(name)
    if item.draw is not None:
        return item.draw(_state(item, snapshot))
    if not _renders(item):
        return _draw_numbers(_first_snapshot(item) if snapshot is None else snapshot)
    if isinstance(snapshot, GymnasiumSnapshot):
        env = snapshot.make("rgb_array")
    else:
        env = _stage(item)
        env.reset(seed=0)
        if snapshot is not None:
            if not item.finite:
                raise InvalidInput.expected(f"a snapshot of a batch of {item.name}", repr(snapshot))
            set_attributes(env.unwrapped, tabulate(item).states[snapshot["state"]])
    pixels = env.unwrapped.render()
    if not isinstance(pixels, np.ndarray) or pixels.ndim != 3 or pixels.shape[2] != 3:
        raise InvalidInput.expected(f"{item.name} to draw an rgb_array of shape (height, width, 3)", type(pixels))
    factor = max(1, round(ENLARGE_TO / max(pixels.shape[:2])))
    return pixels.astype(np.uint8).repeat(factor, axis=0).repeat(factor, axis=1)


def place_of(name: str | CatalogueEntry, snapshot: Any) -> Point | None:
    """Return where the agent is on the picture of a snapshot, in shares of its width and height.

    Return None if the environment draws itself.
    """
    item = entry(name)
    drawing, *_ = getattr(item.draw, "args", ("",))
    if item.draw is None or not str(drawing).startswith("pictures:"):
        return None
    only_place = _only_place.set(True)
    try:
        item.draw(_state(item, snapshot))
    except PlaceFound as found:
        return found.place
    finally:
        _only_place.reset(only_place)
    return None


@cache
def _stage(item: CatalogueEntry) -> Any:
    """Return an environment to draw with. It is cached, because loading its images takes longer than drawing."""
    return make_raw(item, render_mode="rgb_array")


@cache
def _renders(item: CatalogueEntry) -> bool:
    """Return whether the environment itself can draw a picture."""
    return "rgb_array" in make_raw(item).unwrapped.metadata.get("render_modes", ())


def _draw_numbers(snapshot: Any) -> np.ndarray:
    """Return a picture of the numbers of the observation, for an environment that cannot draw itself."""
    numbers = np.ravel(getattr(snapshot, "observation", ()))
    canvas = Canvas(480, 480, (0.0, 0.0))
    canvas.text(240, 50, "This environment has no picture.", 22)
    lines = [f"observation {i}:  {number:.4g}" for i, number in enumerate(numbers[:MOST_NUMBERS])]
    lines += [f"and {len(numbers) - MOST_NUMBERS} more numbers"] if len(numbers) > MOST_NUMBERS else []
    for i, line in enumerate(lines):
        canvas.text(240, 110 + 28 * i, line, 20)
    return canvas.pixels()


def _first_snapshot(item: CatalogueEntry) -> Any:
    batch = make_batch(item)
    batch.reset(np.zeros(1, dtype=np.int64))
    return batch.snapshot(0)


def _state(item: CatalogueEntry, snapshot: Any) -> Mapping[str, Any]:
    """Return the state in a snapshot, or at the start if it is None, for the entry's `draw`."""
    snapshot = _first_snapshot(item) if snapshot is None else snapshot
    if not isinstance(snapshot, GymnasiumSnapshot):
        return tabulate(item).states[snapshot["state"]] if item.finite else snapshot
    if item.locate is not None:
        return item.locate(snapshot.observation)
    env = snapshot.make().unwrapped
    return {name: getattr(env, name) for name in item.state or vars(env)}


CELL = 64
"""The side of a cell, in pixels."""
GAP, MARGIN, LEGEND = 2, 16, 44
"""Pixels between cells, around the map, and for the legend below it."""
Mark = Callable[[Canvas, float, float, float, Colour], None]
"""Draws a mark of one colour: (canvas, x, y, size, colour)."""


_SHAPES: dict[str, Mark] = {"square": square, "triangle": triangle, "circle": circle}


class Grid(Canvas):
    """A canvas with a map of cells, and a legend below it."""

    def __init__(self, rows: int, columns: int, agent: Cell, cell: int = CELL, down: float = 0.5) -> None:
        """Draw empty cells. The agent is in one of the cells, at the share `down` of its height."""
        self.cell, self.width, self.height = cell, columns * cell, rows * cell
        place = self.centre(agent)[0], MARGIN + (agent[0] + down) * cell
        super().__init__(self.width + 2 * MARGIN, self.height + MARGIN + LEGEND, place)
        self.box(MARGIN - GAP, MARGIN - GAP, self.width + 2 * GAP, self.height + 2 * GAP, LINE, radius=6)
        for row in range(rows):
            for column in range(columns):
                self.floor((row, column), FLOOR)

    def centre(self, cell: Cell) -> Point:
        return MARGIN + (cell[1] + 0.5) * self.cell, MARGIN + (cell[0] + 0.5) * self.cell

    def floor(self, cell: Cell, colour: Colour) -> None:
        x, y = self.centre(cell)
        side = self.cell - GAP
        self.box(x - side / 2, y - side / 2, side, side, colour, radius=4)

    def legend(self, marks: Sequence[tuple[Mark, Colour, str]]) -> None:
        """Draw marks and their names in one centred line."""
        widths = [46 + 9 * len(name) for _, _, name in marks]
        left, y = MARGIN + self.width / 2 - sum(widths) / 2, self.height + MARGIN + LEGEND / 2
        for (mark, colour, name), width in zip(marks, widths, strict=True):
            mark(self, left + 12, y, 18, colour)
            self.text(left + 28, y, name, 17, INK, anchor="lm")
            left += width


def draw_grid_world(layout: Layout, state: Mapping[str, Any]) -> np.ndarray:
    """Return a picture like the paper's figure: coloured squares and triangles, walls, the agent."""
    grid = Grid(layout.rows, layout.columns, state["cell"])
    for cell in layout.walls:
        grid.floor(cell, WALL)
    for cell, payment in layout.exits.items():
        _exit(grid, cell, payment)
    marks: list[Mark] = [_SHAPES[shape] for shape in layout.shapes]
    for item, taken in zip(layout.items, state["taken"], strict=True):
        mark, colour = marks[item.objective], OBJECTIVE_COLOURS[item.objective]
        (x, y), size = grid.centre(item.cell), CELL * 0.56
        mark(grid, x, y, size, mix(colour, FLOOR, FADED) if taken else colour)
        below = size * (0.17 if mark is triangle else 0.02)
        if len(layout.objectives[item.objective]) == 1:
            grid.text(x, y + below, layout.objectives[item.objective], size / 2, FLOOR)  # for colour-blind readers
    face(grid, *grid.centre(state["cell"]), CELL * 0.6)
    named = zip(marks or [square] * len(layout.objectives), OBJECTIVE_COLOURS, layout.objectives, strict=False)
    grid.legend(list(named))
    return grid.pixels()


def _exit(grid: Grid, cell: Cell, payment: tuple[float, ...]) -> None:
    """Draw a terminal cell: one bar per objective, as high as its reward, and the number below."""
    grid.floor(cell, mix(FLOOR, LINE, 0.45))
    x, y = grid.centre(cell)
    bars, foot, width = CELL * 0.44, y + CELL * 0.16, CELL * 0.8 / len(payment)
    for objective, amount in enumerate(payment):
        left = x + (objective - len(payment) / 2) * width
        colour = OBJECTIVE_COLOURS[objective]
        grid.box(left + 2, foot - bars, width - 4, bars, mix(colour, FLOOR, FADED), radius=2)
        if amount:
            grid.box(left + 2, foot - bars * amount, width - 4, bars * amount, colour, radius=2)
        grid.text(left + width / 2, foot + 11, f"{amount:g}", 12)


def draw_four_room(state: Mapping[str, Any]) -> np.ndarray:
    row, column, *taken = state["state"]
    return draw_grid_world(FOUR_ROOMS, {"cell": (row, column), "taken": taken})


def draw_choices(state: Mapping[str, Any]) -> np.ndarray:
    """Return a picture of Three-Tree: the step on the left, and what was chosen so far in one column for each kind."""
    counts = [int(count) for count in state["counts"]]
    grid = Grid(CHOICES + 1, 1 + len(counts), (sum(counts), 0))
    marks: list[tuple[Mark, Colour, str]] = list(zip([square] * 3, OBJECTIVE_COLOURS, NAMES, strict=False))
    for column, (count, (mark, colour, name)) in enumerate(zip(counts, marks, strict=True), start=1):
        for row in range(count):
            x, y = grid.centre((row, column))
            mark(grid, x, y, CELL * 0.56, colour)
            grid.text(x, y, name, CELL * 0.28, FLOOR)
    face(grid, *grid.centre((sum(counts), 0)), CELL * 0.6)
    grid.legend([*marks, *([(triangle, PURPLE, "recovery")] if state["recovery"] else [])])
    return grid.pixels()


HOME, GOLD, DIAMOND, ENEMIES = (4, 2), (0, 2), (1, 4), ((0, 3), (1, 2))
"""The cells of Resource-Gathering."""


def draw_gathering(state: Mapping[str, Any]) -> np.ndarray:
    """Return a picture of Resource-Gathering. Items that the agent carries are beside it, and pale in their cells."""
    grid = Grid(5, 5, state["current_pos"])
    house(grid, *grid.centre(HOME), CELL * 0.8, RED)
    for enemy in ENEMIES:
        triangle(grid, *grid.centre(enemy), CELL * 0.5, PURPLE)
        grid.text(grid.centre(enemy)[0], grid.centre(enemy)[1] + 6, "!", 24, FLOOR)
    x, y = agent = grid.centre(state["current_pos"])
    marks: list[tuple[Mark, Colour, str]] = [(square, YELLOW, "gold"), (diamond, GREEN, "diamond")]
    taken = [state["has_gold"], state["has_gem"]]
    for (mark, colour, _), cell, gone in zip(marks, (GOLD, DIAMOND), taken, strict=True):
        mark(grid, *grid.centre(cell), CELL * 0.4, mix(colour, FLOOR, FADED) if gone else colour)
    face(grid, *agent, CELL * 0.6)
    for (mark, colour, _), side, carried in zip(marks, (-1, 1), taken, strict=True):
        if carried:
            mark(grid, x + side * CELL * 0.3, y + CELL * 0.3, CELL * 0.28, colour)
    grid.legend([*marks, (triangle, PURPLE, "enemy")])
    return grid.pixels()


BOTTLE_CELL = 88
"""The side of a cell of Breakable-Bottles, in pixels."""
BROKEN = mix(GREEN, FLOOR, 0.65)


def draw_bottles(state: Mapping[str, Any]) -> np.ndarray:
    """Return a picture of Breakable-Bottles: the source on the left, home on the right, pale broken bottles between."""
    carried, delivered, dropped = (state[f"bottles_{name}"] for name in ("carrying", "delivered", "dropped"))
    location = int(state["location"])
    grid, size = Grid(1, len(dropped) + 2, (0, location), BOTTLE_CELL, down=0.7), BOTTLE_CELL * 0.36
    top, middle = MARGIN + BOTTLE_CELL * 0.24, MARGIN + BOTTLE_CELL * 0.7
    columns = [grid.centre((0, column))[0] for column in range(len(dropped) + 2)]
    for place in (-1, 0, 1):
        bottle(grid, columns[0] + place * size * 0.7, top, size, GREEN)
    house(grid, columns[-1], MARGIN + BOTTLE_CELL / 2, BOTTLE_CELL * 0.8, RED)
    for x, broken in zip(columns[1:-1], dropped, strict=True):
        if broken:
            bottle(grid, x, top, size, BROKEN)
    x = columns[location]
    face(grid, x, middle, BOTTLE_CELL * 0.46)
    for hand in range(int(carried)):
        bottle(grid, x + (2 * hand - 1) * BOTTLE_CELL * 0.33, middle, size, GREEN)
    counts = (f"{carried} carried", f"{delivered} delivered", f"{sum(dropped)} broken")
    grid.legend([(bottle, GREEN, counts[0]), (house, RED, counts[1]), (bottle, BROKEN, counts[2])])
    return grid.pixels()


SEA_CELL, SEA_MARGIN = 52, 14
"""The side of a cell and the space around the map, in pixels."""
SURFACE: Colour = (205, 232, 247)
DEPTH: Colour = (44, 106, 160)
WOOD: Colour = (133, 88, 52)
HULL: Colour = (250, 204, 62)


def _payments(name: str) -> np.ndarray:
    """Return the largest reward (S, d) for entering each state of a tabulated environment."""
    table = tabulate(entry(name))
    payments = np.zeros((len(table.states), table.num_objectives))
    np.maximum.at(payments, table.next_states, table.rewards)
    return payments


@cache
def _treasures() -> dict[Cell, float]:
    """Return the treasure of each water cell of Deep Sea Treasure, or 0."""
    states = tabulate(entry("deep-sea-treasure")).states
    cells = [(int(state["current_state"][0]), int(state["current_state"][1])) for state in states]
    return dict(zip(cells, _payments("deep-sea-treasure")[:, 0].tolist(), strict=True))


def draw_sea(state: Mapping[str, Any]) -> np.ndarray:
    """Return a picture of Deep Sea Treasure in which every value is readable.

    MO-Gymnasium writes the value of a treasure into the cell above it, where the submarine covers it.
    """
    sea = _treasures()
    size = 1 + max(max(cell) for cell in sea)
    side, corner = size * SEA_CELL + 2 * SEA_MARGIN, _sea_corner(state["current_state"])
    canvas = Canvas(side, side, (corner[0] + SEA_CELL / 2, corner[1] + 20))
    canvas.box(SEA_MARGIN, SEA_MARGIN, size * SEA_CELL, size * SEA_CELL, WALL)
    for (row, column), treasure in sea.items():
        x, y = _sea_corner((row, column))
        canvas.box(x, y, SEA_CELL, SEA_CELL, mix(SURFACE, DEPTH, row / (size - 1)))
        if treasure:
            _chest(canvas, x, y, treasure)
    _submarine(canvas, *corner)
    return canvas.pixels()


def _sea_corner(cell: Cell) -> Point:
    return SEA_MARGIN + cell[1] * SEA_CELL, SEA_MARGIN + cell[0] * SEA_CELL


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


def draw_tree(name: str, state: Mapping[str, Any]) -> np.ndarray:
    """Return a picture of the whole tree, the path taken, and every fruit as a column of six shades."""
    depth, nutrients = entry(name).max_steps, [objective.name for objective in entry(name).objectives]
    row, place = here = int(state["current_state"][0]), int(state["current_state"][1])
    canvas = Canvas(TREE_WIDTH, TREE_TOP + depth * ROW + SHADE * len(nutrients) + 40, _node_centre(row, place))
    nodes = [(r, p) for r in range(depth) for p in range(2**r)]
    for r, p in nodes:
        for child in (2 * p, 2 * p + 1):
            colour = _node_colour((r + 1, child), here)
            width = {AGENT: 3.5, BRANCH: 1.8}.get(colour, 1.0)
            canvas.line(_node_centre(r, p), _node_centre(r + 1, child), colour, width)
    for r, p in nodes:
        canvas.disc(*_node_centre(r, p), 3.5 if r < 6 else 2.5, _node_colour((r, p), here))
    _fruits(canvas, name, depth, nutrients, here)
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


def _fruits(canvas: Canvas, name: str, depth: int, nutrients: Sequence[str], here: tuple[int, int]) -> None:
    """Draw the fruits: a darker shade is a larger amount; fruits that cannot be reached are pale."""
    width = (TREE_WIDTH - TREE_LEFT - TREE_RIGHT) / 2**depth
    top = TREE_TOP + depth * ROW + 16
    for nutrient, label in enumerate(nutrients):
        canvas.text(TREE_LEFT - 8, top + (nutrient + 0.5) * SHADE, label, 13, INK, anchor="rm")
    for state, amounts in zip(tabulate(entry(name)).states, _payments(name), strict=True):
        row, place = map(int, state["current_state"])
        if row < depth:
            continue
        in_reach = place >> (depth - here[0]) == here[1]
        x = _node_centre(depth, place)[0] - width / 2
        for nutrient, amount in enumerate(amounts.tolist()):
            colour = mix(mix(FLOOR, GREEN, 0.08), mix(GREEN, INK, 0.35), min(amount / TREE_FULL, 1.0))
            colour = colour if in_reach else mix(colour, FLOOR, 0.75)
            canvas.box(x + 0.5, top + nutrient * SHADE, width - 1, SHADE - 1, colour)


MINE_FIELD, MINE_MARGIN, MINE_LEGEND = 480, 44, 48
"""The side of the square field, the space around it and the height of the legend, in pixels."""
ORES: tuple[Colour, ...] = ((22, 88, 140), (240, 176, 60))
"""One dark and one light colour, for readers who cannot tell colours apart."""
RICHEST = 0.4
"""The yield of a mine that is drawn as a disc of full size."""


def draw_minecart(state: Mapping[str, Any]) -> np.ndarray:
    """Return a picture with the yield of each mine, the heading of the cart and its content.

    MO-Gymnasium draws all mines alike, at angles from NumPy's global generator.
    """
    x, y, _, angle, *content, _ = state["state"]
    side, place = MINE_FIELD + 2 * MINE_MARGIN, _on_field((x, y))
    canvas = Canvas(side, side + MINE_LEGEND, place, mix(LINE, FLOOR, 0.35))
    canvas.box(MINE_MARGIN, MINE_MARGIN, MINE_FIELD, MINE_FIELD, FLOOR, radius=8)
    radius = BASE_RADIUS * MINE_FIELD
    canvas.slice(MINE_MARGIN, MINE_MARGIN, radius, 0, 90, mix(RED, FLOOR, 0.55))
    canvas.text(MINE_MARGIN + radius * 0.64, MINE_MARGIN + radius * 0.24, "base", 14)
    for position, yields in zip(MINES, YIELDS, strict=True):
        _draw_mine(canvas, *_on_field(position), yields)
    for size, colour in ((44, FLOOR), (36, mix(AGENT, INK, 0.25))):
        canvas.polygon(_arrow_head(*place, size, angle), colour)
    _minecart_legend(canvas, content, side)
    return canvas.pixels()


def _on_field(position: Sequence[float] | np.ndarray) -> Point:
    return MINE_MARGIN + MINE_FIELD * position[0], MINE_MARGIN + MINE_FIELD * position[1]


def _draw_mine(canvas: Canvas, x: float, y: float, yields: np.ndarray) -> None:
    """Draw the reach of a mine, and a disc as large as its yield, divided between the ores."""
    radius = MINE_RADIUS * MINE_FIELD
    canvas.disc(x, y, radius, mix(LINE, FLOOR, 0.3))
    canvas.disc(x, y, radius - 2, mix(LINE, FLOOR, 0.65))
    inner = radius * 0.72 * float(np.sqrt(yields.sum() / RICHEST))
    start = -90.0
    for colour, share in zip(ORES, yields / yields.sum(), strict=True):
        canvas.slice(x, y, inner, start, start + 360 * share, colour)
        start += 360 * share


def _arrow_head(x: float, y: float, size: float, degrees: float) -> list[Point]:
    """Return the corners of an arrow that points along an angle (clockwise from the right)."""
    shape = ((0.62, 0.0), (-0.42, 0.36), (-0.24, 0.0), (-0.42, -0.36))
    sine, cosine = math.sin(math.radians(degrees)), math.cos(math.radians(degrees))
    return [(x + size * (a * cosine - b * sine), y + size * (a * sine + b * cosine)) for a, b in shape]


def _minecart_legend(canvas: Canvas, content: Sequence[float], side: int) -> None:
    """Draw the colours of the ores and the content of the cart."""
    y = side + MINE_LEGEND / 2 - 10
    for ore, colour in enumerate(ORES):
        left = MINE_MARGIN + ore * 130
        canvas.disc(left + 8, y, 8, colour)
        canvas.text(left + 24, y, f"ore {ore}: {content[ore]:.2f}", 15, anchor="lm")
    full, start = 130, float(side - MINE_MARGIN - 130)
    canvas.text(start - 10, y, "cart", 15, anchor="rm")
    canvas.box(start, y - 8, full, 16, LINE, radius=3)
    for colour, amount in zip(ORES, content, strict=True):
        width = full * amount / CAPACITY
        if width >= 1:
            canvas.box(start, y - 8, width, 16, colour, radius=3)
        start += width


ARM_SIDE, ARM_SCALE = 460, 900.0
"""The side of the picture of Reacher, and its pixels per metre."""
UPPER_ARM, FOREARM = 0.1, 0.11
"""The lengths of the parts of the arm, in metres; the tip of the finger is its end."""
TARGETS = ((0.14, 0.0), (-0.14, 0.0), (0.0, 0.14), (0.0, -0.14))


def draw_arm(state: Mapping[str, Any]) -> np.ndarray:
    """Return a picture of Reacher from above: the four targets and the arm."""
    points = [_on_table(0.0, 0.0), *_joints(state)]
    canvas = Canvas(ARM_SIDE, ARM_SIDE, points[-1])
    for number, (target, colour) in enumerate(zip(TARGETS, OBJECTIVE_COLOURS, strict=True), start=1):
        canvas.disc(*_on_table(*target), 16, colour)
        canvas.text(*_on_table(*target), str(number), 15, FLOOR)
    for start, end, width in zip(points, points[1:], (11, 8), strict=False):
        canvas.line(start, end, mix(AGENT, INK, 0.35), width)
    for point in points:
        canvas.disc(*point, 9, AGENT)
    return canvas.pixels()


def _on_table(x: float, y: float) -> Point:
    return ARM_SIDE / 2 + ARM_SCALE * x, ARM_SIDE / 2 - ARM_SCALE * y


def _joints(state: Mapping[str, Any]) -> list[Point]:
    """Return the places of the elbow and of the finger."""
    shoulder, elbow = (float(angle) for angle in state["data"].qpos[:2])
    x, y = UPPER_ARM * math.cos(shoulder), UPPER_ARM * math.sin(shoulder)
    end = x + FOREARM * math.cos(shoulder + elbow), y + FOREARM * math.sin(shoulder + elbow)
    return [_on_table(x, y), _on_table(*end)]


HILL, VALLEY, PER_UNIT = (600, 330), 300.0, 320.0
"""The size of the picture of Mountain-Car, the height of sea level, and the pixels of one unit of its positions."""


def draw_car(state: Mapping[str, Any]) -> np.ndarray:
    """Return a picture of Mountain-Car: the valley, the goal, the car and its velocity."""
    (width, height), (position, velocity) = HILL, state["state"]
    canvas = Canvas(width, height, _car_centre(position))
    road = [_on_hill(x) for x in np.linspace(LEFTMOST, RIGHTMOST, 120)]
    canvas.polygon([(road[0][0], height), *road, (road[-1][0], height)], mix(GREEN, FLOOR, 0.55))
    x, y = _on_hill(GOAL)
    canvas.line((x, y), (x, y - 46), INK, 2)
    canvas.polygon([(x, y - 46), (x + 26, y - 38), (x, y - 30)], YELLOW)
    face(canvas, *_car_centre(position), 30)
    canvas.text(width / 2, 24, f"velocity {velocity:+.3f}", 18)
    return canvas.pixels()


def _on_hill(position: float) -> Point:
    """Return the place of a position on the road."""
    return 12 + (position - LEFTMOST) * PER_UNIT, VALLEY - 210 * (0.45 * math.sin(3 * position) + 0.55)


def _car_centre(position: float) -> Point:
    x, y = _on_hill(position)
    return x, y - 15


WALK_CELL = 28


def draw_walk(size: int, state: Mapping[str, Any]) -> np.ndarray:
    """Draw one line per dimension, with the place of the walk on each."""
    place = state["place"]
    first = 44 + (int(place[0]) + 0.5) * WALK_CELL, 12 + WALK_CELL / 2
    canvas = Canvas(size * WALK_CELL + 60, len(place) * 2 * WALK_CELL + 20, first)
    for row, here in enumerate(place):
        y = 12 + 2 * WALK_CELL * row
        canvas.text(24, y + WALK_CELL / 2, str(row + 1), 15)
        for column in range(size):
            colour = AGENT if column == here else mix(AGENT, FLOOR, 0.7) if column < here else LINE
            canvas.box(44 + column * WALK_CELL, y, WALK_CELL - 3, WALK_CELL - 3, colour, radius=3)
    return canvas.pixels()


RESERVOIR, DAM, BUOY = (520, 420), 60, 0.2
"""The size of the picture, the width of the dam, and where a buoy swims, as a share of the width."""


def _water_height(level: float) -> float:
    """Return the height of the water above the bottom, in pixels."""
    return 340 * min(level, RESERVOIR_FULL) / RESERVOIR_FULL


RESERVOIR_FULL = 150.0
"""The highest level that is drawn; higher ones look like it."""


def draw_reservoir(reservoir: Mapping[str, Any]) -> np.ndarray:
    """Draw the water behind the dam, and the level above which the shore floods."""
    (width, height), level = RESERVOIR, float(reservoir["level"])
    ground, water, left, right = height - 50, mix(AGENT, FLOOR, 0.25), 30, width - 150
    top, flood = ground - _water_height(level), ground - _water_height(FLOODING)
    canvas = Canvas(width, height, (BUOY * width, top))
    canvas.box(left, top, right - left, ground - top, water)
    if level > FLOODING:
        canvas.box(left, top, right - left, flood - top, mix(RED, water, 0.55))
    for x, y in ((right, ground), (left - 12, ground)):
        canvas.box(x, ground - 350, DAM if x == right else 12, y - ground + 350, WALL, radius=3)
    canvas.box(0, ground, width, 50, mix(LINE, FLOOR, 0.2))
    canvas.line((left, flood), (right, flood), RED, 2)
    canvas.text(left + 8, flood + 10, f"floods above {FLOODING:.0f}", 13, FLOOR, anchor="lm")
    canvas.text((left + right) / 2, top - 24, f"level {level:.0f}", 20)
    canvas.disc(BUOY * width, top, 9, YELLOW)
    canvas.box(right + DAM, ground - 14, width - right - DAM, 14, water)
    canvas.text(right + DAM + 45, ground - 28, "demand 50", 13)
    return canvas.pixels()
