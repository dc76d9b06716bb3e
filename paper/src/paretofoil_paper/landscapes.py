"""Four landscapes (paper, Figure "Command-space decision landscapes"), chosen by a rule that anyone can check."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from paretofoil.agents import load_agent
from paretofoil.core.answer import Answer
from paretofoil.core.question import Question, QuestionBatch
from paretofoil.show.landscape import Landscape, as_shown, draw_landscape, landscape, margin_label, two_objectives
from paretofoil.show.numbers import short
from paretofoil.show.palette import BLUE
from paretofoil.study import Case, Row
from paretofoil.study.case import enumerate_cases, make_case_question
from paretofoil_paper.comparison import comparison_rows
from paretofoil_paper.plan import Plan
from paretofoil_paper.protocols import AS_RUN, PAPER_COMPARISON, PAPER_PROTOCOL, WHITE_AS_RUN
from paretofoil_paper.report import Picture, Report

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ARROWS = 11
"""Small arrows along each axis."""
PANELS = (("branch-path", False), ("minecart", True), ("reward-line", False), ("deep-sea-treasure", False))
"""The environment of each panel, and whether White-CW is to have succeeded there (in the paper only in panel b)."""
RULE = (
    "Rule: each panel has an environment of its own. Among the comparison's cases there that CF-ZOO as run solved and "
    "White-CW as run did not (panel b: both solved), the one whose CF-ZOO distance is the median; where there is none, "
    "the median of all that CF-ZOO solved. Both searches are as the authors ran them (`cf-zoo:as-run`, "
    "`white-cw:as-run`). The axes are the two objectives that the answers change most; the others "
    "stay as in the original, and an answer that changes them too is hollow: it does not lie in the slice. The line is "
    "where the foil wins by kappa; dots fill the side on which it does. The bold arrow is the change that CF-ZOO "
    "found. The thin blue ones show where the margin grows, the longer one at the original command: where that one "
    "points past the valid commands, a local search starts the wrong way. A panel is the part of the box around "
    "command and answers."
)
SHOWN = (AS_RUN, WHITE_AS_RUN)
"""The searches whose answers are marked, the one whose change is drawn first."""


def reproduce_landscapes(plan: Plan) -> Report:
    """Four panels: margin colours, the contour of validity, each search's answer, the local gradient."""
    from matplotlib.figure import Figure

    rows = comparison_rows(plan)
    report = Report("Landscapes of decisions").say(PAPER_PROTOCOL, RULE)
    chosen = [(letter, *panel) for letter, panel in zip("abcd", PANELS, strict=True) if panel[0] in plan.agents]
    if not chosen:
        return report.say("None of the panels' environments was asked for.")
    lines, columns = -(-len(chosen) // 2), min(len(chosen), 2)
    figure = Figure(figsize=(6.5 * columns, 5.4 * lines + 0.6), dpi=110, layout="constrained")
    panels = figure.subplots(lines, columns, squeeze=False).ravel()
    for axes in panels:
        axes.set_axis_off()
    for axes, (letter, environment, both) in zip(panels, chosen, strict=False):
        mine = [row for row in rows if plan.environment_of(row) == environment]
        case = choose_case(mine, both)
        if case is None:
            report.say(f"({letter}) {environment}: CF-ZOO solved no case, so that there is nothing to show.")
            continue
        given = {row.search: row.full_answer() for row in mine if row.case == case}
        title = _draw(axes, _question(plan, environment, case), given, f"({letter}) {environment}", case.step)
        fallback = "" if given[WHITE_AS_RUN].found == both else " (no case of the wanted kind)"
        report.say(f"{title}{fallback}. " + "; ".join(_told(given[label]) for label in (*SHOWN, "exact")) + ".")
    _share_legend(figure)
    return report.add(Picture.of(figure, "landscapes", "The margin of the foil over two objectives of the command"))


def _draw(axes: "Axes", posed: tuple[Question, str], given: Mapping[str, Answer], which: str, time: int) -> str:
    """One panel with its colour bar; returns its title."""
    question, command = posed
    answers = [given[label] for label in SHOWN]
    chosen, foil = (answers[0].actions[number] for number in (answers[0].chosen, answers[0].foil))
    title = f"{which}: {chosen} → {foil}, command {command}, t = {time}"
    land = landscape(question, *two_objectives(question, answers), shown=answers)
    axes.set_axis_on()
    image = draw_landscape(axes, land, answers, title=title)
    _draw_gradient(axes, question, land)
    axes.figure.colorbar(image, ax=axes, fraction=0.046, label=margin_label(foil), extend="both")
    return title


def _draw_gradient(axes: "Axes", question: Question, land: Landscape) -> None:
    """Draw the scaled gradient of the margin: small arrows everywhere, a longer one at the original command."""
    from matplotlib.patheffects import withStroke

    scale = land.scale[[land.p, land.q]]
    signs = np.array([-1.0 if land.objectives[i].cost else 1.0 for i in (land.p, land.q)])
    up, right = np.gradient(land.margins, land.y / scale[1], land.x / scale[0])
    pick = np.linspace(0, len(land.x) - 1, ARROWS + 2).astype(int)[1:-1]
    u, v = right[np.ix_(pick, pick)], up[np.ix_(pick, pick)]
    size = np.maximum(np.hypot(u, v), 1e-12)
    x, y = as_shown(land.objectives[land.p], land.x), as_shown(land.objectives[land.q], land.y)
    common: dict[str, Any] = {"color": BLUE, "path_effects": [withStroke(linewidth=1.2, foreground="white")]}
    axes.quiver(x[pick], y[pick], signs[0] * u / size, signs[1] * v / size, scale=26, width=0.0036, zorder=3, **common)
    slope = _slope(question, land.p, land.q)
    if (steep := float(np.hypot(*slope))) > 0:
        steepest = signs * slope / steep  # it may leave the axes, and is not clipped
        axes.quiver(*land.place(land.command), *steepest, scale=7, width=0.006, zorder=6, clip_on=False, **common)
    label = "direction in which the margin grows"
    axes.plot([], [], linestyle="none", marker=r"$\rightarrow$", markersize=10, color=BLUE, label=label)


def _slope(question: Question, p: int, q: int, h: float = 1e-3) -> np.ndarray:
    """Return the scaled gradient of the margin at the original command over two objectives: (2,)."""
    batch = QuestionBatch([question])
    steps = np.zeros((4, batch.dim))
    steps[0, p], steps[1, p], steps[2, q], steps[3, q] = h, -h, h, -h
    up_p, down_p, up_q, down_q = batch.margins(np.zeros(4, dtype=int), steps, "landscape")
    return np.array([up_p - down_p, up_q - down_q]) / (2 * h)


def _share_legend(figure: "Figure") -> None:
    """One for all panels, whose own would repeat each other."""
    shown: dict[str, Any] = {}
    for axes in figure.axes:
        handles, labels = axes.get_legend_handles_labels()
        shown |= dict(zip(labels, handles, strict=True))
        if legend := axes.get_legend():
            legend.remove()
    figure.legend(list(shown.values()), list(shown), loc="outside lower center", ncols=4, frameon=False, fontsize=9)


def choose_case(rows: list[Row], both: bool) -> Case | None:
    """By `RULE`."""
    solved = {row.case: row.closest_distance for row in rows if row.search == AS_RUN and row.found}
    white = {row.case: row.found for row in rows if row.search == WHITE_AS_RUN}
    wanted = [case for case in solved if white.get(case) == both] or list(solved)
    ordered = sorted(wanted, key=lambda case: (solved[case], case))
    return ordered[len(ordered) // 2] if ordered else None


def _question(plan: Plan, environment: str, case: Case) -> tuple[Question, str]:
    """In the box and of the agent of the rows, or the picture would not hold their answers."""
    agent = load_agent(plan.as_run[environment])
    decision = dict(enumerate_cases(agent, PAPER_COMPARISON, plan.seed))[case]
    issued = "(" + ", ".join(short(float(value), 4) for value in agent.front[case.front]) + ")"
    return make_case_question(agent, case, decision, box=PAPER_COMPARISON.box), issued


def _told(found: Answer) -> str:
    size = found.closest_distance
    return f"{found.search.name}: " + (found.status.value if size is None else f"distance {size:.3f}")
