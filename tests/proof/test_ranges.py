"""Regions: every command inside makes the foil win, and the answer is inside."""

from dataclasses import replace

import numpy as np
import pytest
from margins import LinePolicy, unit_question
from networks import LayeredPolicy
from policies import LinearPolicy, random_pcn, random_question

from paretofoil.core.answer import ProvenRange
from paretofoil.core.command import CommandSpace, Objective
from paretofoil.core.errors import InvalidInput
from paretofoil.core.program import Program
from paretofoil.core.question import Question, QuestionBatch
from paretofoil.proof.ranges import widen
from paretofoil.proof.slack import RANGE_SLACK
from paretofoil.search.exact import Exact


def answered(objectives: int, count: int = 12, **shape: int) -> list[tuple[Question, np.ndarray]]:
    policy = random_pcn(objectives, objectives=objectives, **shape)
    questions = [random_question(policy, seed) for seed in range(count)]
    search = Exact() if objectives < 6 else Exact(max_boxes=1000)
    findings = search.run(QuestionBatch(questions))
    return [  # a little beyond the boundary, as a quoted command is: on it nothing around could be proven
        (q, np.clip(q.command + 1.001 * f.scaled_change * q.space.scale, q.low, q.high))
        for q, f in zip(questions, findings, strict=True)
        if f.scaled_change is not None
    ]


@pytest.mark.parametrize("objectives", [1, 2, 3, 6])
def test_every_command_inside_makes_the_foil_win(objectives: int) -> None:
    rng, found = np.random.default_rng(0), 0
    for question, command in answered(objectives, 12 if objectives < 6 else 5):
        region = widen(QuestionBatch([question]), 0, command)
        if region is None:
            continue
        found += 1
        share = rng.random((20_000, objectives))
        share[:10_000] = np.round(share[:10_000])
        commands = np.clip(region.low + share * (region.high - region.low), region.low, region.high)
        batch = QuestionBatch([question])
        assert (batch.margins_at(np.zeros(len(commands), dtype=int), commands, "check") >= question.kappa).all()
        assert region.holds(command)
        assert region.holds(commands).all()
        assert (region.low >= question.low).all()
        assert (region.high <= question.high).all()
    assert found > 0


def test_most_answers_can_be_widened() -> None:
    """Not all: an answer in a corner between two rivals may be in no box of valid commands at all."""
    pairs = answered(2, 30)
    regions = [widen(QuestionBatch([question]), 0, command) for question, command in pairs]
    assert sum(region is not None for region in regions) >= 0.7 * len(pairs)


def test_a_region_reaches_the_boundary_or_the_limit_on_its_far_sides() -> None:
    """On a linear policy the largest boxes are known: nothing stands in the way but the limits."""
    from paretofoil.core.program import Program

    class Folded(LinearPolicy):
        def fold(self, state: np.ndarray) -> Program:
            return Program.of_layers((self.weight,), (self.bias,))

    policy = Folded(np.array([[0.0, 0.0], [1.0, 1.0]]), np.zeros(2))
    question = Question(policy, np.zeros(1), np.array([-0.5, -0.5]), 1, (0, 1), CommandSpace([-1, -1], [1, 1]))
    region = widen(QuestionBatch([question]), 0, np.array([0.03, 0.03]))
    assert np.array_equal(region.high, [1, 1])
    assert (region.low <= 0.03).all()


def test_a_locked_objective_stays_locked_in_the_region() -> None:
    policy = random_pcn(3, objectives=3)
    for seed in range(6):
        question = random_question(policy, seed)
        low, high = question.low.copy(), question.high.copy()
        low[1] = high[1] = question.command[1]
        question = replace(question, low=low, high=high)
        [finding] = Exact().run(QuestionBatch([question]))
        if finding.scaled_change is not None:
            region = widen(
                QuestionBatch([question]), 0, question.command + finding.scaled_change * question.space.scale
            )
            assert region is None or region.low[1] == region.high[1] == question.command[1]


def test_an_invalid_or_bare_answer_has_no_region() -> None:
    question, _ = answered(2)[0]
    assert widen(QuestionBatch([question]), 0, question.command) is None
    black_box = LinearPolicy(np.array([[0.0, 0.0], [1.0, 1.0]]), np.zeros(2))
    asked = Question(black_box, np.zeros(1), np.array([-0.5, -0.5]), 1, (0, 1), CommandSpace([-1, -1], [1, 1]))
    assert widen(QuestionBatch([asked]), 0, np.array([0.5, 0.5])) is None


def test_a_range_knows_its_commands_and_its_sides_are_in_order() -> None:
    region = ProvenRange([0, 1.5], [2, 1.5])
    assert region.holds(np.array([[1, 1.5], [3, 1.5]])).tolist() == [True, False]
    with pytest.raises(InvalidInput, match="low <= high"):
        ProvenRange([1, 0], [0, 1])


def test_a_range_keeps_the_slack() -> None:
    """The whole region wins by kappa, but its lower side not by kappa and the slack."""
    question = unit_question(LinePolicy(1), (0.4,), low=np.array([0.05 + RANGE_SLACK / 2]))
    region = widen(QuestionBatch([question]), 0, np.array([0.3]))
    assert region is not None
    assert region.low[0] > question.low[0]
    assert region.high[0] == 0.5
    roomy = replace(question, low=np.array([0.05 + 2 * RANGE_SLACK]))
    region = widen(QuestionBatch([roomy]), 0, np.array([0.3]))
    assert region is not None
    assert region.low[0] == roomy.low[0]


def test_a_policy_that_deviates_by_more_than_the_slack_has_no_range() -> None:
    for size, proven in ((0.6 * RANGE_SLACK, True), (0.7 * RANGE_SLACK, False)):
        policy = LinePolicy(off=lambda commands, size=size: np.full(len(commands), size))  # type: ignore[misc]
        assert (widen(QuestionBatch([unit_question(policy)]), 0, np.array([0.3, 0.0])) is not None) == proven


def test_an_answer_that_wins_narrowly_has_a_range_with_less_slack() -> None:
    """It has 0.00005 to spare, less than the usual slack of 0.0001."""
    region = widen(QuestionBatch([unit_question(LinePolicy(1), (0.0,))]), 0, np.array([0.05 + 5e-5]))
    assert region is not None
    assert region.high == pytest.approx([0.5])


def test_a_single_command_is_no_range() -> None:
    always = LinePolicy(1)
    fixed = unit_question(always, (0.25,), low=np.array([0.25]), high=np.array([0.25]))
    assert widen(QuestionBatch([fixed]), 0, fixed.command) is None
    free = unit_question(always, (0.25,))
    assert widen(QuestionBatch([free]), 0, free.command) is not None


@pytest.mark.parametrize("constraints", [[], ["gold <= 2 time + 30"]])
@pytest.mark.parametrize("whole", [True, False])
def test_ranges_of_whole_numbers_and_under_constraints_are_proven_too(whole: bool, constraints: list[str]) -> None:
    """The policy is compared with the network at commands that exist."""
    rng, found = np.random.default_rng(0), 0
    space = CommandSpace([0.0, 0.0], [50.0, 20.0], [Objective("gold", whole=whole), "time"], constraints=constraints)
    for _ in range(6):
        weights, biases = (rng.normal(size=(2, 2)) / [50.0, 20.0],), (rng.normal(size=2),)
        policy = LayeredPolicy(Program.of_layers(weights, biases), np.float64)
        commands = np.stack([np.arange(51.0).repeat(41), np.tile(np.linspace(0.0, 20.0, 41), 51)], axis=1)
        commands = commands[space.allows(commands)]
        scores = policy.log_probs(np.zeros((len(commands), 1)), commands)
        question = Question(policy, np.zeros(1), commands[0], int(scores[0].argmin()), (0, 1), space)
        margins = QuestionBatch([question]).margins_at(np.zeros(len(commands), dtype=int), commands, "test")
        if margins.max() < question.kappa + 0.1:
            continue
        valid = commands[margins >= question.kappa + 0.1]
        proven = widen(QuestionBatch([question]), 0, valid[len(valid) // 2])
        assert proven is not None
        assert (margins[proven.holds(commands)] >= question.kappa).all()
        assert not whole or (proven.low[0] % 1, proven.high[0] % 1) == (0, 0)
        found += 1
    assert found >= 3
