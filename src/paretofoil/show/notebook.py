"""HTML for notebooks: it loads nothing from elsewhere, and suits light and dark pages."""

import base64
import io
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
from paretofoil.show.palette import BLUE, GREEN, GREY, ORANGE, RED, can_draw
from paretofoil.show.sentences import advice, question_title

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RIM = {
    Status.FOUND: BLUE,
    Status.PROVEN_CLOSEST: GREEN,
    Status.PROVEN_INFEASIBLE: RED,
    Status.NOT_FOUND: GREY,
}
"""The colour at the left edge of an answer."""

WIDTH, ROW = 640, 26
"""The width of the picture of a change, and the height of each objective in it, in pixels."""
NAME_END, BAR_START, BAR_END, NUMBER_START = 140, 152, 452, 464
"""Where its columns of names, bars and numbers begin and end."""
LONGEST_NAME = 18
"""Longer names are cut in the picture; the whole name is its tooltip."""


def answer_html(answer: Answer) -> str:
    """Return the sentence, the change as bars, the attainable command, and the status and its proof in one line."""
    others = [line(f"Or: {other} {advice(other)}".rstrip()) for other in answer.alternatives]
    attainable = advice(answer)
    lines = [line(str(answer)), _change_picture(answer), line(attainable) if attainable else "", *others]
    return card("".join([heading(question_title(answer)), *lines, _small(_status(answer))]), RIM[answer.status])


def flip_map_html(flips: FlipMap) -> str:
    """Return the figure of the flip map, and its summary in words."""
    title = f"{flips.agent}: {number_of(len(flips.taken), 'step')}, {number_of(len(flips.answers), 'foil')}"
    words = f'<div style="white-space:pre-wrap">{escape(summary(flips))}</div>'
    return card(heading(title) + embedded(figure_flip_map, flips) + words, BLUE)


def agent_html(agent: Agent) -> str:
    """Return the agent's name, environment, command space and actions, and how much of its front it reaches."""
    environment, space = agent.environment, agent.space
    ranges = [_range(o, *sides) for o, *sides in zip(space.command_objectives, space.low, space.high, strict=True)]
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


def embedded(draw: Callable[[Any], "Figure"], value: object) -> str:
    """Return the figure of a value as HTML, with a description for blind readers; nothing if matplotlib is missing."""
    if not can_draw():
        return ""
    picture = io.BytesIO()
    draw(value).savefig(picture, format="png")
    source = f"data:image/png;base64,{base64.b64encode(picture.getvalue()).decode('ascii')}"
    # Its ink is dark, so that it needs a white background on a dark page.
    style = "max-width:100%;background:#fff;border-radius:6px;margin:.4em 0"
    return f'<img alt="{escape(repr(value))}" src="{source}" style="{style}">'


def card(inside: str, rim: str) -> str:
    """Return a block with a coloured left edge."""
    style = f"max-width:54em;line-height:1.5;margin:.3em 0;padding:.3em 0 .3em 1em;border-left:4px solid {rim}"
    return f'<div style="{style}">{inside}</div>'


def heading(text: str) -> str:
    return f'<div style="font-weight:600">{escape(text)}</div>'


def line(text: str) -> str:
    return f"<div>{escape(text)}</div>"


def _small(text: str) -> str:
    return f'<div style="font-size:.88em;opacity:.75">{escape(text)}</div>'


def _status(answer: Answer) -> str:
    """ "proven closest · exact, 12 queries · proven: no valid command is closer than ..." """
    proof = "nothing is proven" if answer.proof is None else str(answer.proof)
    parts = [answer.status.value, f"{answer.search.name}, {number_of(answer.total_queries, 'query', 'queries')}", proof]
    return " · ".join([*parts, answer.search.stop.sentence] if answer.search.stop.early else parts)


def _range(objective: Objective, low: float, high: float) -> str:
    """ "time 1 to 40 steps"."""
    lowest, highest = sorted((amount(objective, low), amount(objective, high)))
    return f"{objective.name} {grouped(short(lowest))} to {with_unit(objective, short(highest))}"


def _change_picture(answer: Answer) -> str:
    """Draw a bar for each objective: grey up to the original number, coloured from there to the new one."""
    if answer.command is None:
        return ""
    objectives = command_objectives(answer.question.objectives, preferences=answer.question.preferences)
    original = tidy(answer.question.command, answer.question.low, answer.question.high)
    new = np.where(answer.command == answer.question.command, original, answer.command)
    numbers = zip(objectives, original, new, strict=True)
    rows = [_row(i * ROW, o, amount(o, before), amount(o, after)) for i, (o, before, after) in enumerate(numbers)]
    view = f'viewBox="0 0 {WIDTH} {len(rows) * ROW}"'
    style = f"display:block;width:100%;max-width:{WIDTH}px;margin:.4em 0;font:13px sans-serif"
    label = f'role="img" aria-label="{escape(str(answer))}"'
    return f'<svg {view} {label} style="{style}">{"".join(rows)}</svg>'


def _row(top: int, objective: Objective, old: float, new: float) -> str:
    """Draw a row of the picture; bars begin at 0 and end at the larger of both numbers."""
    zero, before, after = np.interp([0, old, new], _reach(old, new), [BAR_START, BAR_END])
    middle = top + ROW / 2
    colour = BLUE if new > old else ORANGE
    change = _bar(before, after, top, f'fill="{colour}"') if new != old else ""
    tick = f'<path d="M{before:.1f} {top + 4}v{ROW - 8}" stroke="currentColor" stroke-width="2"/>'
    numbers = f"{with_unit(objective, short(old))} (unchanged)"
    if new != old:
        numbers = f"{grouped(beside(old, new))} → {with_unit(objective, clean(new))}"  # all digits, as in the sentence
    return (
        _text(NAME_END, middle, "end", _cut(objective.name), objective.name)
        + _bar(zero, before, top, 'fill="currentColor" fill-opacity=".2"')
        + change
        + tick
        + _text(NUMBER_START, middle, "start", numbers, objective.name)
    )


def _reach(old: float, new: float) -> tuple[float, float]:
    low, high = min(0.0, old, new), max(0.0, old, new)
    return (low, high) if low < high else (0.0, 1.0)


def _bar(start: float, end: float, top: int, fill: str) -> str:
    left, width = min(start, end), max(abs(end - start), 1.5)  # the smallest change stays visible
    return f'<rect x="{left:.1f}" y="{top + 7}" width="{width:.1f}" height="{ROW - 14}" {fill}/>'


def _text(x: float, y: float, anchor: str, text: str, title: str) -> str:
    place = f'x="{x}" y="{y}" text-anchor="{anchor}" dominant-baseline="central" fill="currentColor"'
    return f"<text {place}><title>{escape(title)}</title>{escape(text)}</text>"


def _cut(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"
