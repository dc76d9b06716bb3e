"""An introduction to each environment of the catalogue for first-time visitors of the page."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Guide:
    """The rules of an environment in a few words, and the question that the page opens first."""

    rules: str
    """What happens in the environment, what the agent is asked for, and what the numbers mean."""
    command: tuple[float, ...]
    step: int
    """A step at which a small change of the command leads to another action, in the flip map of the shipped agent."""
    best: tuple[str, ...] = ()
    """For each objective, the name of the command that is best in it. Without a name, the page writes "Most ..."."""


GUIDES = {
    "deep-sea-treasure": Guide(
        "A submarine takes one treasure. Treasures that are worth more are farther away. "
        "You tell it how much treasure to bring, and in how many steps.",
        (8.0, -8.0),
        5,
        ("The biggest treasure", "The nearest treasure"),
    ),
    "minecart": Guide(
        "A cart drives to mines and brings two kinds of ore home: ore 0 (blue) and ore 1 (yellow). "
        "You tell it how much of each to bring (the cart holds 1.5 in all), and how much fuel to burn.",
        (0.0, 1.5, -0.96),
        12,
    ),
    "resource-gathering": Guide(
        "Bring gold and a diamond home. Each step onto an enemy (purple) is deadly one time in ten. "
        "You tell it how likely it should be to bring each of them, and how much risk of death to take.",
        (0.0, 0.0, 1.0),
        0,
    ),
    "breakable-bottles": Guide(
        "Bring two bottles from the left to the house; each is worth 25 points. Carrying one at a time is safe; "
        "carrying both is faster, but one may break. You tell it how many steps to take, how many points to get, and "
        "how much risk to take.",
        (-18.0, 50.0, 0.0),
        5,
        ("The fastest way", "", "Without risk"),
    ),
    "branch-path": Guide(
        "Collect A (red) and B (green) along two branches, with too few steps to take them all. "
        "You tell it how many of each to bring.",
        (2.0, 2.0),
        0,
    ),
    "collect-two": Guide(
        "Collect two of the marks A to D: the first pays 1, the second 0.8. You tell it how much of each to bring.",
        (0.8, 0.0, 0.0, 1.0),
        0,
    ),
    "reward-line": Guide(
        "Walk up to the top row, which pays more A on the left and more B on the right. "
        "You tell it how much of each to bring.",
        (0.5, 0.5),
        2,
    ),
    "fruit-tree": Guide(
        "Go left or right seven times, down to a fruit with six nutrients (darker means more). "
        "You tell it how much of each nutrient the fruit should have.",
        (3.3927696, 4.785309, 1.2438035, 7.204603, 1.7175233, 3.0309558),
        0,
    ),
    "water-reservoir": Guide(
        "Water flows into a reservoir. Above a level of 50 it floods the shore; a release below the demand of 50 is a "
        "deficit. You tell it how much flooding and how much deficit to accept; at each step it releases an amount.",
        (-36.0, -78.0),
        0,
        ("No flooding", ""),
    ),
}
"""The guides by the name of the environment."""
