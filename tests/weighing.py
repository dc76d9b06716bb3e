"""An agent of preferences whose values are small, and one of whose objectives is a cost."""

import numpy as np

import paretofoil as pf


def vectors(state: np.ndarray) -> np.ndarray:
    """What each action (up, down, left, right) yields of treasure and time."""
    return 0.004 * np.array([[0.0, -3.0], [1.0 + float(np.sum(state)) % 3, -1.0], [0.5, -2.0], [6.0, -6.0]])


space = pf.CommandSpace.preferences(["treasure", pf.Objective("time", "steps", cost=True)])
agent = pf.Agent("weighing", pf.from_q_table(vectors), "deep-sea-treasure", space, np.array([[0.5, 0.5], [0.9, 0.1]]))
