"""Pareto Conditioned Networks: the policy in NumPy, and its training."""
