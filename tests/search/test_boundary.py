"""Boundary: nearly optimal, within its budget, and never worse with more."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from policies import random_pcn, random_question
from recorded import queries_of, recorded_question

from paretofoil.core.command import CommandSpace
from paretofoil.core.errors import InvalidInput
from paretofoil.core.options import Limits, Stop
from paretofoil.core.question import Question, QuestionBatch
from paretofoil.search import boundary
from paretofoil.search.boundary import GROUP, Boundary
from paretofoil.search.exact import Exact


def questions(objectives: int, count: int = 16, **shape: int) -> list[Question]:
    policy = random_pcn(objectives, objectives=objectives, **shape)
    return [random_question(policy, seed) for seed in range(count)]


def distances(asked: list[Question], search: Boundary | Exact) -> np.ndarray:
    batch = QuestionBatch(asked)
    return np.array(
        [np.inf if f.scaled_change is None else batch.distances(f.scaled_change) for f in search.run(batch)]
    )


@pytest.mark.parametrize("objectives", [1, 2, 3, 4, 6])
def test_answers_are_within_one_percent_of_the_proven_distance_on_average(objectives: int) -> None:
    asked = questions(objectives, {2: 16, 3: 12, 4: 8, 6: 3}.get(objectives, 16))
    proven, found = distances(asked, Exact()), distances(asked, Boundary())
    feasible = np.isfinite(proven)
    assert feasible.any()
    assert np.isfinite(found[feasible]).all()
    assert np.isinf(found[~feasible]).all()
    assert (found[feasible] / proven[feasible]).mean() <= 1.01


def test_a_larger_budget_never_gives_a_worse_answer() -> None:
    asked = questions(3)
    series = [distances(asked, Boundary(max_queries=n)) for n in (1, 50, 200, 333, 700, 1000, 2500, 4000)]
    for smaller, larger in itertools.pairwise(series):
        assert (larger <= smaller).all()


def test_a_larger_budget_asks_the_same_first(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = questions(2, 3)
    log: list[np.ndarray] = []
    original = QuestionBatch.margins

    def recorded(self: QuestionBatch, rows: np.ndarray, z: np.ndarray, phase: str) -> np.ndarray:
        log.append(np.column_stack([rows, z]))
        return original(self, rows, z, phase)

    monkeypatch.setattr(QuestionBatch, "margins", recorded)
    streams = []
    for budget in (700, 1500):
        log.clear()
        Boundary(max_queries=budget).run(QuestionBatch(asked))
        everything = np.concatenate(log)
        streams.append([everything[everything[:, 0] == row][:, 1:] for row in range(3)])
    for small, large in zip(*streams, strict=True):
        assert len(small) == 700
        assert np.array_equal(small, large[:700])


@pytest.mark.parametrize("max_queries", [1, 7, 100, 1234])
def test_no_question_is_asked_more_than_its_budget(max_queries: int) -> None:
    batch = QuestionBatch(questions(4))
    Boundary(max_queries=max_queries).run(batch)
    assert max(sum(batch.queries(row).values()) for row in range(batch.num_questions)) <= max_queries


def test_a_search_whose_walks_agree_stops_early_and_finds_almost_the_distance_of_all_queries(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = questions(3)
    few, every = QuestionBatch(asked), QuestionBatch(asked)
    stopped = Boundary().run(few)
    monkeypatch.setattr(boundary, "_AT_LEAST", 10**9)  # no question is ever done
    spent = Boundary().run(every)
    for row, (one, other) in enumerate(zip(stopped, spent, strict=True)):
        assert sum(every.queries(row).values()) == 9001
        if one.scaled_change is None:
            assert (one.stop, other.scaled_change) == (Stop.OUT_OF_QUERIES, None)
            continue
        assert other.scaled_change is not None
        assert (one.stop, other.stop) == (Stop.COMPLETE, Stop.OUT_OF_QUERIES)
        assert sum(few.queries(row).values()) < 9001
        assert few.distances(one.scaled_change) <= 1.01 * every.distances(other.scaled_change)


def test_a_question_is_answered_the_same_in_a_group_of_another_size() -> None:
    asked = questions(2, GROUP + 3)
    search = Boundary(max_queries=300)
    together = distances(asked, search)
    assert np.array_equal(together[-2:], distances(asked[-2:], search))


def test_another_seed_looks_elsewhere_and_finds_the_same_distance() -> None:
    asked = questions(3, 8)
    first, second = (distances(asked, Boundary(seed=seed)) for seed in (0, 1))
    assert not np.array_equal(first, second)
    assert np.allclose(first[np.isfinite(first)], second[np.isfinite(first)], rtol=0.03)


def test_a_command_in_a_corner_of_the_box_is_searched_inwards() -> None:
    policy, found = random_pcn(3, objectives=3), 0
    space = CommandSpace(np.zeros(3), np.ones(3))
    for seed in range(8):
        base = random_question(policy, seed)
        corner = np.round(base.command)
        greedy = int(policy.log_probs(base.state[None], corner[None])[0].argmax())
        question = Question(policy, base.state, corner, (greedy + 1) % 3, (0, 1, 2), space)
        proven, search = distances([question], Exact()), distances([question], Boundary(max_queries=4000))
        assert np.isfinite(proven[0]) == np.isfinite(search[0])
        if np.isfinite(proven[0]):
            found += 1
            assert search[0] <= 1.05 * proven[0]
    assert found > 3


def test_a_region_that_is_locked_in_all_but_one_objective_is_searched_along_it() -> None:
    asked = []
    for question in questions(4, 10):
        low, high = question.command.copy(), question.command.copy()
        low[2], high[2] = 0.0, 1.0
        asked.append(replace(question, low=low, high=high))
    proven, found = distances(asked, Exact()), distances(asked, Boundary(max_queries=2000))
    assert np.array_equal(np.isfinite(proven), np.isfinite(found))
    assert np.allclose(found[np.isfinite(found)], proven[np.isfinite(found)], atol=2e-3)


def test_a_time_limit_ends_the_search_and_says_so() -> None:
    findings = Boundary(max_queries=1_000_000).run(QuestionBatch(questions(2, 4)), Limits(seconds=0.05))
    assert all(finding.stop is Stop.OUT_OF_TIME for finding in findings)


def test_the_command_itself_is_queried_first_and_once() -> None:
    queries = queries_of(Boundary(max_queries=300), recorded_question())
    assert np.flatnonzero((queries == [-0.5, 0.0]).all(axis=1)).tolist() == [0]


def test_the_first_queries_look_both_ways_along_each_axis() -> None:
    queries = queries_of(Boundary(max_queries=100), recorded_question(command=(-0.2, 0.1)))
    for end in ([0.5, 0.1], [-0.5, 0.1], [-0.2, 0.5], [-0.2, -0.5]):
        assert np.isclose(queries, end).all(axis=1).any()


def test_all_queries_lie_inside_the_region() -> None:
    queries = queries_of(Boundary(max_queries=3000), recorded_question(command=(-0.2, 0.1)))
    assert np.abs(queries).max() <= 0.5 + 1e-12


def test_a_budget_of_nothing_is_refused() -> None:
    with pytest.raises(InvalidInput):
        Boundary(max_queries=0)
