"""The evaluation of user studies on simulated participants, whose truth is known."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom, mannwhitneyu, ttest_ind
from simulated_study import simulate

import paretofoil as pf
from paretofoil.web.user_study.analysis import evaluate, permutation_p
from paretofoil.web.user_study.design import Effect, plan_study, preregistration
from paretofoil.web.user_study.plan import read_user_study
from paretofoil.web.user_study.replies import Replies, read_replies
from paretofoil.web.user_study.report import figure_user_study, finding, means, tasks

STUDY = read_user_study(Path(__file__).parents[2] / "docs" / "user-study.json")
HELPED = {"nothing": 0.35, "counterfactuals": 0.85, "everything": 0.35, "early": 0.35}


def simulated(number: int = 160, accuracy: dict[str, float] = HELPED) -> tuple:  # type: ignore[type-arg]
    return simulate(STUDY, accuracy, 0.15, number, np.random.default_rng(7))


@pytest.mark.long
@pytest.mark.parametrize("difference", [0.2, 0.0])
def test_simulated_studies_find_the_planned_effect_with_its_power_and_nothing_in_five_percent(
    difference: float,
) -> None:
    effect, studies = Effect(difference=0.2), 400
    plan = plan_study(STUDY.model_copy(update={"conditions": STUDY.conditions[:2]}), effect)
    assert plan.level == 0.05
    hits, rng = 0, np.random.default_rng(0)
    for _ in range(studies):
        rates = np.array([effect.base, effect.base + difference])[:, None]
        strength = rates * (1 - rates) / effect.spread**2 - 1
        ability = rng.beta(rates * strength, (1 - rates) * strength, (2, plan.per_condition))
        control, values = rng.binomial(plan.num_tasks, ability) / plan.num_tasks
        hits += permutation_p(values, control, rng, resamples=499) <= 0.05
    expected = plan.power if difference else 0.05
    low, high = binom.interval(0.999, studies, expected)
    assert low <= hits <= high, f"{hits} of {studies}, expected {expected:.3f}"


def test_a_planted_effect_is_found_and_only_where_it_is() -> None:
    evaluation = evaluate(STUDY, *simulated())
    found = {one.condition: one for one in evaluation.comparisons if one.measure == "accuracy"}
    assert found["counterfactuals"].adjusted_p < 0.001
    assert found["counterfactuals"].difference.low < 0.5 < found["counterfactuals"].difference.high
    assert min(found["everything"].adjusted_p, found["early"].adjusted_p) > 0.05
    assert finding(evaluation)[0].startswith(
        "With counterfactuals, people replied correctly more often than with nothing"
    )
    assert finding(evaluation)[1].startswith("No difference in accuracy was found between everything and nothing")


def test_p_values_and_intervals_are_those_of_other_tests_of_the_same_hypothesis() -> None:
    evaluation = evaluate(STUDY, *simulated(accuracy={**HELPED, "counterfactuals": 0.5}))
    [one] = [c for c in evaluation.comparisons if (c.measure, c.condition) == ("accuracy", "counterfactuals")]
    values, control = (evaluation.values("accuracy", name) for name in ("counterfactuals", "nothing"))
    welch = ttest_ind(values, control, equal_var=False)
    interval = welch.confidence_interval()
    np.testing.assert_allclose([one.difference.low, one.difference.high], [interval.low, interval.high])
    assert abs(one.p - welch.pvalue) < 0.02
    assert abs(one.p - mannwhitneyu(values, control).pvalue) < 0.1


def test_excluded_participants_do_not_count_and_the_reason_is_stated() -> None:
    people, replies = simulated(8)
    by_person = {n: [r for r in replies if r.number == n] for n in range(8)}
    by_person[0].pop()
    by_person[1] = [replace(r, correct=False) if r.kind == "check" else r for r in by_person[1]]
    by_person[2] = [replace(r, seconds=1.0) for r in by_person[2]]
    by_person[3] = [replace(r, seconds=30.0, away=29.0) for r in by_person[3]]
    evaluation = evaluate(STUDY, people, [r for rows in by_person.values() for r in rows])
    assert [(score.participant.number, reason) for score, reason in evaluation.excluded] == [
        (0, "did not finish"),
        (1, "failed an attention check"),
        (2, "took less than 2 s per task"),
        (3, "took less than 2 s per task"),
    ]
    assert len(evaluation.included) == 4
    assert sum(total for _, total in evaluation.by_task.values()) == 4 * 4
    assert "1 did not finish, 1 failed an attention check, 2 took less than 2 s per task" in finding(evaluation)[-1]


def test_a_file_of_replies_is_reported_with_all_conditions_measures_and_tasks(tmp_path: Path) -> None:
    path = tmp_path / "replies.sqlite"
    people, replies = simulated(16)
    file = Replies(path, STUDY)
    for person in people:
        file.join(person.id, lambda number: STUDY.condition_of(number).name)
    for reply in replies:
        file.add(reply)
    file.close()
    evaluation = evaluate(*read_replies(path))
    rows = means(evaluation)
    assert {(row[0], row[1]) for row in rows} == {
        (measure, c.name)
        for measure in ("accuracy", "seconds", "sure", "understood", "trust", "effort")
        for c in STUDY.conditions
    }
    assert [row[2] for row in rows] == ["4"] * len(rows)
    assert {row[0] for row in tasks(evaluation)} == {"predict-turn", "predict-last", "choose-agent", "steer-down"}
    figure_user_study(evaluation, tmp_path / "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 10_000


def test_a_study_without_replies_says_that_there_is_nothing_to_compare() -> None:
    assert finding(evaluate(STUDY, [], []))[0].startswith("No two conditions have two participants each")


def test_more_participants_are_needed_for_smaller_effects_fewer_tasks_and_more_power() -> None:
    size = plan_study(STUDY, Effect(difference=0.2)).per_condition
    assert plan_study(STUDY, Effect(difference=0.1)).per_condition > 3 * size
    assert plan_study(STUDY, Effect(difference=0.2), power=0.95).per_condition > size
    assert plan_study(STUDY, Effect(difference=-0.2)).per_condition == pytest.approx(size, abs=1)
    assert plan_study(STUDY, Effect(difference=0.2, spread=0.3)).per_condition > size
    fewer = STUDY.model_copy(update={"tasks": STUDY.tasks[:2]})
    assert plan_study(fewer, Effect(difference=0.2)).per_condition > size


@pytest.mark.parametrize(
    ("effect", "words"),
    [
        ({"difference": 0.6}, "an accuracy between 0 and 1 as base plus difference"),
        ({"spread": 0.6}, "a spread from 0 to below 0.50"),
        ({"difference": 0.0}, "a difference other than 0"),
    ],
)
def test_an_effect_that_cannot_be_is_refused(effect: dict[str, float], words: str) -> None:
    with pytest.raises(pf.InvalidInput, match=words):
        Effect(**effect)


def test_an_effect_that_is_too_small_for_a_study_is_refused() -> None:
    with pytest.raises(
        pf.InvalidInput, match="expected an effect that can be found with 2,500 participants per condition"
    ):
        plan_study(STUDY, Effect(difference=0.01))


def test_the_preregistration_states_what_the_file_and_the_report_do() -> None:
    plan = plan_study(STUDY, Effect())
    text = preregistration(STUDY, plan)
    for words in (
        f"{plan.participants:,} participants",
        f"seed {STUDY.seed}",
        "`attention`",
        "less than 2 s",
        "permutation test",
    ):
        assert words in text
    assert all(f"`{item.name}`" in text for item in (*STUDY.conditions, *STUDY.tasks, *STUDY.ratings))
