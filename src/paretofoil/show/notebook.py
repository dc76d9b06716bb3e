"""HTML for notebooks, which loads no other files and suits light and dark pages."""

from collections.abc import Callable
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from paretofoil.agents.agent import Agent
from paretofoil.core.answer import Answer, Status
from paretofoil.core.command import Objective, command_objectives
from paretofoil.explanation.flip_map import FlipMap
from paretofoil.show.flip_map import figure_flip_map, summary
from paretofoil.show.numbers import amount, beside, clean, grouped, number_of, short, tidy, with_unit
from paretofoil.show.palette import BLUE, GREEN, GREY, ORANGE, RED, can_draw, png_address
from paretofoil.show.sentences import advice, question_title

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RIM = {Status.FOUND: BLUE, Status.PROVEN_CLOSEST: GREEN, Status.PROVEN_INFEASIBLE: RED, Status.NOT_FOUND: GREY}
"""The colour at the left edge of an answer."""


def answer_html(answer: Answer) -> str:
    """Return the sentence, the change as bars, the attainable command, and the status and its proof in one line."""
    others = [line(f"Or: {other} {advice(other)}".rstrip()) for other in answer.alternatives]
    attainable = advice(answer)
    lines = [line(str(answer)), _change_picture(answer), line(attainable) if attainable else "", *others]
    status = f'<div style="font-size:.88em;opacity:.75">{escape(_status(answer))}</div>'
    return card("".join([heading(question_title(answer)), *lines, status]), RIM[answer.status])


def flip_map_html(flips: FlipMap) -> str:
    """Return the figure of the flip map, and its summary in words."""
    agent = f"{flips.agent}: " if flips.agent else ""
    title = f"{agent}{number_of(len(flips.taken), 'step')}, {number_of(len(flips.answers), 'foil')}"
    return figure_card(title, figure_flip_map, flips, summary(flips))


def agent_html(agent: Agent) -> str:
    """Return the agent's name, environment, command space and actions, and how much of its front it reaches."""
    environment, space = agent.environment, agent.space
    ranges = []
    for o, *sides in zip(space.command_objectives, space.low, space.high, strict=True):
        lowest, highest = sorted(amount(o, side) for side in sides)
        ranges.append(f"{o.name} {grouped(short(lowest))} to {with_unit(o, short(highest))}")  # "time 1 to 40 steps"
    facts = {
        "environment": f"{environment.name}. {environment.description}",
        "objectives": ", ".join(ranges),
        "actions": ", ".join(agent.actions),
        "front": number_of(len(agent.front), "point"),
        "reached": "not measured" if agent.achieved is None else f"{int(agent.reached().sum())} of {len(agent.front)}",
    }
    cells = "".join(f'<div style="opacity:.7">{key}</div><div>{escape(fact)}</div>' for key, fact in facts.items())
    grid = f'<div style="display:grid;grid-template-columns:max-content 1fr;gap:.1em 1.2em">{cells}</div>'
    return card(heading(agent.name) + grid, BLUE)


def figure_card(title: str, draw: Callable[[Any], "Figure"], value: object, words: str) -> str:
    """Return a block with the figure of a value and words below. Without matplotlib, there is no figure."""
    picture = ""
    if can_draw():
        # The lines of the figure are dark: on a dark page, it needs a white background.
        style = "max-width:100%;background:#fff;border-radius:6px;margin:.4em 0"
        picture = f'<img alt="{escape(repr(value))}" src="{png_address(draw(value))}" style="{style}">'
    return card(f'{heading(title)}{picture}<div style="white-space:pre-wrap">{escape(words)}</div>', BLUE)


def card(inside: str, rim: str) -> str:
    """Return a block with a coloured left edge."""
    style = f"max-width:54em;line-height:1.5;margin:.3em 0;padding:.3em 0 .3em 1em;border-left:4px solid {rim}"
    return f'<div style="{style}">{inside}</div>'


def heading(text: str) -> str:
    return f'<div style="font-weight:600">{escape(text)}</div>'


def line(text: str) -> str:
    return f"<div>{escape(text)}</div>"


def _status(answer: Answer) -> str:
    """Return text such as "proven closest · exact, 12 queries · proven: no valid command is closer than ..." """
    proof = "nothing is proven" if answer.proof is None else str(answer.proof)
    parts = [answer.status.value, f"{answer.search.name}, {number_of(answer.total_queries, 'query', 'queries')}", proof]
    return " · ".join([*parts, answer.search.stop.sentence] if answer.search.stop.early else parts)


def _change_picture(answer: Answer) -> str:
    """Draw a bar for each objective: grey up to the original number, coloured from there to the new one."""
    if answer.command is None:
        return ""
    objectives = command_objectives(answer.question.objectives, preferences=answer.question.preferences)
    original = tidy(answer.question.command, answer.question.low, answer.question.high)
    new = np.where(answer.command == answer.question.command, original, answer.command)
    numbers = zip(objectives, original, new, strict=True)
    rows = "".join(_row(o, amount(o, before), amount(o, after)) for o, before, after in numbers)
    style = "display:grid;grid-template-columns:max-content 20em 1fr;gap:.2em 1em;align-items:center;margin:.4em 0"
    return f'<div role="img" aria-label="{escape(str(answer))}" style="{style}">{rows}</div>'


def _row(objective: Objective, old: float, new: float) -> str:
    """Return the name, the bars and the numbers of an objective; bars begin at 0 and end at the larger number."""
    low, high = min(0.0, old, new), max(0.0, old, new)
    zero, before, after = np.interp([0, old, new], [low, high] if low < high else [0, 1], [0, 100])
    bars, numbers = [(zero, before, "currentColor;opacity:.2")], f"{with_unit(objective, short(old))} (unchanged)"
    if new != old:
        bars.append((before, after, BLUE if new > old else ORANGE))
        numbers = f"{grouped(beside(old, new))} → {with_unit(objective, clean(new))}"  # all digits, as in the sentence
    drawn = "".join(
        f'<div style="position:absolute;height:100%;left:{min(a, b):.2f}%;width:{abs(b - a):.2f}%;min-width:2px;'
        f'background:{colour}"></div>'  # at least 2 pixels wide, so that the smallest change is visible
        for a, b, colour in bars
    )
    return f'{line(objective.name)}<div style="position:relative;height:.8em">{drawn}</div>{line(numbers)}'
