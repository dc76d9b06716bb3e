"""Budgets: queries are cut off in their order, and the findings say so."""

import numpy as np
import pytest
from recorded import recorded_question

from paretofoil.core.options import Limits, Stop
from paretofoil.core.question import QuestionBatch
from paretofoil.search.budget import Budget


def test_a_refused_query_is_remembered_after_a_reserve_is_released() -> None:
    budget = Budget(QuestionBatch([recorded_question()]), Limits(queries=4))
    reserved = budget.reserve(0.5)
    budget.ask(np.zeros(3, dtype=int), np.zeros((3, 2)), "test")
    budget.left += reserved
    assert budget.left.tolist() == [2]
    assert budget.findings()[0].stop is Stop.OUT_OF_QUERIES


@pytest.mark.parametrize(("count", "stop"), [(2, Stop.COMPLETE), (3, Stop.OUT_OF_QUERIES)])
def test_a_search_without_queries_left_is_out_of_queries(count: int, stop: Stop) -> None:
    budget = Budget(QuestionBatch([recorded_question()]), Limits(queries=3))
    budget.ask(np.zeros(count, dtype=int), np.zeros((count, 2)), "test")
    assert budget.findings()[0].stop is stop


def test_the_first_queries_of_each_question_are_made_and_the_closest_valid_change_is_kept() -> None:
    question = recorded_question()  # valid from a change of 0.55 on
    budget = Budget(QuestionBatch([question, question]), Limits(queries=2))
    z = np.array([[0.8, 0.0], [0.6, 0.0], [0.7, 0.0], [0.54, 0.0], [0.56, 0.0], [0.57, 0.0]])
    margins = budget.ask(np.array([0, 1, 0, 1, 0, 1]), z, "test")
    assert margins.tolist() == pytest.approx([0.3, 0.1, 0.2, 0.04, -np.inf, -np.inf])
    assert budget.distance.tolist() == pytest.approx([0.7, 0.6])
    assert [finding.scaled_change.tolist() for finding in budget.findings()] == [[0.7, 0.0], [0.6, 0.0]]  # type: ignore[union-attr]
