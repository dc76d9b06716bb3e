"""Four landscapes (paper, Figure "Command-space decision landscapes"), chosen by a rule that anyone can check."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from paretofoil.agents import load_agent
from paretofoil.core.answer import Answer
from paretofoil.core.question import Question
from paretofoil.show.landscape import draw_landscape, landscape, margin_label, two_objectives
from paretofoil.show.numbers import short
from paretofoil.study import Case, Row
from paretofoil.study.case import enumerate_cases, make_case_question
from paretofoil_paper.comparison import comparison_rows
from paretofoil_paper.plan import Plan
from paretofoil_paper.protocols import AS_RUN, PAPER_COMPARISON, PAPER_PROTOCOL, WHITE_AS_RUN
from paretofoil_paper.report import Picture, Report

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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
    image = draw_landscape(axes, land, answers, title=title, gradient=True)
    axes.figure.colorbar(image, ax=axes, fraction=0.046, label=margin_label(foil), extend="both")
    return title


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
