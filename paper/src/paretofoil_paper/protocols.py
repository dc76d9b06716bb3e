"""The two settings of the experiments, in the words that every page has for them."""

from dataclasses import replace

from paretofoil.study import COMPARISON, STRESS
from paretofoil_paper.paper_tables import ENVIRONMENTS

STRESSED = replace(STRESS, box="paper")
"""The cases of the paper's stress test, in its box ..."""
COMPARED = replace(COMPARISON, box="paper")
"""... and those of its comparison."""
AS_RUN, WHITE_AS_RUN = "cf-zoo:as-run", "white-cw:as-run"
"""The paper's two methods as its authors ran them."""

_CHANCE = "where chance plays (B-Bottles, R-Gather)"
OF_EXPECTED = f"Agents: ours, of expected returns {_CHANCE}."
OF_REALISED = f"Agents: ours, of realised returns {_CHANCE}, as the authors'."
IN_PAPERS_BOX = "Box: the *paper's*, which its authors set by hand for each environment."
PAPERS_SETTING = f"{IN_PAPERS_BOX} {OF_REALISED}"
REACHABLE_SETTING = f"Box: what is *reachable*, that is, what can still be returned from each state. {OF_EXPECTED}"


def of_expected_returns(environment: str) -> str:
    """What tables call the agents beneath those that stand for the paper's, which has none like them."""
    return f"{ENVIRONMENTS[environment]}, expected returns"
