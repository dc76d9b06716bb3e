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

_TERMS = "([terms](README.md#terms))"
REALISED_RETURNS = f"The agents are ours, trained on realised returns {_TERMS}."
PAPER_PROTOCOL = (
    f"The agents are ours, trained on realised returns, and all searches run in the paper's search region {_TERMS}."
)
REACHABLE_PROTOCOL = (
    f"The agents are ours, trained on expected returns, and all searches run in the reachable search region {_TERMS}."
)


def expected_returns_label(environment: str) -> str:
    """Return the label of the agents trained on expected returns, which the paper does not have."""
    return f"{ENVIRONMENTS[environment]}, expected returns"
