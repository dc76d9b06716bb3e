"""Pareto Conditioned Networks: the deployed policy in NumPy, and its training, the only part that needs torch."""
