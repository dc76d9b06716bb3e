"""Branch-Path (paper, section "Worked Examples"): two branches of collectibles and 13 steps.

The paper does not say where the collectibles lie; they lie, and are counted, as in the authors' code.
"""

import numpy as np

from paretofoil.envs.gridworld import GridWorld, Item, Layout

ROWS, COLUMNS, STEM = 5, 7, 3
A, B = 0, 1
UPPER, LOWER = (A, A, A, B), (B, B, B, A)
"""What lies on the columns 0, 2, 4 and 6 of the upper and of the lower row."""


class BranchPath(GridWorld):
    """Each collectible pays once: type A (1, 0), type B (0, 1). An episode ends with the step limit alone.

    Free are the upper and the lower row and the stem that joins them, so the first choice, up or down,
    is hard to revise: 13 steps allow for the returns (3, 1), (2, 2) and (1, 3).
    """

    catalogue_name = "branch-path"
    layout = Layout(
        rows=ROWS,
        columns=COLUMNS,
        start=(2, STEM),
        objectives=("A", "B"),
        walls=frozenset((r, c) for r in range(1, ROWS - 1) for c in range(COLUMNS) if c != STEM),
        items=tuple(
            Item((row, 2 * place), objective)
            for row, kinds in ((0, UPPER), (ROWS - 1, LOWER))
            for place, objective in enumerate(kinds)
        ),
        shapes=("square", "triangle"),
    )

    def arrive(self) -> tuple[np.ndarray, bool]:
        reward = np.zeros(2)
        item = self.pick_up()
        if item is not None:
            reward[item.objective] = 1.0
        return reward, False
