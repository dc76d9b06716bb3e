"""An agent that takes preferences, with small values and one cost."""

import numpy as np

import paretofoil as pf


def vectors(state: np.ndarray) -> np.ndarray:
    """Return treasure and time of each action (up, down, left, right)."""
    return 0.004 * np.array([[0.0, -3.0], [1.0 + float(np.sum(state)) % 3, -1.0], [0.5, -2.0], [6.0, -6.0]])


space = pf.CommandSpace.preferences(["treasure", pf.Objective("time", "steps", cost=True)])
agent = pf.Agent("weighing", pf.from_q_table(vectors), "deep-sea-treasure", space, np.array([[0.5, 0.5], [0.9, 0.1]]))
