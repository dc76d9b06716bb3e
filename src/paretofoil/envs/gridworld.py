"""The paper's three grid worlds: Branch-Path, Collect-Two and Reward-Line."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import gymnasium
import numpy as np

from paretofoil.core.errors import InvalidInput
from paretofoil.envs.catalogue import check_action, entry

Cell = tuple[int, int]
"""(row, column), counted from the upper left corner."""
MOVES = ("up", "down", "left", "right")
"""The actions, in the order of Deep Sea Treasure."""
_OFFSETS = ((-1, 0), (1, 0), (0, -1), (0, 1))


def neighbours(cell: Cell) -> tuple[Cell, ...]:
    """Return the target cell of each move, which may lie outside the map."""
    row, column = cell
    return tuple((row + down, column + right) for down, right in _OFFSETS)


@dataclass(frozen=True)
class Item:
    """A collectible. Entering its cell collects it."""

    cell: Cell
    objective: int
    """The index of the objective that it pays."""


@dataclass(frozen=True)
class Layout:
    """The map of a grid world."""

    rows: int
    columns: int
    start: Cell
    objectives: tuple[str, ...]
    """The names of the objectives, for the legend of the picture."""
    walls: frozenset[Cell] = frozenset()
    items: tuple[Item, ...] = ()
    payments: tuple[float, ...] = ()
    """The rewards of the first, second, ... item, of which the last ends the episode. If empty, each item pays 1."""
    exits: Mapping[Cell, tuple[float, ...]] = field(default_factory=dict)
    """The reward of each cell that ends the episode."""
    shapes: tuple[str, ...] = ()
    """The shape of the items of each objective: "square", "triangle" or "circle"."""

    def is_free(self, cell: Cell) -> bool:
        row, column = cell
        return 0 <= row < self.rows and 0 <= column < self.columns and cell not in self.walls


class GridWorld(gymnasium.Env):
    """A grid world with vector rewards. The observation is (row, column, one "collected" flag per item).

    `gymnasium.make` adds a wrapper that raises an error for an invalid move. Without the wrapper the agent stays in its
    cell, as in MO-Gymnasium, because Gymnasium's environment checker tries all actions.
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 4}  # noqa: RUF012 (Gymnasium's own type)
    layout: ClassVar[Layout]
    catalogue_name: ClassVar[str]
    action_names = MOVES

    def __init__(self, render_mode: str | None = None) -> None:
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise InvalidInput.expected("render_mode None or 'rgb_array'", repr(render_mode))
        self.render_mode = render_mode
        layout, flags = self.layout, len(self.layout.items)
        high = np.array([layout.rows - 1, layout.columns - 1] + [1] * flags, dtype=np.int32)
        self.observation_space = gymnasium.spaces.Box(np.zeros_like(high), high, dtype=np.int32)
        self.action_space = gymnasium.spaces.Discrete(len(MOVES))
        self.reward_dim = len(layout.objectives)
        self.reward_space = gymnasium.spaces.Box(0.0, 1.0, (self.reward_dim,), np.float32)
        self._start()

    def _start(self) -> None:
        self.cell: Cell = self.layout.start
        self.taken: tuple[bool, ...] = (False,) * len(self.layout.items)
        self.finished = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self._start()
        return self._observe(), {"action_mask": self.action_masks()}

    def step(self, action: int) -> tuple[np.ndarray, np.ndarray, bool, bool, dict[str, Any]]:
        if self.finished:
            raise InvalidInput.expected("a running episode", "a step after its end; call reset() first")
        action = check_action(action, np.ones(len(MOVES), dtype=bool))
        target = neighbours(self.cell)[action]
        if self.layout.is_free(target):
            self.cell = target
        reward = self._arrive().astype(np.float32)
        return self._observe(), reward, self.finished, False, {"action_mask": self.action_masks()}

    def _arrive(self) -> np.ndarray:
        """Collect the item in the current cell, or leave by its exit; return the reward."""
        layout, reward = self.layout, np.zeros(self.reward_dim)
        for i, item in enumerate(layout.items):
            if item.cell == self.cell and not self.taken[i]:
                reward[item.objective] = layout.payments[sum(self.taken)] if layout.payments else 1.0
                self.taken = (*self.taken[:i], True, *self.taken[i + 1 :])
        self.finished = self.cell in layout.exits or sum(self.taken) == len(layout.payments) > 0
        return np.array(layout.exits.get(self.cell, reward))

    def action_masks(self) -> np.ndarray:
        """Return a (4,) bool mask of the moves that stay on free cells of the map."""
        return np.array([self.layout.is_free(cell) for cell in neighbours(self.cell)])

    def pareto_front(self, gamma: float) -> list[np.ndarray]:
        """Return the nondominated discounted returns within the step limit, by exhaustive search."""
        from paretofoil.envs.batch import tabulate
        from paretofoil.envs.front import exhaustive_front

        item = entry(self.catalogue_name)
        limit = (self.spec.max_episode_steps if self.spec else None) or item.max_steps
        return list(exhaustive_front(tabulate(item), limit, gamma))

    def render(self) -> np.ndarray | None:
        draw = entry(self.catalogue_name).draw
        return None if self.render_mode is None or draw is None else draw(vars(self))

    def _observe(self) -> np.ndarray:
        return np.array([*self.cell, *self.taken], dtype=np.int32)


class BranchPath(GridWorld):
    """Two branches of collectibles and 13 steps (paper, section "Worked Examples").

    An item of type A pays (1, 0), an item of type B pays (0, 1). Only the step limit ends an episode. The free cells
    are the upper row, the lower row and the column that joins them. The first move, up or down, is therefore hard to
    revise: the front is (3, 1), (2, 2) and (1, 3). The positions of the items are those of the authors' code.
    """

    catalogue_name = "branch-path"
    layout = Layout(
        rows=5,
        columns=7,
        start=(2, 3),
        objectives=("A", "B"),
        walls=frozenset((row, column) for row in (1, 2, 3) for column in range(7) if column != 3),
        items=tuple(
            Item((row, 2 * i), objective)
            for row, objectives in ((0, (0, 0, 0, 1)), (4, (1, 1, 1, 0)))
            for i, objective in enumerate(objectives)
        ),
        shapes=("square", "triangle"),
    )


class CollectTwo(GridWorld):
    """Collect two of four items: the first pays 1, the second 0.8 (paper, section "Worked Examples").

    A is above the start, B to the left, C to the right and D below. The second item ends the episode. The four blocks
    of walls are those of the authors' code.
    """

    catalogue_name = "collect-two"
    layout = Layout(
        rows=7,
        columns=7,
        start=(3, 3),
        objectives=("A", "B", "C", "D"),
        walls=frozenset((row, column) for row in (1, 2, 4, 5) for column in (1, 2, 4, 5)),
        items=(Item((0, 3), 0), Item((3, 0), 1), Item((3, 6), 2), Item((6, 3), 3)),
        payments=(1.0, 0.8),
        shapes=("square",) * 4,
    )


class RewardLine(GridWorld):
    """A terminal row with a linear trade-off (paper, section "Experimental Results").

    Column c of the upper row ends the episode and pays (1 - c/10, c/10).
    """

    catalogue_name = "reward-line"
    layout = Layout(
        rows=5,
        columns=11,
        start=(4, 5),
        objectives=("A", "B"),
        exits={(0, column): ((10 - column) / 10, column / 10) for column in range(11)},
    )
