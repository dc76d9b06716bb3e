"""The two settings of the experiments, in the words that every page has for them."""

from dataclasses import replace

from paretofoil.reproduce.paper import ENVIRONMENTS
from paretofoil.study import COMPARISON

COMPARED = replace(COMPARISON, box="paper")
"""The cases of the paper's comparison, in its box."""

_CHANCE = "where chance plays (B-Bottles, R-Gather)"
EXPECTED = f"Agents: ours, of expected returns {_CHANCE}."
REALISED = f"Agents: ours, of realised returns {_CHANCE}, as the authors'."
PAPERS_BOX = "Box: the *paper's*, which its authors set by hand for each environment."
PAPERS = f"{PAPERS_BOX} {REALISED}"
REACHABLE = f"Box: what is *reachable*, that is, what can still be returned from each state. {EXPECTED}"


def of_expected_returns(environment: str) -> str:
    """What tables call the agents beneath those that stand for the paper's, which has none like them."""
    return f"{ENVIRONMENTS[environment]}, expected returns"
