"""Exact on tables of values: against an independent solver, samples, and what is known by construction."""

import numpy as np
import pytest

import paretofoil as pf
from paretofoil.core.errors import InvalidInput
from paretofoil.core.question import Question, QuestionBatch
from paretofoil.core.search import Search
from paretofoil.explanation.ask import ask
from paretofoil.proof.table import polytopes
from paretofoil.search import Boundary, CFZoo, Exact
from paretofoil.search.registry import choose_search
from paretofoil.show.landscape import landscape

SHAPES = [(2, 10, 4), (3, 20, 4), (4, 5, 6)]  # objectives, vectors, actions


def pose(seed: int, shape: tuple[int, int, int], share: float = 0.01) -> Question:
    dim, vectors, actions = shape
    rng = np.random.default_rng(seed)
    table = 10.0 * rng.normal(size=(actions, vectors, dim))
    policy, weights = pf.from_q_table(lambda state: table), rng.dirichlet(np.ones(dim))
    worth = policy.log_probs(np.zeros((1, 1)), weights[None])[0]
    space = pf.CommandSpace.preferences([f"objective {i}" for i in range(dim)])
    valid = tuple(range(actions))
    return Question(policy, np.zeros(1), weights, int(worth.argsort()[-2]), valid, space, kappa=share * np.ptp(worth))


def margins(question: Question, weights: np.ndarray) -> np.ndarray:
    vectors = question.policy.table(question.state).vectors  # type: ignore[attr-defined]
    worth = np.einsum("nd,aid->nai", weights, vectors).max(axis=2)
    return worth[:, question.foil] - np.delete(worth, question.foil, axis=1).max(axis=1)


def grid(dim: int, steps: int) -> np.ndarray:
    """All preferences whose weights are multiples of 1 / steps."""
    parts = np.stack(np.meshgrid(*[np.arange(steps + 1)] * (dim - 1), indexing="ij"), axis=-1).reshape(-1, dim - 1)
    parts = parts[parts.sum(axis=1) <= steps]
    return np.column_stack([parts, steps - parts.sum(axis=1)]) / steps


@pytest.mark.parametrize(("shape", "steps"), [((2, 10, 4), 20_000), ((3, 20, 4), 300), ((4, 5, 6), 60)])
def test_the_answer_is_the_closest_up_to_the_tolerance_and_no_grid_refutes_it(
    shape: tuple[int, int, int], steps: int
) -> None:
    weights, num_found = grid(shape[0], steps), 0
    for seed in range(8):
        question = pose(seed, shape)
        [found] = ask([question], Exact())
        distances = np.linalg.norm(weights - question.command, axis=1)
        best = distances[margins(question, weights) >= question.kappa].min(initial=np.inf)
        assert found.lower_bound <= best
        assert found.found == (found.status is not pf.Status.PROVEN_INFEASIBLE)
        if found.found:
            num_found += 1
            assert found.closest.distance - found.lower_bound <= 1e-6  # type: ignore[operator]
            assert found.status is pf.Status.PROVEN_CLOSEST
    assert num_found >= 4


@pytest.mark.parametrize("shape", SHAPES)
def test_no_sampled_preferences_violate_a_certificate(shape: tuple[int, int, int]) -> None:
    rng = np.random.default_rng(0)
    for seed in range(10):
        question = pose(seed, shape)
        [found] = ask([question], Exact())
        weights = rng.dirichlet(np.full(shape[0], 0.7), size=20_000)
        near = question.command + 0.1 * rng.normal(size=(20_000, shape[0]))
        weights = np.concatenate([weights, question.space.project(near, question.low, question.high)])
        closer = np.linalg.norm(weights - question.command, axis=1) < found.lower_bound
        assert (margins(question, weights[closer]) < question.kappa).all()
        assert pf.verify_certificate(question, found.proof, 2000).holds  # type: ignore[arg-type]


@pytest.mark.parametrize("shape", SHAPES)
def test_the_bound_of_a_polytope_is_the_size_of_its_nearest_point_and_never_more(shape: tuple[int, int, int]) -> None:
    num_points = 0
    for seed in range(6):
        question = pose(seed, shape)
        for polytope in polytopes(question.policy.table(question.state), question, question.kappa):  # type: ignore[attr-defined]
            lower, point = polytope.nearest()
            assert polytope.simple_bound <= lower + 1e-9
            if point is not None:
                num_points += 1
                assert (polytope.slopes @ point >= polytope.levels - 1e-9).all()
                size = float(np.linalg.norm(point))
                assert size - 1e-6 <= lower <= size
    assert num_points > 5


def test_a_foil_that_is_never_worth_most_is_proven_infeasible() -> None:
    table = np.array([[[1.0, 0.0]], [[0.0, 1.0]], [[0.4, 0.4]]])  # the third lies below the line between the others
    space = pf.CommandSpace.preferences(["fuel", "ore"])
    answer = pf.explain(pf.from_q_table(lambda s: table), state=[0.0], command=[0.7, 0.3], foil=2, space=space)
    assert answer.status is pf.Status.PROVEN_INFEASIBLE


def test_an_agent_that_computes_in_float32_chooses_no_foil_right_below_the_proven_distance() -> None:
    rng, asked = np.random.default_rng(0), 0
    for seed in range(60):
        table = (10.0 * rng.normal(size=2) + rng.normal(size=(3, 4, 2))).astype(np.float32)
        policy, weights = pf.from_q_table(lambda state, table=table: table), rng.dirichlet(np.ones(2))  # type: ignore[misc]
        foil = int(policy.log_probs(np.zeros((1, 1)), weights[None])[0].argsort()[seed % 2])
        space = pf.CommandSpace.preferences(["fuel", "ore"])
        answer = pf.explain(policy, state=[0.0], command=weights, foil=foil, space=space, options=pf.Options(kappa=0.0))
        if answer.found:
            asked += 1
            assert answer.status is pf.Status.PROVEN_CLOSEST
            way = (answer.closest.command - weights) / np.linalg.norm(answer.closest.command - weights)
            below = weights + answer.lower_bound * (1 - np.geomspace(1e-9, 1e-4, 200))[:, None] * way
            worth = np.einsum("nd,avd->nav", below.astype(np.float32), table).max(axis=2)
            assert not (worth.argmax(axis=1) == foil).any()
    assert asked > 10


def test_two_policies_of_a_coverage_set_meet_where_they_are_worth_the_same() -> None:
    space = pf.CommandSpace.preferences(["fuel", "ore"])
    policy = pf.from_q_table(lambda s: [[3.0, 0.0], [0.0, 1.0]])
    answer = pf.explain(policy, state=[0.0], command=[0.7, 0.3], foil=1, space=space, options=pf.Options(kappa=0.0))
    assert answer.closest.command == pytest.approx([0.25, 0.75], abs=1e-6)
    assert answer.command.sum() == pytest.approx(1.0, abs=1e-12)  # type: ignore[union-attr]


def test_a_slice_through_preferences_is_refused_since_its_points_would_not_sum_to_1() -> None:
    policy, space = pf.from_q_table(lambda s: [[3.0, 0.0], [0.0, 1.0]]), pf.CommandSpace.preferences(["fuel", "ore"])
    answer = pf.explain(policy, state=[0.0], command=[0.7, 0.3], foil=1, space=space)
    with pytest.raises(InvalidInput, match="preferences, which sum to 1"):
        landscape(answer.live.question)  # type: ignore[union-attr]
    with pytest.raises(InvalidInput, match="preferences, which sum to 1"):
        answer.plot(axes=("fuel", "ore"))


def test_kept_preferences_and_ranges_hold() -> None:
    question = pose(3, (4, 5, 6))
    options = {"state": [0.0], "command": question.command, "foil": question.foil, "space": question.space}
    kept = pf.explain(question.policy, **options, options=pf.Options(keep=["objective 1"]))
    limit = question.command[0] + 0.02
    held = pf.explain(question.policy, **options, options=pf.Options(ranges={"objective 0": (0.0, limit)}))
    free = pf.explain(question.policy, **options)
    assert kept.command[1] == question.command[1]
    assert held.command[0] <= limit
    assert free.lower_bound <= min(kept.lower_bound, held.lower_bound) + 1e-9


@pytest.mark.parametrize("search", [Boundary(max_queries=1500), CFZoo(directions=400, max_queries=601)])
def test_black_box_searches_find_nothing_closer_than_is_proven(search: Search) -> None:
    questions = [pose(seed, (3, 20, 4)) for seed in range(6)]
    for question in questions:
        [exact], [other] = ask([question], Exact()), ask([question], search)
        assert not other.found or exact.found
        if other.found:
            assert other.closest.distance >= exact.lower_bound  # type: ignore[operator]
            assert other.command.sum() == pytest.approx(1.0, abs=1e-9)  # type: ignore[union-attr]


def test_kappa_is_a_hundredth_of_what_lies_between_the_values() -> None:
    space = pf.CommandSpace.preferences(["fuel", "ore"])
    policy = pf.from_q_table(lambda s: [[300.0, 0.0], [0.0, 100.0]])
    answer = pf.explain(policy, state=[0.0], command=[0.5, 0.5], foil=1, space=space)
    assert answer.question.kappa == pytest.approx(1.0)


def test_auto_is_exact_for_tables_and_a_box_is_refused() -> None:
    policy = pf.from_q_table(lambda s: [[3.0, 0.0], [0.0, 1.0]])
    assert choose_search("auto", policy).name == "exact"
    with pytest.raises(InvalidInput, match="preferences"):
        pf.explain(policy, state=[0.0], command=[0.7, 0.3], foil=1, space=pf.CommandSpace([0, 0], [1, 1]))
    with pytest.raises(InvalidInput, match="values of shape"):
        pf.explain(
            pf.from_q_table(lambda s: [1.0]),
            state=[0.0],
            command=[0.7, 0.3],
            foil=1,
            space=pf.CommandSpace.preferences(list("ab")),
        )


def test_a_table_that_is_another_each_time_is_refused() -> None:
    rng = np.random.default_rng(0)
    policy = pf.from_q_table(lambda s: rng.normal(size=(2, 2)))
    with pytest.raises(InvalidInput, match="expected the same values for the same state, got different values"):
        pf.explain(policy, state=[0.0], command=[0.7, 0.3], foil=1, space=pf.CommandSpace.preferences(list("ab")))


def test_values_that_depend_on_the_preferences_are_a_black_box_on_the_simplex() -> None:
    rng = np.random.default_rng(0)
    inner, outer = 4.0 * rng.normal(size=(16, 3)), rng.normal(size=(4 * 3, 16))

    def values(states: np.ndarray, weights: np.ndarray) -> np.ndarray:
        return (np.maximum(weights @ inner.T, 0.0) @ outer.T).reshape(-1, 4, 3)

    policy, space = pf.from_q_values(values), pf.CommandSpace.preferences(list("abc"))
    assert choose_search("auto", policy).name == "boundary"
    num_found = 0
    for seed in range(8):
        weights = np.random.default_rng(seed).dirichlet(np.ones(3))
        chosen = int(policy.log_probs(np.zeros((1, 1)), weights[None])[0].argmax())
        foil = (chosen + 1) % 4
        answer = pf.explain(policy, state=[0.0], command=weights, foil=foil, space=space)
        if answer.found:
            num_found += 1
            assert answer.command.sum() == pytest.approx(1.0, abs=1e-9)  # type: ignore[union-attr]
            assert policy.log_probs(np.zeros((1, 1)), answer.command[None])[0].argmax() == foil  # type: ignore[index]
    assert num_found > 0
    with pytest.raises(InvalidInput, match="values of shape"):
        pf.from_q_values(lambda s, w: w).log_probs(np.zeros((1, 1)), weights[None])


def test_a_proof_by_a_table_allows_for_the_clearance_of_a_noisy_policy() -> None:
    batch = QuestionBatch([pose(0, SHAPES[0])])
    batch.keep_clear(0.02)
    [finding] = Exact().run(batch)
    assert finding.certificate is not None
    assert finding.certificate.slack == 0.02
