"""Pictures of environments, drawn with Pillow at four times the size and scaled down, which smooths all edges."""

import math
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

Colour = tuple[int, int, int]
Point = tuple[float, float]

SMOOTH = 4
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
"""How far the colour of something that is gone is mixed with the floor."""


def mix(a: Colour, b: Colour, share: float) -> Colour:
    """The colour between a (share 0) and b (share 1)."""
    red, green, blue = (round(x + (y - x) * share) for x, y in zip(a, b, strict=True))
    return red, green, blue


@cache
def _font(size: int) -> Any:
    return ImageFont.load_default(size)


class Canvas:
    """A picture in the making; coordinates are final pixels."""

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
        """A part of a disc between two angles in degrees, clockwise from the right."""
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
        """(height, width, 3) uint8."""
        return np.array(self._image.resize(self._size, Image.Resampling.BOX))


def square(canvas: Canvas, x: float, y: float, size: float, colour: Colour) -> None:
    canvas.box(x - size / 2, y - size / 2, size, size, colour, radius=size * 0.12)


def triangle(canvas: Canvas, x: float, y: float, size: float, colour: Colour) -> None:
    half, height = size * 0.56, size * 0.97
    corners = [(x, y - height / 2), (x - half, y + height / 2), (x + half, y + height / 2)]
    canvas.polygon(corners, colour, outline=colour, width=size * 0.1)


def face(canvas: Canvas, x: float, y: float, size: float) -> None:
    """The agent: a round fellow who looks at you."""
    canvas.disc(x, y, size / 2, mix(AGENT, INK, 0.35))
    canvas.disc(x, y, size * 0.44, AGENT)
    for side in (-1, 1):
        canvas.disc(x + side * size * 0.16, y - size * 0.06, size * 0.11, FLOOR)
        canvas.disc(x + side * size * 0.16, y - size * 0.04, size * 0.055, INK)


def arrow_head(x: float, y: float, size: float, degrees: float) -> list[Point]:
    """The corners of a dart that points along an angle (clockwise from the right)."""
    shape = ((0.62, 0.0), (-0.42, 0.36), (-0.24, 0.0), (-0.42, -0.36))
    sine, cosine = math.sin(math.radians(degrees)), math.cos(math.radians(degrees))
    return [(x + size * (a * cosine - b * sine), y + size * (a * sine + b * cosine)) for a, b in shape]
