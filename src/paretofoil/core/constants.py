"""Numbers of the paper that several layers name."""

KAPPA = 0.05
"""The margin by which the foil must win (paper, Table "CF-ZOO hyperparameters")."""
