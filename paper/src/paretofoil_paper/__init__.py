"""Reproduce the tables and figures of the paper with our agents, next to the figures that the paper reports."""

from collections.abc import Callable
from importlib import import_module

from paretofoil_paper.budgets import Budgets
from paretofoil_paper.plan import Plan
from paretofoil_paper.report import Report

__all__ = ["EXPERIMENTS", "SEPARATE", "Budgets", "Plan", "Report", "experiment"]

EXPERIMENTS = {
    "examples": "The paper's four worked examples, with our agents.",
    "stress": "The stress test of CF-ZOO.",
    "comparison": "CF-ZOO against the white-box Carlini-Wagner attack, Boundary and Exact.",
    "ablation": "CF-ZOO with one component left out, and all searches at equal numbers of queries.",
    "audit": "The failures of CF-ZOO, classified by the paper's grid and by proofs.",
    "runtime": "Time per question by search and by budget.",
    "front": "The fronts that the agents learned, and the returns that they achieve.",
    "landscapes": "Four decision landscapes, chosen by a fixed rule.",
    "claims": "Claims of the paper's text: sparsity, budget, gradients, horizon, training.",
    "consequences": "Rollouts of the counterfactual commands, noise, and agents of another seed.",
    "influence": "The influence of the command: the authors' scores, a scan, and proven shares.",
    "attainable": "Counterfactual commands whose rollouts deliver what they ask for.",
    "differences": "Rates that differ from the paper's, and the measured reasons.",
    "authors": "The paper's figures, the authors' published rows, and ours.",
    "seeds": "The stress test with five agents per environment, which are trained first (hours).",
}
"""The experiments by name, in the order in which `all` runs them."""
SEPARATE = ("seeds",)
"""Experiments that `all` leaves out because they take hours; `make seeds` runs them."""


def experiment(name: str) -> Callable[[Plan], Report]:
    """Return the function that runs an experiment and returns its report."""
    module = import_module(f"paretofoil_paper.{name}")
    run: Callable[[Plan], Report] = getattr(module, f"reproduce_{name}")
    return run
