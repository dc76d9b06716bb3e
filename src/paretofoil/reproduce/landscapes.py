"""Four landscapes (paper, Figure "Command-space decision landscapes"), chosen by a rule that anyone can check."""

from paretofoil.core.answer import Answer
from paretofoil.core.question import Question
from paretofoil.explanation.ask import ask
from paretofoil.reproduce.comparison import comparison_rows
from paretofoil.reproduce.plan import Plan
from paretofoil.reproduce.report import Picture, Report
from paretofoil.search import NearestFront
from paretofoil.show.landscape import landscape, two_objectives
from paretofoil.show.landscape_figure import draw_landscape, margin_label
from paretofoil.show.quantity import short
from paretofoil.study import COMPARISON as SUBSET
from paretofoil.study import Case, Row
from paretofoil.study.case import enumerate_cases, pose_case

PANELS = (("branch-path", False), ("minecart", True), ("reward-line", False), ("deep-sea-treasure", False))
"""The environment of each panel, and whether White-CW is to have succeeded there (in the paper only in panel b)."""
RULE = (
    "Rule: each panel has an environment of its own. Among the comparison's cases there that CF-ZOO solved and "
    "White-CW did not (panel b: both solved), the one whose CF-ZOO distance is the median; where there is none, the "
    "median of all that CF-ZOO solved. The axes are the two objectives that the answers change most; the others "
    "stay as in the original, and an answer that changes them too is hollow: it does not lie in the slice. The line is "
    "where the foil wins by kappa; dots fill the side on which it does. The bold arrow is the change that CF-ZOO "
    "found. The thin blue ones show where the margin grows, the longer one at the original command: where that one "
    "points away from every valid command, following it cannot help."
)
SHOWN = ("cf-zoo", "white-cw")
"""The searches whose answers are marked, the one whose change is drawn first; the nearest front point is added."""


def reproduce_landscapes(plan: Plan) -> Report:
    """Four panels: margin colours, the contour of validity, each search's answer, the local gradient."""
    from matplotlib.figure import Figure

    rows = comparison_rows(plan)
    report = Report("Landscapes of decisions").say(RULE)
    chosen = [(letter, *panel) for letter, panel in zip("abcd", PANELS, strict=True) if panel[0] in plan.agents]
    if not chosen:
        return report.say("None of the panels' environments was asked for.")
    lines, columns = -(-len(chosen) // 2), min(len(chosen), 2)
    figure = Figure(figsize=(6.5 * columns, 6 * lines), dpi=110, layout="constrained")
    panels = figure.subplots(lines, columns, squeeze=False).ravel()
    for axes in panels[len(chosen) :]:
        axes.set_axis_off()
    for axes, (letter, environment, both) in zip(panels, chosen, strict=False):
        case = choose_case([row for row in rows if plan.environment_of(row) == environment], both)
        if case is None:
            axes.set_axis_off()
            report.say(f"({letter}) {environment}: CF-ZOO solved no case, so that there is nothing to show.")
            continue
        question, command = _question(plan, environment, case)
        given = {row.search: row.full_answer() for row in rows if row.case == case}
        answers = [given[label] for label in SHOWN]
        title = _title(letter, environment, case, answers[0], command)
        land = landscape(question, *two_objectives(question, answers), shown=answers)
        front = ask([question], NearestFront())
        image = draw_landscape(axes, land, [*answers, *front], title=title, gradient=True)
        label = margin_label(answers[0].actions[answers[0].foil])
        figure.colorbar(image, ax=axes, fraction=0.046, label=label, extend="both")
        fallback = "" if given["white-cw"].found == both else " (no case of the wanted kind)"
        report.say(f"{title}{fallback}. " + "; ".join(_told(given[label]) for label in (*SHOWN, "exact")) + ".")
    return report.add(Picture.of(figure, "landscapes", "The margin of the foil over two objectives of the command"))


def choose_case(rows: list[Row], both: bool) -> Case | None:
    """By `RULE`."""
    solved = {row.case: row.distance for row in rows if row.search == "cf-zoo" and row.found}
    white = {row.case: row.found for row in rows if row.search == "white-cw"}
    wanted = [case for case in solved if white.get(case) == both] or list(solved)
    ordered = sorted(wanted, key=lambda case: (solved[case], case))
    return ordered[len(ordered) // 2] if ordered else None


def _question(plan: Plan, environment: str, case: Case) -> tuple[Question, str]:
    agent = plan.load(environment)
    decision = dict(enumerate_cases(agent, SUBSET, plan.seed))[case]
    issued = "(" + ", ".join(short(float(value)) for value in agent.front[case.front]) + ")"
    return pose_case(agent, case, decision), issued


def _title(letter: str, environment: str, case: Case, found: Answer, command: str) -> str:
    chosen, foil = found.actions[found.chosen], found.actions[found.foil]
    return f"({letter}) {environment}: {chosen} → {foil}, command {command}, t = {case.time}"


def _told(found: Answer) -> str:
    size = found.closest_distance
    return f"{found.search}: " + (found.outcome.value if size is None else f"distance {size:.3f}")
