"""Walks within trust regions: both oracles lead to the nearest valid point, and queries stay within their budget."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from networks import LayeredPolicy
from policies import random_pcn, random_question

from paretofoil.core.command import CommandSpace, length
from paretofoil.core.program import Program
from paretofoil.core.question import Question, QuestionBatch
from paretofoil.proof.branch_and_bound import Claim
from paretofoil.proof.networks import margin_network
from paretofoil.search.budget import Budget
from paretofoil.search.trust_region import NetworkMargins, Oracle, QueriedMargins, walk

KAPPA = 0.05
NEAR = 1e-3
"""How close to the known nearest point a walk must end: the float32 policy's margins are not known better."""


def asked(question: Question, num_walks: int, queries: int | None = None) -> QueriedMargins:
    return QueriedMargins(Budget(QuestionBatch([question]), most=queries), np.zeros(num_walks, dtype=np.int64))


def folded(question: Question, num_walks: int) -> NetworkMargins:
    batch = QuestionBatch([question])
    network = margin_network(question.policy.fold(question.state), question)  # type: ignore[attr-defined]
    return NetworkMargins(Claim(network, batch.low[0], batch.high[0], question.kappa, batch.norm), num_walks)


both_oracles = pytest.mark.parametrize("oracle", [asked, folded])
MakeOracle = Callable[[Question, int], Oracle]


def linear_question(rivals: list[list[float]], lacking: list[float], norm: str = "l2") -> Question:
    """Action 0 wins against rival i where rivals[i] . z >= lacking[i] + kappa; the box goes from -1/2 to 1/2."""
    weight = np.vstack([np.zeros(2), -np.array(rivals) / 2.0])  # the scale is 2
    policy = LayeredPolicy(Program.of_layers((weight,), (np.array([0.0, *lacking]),)))
    space = CommandSpace([-1.0, -1.0], [1.0, 1.0])
    actions = tuple(range(len(weight)))
    return Question(policy, np.zeros(1), np.zeros(2), 0, actions, space, kappa=KAPPA, norm=norm)  # type: ignore[arg-type]


def bent_question() -> Question:
    """One rival, whose margin min(4x - y - 0.5, 4y - x - 0.4) bends: a - relu(a - b), with a = relu(a + 9) - 9."""
    hidden = np.array([[4.0, -1.0], [5.0, -5.0]]) / 2.0  # the scale is 2
    policy = LayeredPolicy(
        Program.of_layers(
            (hidden, np.array([[1.0, -1.0], [0.0, 0.0]])),
            (np.array([9.0 - 0.5, 0.4 - 0.5]), np.array([-9.0, 0.0])),
            ("relu",),
        )
    )
    return Question(policy, np.zeros(1), np.zeros(2), 0, (0, 1), CommandSpace([-1, -1], [1, 1]), kappa=KAPPA)


STARTS = np.array([[0.4, 0.4], [0.45, -0.3], [-0.4, 0.45], [0.0, 0.0], [-0.4, -0.4]])
"""Valid points and points that are not, of all the questions below."""


@both_oracles
@pytest.mark.parametrize(
    ("norm", "expected"), [("l2", [0.6 * 0.21, 0.8 * 0.21]), ("l1", [0.0, 1.05 / 4]), ("linf", [1.05 / 7, 1.05 / 7])]
)
def test_every_walk_reaches_the_nearest_point_of_a_linear_policy(
    oracle: MakeOracle, norm: str, expected: list[float]
) -> None:
    question = linear_question([[3.0, 4.0]], [1.0], norm)
    points, sizes = walk(oracle(question, len(STARTS)), STARTS, steps=30, trust=0.3)
    assert np.allclose(sizes, length(np.array(expected), question.norm), atol=NEAR)
    assert (sizes == length(points, question.norm)).all()
    assert np.allclose(points, expected, atol=0.02)


@both_oracles
@pytest.mark.parametrize(
    "question", [linear_question([[4.0, -1.0], [-1.0, 4.0]], [0.5, 0.4]), bent_question()], ids=["rivals", "bend"]
)
def test_a_walk_finds_the_corner_between_two_rivals_or_at_a_bend(oracle: MakeOracle, question: Question) -> None:
    corner = np.linalg.solve([[4.0, -1.0], [-1.0, 4.0]], [0.55, 0.45])
    starts = STARTS[:3]  # all valid; on the way up along the ridge below, a single margin misleads
    points, _ = walk(oracle(question, len(starts)), starts, steps=40, trust=0.3)
    assert np.allclose(points, corner, atol=NEAR)


@both_oracles
def test_a_point_that_a_walk_calls_valid_is_valid(oracle: MakeOracle) -> None:
    policy = random_pcn(2)
    for seed in range(6):
        question = random_question(policy, seed)
        batch = QuestionBatch([question])
        starts = np.random.default_rng(seed).uniform(batch.low[0], batch.high[0], size=(8, 2))
        points, sizes = walk(oracle(question, 8), starts, steps=10, trust=0.3)
        margins = batch.margins(np.zeros(8, dtype=np.int64), points, "check")
        assert (margins[np.isfinite(sizes)] >= question.kappa - 1e-4).all()
        assert (margins[np.isinf(sizes)] < question.kappa + 1e-4).all()
        assert (points >= batch.low).all()
        assert (points <= batch.high).all()


@both_oracles
def test_a_start_outside_the_box_is_pulled_in(oracle: MakeOracle) -> None:
    points, sizes = walk(oracle(linear_question([[3.0, 4.0]], [1.0]), 1), np.array([[7.0, 7.0]]), steps=0, trust=0.3)
    assert points.tolist() == [[0.5, 0.5]]
    assert sizes == pytest.approx(np.sqrt(0.5))


@both_oracles
def test_a_valid_start_never_gets_worse(oracle: MakeOracle) -> None:
    starts = STARTS[:1] * np.linspace(0.6, 1.2, 7)[:, None]
    _, sizes = walk(oracle(bent_question(), 7), starts, steps=3, trust=0.3)
    assert (sizes <= length(starts)).all()


@both_oracles
def test_trust_grows_with_success_so_that_a_short_first_step_loses_little(oracle: MakeOracle) -> None:
    _, sizes = walk(oracle(linear_question([[3.0, 4.0]], [1.0]), 1), np.array([[0.5, 0.5]]), steps=8, trust=0.01)
    assert np.allclose(sizes, 1.05 / 5, atol=NEAR)


@both_oracles
def test_where_nothing_is_valid_no_walk_says_otherwise(oracle: MakeOracle) -> None:
    question = linear_question([[1.0, 0.0], [-1.0, 0.0]], [0.1, 0.1])
    _, sizes = walk(oracle(question, len(STARTS)), STARTS, steps=10, trust=0.3)
    assert np.isinf(sizes).all()


def test_without_rivals_a_walk_goes_to_no_change() -> None:
    question = Question(
        linear_question([[1.0, 0.0]], [1.0]).policy, np.zeros(1), np.zeros(2), 0, (0,), CommandSpace([-1, -1], [1, 1])
    )
    points, sizes = walk(folded(question, 1), np.array([[0.3, -0.2]]), steps=3, trust=0.5)
    assert (points == 0.0).all()
    assert (sizes == 0.0).all()


@pytest.mark.parametrize("queries", [1, 2, 5, 17, 40])
def test_walks_keep_to_the_budget_and_end_with_it(queries: int) -> None:
    oracle = asked(linear_question([[4.0, -1.0], [-1.0, 4.0]], [0.5, 0.4]), len(STARTS), queries)
    walk(oracle, STARTS, steps=30, trust=0.3)
    assert sum(oracle.budget.batch.queries(0).values()) == queries


def test_a_walk_that_has_arrived_asks_no_more() -> None:
    spent = []
    for steps in (60, 120):
        oracle = asked(linear_question([[3.0, 4.0]], [1.0]), len(STARTS))
        walk(oracle, STARTS, steps=steps, trust=0.3)
        spent.append(sum(oracle.budget.batch.queries(0).values()))
    assert spent[0] == spent[1]


def test_every_walk_asks_its_own_question() -> None:
    first = linear_question([[3.0, 4.0]], [1.0])
    batch = QuestionBatch([first, replace(first, command=np.array([0.2, 0.0]))])
    oracle = QueriedMargins(Budget(batch), np.array([1, 0, 1]))
    _, sizes = walk(oracle, np.full((3, 2), 0.4), steps=20, trust=0.3)
    assert np.allclose(sizes, [0.75 / 5, 1.05 / 5, 0.75 / 5], atol=NEAR)


def test_all_that_is_asked_lies_in_the_box(monkeypatch: pytest.MonkeyPatch) -> None:
    log: list[np.ndarray] = []
    ask = QuestionBatch.margins

    def recorded(self: QuestionBatch, rows: np.ndarray, z: np.ndarray, phase: str) -> np.ndarray:
        log.append(z)
        return ask(self, rows, z, phase)

    monkeypatch.setattr(QuestionBatch, "margins", recorded)
    corners = np.array([[0.5, 0.5], [0.5, -0.5], [-0.5, 0.5], [-0.5, -0.5]])
    walk(asked(linear_question([[3.0, 4.0]], [1.0]), 4), corners, steps=10, trust=2.0)
    assert np.abs(np.concatenate(log)).max() == 0.5


def test_known_margins_are_not_asked_again() -> None:
    question = linear_question([[3.0, 4.0]], [1.0])
    told = asked(question, len(STARTS)).margins(np.arange(len(STARTS)), STARTS)
    spent = []
    for margins in (None, told):
        oracle = asked(question, len(STARTS))
        walk(oracle, STARTS, margins, steps=4, trust=0.3)
        spent.append(sum(oracle.budget.batch.queries(0).values()))
    assert spent[0] == spent[1] + len(STARTS)
