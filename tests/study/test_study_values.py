"""Cases, statistics and tables."""

import csv
import io
import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from studies import small_agent, small_study
from weighing import agent as weighing

from paretofoil.core.answer import Answer
from paretofoil.core.command import CommandSpace
from paretofoil.core.decision import Decision
from paretofoil.core.errors import InvalidInput
from paretofoil.explanation.ask import ask
from paretofoil.explanation.pose import pose
from paretofoil.search import Boundary, Exact, NearestFront
from paretofoil.study import COMPARISON, CaseRule, enumerate_cases, make_study, read_about, read_rows, run_study
from paretofoil.study.statistics import Proportion, summarise
from paretofoil.study.study import fingerprint
from paretofoil.study.table import Table, rows_table


def test_every_front_command_moment_and_valid_foil_is_a_case_once() -> None:
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
    numbers = COMPARISON.pick_commands(size)
    assert len(numbers) == len(set(numbers)) == picked
    if size:
        assert (numbers[0], numbers[-1]) == (0, size - 1)


def test_the_commands_that_are_compared_are_evenly_spread_over_the_front() -> None:
    assert COMPARISON.pick_commands(22) == [0, 2, 4, 6, 8, 10, 11, 13, 15, 17, 19, 21]  # round(linspace(0, 21, 12))
    assert (COMPARISON.steps, COMPARISON.foils) == (10, 2)


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
    assert COMPARISON.pick_foils(Fixed(), decision) == picked


def test_a_rule_that_takes_nothing_is_refused() -> None:
    with pytest.raises(InvalidInput, match="steps of at least 1"):
        CaseRule(steps=0)


def test_a_rule_with_an_unknown_box_is_refused() -> None:
    with pytest.raises(InvalidInput, match="expected a box among reachable, paper, got 'papers'"):
        CaseRule(box="papers")  # type: ignore[arg-type]


def test_a_study_in_the_papers_box_is_measured_in_it_and_says_so(tmp_path: Path) -> None:
    agent = replace(small_agent(), space=CommandSpace([0, 0], [2, 6], small_agent().space.objectives))
    paths = {box: tmp_path / f"{box}.sqlite" for box in ("reachable", "paper")}
    for box, path in paths.items():
        run_study(make_study([agent], {"front": NearestFront()}, CaseRule(steps=3, box=box)), path, workers=1)
        assert read_about(path)["configuration"]["rule"]["box"] == box
    for row in read_rows(paths["paper"]):
        answer = Answer.from_json(row.answer)
        assert (answer.low.tolist(), answer.high.tolist()) == ([0.0, 0.0], [3.0, 3.0])
        if answer.closest is not None:
            assert answer.closest_distance == pytest.approx(math.dist(answer.closest.command / 3, answer.original / 3))
    assert {tuple(Answer.from_json(row.answer).high) for row in read_rows(paths["reachable"])} != {(3.0, 3.0)}


def test_a_study_with_another_box_is_another_study(tmp_path: Path) -> None:
    path, searches = tmp_path / "s.sqlite", {"front": NearestFront()}
    run_study(make_study([small_agent()], searches, CaseRule(steps=1)), path, workers=1)
    with pytest.raises(InvalidInput, match=r"rule: box = reachable\), got rule: box = paper"):
        run_study(make_study([small_agent()], searches, CaseRule(steps=1, box="paper")), path, workers=1)


def test_only_the_cases_that_are_named_are_asked(tmp_path: Path) -> None:
    wanted = [case for case, _ in enumerate_cases(small_agent())][5:8]
    run_study(make_study([small_agent()], {"front": NearestFront()}, only=wanted), tmp_path / "s.sqlite", workers=1)
    assert [row.case for row in read_rows(tmp_path / "s.sqlite")] == wanted


def test_auto_samples_all_agents_if_one_of_them_cannot_be_looked_into() -> None:
    closed = replace(weighing, name="closed", policy=weighing.policy.log_probs)  # type: ignore[arg-type]
    assert isinstance(make_study([weighing], ["auto"]).searches["auto"], Exact)
    for agents in ([weighing, closed], [closed, weighing]):
        assert isinstance(make_study(agents, ["auto"]).searches["auto"], Boundary)


def test_a_hash_tells_agents_apart_and_does_not_change_with_use() -> None:
    agent = small_agent()
    before = fingerprint(agent)
    case, decision = next(iter(enumerate_cases(agent)))
    ask([pose(agent.policy, decision, case.foil, agent.space, agent.front)], NearestFront())
    assert fingerprint(agent) == before == fingerprint(small_agent())
    assert fingerprint(small_agent(seed=1)) != before


@pytest.mark.parametrize(
    ("successes", "cases", "text"),
    [
        (7, 35, "20.0 [10.0,35.9]"),
        (136, 136, "100.0 [97.3,100.0]"),
        (0, 10, "0.0 [0.0,27.8]"),
        (2422, 3195, "75.8 [74.3,77.3]"),
    ],
)
def test_intervals_are_those_of_the_paper(successes: int, cases: int, text: str) -> None:
    assert str(Proportion(successes, cases)) == text


def test_no_cases_give_no_rate() -> None:
    assert str(Proportion(0, 0)) == "–"
    assert summarise([]).closest_distance is None
    with pytest.raises(InvalidInput):
        Proportion(3, 2)


TABLE = Table("A & B", ("name", "n", "rate"), (("x_1", 1234, Proportion(1, 2)), ("y", None, None)), "50 % of it.", (1,))


def test_a_table_as_html_says_a_group_once_and_escapes() -> None:
    table = Table("A & B", ("who", "n"), (("x", 1), ("x", 2), ("<y>", 3)), rules=(2,))
    html = table.to("html")
    assert html.count("<td>x</td>") == 1
    assert '<tr class="begins"><td>&lt;y&gt;</td><td class="number">3</td></tr>' in html
    assert "A &amp; B" in html


def test_a_table_as_markdown() -> None:
    assert "| x_1 | 1,234 | 50.0 [9.5,90.5] |" in TABLE.to("markdown")
    assert "| y | – | – |" in TABLE.to("markdown")
    assert "| --- | ---: | ---: |" in TABLE.to("markdown")


def test_a_table_as_latex_has_booktabs_and_escapes() -> None:
    latex = TABLE.to("latex")
    for part in (r"\toprule", r"\midrule", r"\bottomrule", r"x\_1 & 1,234", r"A \& B. 50 \% of it."):
        assert part in latex
    assert latex.count(r"\midrule") == 2


def test_a_table_as_csv_and_json_keeps_numbers() -> None:
    lines = list(csv.DictReader(io.StringIO(TABLE.to("csv"))))
    assert lines[0]["n"] == "1234"
    assert float(lines[0]["rate rate"]) == 0.5
    assert lines[1]["rate rate"] == ""
    rows = json.loads(TABLE.to("json"))["rows"]
    assert rows[0]["rate"]["successes"] == 1
    assert rows[1]["rate"] is None


def test_a_table_with_a_ragged_row_or_an_unknown_format_is_refused() -> None:
    with pytest.raises(InvalidInput, match="rows of 2 cells"):
        Table("", ("a", "b"), ((1,),))
    with pytest.raises(InvalidInput, match="a format among"):
        TABLE.to("word")


def test_rows_are_exported_whole(tmp_path: Path) -> None:
    run_study(small_study(tmp_path, {"front": NearestFront()}), tmp_path / "s.sqlite", workers=1)
    rows = read_rows(tmp_path / "s.sqlite")
    lines = list(csv.DictReader(io.StringIO(rows_table("s", rows).to("csv"))))
    assert len(lines) == len(rows)
    assert [line["status"] for line in lines] == [row.status.value for row in rows]
    assert json.loads(lines[0]["answer"])["schema"].startswith("paretofoil/answer")


def test_a_kappa_that_is_left_out_is_stored_as_the_number_that_it_is() -> None:
    for given in (None, 0.05):  # files of both are the same study, as those that were written before are
        assert make_study([small_agent()], ["auto"], kappa=given).configuration()["kappa"] == 0.05
    assert make_study([small_agent(), weighing], ["auto"]).configuration()["kappa"] is None


def test_a_study_asks_an_agent_of_values_for_its_usual_kappa_once_for_each_decision(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    posed: list[int] = []

    def usual(policy: object, decision: Decision) -> float:
        posed.append(decision.step)
        return 0.1 * (1 + decision.step)

    monkeypatch.setattr("paretofoil.explanation.pose.usual_kappa", usual)
    study = make_study([weighing], ["auto"], CaseRule(steps=3))
    asked = list(study.questions(weighing))
    assert posed == [time for _, time in dict.fromkeys((case.front, case.step) for case, _ in asked)]
    assert len(asked) > len(posed)
    assert all(question.kappa == 0.1 * (1 + case.step) for case, question in asked)
    assert all(question.foil == case.foil for case, question in asked)
