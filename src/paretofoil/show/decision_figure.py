"""One decision as a picture: the environment in that state, and the landscape of the foil."""

from collections.abc import Sequence
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

from paretofoil.agents.agent import Agent
from paretofoil.counterfactual import Counterfactual
from paretofoil.decision import Decision
from paretofoil.explanation import pose
from paretofoil.inquiry import answer
from paretofoil.search import NearestFront
from paretofoil.show.landscape import draw_landscape, landscape, two_objectives

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_decision(
    agent: Agent,
    decision: Decision,
    answers: Sequence[Counterfactual],
    path: Path | None = None,
    *,
    axes: tuple[int, int] | None = None,
) -> "Figure":
    """Draw answers about one decision and one foil; the nearest front point is added for comparison.

    The axes are two objectives by their numbers; by default those that the answers change most.
    """
    from matplotlib.figure import Figure

    found = answers[0]
    question = pose(agent.policy, decision, found.foil, agent.space, agent.front, kappa=found.kappa, norm=found.norm)
    shown = [*answers, *answer([question], NearestFront(), actions=agent.actions)]
    land = landscape(question, *(axes or two_objectives(question, answers)), shown=answers)
    figure = Figure(figsize=(11 if decision.snapshot is not None else 6.4, 5.4), dpi=150, layout="constrained")
    if decision.snapshot is None:
        panel = figure.subplots()
    else:
        from paretofoil.envs.picture import picture_of

        beside, panel = figure.subplots(1, 2, width_ratios=[1, 1.15])
        beside.imshow(picture_of(agent.environment, decision.snapshot))
        beside.set_axis_off()
        chosen, foil = found.actions[found.chosen], found.actions[found.foil]
        beside.set_title(f"{agent.name}, t = {decision.time}: why {chosen}, and not {foil}?", fontsize=10)
    image = draw_landscape(panel, land, shown, region=found.region)
    figure.colorbar(image, ax=panel, label=f"margin of {found.actions[found.foil]}", fraction=0.046, extend="both")
    figure.suptitle(fill(str(found), 110 if decision.snapshot is not None else 66), fontsize=11)
    if path is not None:
        figure.savefig(path)
    return figure
