"""Values as notebooks show them: HTML that needs nothing from outside, and takes its ink from a light or dark page."""

import base64
import io
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from paretofoil.agents.agent import Agent
from paretofoil.core.answer import Answer, Status
from paretofoil.core.command import Objective, asked_for
from paretofoil.explanation.flip_map import FlipMap
from paretofoil.show.flip_map import figure_flip_map, summary
from paretofoil.show.numbers import beside, clean, counted, short
from paretofoil.show.palette import BLUE, GREEN, GREY, ORANGE, RED
from paretofoil.show.sentences import advice

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RIM = {
    Status.FOUND: BLUE,
    Status.PROVEN_CLOSEST: GREEN,
    Status.PROVEN_INFEASIBLE: RED,
    Status.NOT_FOUND: GREY,
}
"""The colour at the left of an answer."""

WIDTH, ROW = 640, 26
"""Of the picture of a change, in pixels: all of it, and each objective's height."""
NAME_END, BAR_START, BAR_END, NUMBER_START = 140, 152, 452, 464
"""Where its columns begin and end: names, bars, numbers."""
LONGEST_NAME = 18
"""A longer name of an objective is cut in the picture, and whole when it is pointed at."""


def answer_html(found: Answer) -> str:
    """The sentence, the change as bars, what can be had, and the outcome and its proof in one line."""
    question = f"Why {found.actions[found.chosen]}, and not {found.actions[found.foil]}?"
    if found.agent:
        question = f"{found.agent}, t = {found.step}: {question[0].lower()}{question[1:]}"
    others = [line(f"Or: {other} {advice(other)}".rstrip()) for other in found.alternatives]
    had = [line(advice(found))] if found.attainable is not None else []
    parts = [heading(question), line(str(found)), _change_picture(found), *had, *others, _small(_outcome(found))]
    return card("".join(parts), RIM[found.status])


def flip_map_html(flips: FlipMap) -> str:
    """The picture of the flip map, and what it says in words."""
    title = f"{flips.agent}: {len(flips.taken)} moments, {len(flips.answers)} foils"
    words = f'<div style="white-space:pre-wrap">{escape(summary(flips))}</div>'
    return card(heading(title) + embedded(figure_flip_map(flips), repr(flips)) + words, BLUE)


def agent_html(agent: Agent) -> str:
    """What it is called, where it acts, what it can be asked for, what it can do, and how well it does it."""
    environment, space = agent.environment, agent.space
    ranges = [_range(o, *sides) for o, *sides in zip(space.asked_for, space.low, space.high, strict=True)]
    facts = {
        "environment": f"{environment.name}. {environment.description}",
        "objectives": ", ".join(ranges),
        "actions": ", ".join(agent.actions),
        "front": f"{len(agent.front)} points",
        "reached": "not measured" if agent.achieved is None else f"{int(agent.reached().sum())} of them by rollouts",
    }
    cells = "".join(f'<div style="opacity:.7">{key}</div><div>{escape(fact)}</div>' for key, fact in facts.items())
    grid = f'<div style="display:grid;grid-template-columns:max-content 1fr;gap:.1em 1.2em">{cells}</div>'
    return card(heading(agent.name) + grid, BLUE)


def embedded(figure: "Figure", told: str) -> str:
    """A figure inside the page, and what it is for those who cannot see it."""
    picture = io.BytesIO()
    figure.savefig(picture, format="png")
    source = f"data:image/png;base64,{base64.b64encode(picture.getvalue()).decode('ascii')}"
    # Its ink is dark, so it brings its own paper.
    style = "max-width:100%;background:#fff;border-radius:6px;margin:.4em 0"
    return f'<img alt="{escape(told)}" src="{source}" style="{style}">'


def card(inside: str, rim: str) -> str:
    style = f"max-width:54em;line-height:1.5;margin:.3em 0;padding:.3em 0 .3em 1em;border-left:4px solid {rim}"
    return f'<div style="{style}">{inside}</div>'


def heading(text: str) -> str:
    return f'<div style="font-weight:600">{escape(text)}</div>'


def line(text: str) -> str:
    return f"<div>{escape(text)}</div>"


def _small(text: str) -> str:
    return f'<div style="font-size:.88em;opacity:.75">{escape(text)}</div>'


def _outcome(found: Answer) -> str:
    """ "proven closest · by exact, 12 queries · proven: no valid command is closer than ..." """
    proof = "nothing is proven" if found.certificate is None else str(found.certificate)
    parts = [found.status.value, f"by {found.search.name}, {found.total_queries:,} queries", proof]
    return " · ".join([*parts, found.stop.sentence] if found.stop.early else parts)


def _range(objective: Objective, low: float, high: float) -> str:
    """ "time 1 to 40 steps": what can be asked for, a cost by its size."""
    lowest, highest = (short(number) for number in sorted((_told(objective, low), _told(objective, high))))
    return f"{objective.name} {lowest} to {_with_unit(objective, highest)}"


def _told(objective: Objective, number: float) -> float:
    """A number as the user thinks of it: a cost by its size, a probability in percent; no -0."""
    return float(-number if objective.cost else number) * (100.0 if objective.probability else 1.0) + 0.0


def _with_unit(objective: Objective, shown: str) -> str:
    return f"{shown} %" if objective.probability else counted(objective, shown)


def _change_picture(found: Answer) -> str:
    """One bar for each objective: grey up to what was asked for, coloured from there to what should have been."""
    if found.command is None:
        return ""
    objectives = asked_for(found.objectives, preferences=found.preferences)
    wishes = zip(objectives, found.original, found.command, strict=True)
    rows = [_row(i * ROW, o, _told(o, old), _told(o, new)) for i, (o, old, new) in enumerate(wishes)]
    view = f'viewBox="0 0 {WIDTH} {len(rows) * ROW}"'
    style = f"display:block;width:100%;max-width:{WIDTH}px;margin:.4em 0;font:13px sans-serif"
    label = f'role="img" aria-label="{escape(str(found))}"'
    return f'<svg {view} {label} style="{style}">{"".join(rows)}</svg>'


def _row(top: int, objective: Objective, old: float, new: float) -> str:
    """A row of the picture; its bars begin at 0, and the larger of both numbers ends them."""
    zero, before, after = np.interp([0, old, new], _reach(old, new), [BAR_START, BAR_END])
    middle = top + ROW / 2
    colour = BLUE if new > old else ORANGE
    change = _bar(before, after, top, f'fill="{colour}"') if new != old else ""
    tick = f'<path d="M{before:.1f} {top + 4}v{ROW - 8}" stroke="currentColor" stroke-width="2"/>'
    numbers = f"stays {_with_unit(objective, short(old))}"
    if new != old:
        numbers = f"{beside(old, new)} → {_with_unit(objective, clean(new))}"  # all its digits, as in the sentence
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
    left, width = min(start, end), max(abs(end - start), 1.5)  # the smallest change is still to be seen
    return f'<rect x="{left:.1f}" y="{top + 7}" width="{width:.1f}" height="{ROW - 14}" {fill}/>'


def _text(x: float, y: float, anchor: str, text: str, title: str) -> str:
    place = f'x="{x}" y="{y}" text-anchor="{anchor}" dominant-baseline="central" fill="currentColor"'
    return f"<text {place}><title>{escape(title)}</title>{escape(text)}</text>"


def _cut(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"
