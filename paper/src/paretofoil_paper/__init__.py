"""Reproduce the tables and figures of the paper with our agents, next to the figures that the paper reports."""

from collections.abc import Callable
from importlib import import_module

from paretofoil_paper.budgets import Budgets
from paretofoil_paper.plan import Plan
from paretofoil_paper.report import Report

__all__ = ["PAGES", "SEPARATE", "Budgets", "Plan", "Report", "page"]

PAGES = {
    "comparison": "CF-ZOO, White-CW, Boundary and Exact on the same questions, an ablation, and times.",
    "stress": "The stress test of CF-ZOO, and what differs from the paper.",
    "audit": "The failures of CF-ZOO, classified by the paper's grid and by proofs.",
    "agents": "Five agents per environment, which are trained first (hours), and the authors' agents.",
    "claims": "Claims of the paper's text, and its seven desiderata.",
    "worth": "What an answer is worth: attainable commands, outcomes, stability, influence.",
}
"""The pages by name, in the order in which `all` writes them."""
SEPARATE = ("agents",)
"""Pages that `all` does not measure because they take hours; `make seeds` does."""


def page(name: str) -> Callable[[Plan], Report]:
    """Return the function that runs the experiments of a page and returns its report."""
    write: Callable[[Plan], Report] = import_module(f"paretofoil_paper.pages.{name}").page
    return write
