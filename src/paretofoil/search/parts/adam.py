"""ADAM's constants and bias corrections (paper, appendix "ZOO-ADAM Coordinate Optimizer")."""

BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8


def bias_corrections(updates: int) -> tuple[float, float]:
    """1 - beta^t for both moments, after so many updates."""
    return 1 - BETA1**updates, 1 - BETA2**updates
