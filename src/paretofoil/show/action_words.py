"""Actions in words: what an agent chooses, and what it would have done instead."""

from paretofoil.core.answer import Answer

AMBIGUOUS = ("all", "any", "none", "nothing")
"""Names of actions that stand in quotes, since they would be read as something else."""


def action_word(found: Answer, action: int) -> str:
    name = found.actions[action]
    return f'"{name}"' if name.lower() in AMBIGUOUS else name


def instead(found: Answer) -> str:
    """ "gone down instead of right", "mined rather than turned left"."""
    foil, chosen = found.phrases[found.foil], found.phrases[found.chosen]
    verb, _, rest = chosen.partition(" ")
    if rest and foil.startswith(f"{verb} "):
        return f"{foil} instead of {rest}"
    return f"{foil} rather than {chosen}"
