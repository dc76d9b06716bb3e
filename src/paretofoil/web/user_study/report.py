"""The report of a user study: sentences, tables and a figure."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from paretofoil.show.palette import BLUE, GREY, INK, check_figure, new_figure, save_figure
from paretofoil.web.user_study.analysis import ConditionComparison, UserStudyEvaluation, measures

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Rows = list[list[str]]
ACROSS = 3
"""Largest number of panels side by side."""


def finding(evaluation: UserStudyEvaluation) -> list[str]:
    """Return one sentence for each comparison of accuracy, and one about the participants and exclusions."""
    study = evaluation.study
    accuracy = [one for one in evaluation.comparisons if one.measure == "accuracy"]
    reasons = Counter(reason for _, reason in evaluation.excluded)
    excluded = f" ({', '.join(f'{count} {reason}' for reason, count in reasons.items())})" if reasons else ""
    people = f"{len(evaluation.included)} participants; {len(evaluation.excluded)} excluded{excluded}."
    if not accuracy:
        return ["No two conditions have two participants each: there is nothing to compare yet.", people]
    return [*(_sentence(one, study.baseline.name, study.analysis.alpha) for one in accuracy), people]


def _sentence(one: ConditionComparison, baseline: str, alpha: float) -> str:
    difference = one.difference
    interval = f"{100 * difference.low:+.0f} to {100 * difference.high:+.0f}"
    numbers = f"{100 * difference.mean:+.0f} percentage points, 95 % interval {interval}, {p_text(one.adjusted_p)}"
    if one.adjusted_p > alpha:
        return f"No difference in accuracy was found between {one.condition} and {baseline} ({numbers})."
    more = "more" if difference.mean > 0 else "less"
    return f"With {one.condition}, people replied correctly {more} often than with {baseline} ({numbers})."


def p_text(p: float) -> str:
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def means(evaluation: UserStudyEvaluation) -> Rows:
    """Return a row for each measure and condition: participants, mean with interval, difference, and p-value."""
    comparisons = {(one.measure, one.condition): one for one in evaluation.comparisons}
    rows = []
    for measure in measures(evaluation.study):
        for condition in evaluation.study.conditions:
            key = measure, condition.name
            estimate, one = evaluation.estimates.get(key), comparisons.get(key)
            row = [*key, str(len(evaluation.values(*key))), str(estimate or "")]
            rows.append([*row, str(one.difference), p_text(one.adjusted_p)] if one else [*row, "", ""])
    return rows


def tasks(evaluation: UserStudyEvaluation) -> Rows:
    """Return a row for each task: the number of correct replies in each condition."""
    names = dict.fromkeys(task for task, _ in evaluation.by_task)
    counts = evaluation.by_task
    return [
        [name, *("{} of {}".format(*counts.get((name, c.name), (0, 0))) for c in evaluation.study.conditions)]
        for name in names
    ]


def figure_user_study(evaluation: UserStudyEvaluation, path: str | Path | None = None) -> "Figure":
    """Draw a panel for each measure: every participant as a dot, and the mean of each condition with its interval."""
    check_figure(path)
    names, conditions = measures(evaluation.study), [c.name for c in evaluation.study.conditions]
    across, down = min(len(names), ACROSS), -(-len(names) // ACROSS)
    figure = new_figure(1.2 + 2.8 * across, 0.6 + (0.6 + 0.45 * len(conditions)) * down)
    panels = figure.subplots(down, across, squeeze=False, sharey=True).ravel()
    rng = np.random.default_rng(0)
    for panel in panels[len(names) :]:
        panel.set_visible(False)
    for panel, measure in zip(panels, names, strict=False):
        for row, condition in enumerate(conditions):
            values = evaluation.values(measure, condition)
            panel.plot(values, row + rng.uniform(-0.22, 0.22, values.size), "o", color=GREY, alpha=0.35, markersize=3)
            estimate = evaluation.estimates.get((measure, condition))
            if estimate is not None:
                ends = [[estimate.mean - estimate.low], [estimate.high - estimate.mean]]
                panel.errorbar(estimate.mean, row, xerr=ends, fmt="o", color=BLUE, capsize=4, linewidth=2)
        if measure == "accuracy":
            panel.set_xlim(-0.03, 1.03)
        panel.set_title(measure, fontsize=10, color=INK)
        panel.set_yticks(range(len(conditions)), conditions)
        panel.spines[["top", "right"]].set_visible(False)
    panels[0].invert_yaxis()
    figure.suptitle(f"{evaluation.study.title}: means with 95 % intervals, and every participant", fontsize=11)
    return save_figure(figure, path)
