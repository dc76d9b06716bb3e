"""Numbers and names that several layers share."""

KAPPA = 0.05
"""The margin by which the foil must win (paper, Table "CF-ZOO hyperparameters")."""
CHECKPOINT = "checkpoint.safetensors"
"""The file, in an agent's folder, of a training that is not finished."""
