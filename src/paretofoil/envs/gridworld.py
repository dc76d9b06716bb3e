"""What the three grid worlds share: moving, picking things up, masks, observations, pictures, fronts."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import gymnasium
import numpy as np

from paretofoil.core.errors import InvalidInput
from paretofoil.envs.move import MOVES, Cell, neighbours
from paretofoil.envs.wrapper import check_action


@dataclass(frozen=True)
class Item:
    """A thing that lies on a cell and is taken by walking there."""

    cell: Cell
    objective: int
    """The number of the objective it pays."""


@dataclass(frozen=True)
class Layout:
    """The map of a grid world."""

    rows: int
    columns: int
    start: Cell
    objectives: tuple[str, ...]
    """The names of the objectives, for the picture."""
    walls: frozenset[Cell] = frozenset()
    items: tuple[Item, ...] = ()
    exits: Mapping[Cell, tuple[float, ...]] = field(default_factory=dict)
    """Cells that end the episode, and what they pay."""
    shapes: tuple[str, ...] = ()
    """How the items of each objective are drawn: "square" or "triangle"."""

    def is_free(self, cell: Cell) -> bool:
        row, column = cell
        return 0 <= row < self.rows and 0 <= column < self.columns and cell not in self.walls


class GridWorld(gymnasium.Env):
    """A walk through a grid world with vector rewards. The observation is (row, column, one "taken" flag per item).

    `gymnasium.make` adds a wrapper that raises on a masked move. The bare environment stays where it is on
    such a move, as MO-Gymnasium's do, because Gymnasium's own checker tries all actions.
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
            raise InvalidInput.expected("a running episode (call reset() first)", "a step outside of one")
        action = check_action(action, np.ones(len(MOVES), dtype=bool))
        target = neighbours(self.cell)[action]
        if self.layout.is_free(target):
            self.cell = target
        reward, self.finished = self.arrive()
        return self._observe(), reward.astype(np.float32), self.finished, False, {"action_mask": self.action_masks()}

    def arrive(self) -> tuple[np.ndarray, bool]:
        """What the cell just entered pays, and whether the episode ends there; each world says."""
        raise NotImplementedError

    def pick_up(self) -> Item | None:
        """Take the item of this cell, if there is one left."""
        for i, item in enumerate(self.layout.items):
            if item.cell == self.cell and not self.taken[i]:
                self.taken = (*self.taken[:i], True, *self.taken[i + 1 :])
                return item
        return None

    def action_masks(self) -> np.ndarray:
        """(4,) bool: the moves that stay inside the map and off its walls."""
        return np.array([self.layout.is_free(cell) for cell in neighbours(self.cell)])

    def pareto_front(self, gamma: float) -> list[np.ndarray]:
        """The discounted returns that no other episode of the same length limit dominates, by exhaustive search."""
        from paretofoil.envs.catalogue import entry
        from paretofoil.envs.front import exhaustive_front
        from paretofoil.envs.tabular import tabulate

        described = entry(self.catalogue_name)
        limit = (self.spec.max_episode_steps if self.spec else None) or described.max_steps
        return list(exhaustive_front(tabulate(described), limit, gamma))

    def render(self) -> np.ndarray | None:
        if self.render_mode is None:
            return None
        from paretofoil.envs.gridworld_picture import draw_grid_world

        return draw_grid_world(self)

    def _observe(self) -> np.ndarray:
        return np.array([*self.cell, *self.taken], dtype=np.int32)
