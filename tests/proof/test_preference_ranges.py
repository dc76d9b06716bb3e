"""Proven ranges of preferences: all weights within them that sum to 1 make the foil win."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from policies import random_pcn, random_question
from valued import EnvelopePolicy, envelope_question, random_envelope

import paretofoil as pf
from paretofoil.core.command import CommandSpace, least
from paretofoil.core.policy import CallablePolicy, FoldedValues
from paretofoil.core.program import Program
from paretofoil.core.question import Question, QuestionBatch
from paretofoil.explanation.ask import ask
from paretofoil.proof.ranges import widen
from paretofoil.search import Exact


def space_of(dim: int) -> CommandSpace:
    return CommandSpace.preferences([f"objective {i}" for i in range(dim)])


def of_table(seed: int, dim: int) -> Question:
    rng = np.random.default_rng(seed)
    table, weights = 10.0 * rng.normal(size=(4, 4, dim)), rng.dirichlet(np.ones(dim))
    policy = pf.from_q_table(lambda state: table)
    worth = policy.log_probs(np.zeros((1, 1)), weights[None])[0]
    return Question(policy, np.zeros(1), weights, int(worth.argsort()[-2]), (0, 1, 2, 3), space_of(dim), kappa=0.1)


def of_network(seed: int, dim: int) -> Question:
    return random_question(random_pcn(dim, objectives=dim), seed, space=space_of(dim))


def of_values(seed: int, dim: int) -> Question:
    return envelope_question(random_envelope(seed, dim), seed)


def answered(pose: Callable[[int, int], Question], dim: int, count: int) -> list[tuple[Question, np.ndarray]]:
    questions = [pose(seed, dim) for seed in range(count)]
    answers = [ask([question], Exact())[0] for question in questions]
    return [(q, a.command) for q, a in zip(questions, answers, strict=True) if a.command is not None]


@pytest.mark.parametrize("pose", [of_table, of_network, of_values])
@pytest.mark.parametrize("dim", [2, 3, 4])
def test_all_weights_in_a_range_that_sum_to_1_make_the_foil_win(pose: Callable[[int, int], Question], dim: int) -> None:
    rng, pairs, widened = np.random.default_rng(0), answered(pose, dim, 8), 0
    for question, command in pairs:
        batch = QuestionBatch([question])
        made = widen(batch, 0, command)
        if made is None:
            continue
        widened += 1
        share = rng.random((4000, dim))
        share[:2000] = np.round(share[:2000])
        weights = question.space.project(made.low + share * (made.high - made.low), made.low, made.high)
        assert (batch.margins_at(np.zeros(4000, dtype=int), weights, "check") >= question.kappa).all()
        assert made.holds(command)
        assert (made.low >= question.low).all()
        assert (made.high <= question.high).all()
    assert widened >= 0.6 * len(pairs) > 0


def constant(values: list[list[float]]) -> EnvelopePolicy:
    """A network whose values do not depend on the weights."""
    biases = np.array(values).reshape(-1)
    return EnvelopePolicy(FoldedValues(Program.of_layers((np.zeros((len(biases), len(values[0]))),), (biases,))))


@pytest.mark.parametrize("make", [lambda values: pf.from_q_table(lambda state: values), constant])
def test_ranges_reach_the_corner_where_nothing_stands_in_the_way(make: Callable[[list[list[float]]], Any]) -> None:
    policy = make([[3.0, 0.0, 1.0], [0.0, 1.0, 1.0]])
    question = Question(policy, np.zeros(1), np.array([0.6, 0.2, 0.2]), 1, (0, 1), space_of(3), kappa=0.01)
    made = widen(QuestionBatch([question]), 0, np.array([0.1, 0.5, 0.4]))
    assert made is not None
    assert (made.low[0], made.low[2], made.high[1]) == pytest.approx((0.0, 0.0, 1.0), abs=1e-9)
    assert 0.0 <= made.low[1] - (3 * made.high[0] + 0.01) < 0.1  # the foil is worth more where 3 w0 + 0.01 <= w1


def test_a_kept_weight_has_no_width_and_ranges_of_the_user_hold() -> None:
    question, command = answered(of_table, 4, 3)[0]
    low, high = question.low.copy(), question.high.copy()
    low[1] = high[1] = command[1]
    high[0] = min(1.0, command[0] + 0.01)
    moved = Question(
        question.policy,
        question.state,
        command,
        question.foil,
        (0, 1, 2, 3),
        question.space,
        kappa=0.0,
        low=low,
        high=high,
    )
    made = widen(QuestionBatch([moved]), 0, command)
    assert made is not None
    assert made.low[1] == made.high[1] == command[1]
    assert made.high[0] <= high[0]


def test_no_end_of_a_range_is_out_of_reach_of_weights_that_sum_to_1() -> None:
    for question, command in answered(of_table, 3, 6):
        made = widen(QuestionBatch([question]), 0, command)
        if made is not None:
            for axis in range(3):
                rest = np.delete(made.low, axis).sum(), np.delete(made.high, axis).sum()
                assert made.low[axis] >= 1.0 - rest[1] - 1e-9
                assert made.high[axis] <= 1.0 - rest[0] + 1e-9


def test_a_black_box_has_no_range() -> None:
    question = of_table(0, 3)
    box = CallablePolicy(question.policy.log_probs)
    asked = Question(box, question.state, question.command, question.foil, (0, 1, 2, 3), question.space)
    assert widen(QuestionBatch([asked]), 0, np.array([0.2, 0.3, 0.5])) is None


def test_a_policy_that_deviates_from_its_fold_has_no_range() -> None:
    question, command = answered(of_values, 2, 6)[0]

    class Deviates(type(question.policy)):  # type: ignore[misc]
        def log_probs(self, states: np.ndarray, commands: np.ndarray) -> np.ndarray:
            worth = np.array(super().log_probs(states, commands))
            worth[:, question.foil] += 0.01
            return worth

    policy = Deviates(question.policy.folded)  # type: ignore[attr-defined]
    asked = Question(policy, question.state, question.command, question.foil, (0, 1, 2, 3), question.space, kappa=0.05)
    assert widen(QuestionBatch([question]), 0, command) is not None
    assert widen(QuestionBatch([asked]), 0, command) is None


def test_the_least_of_values_is_that_of_the_best_corner() -> None:
    rng = np.random.default_rng(0)
    low, high = np.array([0.1, 0.0, 0.2, 0.0]), np.array([0.5, 0.6, 0.4, 0.3])
    values = rng.normal(size=(5, 4))
    weights = rng.dirichlet(np.ones(4), size=200_000)
    weights = weights[((weights >= low) & (weights <= high)).all(axis=1)]
    sampled = (values @ weights.T).min(axis=1)
    assert (least(values, low, high) <= sampled + 1e-12).all()
    assert least(values, low, high) == pytest.approx(sampled, abs=0.05)
