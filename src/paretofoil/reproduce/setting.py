"""The two settings of the experiments, in the words that every page has for them."""

from dataclasses import replace

from paretofoil.study import COMPARISON

COMPARED = replace(COMPARISON, box="paper")
"""The cases of the paper's comparison, in its box."""

CHANCE = "where chance plays (B-Bottles, R-Gather)"
REACHABLE = (
    "Box: what is *reachable*, that is, what can still be returned from each state. Agents: ours, of expected returns "
    f"{CHANCE}."
)
PAPERS = (
    "Box: the *paper's*, which its authors set by hand for each environment. Agents: ours, of realised returns "
    f"{CHANCE}, as theirs."
)
