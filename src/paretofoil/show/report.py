"""Report cards as text, and as one HTML page without scripts that loads no other files."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from paretofoil.agents.agent import Agent
from paretofoil.core import __version__
from paretofoil.explanation.atlas import Atlas
from paretofoil.explanation.report import STEP, Report
from paretofoil.show.atlas import (
    LISTED,
    all_unfinished,
    draw_frequent,
    draw_map,
    map_legend,
    nothing_proven,
    outcome_text,
    share_span,
    span_text,
)
from paretofoil.show.compare import comparison_sentence, draw_difference, draw_shares, share_rows
from paretofoil.show.flip_map import figure_flip_map, summary
from paretofoil.show.front_figure import figure_front
from paretofoil.show.influence import figure_influence
from paretofoil.show.landscape import axis_label
from paretofoil.show.numbers import as_shown, join, number_of, proven, quantities, region, short
from paretofoil.show.palette import GREEN, RED, can_draw, new_figure, png_address

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SMALL = 6.0
"""A figure narrower than this many inches is scaled to fit a phone; wider figures scroll."""
BESIDE = 7.0
"""On wide screens, a figure of at most this many inches stands beside its text."""
WIDE = 0.1
"""If a larger share of the commands is undecided, the report gives the shares of sampled commands instead."""
MOSTLY = 0.75
"""An agent that achieves a smaller share of the front is rated poor."""
OFTEN = 0.25
"""An agent that runs into the step limit under a larger share of the commands is rated fair, not good."""


@dataclass(frozen=True)
class Verdict:
    """The overall rating, with its reasons in a few sentences."""

    level: str
    """good, fair, poor, or open."""
    headline: str
    sentences: tuple[str, ...]


@dataclass(frozen=True)
class Measure:
    """A share with its bounds, and whether it is proven."""

    name: str
    low: float
    high: float
    how: str
    """proven, sampled or rolled out."""
    text: str = ""
    """The share as text; empty if its bounds are shown."""

    @property
    def shown(self) -> str:
        return self.text or span_text(self.low, self.high)


@dataclass(frozen=True)
class Part:
    """One finding: a title, sentences, a table and figures."""

    title: str
    sentences: Sequence[str]
    columns: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    figures: Sequence[Callable[[], "Figure"]] = ()
    caption: str = ""
    """Explains the figure."""
    legend: Sequence[tuple[str, str]] = ()
    """Colours and labels of the figure; they replace the table on the page."""


def verdict(report: Report) -> Verdict:
    """Return the rating of whether the agent does what it is told, with its reasons."""
    front, atlas = report.front, _estimates(report)
    if front is None:
        headline = "What it achieves cannot be compared with what it is asked for."
        return Verdict("open", headline, (_why(report, "front"),))
    count, reached = len(front.points), int(front.reached.sum())
    returns = f"the {number_of(count, 'best return')}" if front.best else f"the {number_of(count, 'return')} it learned"
    limit = 0.0 if atlas is None or all_unfinished(atlas) else atlas.interval(atlas.unfinished)[0]
    if reached < count:
        level = "poor" if reached < MOSTLY * count else "fair"
        start = "It often does not do what it is told" if level == "poor" else "It mostly does what it is told"
        headline = f"{start}: it misses {count - reached} of {returns} when asked for them."
    elif limit > OFTEN:
        level, headline = "fair", "It does what it is told on the front, but often runs into the step limit elsewhere."
    else:
        level = "good"
        headline = f"It does what it is told on the front: it achieves each of {returns} when asked for it."
    return Verdict(level, headline, tuple(filter(None, (_misses(report), *_shares(report), _compared(report)))))


def _misses(report: Report) -> str:
    """Return text such as "For example, asked for 24 treasure in 13 steps, it achieves 50 treasure in 14 steps." """
    front, objectives = report.front, report.agent.space.command_objectives
    if front is None or front.reached.all():
        return ""
    missed = np.flatnonzero(~front.reached)
    row = missed[len(missed) // 2]
    asked_for = quantities(objectives, front.points[row])
    return f"For example, asked for {asked_for}, it achieves {_achieved(report, row)}."


def _achieved(report: Report, row: int) -> str:
    assert report.front is not None
    achieved = report.front.achieved[row]
    return quantities(report.agent.space.command_objectives[: len(achieved)], achieved)


def _shares(report: Report) -> list[str]:
    """Return the shares of the atlas as a sentence, or why there is no atlas."""
    atlas = _estimates(report)
    if atlas is None:
        return [_why(report, "atlas")]
    how = f"95 % intervals of {atlas.samples:,} sampled commands" if atlas.samples else proven(atlas.assumed)
    text = f"Of all commands in its range, {share_span(atlas, atlas.on_front)} end on the front"
    fulfilled = _fulfilled(report)
    if fulfilled is not None:
        text += f"; of those that ask for no more than the front has, {span_text(*fulfilled)} get at least that"
    limit = "" if all_unfinished(atlas) else f" Under {share_span(atlas, atlas.unfinished)} the step limit ends it."
    return [f"{text} ({how}).{limit if atlas.unfinished > 0.001 else ''}"]


def _fulfilled(report: Report) -> tuple[float, float] | None:
    """Return the bounds of the share of the commands within the front that get at least what they ask for."""
    atlas = _estimates(report)
    if atlas is None or report.fulfillable < 0.01:
        return None
    low, high = (min(bound / report.fulfillable, 1.0) for bound in atlas.interval(atlas.delivers))
    return low, high


def _estimates(report: Report) -> Atlas | None:
    """Return the atlas; if it leaves much undecided, return the atlas of sampled commands instead."""
    atlas = report.atlas
    return atlas if atlas is None or atlas.sampled is None or atlas.undecided <= WIDE else atlas.sampled


def _compared(report: Report) -> str:
    comparison = report.comparison
    if comparison is None:
        return ""
    name, reached, count = comparison.agents[1], comparison.reached[1], len(comparison.front)
    differ = f"the two end differently under {span_text(*comparison.differ)} of the commands"
    return f"{name} achieves {reached} of the {count} returns of the front; {differ}."


def _why(report: Report, part: str) -> str:
    """Return the sentence that says why a part is missing."""
    reason = report.missing.get(part, "")
    return f"There is no {_MISSING[part]}: {reason}." if reason else ""


_MISSING = {
    "front": "comparison with the front",
    "atlas": "map of outcomes",
    "never": "proof about actions",
    "influence": "influence of the command",
    "flip map": "flip map",
}


def measures(report: Report) -> list[Measure]:
    """Return the shares at the top of the report."""
    shares, front, atlas = [], report.front, _estimates(report)
    if front is not None:
        share, text = float(front.reached.mean()), f"{int(front.reached.sum())} of {len(front.points)}"
        name = f"{'best' if front.best else 'learned'} returns that it achieves when asked"
        shares.append(Measure(name, share, share, "rolled out", text))
    if atlas is not None:
        how = "sampled" if atlas.samples else "proven"
        fulfilled = _fulfilled(report)
        if fulfilled is not None:
            shares.append(Measure("commands within the front that get at least what they ask for", *fulfilled, how))
        shares.append(Measure("commands that end on the front", *atlas.interval(atlas.on_front), how))
        if not all_unfinished(atlas):
            bounds = atlas.interval(atlas.unfinished)
            shares.append(Measure("commands that run into the step limit", *bounds, how))
    if report.neighbours is not None:
        shares.append(Measure("neighbouring commands that end alike", *report.agreement, "sampled"))
    return shares


def parts(report: Report) -> list[Part]:
    """Return the findings in the order of the page."""
    makers = (_front_part, _atlas_part, _neighbour_part, _influence_part, _flip_part, _never_part, _comparison_part)
    return [part for part in (make(report) for make in makers) if part is not None]


def _front_part(report: Report) -> Part | None:
    front = report.front
    if front is None:
        return None
    count, objectives = len(front.points), report.agent.space.command_objectives
    what = f"best returns that {report.agent.environment.name} allows" if front.best else "returns that it learned"
    how = "on average over rollouts, " if report.agent.batch_env().stochastic else ""
    text = f"Asked for each of the {count} {what}, {how}it achieves {int(front.reached.sum())}."
    order = [*np.flatnonzero(~front.reached), *np.flatnonzero(front.reached)][:LISTED]
    shown = sorted(order) if count <= LISTED else order
    rows = [
        ("✓" if front.reached[i] else "✗", quantities(objectives, front.points[i]), _achieved(report, i)) for i in shown
    ]
    first = "" if front.reached.all() else ", those that it misses first"
    more = [f"The table lists {LISTED} of them{first}."] if count > LISTED else []
    figures = [lambda: _figure_front(report)]
    return Part("The front", [text, *more], ("", "asked for", "achieved"), rows, figures)


def _atlas_part(report: Report) -> Part | None:
    atlas, estimates, title = report.atlas, _estimates(report), "The outcome of each command"
    if atlas is None or estimates is None:
        return Part(title, [_why(report, "atlas")])
    columns, rows = ("outcome", "commands"), []
    for outcome in estimates.outcomes[:LISTED]:
        rows.append((outcome_text(estimates, outcome), share_span(estimates, outcome.share)))
    text = f"The outcome of {span_text(1.0 - atlas.undecided, 1.0)} of the commands is {proven(atlas.assumed)}."
    if atlas.samples:
        text = f"The most frequent outcomes of {atlas.samples:,} sampled commands; {nothing_proven(atlas)}."
    elif estimates.samples:
        text += f" The shares are 95 % intervals of {estimates.samples:,} sampled commands."
    if atlas.samples or atlas.boxes is not None:
        draw = lambda: _figure(6.4, 4.4, lambda axes: draw_frequent(axes, estimates))  # noqa: E731
        return Part(title, [text], columns, rows, [draw])
    draw = lambda: _figure(5.6, 4.4, lambda axes: draw_map(axes, atlas))  # noqa: E731
    caption = "Each point is a command; its colour is the return of its episode. Grey returns are not on the front."
    return Part(title, [text], columns, rows, [draw], caption, map_legend(atlas) if can_draw() else ())


def _neighbour_part(report: Report) -> Part | None:
    title = "How far neighbouring commands agree"
    if report.neighbours is None:
        return None  # for the reason that the atlas is missing
    alike, pairs = report.neighbours
    near = f"pairs of random commands that differ by {short(100 * STEP)} % of the range"
    text = f"Of {pairs:,} {near}, {alike:,} end alike"
    sampled = "nothing is proven" if report.atlas is None else nothing_proven(report.atlas)
    return Part(title, [f"{text}: {span_text(*report.agreement)} of all (95 % interval; {sampled})."])


def _influence_part(report: Report) -> Part | None:
    title, profile = "Where the command matters", report.profile
    if profile is None:
        return Part(title, [_why(report, "influence")])
    if isinstance(profile, dict):
        rows = [
            (
                str(step),
                f"{each.name} ({each.unit})" if each.unit else each.name,
                *map(short, (each.chosen, each.least, each.most)),
                "proven" if one.proven else "",
            )
            for step, one in profile.items()
            for each in one.ranges
        ]
        text = f"{_episode_text(report, len(profile))} The table has the smallest and largest amount of any command."
        return Part(title, [text], ("t", "action", "chosen", "smallest", "largest", ""), rows)
    lines = [line for line in str(profile).splitlines() if not line.startswith("Most at")]
    caption = "Each bar is a step: the share of the commands in the search region that choose each action."
    figures = [lambda: figure_influence(profile)]
    text = f"{_episode_text(report, len(profile.steps))} {' '.join(lines)}"
    return Part(title, [text], figures=figures, caption=caption)


def _episode_text(report: Report, steps: int) -> str:
    """Return text such as "In this episode it is asked for 8 treasure in 8 steps." """
    episode = report.episode
    some = "" if steps == len(episode) else f" ({steps} of its {len(episode)} steps are examined)"
    asked_for = quantities(report.agent.space.command_objectives, episode.command)
    return f"In this episode it is asked for {asked_for}{some}."


def _flip_part(report: Report) -> Part | None:
    title, flips = "Where it is easiest to steer", report.flips
    if flips is None:
        return Part(title, [_why(report, "flip map")])
    easiest = [f"The smallest change is enough at t = {step}: {answer}" for step, answer in flips.easiest(1)]
    others = [line for line in summary(flips).splitlines() if not line.startswith(("The smallest changes:", "  "))]
    caption = "The numbers are changes of the command, in shares of its range. Each makes the agent choose the action."
    return Part(title, [*easiest, *others], figures=[lambda: figure_flip_map(flips)], caption=caption)


def _never_part(report: Report) -> Part | None:
    title = "What it never does"
    if not report.nevers:
        return Part(title, [_why(report, "never")])
    claims = [claim for claim in report.nevers if len(claim.states)]
    how = proven(max(claim.assumed for claim in report.nevers))
    none, most = [claim.action for claim in claims if claim.holds], max(claims, key=lambda claim: claim.proven.sum())
    where = f"the {number_of(report.nevers[0].visited, 'state')} of its episodes that were examined"
    if none:
        text = f"No command makes it choose {join(none)} in any of {where} ({how})."
    elif most.proven.any():
        where = "possible" if most.limits else "valid"
        states = f"{int(most.proven.sum()):,} of the {len(most.states):,} examined states where that is {where}"
        text = f"No command makes it choose {most.action} in {states} ({how})."
    elif any(claim.open.any() for claim in claims):
        text = f"No action is proven to be never chosen, in {where}."
    else:
        text = f"In {where}, some command makes it choose each valid action."
    rows = [
        (claim.action, *(f"{count:,}" for count in (len(claim.states), *map(np.sum, verdicts))))
        for claim in report.nevers
        for verdicts in [(claim.proven, claim.refuted, claim.open)]
    ]
    columns = ("action", "states", "never (proven)", "under some command", "undecided")
    return Part(title, [text], columns, rows)


def _comparison_part(report: Report) -> Part | None:
    comparison = report.comparison
    if comparison is None:
        return None
    figures = [lambda: _figure(5.6, 3.8, lambda axes: draw_shares(axes, comparison))]
    if len(comparison.cells):
        figures.insert(0, lambda: _figure(5.6, 4.4, lambda axes: draw_difference(axes, comparison)))
    columns = ("share of the commands", *comparison.agents)
    title = f"Compared with {comparison.agents[1]}"
    return Part(title, [comparison_sentence(comparison)], columns, share_rows(comparison), figures)


def _figure(width: float, height: float, draw: Callable[[Any], Any]) -> "Figure":
    figure = new_figure(width, height)
    draw(figure.subplots())
    return figure


def _figure_front(report: Report) -> "Figure":
    """Draw the front and what the agent achieves. With two objectives, an arrow leads from each missed return."""
    front, agent = report.front, report.agent
    assert front is not None
    if front.points.shape[1] != 2 or front.achieved.shape[1] != 2:
        figure = figure_front(_measured(report), name="best returns" if front.best else "learned front")
        figure.suptitle("")
        return figure
    objectives = agent.space.command_objectives
    points, achieved = (
        np.column_stack([as_shown(o, values[:, i]) for i, o in enumerate(objectives)])
        for values in (front.points, front.achieved)
    )

    def draw(axes: Any) -> None:
        for point, result, reached in zip(points, achieved, front.reached, strict=True):
            if not reached:
                style = {"arrowstyle": "-|>,head_width=.3,head_length=.6", "color": RED, "linewidth": 1.4, "shrinkB": 5}
                axes.annotate("", xy=result, xytext=point, arrowprops=style, zorder=5)
        hit, missed = points[front.reached], points[~front.reached]
        axes.plot(*hit.T, "o", color=GREEN, markersize=10, label="asked for, and achieved")
        if len(missed):
            axes.plot(
                *missed.T, "X", color=RED, markersize=11, label="asked for, but missed: arrow to what it achieves"
            )
        axes.set(xlabel=axis_label(objectives[0]), ylabel=axis_label(objectives[1]))
        axes.grid(alpha=0.25)
        axes.margins(0.08)
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), frameon=False)

    return _figure(5.6, 4.4, draw)


def _measured(report: Report) -> Agent:
    """Return the agent with the front of the report."""
    assert report.front is not None
    if report.agent.batch_env().stochastic:
        return report.agent
    return replace(report.agent, front=report.front.points, achieved=report.front.achieved, error=None)


def report_html(report: Report) -> str:
    """Return the report as one HTML page."""
    agent, result = report.agent, verdict(report)
    commands = region(agent.space.command_objectives, agent.space.low, agent.space.high)
    about = f"{agent.environment.name}: {agent.environment.description} Commands: {commands}."
    style = Path(__file__).with_suffix(".css").read_text(encoding="utf-8")
    tiles = "".join(_tile(measure) for measure in measures(report))
    sections = "".join(_section(part) for part in parts(report))
    words = "".join(f"<p>{_html(sentence)}</p>" for sentence in result.sentences)
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><title>{escape(agent.name)}: report</title><style>{style}</style></head>
<body><main>
<header><p class="kind">Report card</p><h1>{escape(agent.name)}</h1><p>{escape(about)}</p></header>
<section class="verdict {result.level}"><div class="mark" aria-hidden="true">{_MARKS[result.level]}</div>
<div><h2>{_html(result.headline)}</h2>{words}</div></section>
<div class="tiles">{tiles}</div>
{sections}
<footer>Made by Paretofoil {escape(__version__)} in {report.seconds:.0f} s. Proven: no command contradicts it.
Sampled: a 95 % confidence interval. Rolled out: greedy episodes of the agent.</footer>
</main></body></html>
"""


def _html(text: str) -> str:
    """Return a text as HTML, in which no line breaks before a percent sign."""
    return escape(text).replace(" %", "&nbsp;%")


def _tile(measure: Measure) -> str:
    low, high = 100 * measure.low, 100 * measure.high
    bar = f'<i style="width:{low:.2f}%"></i><i class="pale" style="width:{high - low:.2f}%"></i>'
    return (
        f'<div class="tile"><b>{_html(measure.shown)}</b><div class="bar">{bar}</div>'
        f"<p>{escape(measure.name)}</p><small>{measure.how}</small></div>"
    )


def _section(part: Part) -> str:
    words = "".join(f"<p>{_html(sentence)}</p>" for sentence in part.sentences if sentence)
    words += f'<p class="caption">{_html(part.caption)}</p>' if part.caption else ""
    figures = [draw() for draw in part.figures] if can_draw() else []
    pictures = "".join(_picture(figure, part) for figure in figures)
    swatches = "".join(f'<li><i style="background:{colour}"></i>{_html(label)}</li>' for colour, label in part.legend)
    table = ""
    if part.rows and not part.legend:
        head = "".join(f"<th>{escape(column)}</th>" for column in part.columns)
        body = "".join(f"<tr>{''.join(_cell(cell) for cell in row)}</tr>" for row in part.rows)
        table = f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
    legend = f'<ul class="legend">{swatches}</ul>' if swatches else ""
    beside = any(figure.get_figwidth() <= BESIDE for figure in figures)
    pictures = f'<div class="pictures">{pictures}</div>' if pictures else ""
    inside = f'<div class="words">{words}{legend}{table}</div>{pictures}'
    kind = "pair" if beside else "alone"
    return f'<section class="card"><h2>{escape(part.title)}</h2><div class="{kind}">{inside}</div></section>\n'


def _cell(text: str) -> str:
    kind = {"✓": ' class="yes"', "✗": ' class="no"'}.get(text, "")
    return f"<td{kind}>{_html(text)}</td>"


def _picture(figure: "Figure", part: Part) -> str:
    width = round(figure.get_figwidth() * 96)
    alt = escape(f"{part.title}. {' '.join(part.sentences)}")
    kind = "small" if figure.get_figwidth() < SMALL else "large"
    image = f'<img class="{kind}" alt="{alt}" src="{png_address(figure)}" width="{width}">'
    return f'<div class="scroll">{image}</div>'


_MARKS = {"good": "✓", "fair": "!", "poor": "✗", "open": "?"}
