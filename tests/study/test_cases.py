"""Cases, studies and their progress."""

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from studies import FAST, small_agent, small_study
from weighing import agent as weighing

from paretofoil.core.command import CommandSpace
from paretofoil.core.decision import Decision
from paretofoil.core.errors import InvalidInput
from paretofoil.explanation.ask import ask
from paretofoil.explanation.questions import make_questions
from paretofoil.search import Boundary, Exact, NearestFront
from paretofoil.study import (
    COMPARISON,
    CaseRule,
    StudyProgress,
    enumerate_cases,
    make_study,
    read_about,
    read_rows,
    read_runs,
    run_study,
)
from paretofoil.study.case import evenly
from paretofoil.study.runner import _TIMINGS
from paretofoil.study.study import fingerprint


def test_every_front_command_step_and_valid_foil_is_a_case_once() -> None:
    agent = small_agent()
    cases = list(enumerate_cases(agent))
    assert len({case for case, _ in cases}) == len(cases)
    assert {case.front for case, _ in cases} == {0, 1, 2}
    for case, decision in cases:
        assert case.foil in decision.valid_actions
        assert case.foil != decision.action
        assert case.step == decision.step


def test_the_subset_is_a_subset() -> None:
    agent = small_agent()
    everything = [case for case, _ in enumerate_cases(agent)]
    rule = CaseRule(commands=2, steps=4, foils=1)
    some = [case for case, _ in enumerate_cases(agent, rule)]
    assert 0 < len(some) < len(everything)
    assert set(some) <= set(everything)
    assert {case.front for case in some} == {0, 2}  # evenly spread: the first and the last
    assert max(case.step for case in some) == 3


@pytest.mark.parametrize(("size", "picked"), [(0, 0), (1, 1), (11, 11), (12, 12), (128, 12)])
def test_at_most_twelve_commands_are_compared(size: int, picked: int) -> None:
    numbers = evenly(size, COMPARISON.commands or size)
    assert len(numbers) == len(set(numbers)) == picked
    if size:
        assert (numbers[0], numbers[-1]) == (0, size - 1)


def test_the_commands_that_are_compared_are_evenly_spread_over_the_front() -> None:
    assert evenly(22, 12) == [0, 2, 4, 6, 8, 10, 11, 13, 15, 17, 19, 21]  # round(linspace(0, 21, 12))
    assert (COMPARISON.commands, COMPARISON.steps, COMPARISON.foils) == (12, 10, 2)


@pytest.mark.parametrize(
    ("scores", "valid", "picked"),
    [
        ([0.0, -3.0, -2.0, -1.0], (0, 1, 2, 3), [2, 3]),  # not the first two
        ([0.0, -1.0, -2.0, -1.0], (0, 1, 2, 3), [1, 3]),
        ([0.0, -3.0, -2.0, 5.0], (0, 1, 2), [1, 2]),  # an invalid action is no foil, however probable
        ([0.0, -1.0, -1.0, -1.0], (0, 1, 2, 3), [1, 2]),  # of equals the first
        ([0.0, -np.inf, -2.0, -1.0], (0, 1, 2, 3), [2, 3]),
        ([0.0, -1.0, -2.0, -3.0], (0, 3), [3]),
    ],
)
def test_the_most_probable_valid_foils_are_compared(scores: list[float], valid: tuple, picked: list[int]) -> None:
    class Fixed:
        def log_probs(self, states: np.ndarray, commands: np.ndarray) -> np.ndarray:
            return np.repeat([scores], len(commands), axis=0)

    decision = Decision(np.zeros(2, np.float32), np.zeros(2), valid, 0, np.zeros(2))
    assert COMPARISON.pick_foils(Fixed(), decision, decision.others) == picked


def test_a_rule_without_any_case_is_an_error() -> None:
    with pytest.raises(InvalidInput, match="steps of at least 1"):
        CaseRule(steps=0)


def test_a_rule_with_an_unknown_box_is_an_error() -> None:
    with pytest.raises(InvalidInput, match="expected box among reachable, paper, got 'papers'"):
        CaseRule(box="papers")  # type: ignore[arg-type]


def test_a_study_in_the_papers_box_measures_distances_in_it(tmp_path: Path) -> None:
    agent = replace(small_agent(), space=CommandSpace([0, 0], [2, 6], small_agent().space.objectives))
    paths = {box: tmp_path / f"{box}.sqlite" for box in ("reachable", "paper")}
    for box, path in paths.items():
        run_study(make_study([agent], {"front": NearestFront()}, CaseRule(steps=3, box=box)), path, workers=1)
        assert read_about(path)["configuration"]["rule"]["box"] == box
    for row in read_rows(paths["paper"]):
        answer = row.full_answer()
        assert (answer.question.low.tolist(), answer.question.high.tolist()) == ([0.0, 0.0], [3.0, 3.0])
        if answer.closest is not None:
            distance = math.dist(answer.closest.command / 3, answer.question.command / 3)
            assert answer.closest.distance == pytest.approx(distance)
    assert {tuple(row.full_answer().question.high) for row in read_rows(paths["reachable"])} != {(3.0, 3.0)}


def test_a_study_with_another_box_is_another_study(tmp_path: Path) -> None:
    path, searches = tmp_path / "s.sqlite", {"front": NearestFront()}
    run_study(make_study([small_agent()], searches, CaseRule(steps=1)), path, workers=1)
    with pytest.raises(InvalidInput, match=r"rule: box = 'reachable'\), got rule: box = 'paper'"):
        run_study(make_study([small_agent()], searches, CaseRule(steps=1, box="paper")), path, workers=1)


def test_only_the_given_cases_are_asked(tmp_path: Path) -> None:
    wanted = [case for case, _ in enumerate_cases(small_agent())][5:8]
    run_study(make_study([small_agent()], {"front": NearestFront()}, only=wanted), tmp_path / "s.sqlite", workers=1)
    assert [row.case for row in read_rows(tmp_path / "s.sqlite")] == wanted


def test_auto_is_boundary_if_one_agent_is_a_black_box() -> None:
    closed = replace(weighing, name="closed", policy=weighing.policy.log_probs)  # type: ignore[arg-type]
    assert isinstance(make_study([weighing], ["auto"]).searches["auto"], Exact)
    for agents in ([weighing, closed], [closed, weighing]):
        assert isinstance(make_study(agents, ["auto"]).searches["auto"], Boundary)


def test_a_fingerprint_differs_between_agents_and_is_stable() -> None:
    agent = small_agent()
    before = fingerprint(agent)
    case, decision = next(iter(enumerate_cases(agent)))
    ask(make_questions(agent, decision, [case.foil]), NearestFront())
    assert fingerprint(agent) == before == fingerprint(small_agent())
    assert fingerprint(small_agent(seed=1)) != before


def test_the_default_kappa_is_stored_as_a_number() -> None:
    for given in (None, 0.05):  # files of both are the same study, as those that were written before are
        assert make_study([small_agent()], ["auto"], kappa=given).configuration()["kappa"] == 0.05
    assert make_study([small_agent(), weighing], ["auto"]).configuration()["kappa"] is None


def test_the_default_kappa_of_values_is_computed_once_per_decision(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    posed: list[int] = []

    def usual(policy: object, decision: Decision) -> float:
        posed.append(decision.step)
        return 0.1 * (1 + decision.step)

    monkeypatch.setattr("paretofoil.explanation.questions.default_kappa", usual)
    study = make_study([weighing], ["auto"], CaseRule(steps=3))
    asked = list(study.questions(weighing))
    assert posed == [time for _, time in dict.fromkeys((case.front, case.step) for case, _ in asked)]
    assert len(asked) > len(posed)
    assert all(question.kappa == 0.1 * (1 + case.step) for case, question in asked)
    assert all(question.foil == case.foil for case, question in asked)


def test_a_configuration_lists_its_cases_in_their_order() -> None:
    cases = [case for case, _ in enumerate_cases(small_agent())]
    listed = make_study([small_agent()], FAST, only=reversed(cases)).configuration()["only"]
    assert len(listed) > 10
    assert listed == sorted(listed)


def test_cases_are_spread_evenly_with_both_ends() -> None:
    assert evenly(10, 4) == [0, 3, 6, 9]
    assert evenly(3, 5) == [0, 1, 2]
    assert evenly(5, 1) == [0]
    assert evenly(0, 3) == []


def test_progress_has_rate_found_share_and_time_left() -> None:
    progress = StudyProgress(done=30, total=40, found=5, asked=20, seconds=10.0)
    assert progress.rate == 2.0
    assert progress.left == 5.0
    assert str(progress) == "2.0/s, 25% found, 0:05 left"
    assert StudyProgress(30, 40, 0, 0, 10.0).left == np.inf


@pytest.mark.parametrize(("left", "told"), [(5, "0:05"), (90, "1:30"), (3600, "60:00")])
def test_the_time_left_is_in_minutes_and_seconds(left: int, told: str) -> None:
    assert str(StudyProgress(done=10, total=10 + left, found=5, asked=10, seconds=10.0)).endswith(f", {told} left")


def test_progress_counts_found_counterfactuals(tmp_path: Path) -> None:
    path = tmp_path / "study.sqlite"
    seen: list[StudyProgress] = []
    study = small_study(tmp_path, {"front": NearestFront()}, CaseRule(commands=2, steps=4))
    done = run_study(study, path, workers=1, chunk=4, show=seen.append)
    rows = read_rows(path)
    found = sum(row.found for row in rows)
    assert 0 < found < len(rows)
    assert (done.found, done.asked, done.done, done.total) == (found, len(rows), len(rows), len(rows))
    assert [line.done for line in seen] == [min(4 * i, len(rows)) for i in range(len(seen))]
    [run] = read_runs(path)
    assert (run.asked, run.total) == (len(rows), len(rows))


def test_timings_are_zero_at_every_depth() -> None:
    timed = {"seconds": 3.0, "other": [{"seconds": 2.0, "n": 1}], "inside": {"seconds": 1e-05}}
    untimed = {"seconds": 0.0, "other": [{"seconds": 0.0, "n": 1}], "inside": {"seconds": 0.0}}
    assert json.loads(_TIMINGS.sub(r"\g<1>0.0", json.dumps(timed))) == untimed
