"""Colours and markers that all figures share."""

from dataclasses import dataclass

INK = "#222222"
BLUE, ORANGE, GREEN, RED, PURPLE, GREY = "#2b6cb0", "#dd6b20", "#2f855a", "#c53030", "#6b46c1", "#718096"


@dataclass(frozen=True)
class Mark:
    """How one command is drawn on a landscape."""

    name: str
    """The name of the search, or "original"."""
    label: str
    marker: str
    colour: str
    size: float


MARKS = (
    Mark("original", "original command", "o", INK, 12),
    Mark("cf-zoo", "CF-ZOO", "*", GREEN, 22),
    Mark("exact", "closest, proven", "P", BLUE, 8),
    Mark("boundary", "Boundary", "^", PURPLE, 10),
    Mark("nearest-front", "nearest front point", "D", ORANGE, 8),
    Mark("white-cw", "White-CW", "x", RED, 9),
    Mark("local-zoo", "local ZOO", "+", GREY, 11),
    Mark("other", "answer", "s", BLUE, 9),
)
