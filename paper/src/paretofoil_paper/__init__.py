"""Every table and figure of the paper, on our agents, beside the paper's own figures."""

from collections.abc import Callable
from importlib import import_module

from paretofoil_paper.budgets import Budgets
from paretofoil_paper.plan import Plan
from paretofoil_paper.report import Report

__all__ = ["APART", "EXPERIMENTS", "Budgets", "Plan", "Report", "experiment"]

EXPERIMENTS = {
    "examples": "The four worked examples: state, command and foil of the paper, on our agents.",
    "stress": "The combinatorial stress test of CF-ZOO.",
    "comparison": "CF-ZOO against white-box Carlini-Wagner, with Boundary and Exact added.",
    "ablation": "What each choice of CF-ZOO is worth, and all searches at equal queries.",
    "audit": "What became of the failures: the paper's grid, and proofs.",
    "runtime": "Time per question by method, and by budget.",
    "front": "The front that the agent learned, beside what it achieves.",
    "landscapes": "Four landscapes, chosen by rule.",
    "claims": "What the paper claims in words: sparse changes, the budget, gradients, the horizon, training.",
    "consequences": "What follows when a counterfactual command is issued, and how far it can be relied on.",
    "influence": "Whether the command matters: the authors' scores, a scan, and proven shares.",
    "attainable": "What should I ask for: which answers deliver, and what does beside them.",
    "differences": "Where our rates differ from the paper's, and by what measured cause.",
    "authors": "The paper's figures, what the authors' published rows say, and ours.",
    "seeds": "The stress test on five agents of each environment, which are trained first: hours.",
}
"""The experiments by name, in the order in which `all` runs them."""
APART = ("seeds",)
"""Those that `all` leaves out: they take hours, and have a target of their own in the Makefile."""


def experiment(name: str) -> Callable[[Plan], Report]:
    """The function that runs an experiment and returns its report."""
    module = import_module(f"paretofoil_paper.{name}")
    found: Callable[[Plan], Report] = getattr(module, f"reproduce_{name}")
    return found
