"""Products of weights and a network of the weights: sound lines, and proofs on the simplex that nothing refutes."""

from dataclasses import replace

import numpy as np
import pytest
from folded import KINDS
from policies import random_commands
from valued import EnvelopePolicy, envelope_question, hard_question, random_envelope

from paretofoil.core.policy import FoldedValues
from paretofoil.core.program import Activation, Program
from paretofoil.core.question import Question, QuestionBatch
from paretofoil.explanation.ask import ask
from paretofoil.proof.networks import MarginNetwork, question_network
from paretofoil.proof.verify import verify_certificate
from paretofoil.search import Exact
from paretofoil.search.registry import choose_search

SHAPES = [
    (2, (), "relu"),  # no hidden layer: a parabola
    (2, (16,), "relu"),
    (3, (16, 16), "relu"),
    (3, (16,), "tanh"),
    (4, (12, 12), "sigmoid"),
]


def pose(seed: int, dim: int, hidden: tuple[int, ...], activation: Activation, offset: float = 0.0) -> Question:
    policy = random_envelope(seed, dim, hidden, activation=activation)
    weights, (*biases, last), activations = policy.folded.network.layers
    moved = Program.of_layers(weights, (*biases, last + offset), activations)
    return envelope_question(EnvelopePolicy(FoldedValues(moved)), seed)


def network_of(question: Question) -> MarginNetwork:
    network = question_network(question, "")
    assert isinstance(network, MarginNetwork)
    return network


def boxes(question: Question, rng: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Of all sizes, from the whole room to single points."""
    low, high = question.room
    ends = rng.uniform(low, high, size=(2, count, len(low)))
    middle, width = ends.mean(axis=0), np.abs(ends[0] - ends[1]) * 10.0 ** rng.uniform(-9, 0, size=(count, 1))
    width[::7] = 0.0
    return np.maximum(middle - width / 2, low), np.minimum(middle + width / 2, high)


def true_margins(question: Question, z: np.ndarray) -> np.ndarray:
    """(N, rivals) in long doubles, straight from the definition."""
    weights = question.command + z.astype(np.longdouble) @ question.basis.astype(np.longdouble).T
    worth = question.policy.folded.values(weights)  # type: ignore[attr-defined]
    rivals = [action for action in question.valid_actions if action != question.foil]
    return np.asarray(worth[:, [question.foil]] - worth[:, rivals])


@pytest.mark.parametrize(("dim", "hidden", "activation"), SHAPES)
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_no_margin_in_a_box_is_above_its_line(
    dim: int, hidden: tuple[int, ...], activation: Activation, offset: float
) -> None:
    rng = np.random.default_rng(0)
    for seed in range(4):
        question = pose(seed, dim, hidden, activation, offset)
        low, high = boxes(question, rng, 70)
        lines = network_of(question).upper_bounds(low, high)
        for share in [*rng.random((20, dim)), *rng.integers(0, 2, size=(10, dim))]:
            z = np.clip(low + share * (high - low), low, high).astype(np.longdouble)
            above = (lines.slopes * z[:, None, :]).sum(axis=2) + lines.offsets
            assert (true_margins(question, z) <= above).all()


@pytest.mark.parametrize("turn", range(len(KINDS)), ids=list(KINDS))
def test_nothing_is_proven_of_values_by_hard_networks_that_samples_refute(turn: int) -> None:
    rng = np.random.default_rng(turn)
    for number in range(4):
        question = hard_question(number * len(KINDS) + turn)
        low, high = boxes(question, rng, 40)
        lines = network_of(question).upper_bounds(low, high)
        weights = random_commands(rng, question.space, 3000)
        worth = question.policy.log_probs(np.zeros((3000, 1)), weights)
        own_rounding = np.longdouble(1e-18) * max(1.0, float(np.abs(worth).max()))  # of the true margins
        for share in [*rng.random((4, low.shape[1])), *rng.integers(0, 2, size=(4, low.shape[1]))]:
            z = np.clip(low + share * (high - low), low, high).astype(np.longdouble)
            above = (lines.slopes * z[:, None, :]).sum(axis=2) + lines.offsets
            assert (true_margins(question, z) <= above + own_rounding).all()
        [finding] = Exact(max_boxes=500).run(QuestionBatch([question]))
        closer = np.linalg.norm(weights - question.command, axis=1) < finding.certificate.lower  # type: ignore[union-attr]
        lead = worth[:, question.foil] - np.delete(worth, question.foil, axis=1).max(axis=1)
        assert (lead[closer] < question.kappa).all()


@pytest.mark.parametrize(("dim", "hidden", "activation"), SHAPES)
def test_the_lines_of_small_boxes_are_tight_to_second_order(
    dim: int, hidden: tuple[int, ...], activation: Activation
) -> None:
    question = pose(3, dim, hidden, activation)
    network, middle, gaps = network_of(question), np.full((1, dim), 0.0123), []
    for width in (1e-2, 1e-3):
        low, high = middle - width / 2, middle + width / 2
        corners = low + (high - low) * np.random.default_rng(0).integers(0, 2, size=(200, dim))
        most = network.margins(corners).max(axis=0)
        gaps.append(float((network.upper_bounds(low, high).highest(low, high)[0] - most).max()))
    assert 0 <= gaps[1] < gaps[0] / 50


def test_margins_are_those_of_the_policy_and_slopes_their_derivatives() -> None:
    question = pose(1, 3, (16,), "tanh")
    network, batch = network_of(question), QuestionBatch([question])
    z = batch.project(np.zeros(9, dtype=int), np.random.default_rng(0).uniform(*question.room, size=(9, 3)))
    asked = batch.margins(np.zeros(9, dtype=int), z, "verify")
    assert network.margins(z).min(axis=1) == pytest.approx(asked, abs=1e-4)
    margins, slopes = network.margins_and_slopes(z)
    assert margins == pytest.approx(network.margins(z))
    for j, step in enumerate(1e-6 * np.eye(3)):
        assert slopes[:, :, j] == pytest.approx(
            (network.margins(z + step) - network.margins(z - step)) / 2e-6, abs=1e-4
        )
    assert network.negated().margins(z) == pytest.approx(-margins)


@pytest.mark.parametrize("dim", [2, 3, 4])
def test_every_question_is_resolved_and_no_sample_violates_the_certificate(dim: int) -> None:
    kinds, rng = set(), np.random.default_rng(0)
    for seed in range(10):
        question = envelope_question(random_envelope(seed, dim), seed)
        [found] = ask([question], Exact())
        kinds.add(found.proof.status)  # type: ignore[union-attr]
        weights = random_commands(rng, question.space, 5000)
        weights = weights[np.linalg.norm(weights - question.command, axis=1) < found.lower_bound]
        worth = question.policy.log_probs(np.zeros((len(weights), 1)), weights)
        lead = worth[:, question.foil] - np.delete(worth, question.foil, axis=1).max(axis=1)
        assert (lead < question.kappa).all()
        assert not found.found or found.command.sum() == pytest.approx(1.0, abs=1e-12)  # type: ignore[union-attr]
        assert verify_certificate(question, found.proof, 2000, rebound=True).holds  # type: ignore[arg-type]
    assert {"optimal"} <= kinds <= {"optimal", "infeasible"}


def test_the_nearest_preferences_of_a_known_parabola_are_found() -> None:
    """Action 1 is worth 4 w0 w0, action 0 always 1: they meet where w0 is a half."""
    weights, biases = np.zeros((4, 2)), np.array([1.0, 1.0, 0.0, 0.0])
    weights[2, 0] = 4.0
    policy = EnvelopePolicy(FoldedValues(Program.of_layers((weights,), (biases,))))
    question = replace(envelope_question(policy, 0), command=np.array([0.2, 0.8]), foil=1, kappa=0.0)
    [found] = ask([question], Exact())
    assert found.proof.status == "optimal"  # type: ignore[union-attr]
    assert found.closest.command == pytest.approx([0.5, 0.5], abs=3e-3)
    assert found.lower_bound <= 0.3 * np.sqrt(2)


def test_auto_proves_white_box_values() -> None:
    assert choose_search("auto", random_envelope(0, 2)).name == "exact"
