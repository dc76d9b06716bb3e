"""Reward-Line (paper, section "Experimental Results"): a terminal row that is a linear trade-off."""

import numpy as np

from paretofoil.envs.gridworld import GridWorld, Layout

ROWS, COLUMNS = 5, 11


class RewardLine(GridWorld):
    """Column c of the upper row ends the episode and pays (1 - c/10, c/10)."""

    catalogue_name = "reward-line"
    layout = Layout(
        rows=ROWS,
        columns=COLUMNS,
        start=(ROWS - 1, 5),
        objectives=("A", "B"),
        exits={(0, c): ((10 - c) / 10, c / 10) for c in range(COLUMNS)},
    )

    def arrive(self) -> tuple[np.ndarray, bool]:
        payment = self.layout.exits.get(self.cell)
        return (np.zeros(2), False) if payment is None else (np.array(payment), True)
