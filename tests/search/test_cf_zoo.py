"""CF-ZOO on policies whose closest command is known. The paper's tests compare it with a sequential reference."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from policies import LinearPolicy, random_pcn, random_question
from recorded import recorded_question

from paretofoil.core.command import CommandSpace
from paretofoil.core.errors import InvalidInput
from paretofoil.core.options import Limits, Stop
from paretofoil.core.question import Question, QuestionBatch
from paretofoil.search import CFZoo
from paretofoil.search.budget import Budget
from paretofoil.search.cf_zoo import ZooConfig, infer_signs, longest_step, refine, unit_directions

SMALL = CFZoo(directions=150, max_queries=301)


def test_the_zoo_phase_spends_exactly_the_maximum_of_queries() -> None:
    batch = QuestionBatch([random_question(random_pcn(0), 0)])
    SMALL.run(batch)
    queries = batch.queries(0)
    assert queries["zoo"] == 301
    assert queries["endpoints"] == 150
    assert queries["front"] == 6
    assert queries["bisection"] <= 150 * 16


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10_000), angle=st.floats(0, 2 * np.pi), offset=st.floats(0.05, 0.4))
def test_cf_zoo_is_within_two_percent_of_a_known_boundary_in_two_dimensions(
    seed: int, angle: float, offset: float
) -> None:
    """Two actions, margin = n . (R - R_t) - offset: the nearest valid command is offset + kappa away along n."""
    normal = np.array([np.cos(angle), np.sin(angle)])
    command = np.array([0.0, 0.0])
    policy = LinearPolicy(np.array([np.zeros(2), normal]), np.array([0.0, -offset]))
    space = CommandSpace([-0.5, -0.5], [0.5, 0.5])
    front = np.random.default_rng(seed).uniform(-0.5, 0.5, (5, 2))
    front = np.concatenate([front, 0.45 * normal[None]])
    question = Question(policy, np.zeros(1), command, 1, (0, 1), space, front)
    truth = offset + question.kappa
    reachable = np.abs(truth * normal).max() <= 0.5
    [finding] = CFZoo(directions=2000, max_queries=3001, seed=seed).run(QuestionBatch([question]))
    if reachable and finding.scaled_change is not None:
        assert truth - 1e-9 <= np.linalg.norm(finding.scaled_change) <= 1.02 * truth


def test_a_foil_in_the_direction_of_the_front_is_always_found_on_a_linear_policy() -> None:
    policy = LinearPolicy(np.array([[0.0, 0.0], [1.0, 0.3]]), np.array([0.0, -0.2]))
    space = CommandSpace([-0.5, -0.5], [0.5, 0.5])
    question = Question(policy, np.zeros(1), np.zeros(2), 1, (0, 1), space, np.array([[0.4, 0.1], [-0.4, -0.1]]))
    [finding] = CFZoo().run(QuestionBatch([question]))
    assert finding.scaled_change is not None
    truth = 0.25 / np.hypot(1.0, 0.3)
    assert np.linalg.norm(finding.scaled_change) <= 1.02 * truth


def test_the_prior_points_to_the_front_point_with_the_largest_margin() -> None:
    policy = LinearPolicy(np.array([[0.0, 0.0], [1.0, -1.0]]), np.zeros(2))
    space = CommandSpace([0, 0], [1, 1])
    front = np.array([[0.9, 0.1], [0.1, 0.9], [0.5, 0.4]])
    batch = QuestionBatch([Question(policy, np.zeros(1), np.array([0.5, 0.5]), 1, (0, 1), space, front)])
    assert infer_signs(Budget(batch)).tolist() == [[1.0, -1.0]]


def test_an_objective_that_the_best_front_point_shares_is_not_restricted() -> None:
    policy = LinearPolicy(np.array([[0.0, 0.0], [1.0, 0.0]]), np.zeros(2))
    space = CommandSpace([0, 0], [1, 1])
    question = Question(policy, np.zeros(1), np.array([0.5, 0.5]), 1, (0, 1), space, np.array([[0.9, 0.5 + 1e-15]]))
    batch = QuestionBatch([question])
    assert infer_signs(Budget(batch)).tolist() == [[1.0, 0.0]]


@given(st.integers(0, 1000), st.lists(st.sampled_from([-1.0, 0.0, 1.0]), min_size=2, max_size=6))
@settings(max_examples=40, deadline=None)
def test_directions_are_unit_vectors_inside_the_prior(seed: int, signs: list[float]) -> None:
    prior, free = np.array(signs), np.ones(len(signs), dtype=bool)
    for how in ("mirror", "reject"):
        u = unit_directions(seed, 50, prior, free, how)  # type: ignore[arg-type]
        assert u.shape == (50, len(signs))
        assert np.allclose(np.linalg.norm(u, axis=1), 1.0)
        assert (u * prior >= 0).all()


def test_mirrored_and_rejected_directions_have_the_same_distribution() -> None:
    prior, free = np.array([1.0, -1.0, 0.0]), np.ones(3, dtype=bool)
    means = [unit_directions(1, 40_000, prior, free, how).mean(axis=0) for how in ("mirror", "reject")]  # type: ignore[arg-type]
    assert np.allclose(means[0], means[1], atol=0.01)


def test_locked_objectives_have_no_share_in_directions() -> None:
    u = unit_directions(0, 20, np.zeros(3), np.array([True, False, True]), "mirror")
    assert (u[:, 1] == 0).all()
    assert np.allclose(np.linalg.norm(u, axis=1), 1.0)


def test_the_longest_step_ends_on_the_edge_of_the_region() -> None:
    u = np.array([[0.6, 0.8], [-1.0, 0.0], [0.0, 0.0]])
    alpha = longest_step(u, np.array([-0.3, -1.0]), np.array([3.0, 0.4]))
    assert np.allclose(alpha, [0.5, 0.3, 0.0])


def test_a_time_limit_returns_what_there_is() -> None:
    batch = QuestionBatch([random_question(random_pcn(0), 1)])
    [finding] = CFZoo(directions=50, max_queries=30_001).run(batch, Limits(seconds=1e-9))
    assert finding.stop is Stop.OUT_OF_TIME
    assert batch.queries(0)["zoo"] == 0


def test_presets_are_the_budgets_of_the_paper() -> None:
    assert [CFZoo.preset(name).directions for name in ("stress", "comparison", "thorough")] == [9001, 21_000, 100_000]
    with pytest.raises(InvalidInput, match="expected a preset among stress, comparison, thorough, got 'huge'"):
        CFZoo.preset("huge")


@pytest.mark.parametrize(("queries", "iterations"), [(0, 0), (1, 0), (3, 0), (4, 1), (6, 1), (7, 2), (9001, 3000)])
def test_an_iteration_takes_three_queries_and_the_start_one(queries: int, iterations: int) -> None:
    assert ZooConfig(queries).iterations == iterations


def test_differences_at_the_edge_of_the_region_are_taken_inside() -> None:
    corner = recorded_question(command=(0.5, 0.5))
    refine(Budget(QuestionBatch([corner])), np.zeros((1, 2)), ZooConfig(max_queries=61), seed=0)
    queries = corner.policy.commands  # type: ignore[attr-defined]
    assert len(queries) == 61
    assert queries.max() == 0.5
