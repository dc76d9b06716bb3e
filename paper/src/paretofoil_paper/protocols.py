"""The two protocols of the experiments, and the sentences with which every page describes them."""

from dataclasses import replace

from paretofoil.study import COMPARISON, STRESS
from paretofoil_paper.paper_tables import ENVIRONMENTS

PAPER_STRESS = replace(STRESS, box="paper")
"""The cases of the paper's stress test, in its search region."""
PAPER_COMPARISON = replace(COMPARISON, box="paper")
"""The cases of the paper's comparison, in its search region."""
AS_RUN, WHITE_AS_RUN = "cf-zoo:as-run", "white-cw:as-run-0"
"""The paper's two methods with the settings behind the authors' data."""
WHITE_CONFIGURED = "white-cw:as-run"
"""White-CW with the confidence of the authors' configuration, 0.05; their data were made with confidence 0."""

_STOCHASTIC = "in the stochastic environments (B-Bottles, R-Gather) trained on"
EXPECTED_RETURNS = f"Agents: ours; {_STOCHASTIC} expected returns."
REALISED_RETURNS = f"Agents: ours; {_STOCHASTIC} realised returns, like the authors'."
PAPER_REGION = "Search region: the *paper's*, which its authors set by hand for each environment."
PAPER_PROTOCOL = f"{PAPER_REGION} {REALISED_RETURNS}"
REACHABLE_PROTOCOL = (
    f"Search region: *reachable*, the returns that are still possible from each state. {EXPECTED_RETURNS}"
)


def expected_returns_label(environment: str) -> str:
    """Return the label of the agents trained on expected returns, which the paper does not have."""
    return f"{ENVIRONMENTS[environment]}, expected returns"
