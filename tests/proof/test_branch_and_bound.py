"""Branch and bound: no box is lost, and the lower bound holds wherever a proof stops."""

from dataclasses import replace

import numpy as np
import pytest
from margins import LINE, PLATEAU, TENT, TENTS, claim, network

from paretofoil.core.command import Norm, length
from paretofoil.core.options import Stop
from paretofoil.core.program import Function, Program
from paretofoil.proof.bounds import Cap
from paretofoil.proof.branch_and_bound import (
    AT_ONCE,
    Claim,
    Effort,
    Proof,
    at_once,
    bound_boxes,
    branch_and_bound,
    halves,
    too_small,
)
from paretofoil.proof.networks import MarginNetwork, rounding_pads


def test_halves_meet_in_the_middle_of_their_axis_and_nowhere_else_changes() -> None:
    low, high = np.array([[0.0, 0.0], [1.0, -2.0]]), np.array([[4.0, 1.0], [3.0, 6.0]])
    lows, highs = halves(low, high, np.array([0, 1]))
    assert lows.tolist() == [[0.0, 0.0], [1.0, -2.0], [2.0, 0.0], [1.0, 2.0]]
    assert highs.tolist() == [[2.0, 1.0], [3.0, 2.0], [4.0, 1.0], [3.0, 6.0]]
    assert low.tolist() == [[0.0, 0.0], [1.0, -2.0]]


@pytest.mark.parametrize(("work", "boxes"), [(1, AT_ONCE), (1 << 24, 64), (1 << 40, 1)])
def test_wide_networks_take_fewer_boxes_at_once_but_never_none(work: int, boxes: int) -> None:
    assert at_once(work) == boxes


def test_a_box_is_too_small_only_if_it_is_on_every_side() -> None:
    high = np.array([[1e-9, 1e-9], [1e-9, 1e-3], [0.0, 0.0]])
    assert too_small(np.zeros((3, 2)), high).tolist() == [True, False, True]


@pytest.mark.parametrize("distance", [1e1, 1e4, 1e6, 1e8])
def test_no_whole_number_is_lost_however_far_away_it_is(distance: float) -> None:
    """Coordinates are whole numbers divided by the width of a command space, here with the command outside of it."""
    rng = np.random.default_rng(0)
    for width in rng.integers(1, 1000, size=300).astype(float):
        command = np.round(-distance * width * rng.random())
        low, high = np.zeros(1), np.array([(width - command) / width])
        question = Claim(TENT, low, high, 0.0, "l2", grid=np.array([1.0 / width]))
        [[first]], [[last]] = question.shrink(low[None], high[None])
        assert first == pytest.approx(low[0], abs=1e-9 * distance / width)
        assert last == pytest.approx(high[0], abs=1e-9 * distance / width)


@pytest.mark.parametrize("batch", [1, 3, 512])
def test_no_box_is_lost(batch: int) -> None:
    """The margin -|z - point| reaches 0 at one point only."""
    for point in np.linspace(0.01, 0.99, 33):
        tent = network(([[1.0], [-1.0]], [-point, point]), ([[-1.0, -1.0]], [0.0]))
        proof = branch_and_bound(claim(tent, 0.0), Effort(1e-3, 10_000, batch=batch))
        assert proof.lower == pytest.approx(point, abs=1e-7)


@pytest.mark.parametrize("contract", [True, False])
def test_a_box_in_which_the_level_is_just_reached_is_not_rejected(contract: bool) -> None:
    hair = claim(LINE, 1.0 - 1e-5)
    boxes = bound_boxes(hair, hair.low[None], hair.high[None], np.inf, contract=contract)
    assert boxes.bound.tolist() == pytest.approx([1.0 - 1e-5], abs=1e-9)


def test_a_box_may_have_no_width() -> None:
    flat = network(([[1.0, 0.0]], [0.0]))
    locked = replace(claim(flat, 0.3, dim=2), low=np.array([-1.0, 0.0]), high=np.array([1.0, 0.0]))
    assert bound_boxes(locked, locked.low[None], locked.high[None], 0.5).bound.tolist() == pytest.approx([0.3])


def test_a_box_that_is_too_small_to_split_leaves_the_proof_open() -> None:
    proof = branch_and_bound(claim(TENT, 0.0), Effort(1e-3, 10_000))
    assert proof.lower == pytest.approx(0.3, abs=1e-7)
    assert proof.stop is Stop.COMPLETE
    assert not proof.closed


@pytest.mark.parametrize("batch", [1, 512])
def test_the_bound_holds_wherever_a_proof_stops(batch: int) -> None:
    stops = set()
    for max_boxes in range(1, 90):
        proof = branch_and_bound(claim(TENTS, 0.0), Effort(1e-3, max_boxes, batch=batch))
        stops.add(proof.stop)
        assert proof.lower <= 0.3
        assert proof.boxes <= max_boxes + 2 * batch
    assert Stop.OUT_OF_BOXES in stops


def test_a_proof_out_of_time_returns_its_bound() -> None:
    proof = branch_and_bound(claim(TENT, -1e-3), Effort(1e-9, 10_000, deadline=0.0))
    assert proof.stop is Stop.OUT_OF_TIME
    assert proof.boxes == 1
    assert 0.0 <= proof.lower <= 0.299


def test_a_proof_ends_at_the_gap_to_the_incumbent() -> None:
    proof = branch_and_bound(claim(LINE, 0.3), Effort(0.3, 10_000), best=0.5)
    assert (proof.lower, proof.boxes, proof.closed) == (pytest.approx(0.2), 1, True)
    proof = branch_and_bound(claim(LINE, 0.3), Effort(0.3, 10_000, share=0.1), best=0.5)
    assert proof.lower == pytest.approx(0.3)  # the goal is 0.45, and from 0.3 on points are valid
    proof = branch_and_bound(claim(LINE, 0.3), Effort(0.01, 10_000), improve=lambda points: 0.305)
    assert (proof.lower, proof.boxes, proof.closed) == (pytest.approx(0.295), 1, True)


def test_a_plateau_just_below_the_level_is_one_box() -> None:
    assert branch_and_bound(claim(PLATEAU, 0.05), Effort(1e-3, 10)) == Proof(np.inf, 1, Stop.PROVEN)
    proof = branch_and_bound(claim(PLATEAU, 0.03), Effort(1e-3, 1000))
    assert proof.lower == pytest.approx(0.499, abs=2e-3), "the kink of the ReLU"


@pytest.mark.parametrize("activations", [("sigmoid", "relu"), ("tanh", "sigmoid"), ("relu", "relu")])
@pytest.mark.parametrize("radius", [0.7, np.inf])
def test_bounds_in_caps_hold_there_and_are_tighter(activations: tuple[Function, ...], radius: float) -> None:
    rng = np.random.default_rng(0)
    weights = tuple(rng.normal(size=shape) for shape in ((12, 5), (10, 12), (2, 10)))
    program = Program.of_layers(weights, tuple(rng.normal(size=len(w)) for w in weights), activations)
    net = MarginNetwork(program, rounding_pads(program, np.ones(5)))
    question = Claim(net, -np.ones(5), np.ones(5), 0.0, "l2")
    low = rng.uniform(-0.5, 0.1, (40, 5))
    high = low + rng.uniform(0.0, 0.7, (40, 5))
    normal = rng.normal(size=(40, 5))
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    cap = Cap(radius, normal, rng.uniform(-0.3, 0.3, 40))
    far, near = question.upper_bounds(low, high), question.upper_bounds(low, high, cap)
    z = low + rng.random((4000, 40, 5)) * (high - low)
    inside = (np.linalg.norm(z, axis=2) < radius) & ((z * normal).sum(axis=2) >= cap.height)
    assert inside.sum() > 1000
    values = near.offsets + (near.slopes * z[:, :, None, :]).sum(axis=3)
    margins = net.margins(z.reshape(-1, 5)).reshape(*z.shape[:2], 2)
    assert values.shape[2] == (2 if activations[0] == "relu" else 4)  # the curvature gives each margin a second bound
    assert (np.tile(margins, values.shape[2] // 2) <= values)[inside].all()
    some = inside.any(axis=0)
    highest = near.highest(low, high).reshape(len(low), -1, 2).min(axis=1)[some]
    plain = far.highest(low, high)[some]
    assert highest.mean() < plain.mean() or (activations[0] == "relu" and radius == np.inf)


@pytest.mark.parametrize("norm", ["l2", "l1", "linf"])
def test_boxes_lose_no_closer_point(norm: Norm) -> None:
    rng = np.random.default_rng(1)
    weights = tuple(rng.normal(size=shape) for shape in ((12, 4), (10, 12), (2, 10)))
    program = Program.of_layers(weights, tuple(rng.normal(size=len(w)) for w in weights), ("sigmoid", "relu"))
    net = MarginNetwork(program, rounding_pads(program, np.ones(4)))
    z = rng.uniform(-1, 1, (200_000, 4))
    margins, distances = net.margins(z).min(axis=1), length(z, norm)
    level = float(np.quantile(margins, 0.9))
    question, radius = Claim(net, -np.ones(4), np.ones(4), level, norm), float(np.quantile(distances, 0.6))
    closer = z[(margins >= level) & (distances < radius)]
    low, high, planes = question.low[None], question.high[None], None
    assert len(closer) > 100
    for _ in range(7):
        boxes = bound_boxes(question, low, high, radius, planes)
        inside = ((closer[:, None] >= boxes.low) & (closer[:, None] <= boxes.high)).all(axis=2)  # (N, B)
        assert inside.any(axis=1).all()
        beyond = (closer @ boxes.normal.T >= boxes.height - 1e-12) & (
            length(closer, norm)[:, None] >= boxes.bound - 1e-12
        )
        assert (beyond | ~inside).all()
        low, high = boxes.halves()
        planes = np.tile(boxes.normal, (2, 1)), np.tile(boxes.height, 2)
