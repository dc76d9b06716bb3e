"""Collect-Two (paper, section "Worked Examples"): two of four objectives, the first of them worth more.

The paper does not mention the four blocks of walls; they are the authors'.
"""

import numpy as np

from paretofoil.envs.gridworld import GridWorld, Item, Layout

FIRST, SECOND = 1.0, 0.8
BLOCKED = (1, 2, 4, 5)
"""Rows and columns of the blocks: free are the rim and the cross in the middle."""


class CollectTwo(GridWorld):
    """A lies above the start, B to the left, C to the right, D below; the second one collected ends the episode."""

    catalogue_name = "collect-two"
    layout = Layout(
        rows=7,
        columns=7,
        start=(3, 3),
        objectives=("A", "B", "C", "D"),
        walls=frozenset((row, column) for row in BLOCKED for column in BLOCKED),
        items=(Item((0, 3), 0), Item((3, 0), 1), Item((3, 6), 2), Item((6, 3), 3)),
        shapes=("square",) * 4,
    )

    def arrive(self) -> tuple[np.ndarray, bool]:
        reward = np.zeros(4)
        amount = SECOND if any(self.taken) else FIRST
        item = self.pick_up()
        if item is not None:
            reward[item.objective] = amount
        return reward, sum(self.taken) == 2
