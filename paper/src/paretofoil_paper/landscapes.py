"""Four landscapes (paper, Figure "Command-space decision landscapes"), chosen by a fixed rule."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from paretofoil.agents import load_agent
from paretofoil.core.answer import Answer
from paretofoil.core.question import Question, QuestionBatch
from paretofoil.explanation.ask import ask
from paretofoil.search import NearestFront
from paretofoil.show.landscape import (
    IN_SLICE,
    Landscape,
    draw_landscape,
    landscape,
    margin_label,
)
from paretofoil.show.numbers import as_shown, short
from paretofoil.show.palette import BLUE, mark_of
from paretofoil.study import Case, Row
from paretofoil.study.case import enumerate_cases, make_case_question
from paretofoil_paper.comparison import comparison_rows
from paretofoil_paper.plan import Plan
from paretofoil_paper.protocols import AS_RUN, PAPER_COMPARISON, WHITE_AS_RUN
from paretofoil_paper.report import Picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ARROWS = 11
"""Small arrows along each axis."""
PANELS = (("branch-path", False), ("collect-two", True), ("minecart", False), ("deep-sea-treasure", False))
"""The environment of each of the paper's panels, and whether White-CW should have solved its case (only in panel b)."""
RULE = (
    "The panels show the same environments as in the paper. The authors chose their cases by a score of the picture. "
    "Ours are from the cases of the comparison that CF-ZOO solved and White-CW did not (panel b: both solved) or, "
    "where there are none, from all cases that CF-ZOO solved. We preferred cases whose answers change at most two "
    "objectives in all, so that both answers lie in the slice that is drawn. Of these, a panel shows the case with "
    "CF-ZOO's median distance. Both searches are as run by the authors; White-CW has confidence 0."
)
READING = (
    "A panel starts at the remaining command of its step t; its title has the command of the whole episode. The axes "
    "are the two objectives that the answers change most; costs are positive. The other objectives keep their "
    "original values; an answer that changes them is drawn hollow, because it is not in the slice. On the contour "
    "line the foil wins by kappa; dots fill the side where it wins by more. The diamond is the nearest point of the "
    "front under which the foil wins. The bold arrow is the change that CF-ZOO found. The thin blue arrows point "
    "where the margin grows; the longer one starts at the original command. If it points past the valid commands, a "
    "local search starts in the wrong direction."
)
SHOWN = (AS_RUN, WHITE_AS_RUN, "nearest-front")
"""The searches whose answers are marked; the change of the first one is drawn."""
NAMES = {
    AS_RUN: "CF-ZOO",
    WHITE_AS_RUN: "White-CW",
    "nearest-front": "nearest front point",
    "exact": "Exact",
}
"""The searches in the sentences and in the legend."""


def landscapes_picture(plan: Plan) -> tuple[list[str], Picture | None]:
    """Draw four panels with the margin, the contour of validity, the answers and the local gradients.

    Return a sentence for each panel, and the picture.
    """
    from matplotlib.figure import Figure

    rows, sentences = comparison_rows(plan), []
    chosen = [(letter, *panel) for letter, panel in zip("abcd", PANELS, strict=True) if panel[0] in plan.agents]
    if not chosen:
        return [], None
    lines, columns = -(-len(chosen) // 2), min(len(chosen), 2)
    figure = Figure(figsize=(6.5 * columns, 5.4 * lines + 0.6), dpi=110, layout="constrained")
    panels = figure.subplots(lines, columns, squeeze=False).ravel()
    for axes in panels:
        axes.set_axis_off()
    for axes, (letter, environment, both) in zip(panels, chosen, strict=False):
        of_environment = [row for row in rows if plan.environment_of(row) == environment]
        case = choose_case(of_environment, both)
        if case is None:
            sentences.append(f"({letter}) {environment}: CF-ZOO solved no case, so there is nothing to draw.")
            continue
        answers = {row.search: row.full_answer() for row in of_environment if row.case == case}
        question, command = _question(plan, environment, case)
        [answers["nearest-front"]] = ask([question], NearestFront())
        title = _draw(axes, question, command, answers, f"({letter}) {environment}", case.step)
        fallback = "" if answers[WHITE_AS_RUN].found == both else " (no case as required by the rule)"
        distances = "; ".join(f"{name}: {_describe(answers[label])}" for label, name in NAMES.items())
        sentences.append(f"{title}{fallback}. {distances}.")
    _share_legend(figure)
    caption = "The margin of the foil over two objectives of the command; each panel is chosen by a fixed rule"
    return sentences, Picture.of(figure, "landscapes", caption)


def _draw(
    axes: "Axes", question: Question, command: str, by_search: Mapping[str, Answer], panel: str, step: int
) -> str:
    """Draw one panel with its colour bar and return its title."""
    answers = [by_search[label] for label in SHOWN]
    record = answers[0].question
    chosen, foil = record.actions[record.chosen], record.foil_name
    title = f"{panel}: {chosen} → {foil}, command {command}, t = {step}"
    land = landscape(question, shown=answers[:2])
    axes.set_axis_on()
    image = draw_landscape(axes, land, answers, title=title)
    axes.title.set_text(_renamed(axes.get_title()))
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
    """Replace the legends of the panels by one."""
    shown: dict[str, Any] = {}
    for axes in figure.axes:
        handles, labels = axes.get_legend_handles_labels()
        shown |= dict(zip(map(_renamed, labels), handles, strict=True))
        if legend := axes.get_legend():
            legend.remove()
    figure.legend(list(shown.values()), list(shown), loc="outside lower center", ncols=4, frameon=False, fontsize=9)


def _renamed(text: str) -> str:
    """Return a title or a label with the searches as they are named on the page."""
    for label in (AS_RUN, WHITE_AS_RUN):
        text = text.replace(mark_of(label).label, NAMES[label])
    return text


def _changed_objectives(row: Row) -> set[int]:
    """Return the numbers of the objectives that the answer of a row changes; none if it has no command."""
    answer = row.full_answer()
    if answer.change is None:
        return set()
    width = answer.question.high - answer.question.low
    return set(np.flatnonzero(np.abs(answer.change) > IN_SLICE * width).tolist())


def choose_case(rows: list[Row], both: bool, changed: Callable[[Row], set[int]] = _changed_objectives) -> Case | None:
    """Return the case that `RULE` selects, or None if CF-ZOO solved none."""
    solved = {row.case: row.closest_distance for row in rows if row.search == AS_RUN and row.found}
    white = {row.case: row.found for row in rows if row.search == WHITE_AS_RUN}
    candidates = [case for case in solved if white.get(case) == both] or list(solved)
    axes: dict[Case, set[int]] = {case: set() for case in candidates}
    for row in rows:
        if row.case in axes and row.search in (AS_RUN, WHITE_AS_RUN):
            axes[row.case] |= changed(row)
    candidates = [case for case in candidates if len(axes[case]) <= 2] or candidates
    ordered = sorted(candidates, key=lambda case: (solved[case], case))
    return ordered[len(ordered) // 2] if ordered else None


def _question(plan: Plan, environment: str, case: Case) -> tuple[Question, str]:
    """Return the question of a case, in the search region and for the agent of the rows, and its command as text."""
    agent = load_agent(plan.as_run[environment])
    decision = dict(enumerate_cases(agent, PAPER_COMPARISON, plan.seed))[case]
    command = "(" + ", ".join(short(float(value), 4) for value in agent.front[case.front]) + ")"
    return make_case_question(agent, case, decision, box=PAPER_COMPARISON.box), command


def _describe(answer: Answer) -> str:
    return answer.status.value if answer.closest is None else f"distance {answer.closest.distance:.3f}"
