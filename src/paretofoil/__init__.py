"""Paretofoil: why this action, and not that one?

Counterfactual explanations for command-conditioned reinforcement-learning agents.
"""

from paretofoil.core import lazy_names

__getattr__, __all__ = lazy_names(__name__, __file__)

DISPLAYS = {
    "Agent.explore": "paretofoil.web.notebook:explore_agent",
    "Agent.html": "paretofoil.show.notebook:agent_html",
    "AmountInfluence.sentence": "paretofoil.show.influence:amount_sentence",
    "Answer.explore": "paretofoil.web.notebook:explore_answer",
    "Answer.html": "paretofoil.show.notebook:answer_html",
    "Answer.paragraph": "paretofoil.show.sentences:paragraph",
    "Answer.plot": "paretofoil.show.decision_figure:figure_decision",
    "Answer.sentence": "paretofoil.show.sentences:one_line",
    "Atlas.plot": "paretofoil.show.atlas:figure_atlas",
    "Atlas.sentence": "paretofoil.show.atlas:atlas_sentence",
    "Comparison.plot": "paretofoil.show.compare:figure_comparison",
    "Comparison.sentence": "paretofoil.show.compare:comparison_sentence",
    "FlipMap.html": "paretofoil.show.notebook:flip_map_html",
    "Influence.html": "paretofoil.show.influence:influence_html",
    "Influence.sentence": "paretofoil.show.influence:influence_sentence",
    "InfluenceProfile.html": "paretofoil.show.influence:profile_html",
    "InfluenceProfile.plot": "paretofoil.show.influence:figure_influence",
    "InfluenceProfile.sentence": "paretofoil.show.influence:profile_summary",
    "Never.sentence": "paretofoil.show.never:never_sentence",
    "FlipMap.plot": "paretofoil.show.flip_map:figure_flip_map",
}
"""The functions that show a value, by class and form; see `paretofoil.core.json.show`."""


def __dir__() -> list[str]:
    return __all__
