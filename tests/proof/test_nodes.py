"""The contract of every kind of node: no sampled value lies outside its bounds, and bounds close with the box."""

from dataclasses import replace

import numpy as np
import pytest

from paretofoil.core.program import (
    ACTIVATIONS,
    STEEPEST,
    Affine,
    Elementwise,
    Kind,
    Node,
    Product,
    Program,
    Rounding,
    Softmax,
)
from paretofoil.proof import taylor
from paretofoil.proof.networks import MarginNetwork, moved_network

DIM = 3
KINDS: dict[str, tuple[Kind, int, float]] = {
    **{name: (Elementwise(name), 1, np.inf) for name in STEEPEST},
    "exp": (Elementwise("exp"), 1, np.inf),
    "reciprocal": (Elementwise("reciprocal"), 1, 4.0),
    "rsqrt": (Elementwise("rsqrt"), 1, 2.0),
    "product": (Product(), 2, np.inf),
    "sums of products": (Product(3), 2, np.inf),
    "squares": (Product(), 1, np.inf),
    "sums of squares": (Product(4), 1, np.inf),
    "softmax": (Softmax(3), 1, np.inf),
    "softmax of many": (Softmax(12), 1, np.inf),
}
"""The kind, how many operands it has, and its natural range."""


def random_affine(rng: np.random.Generator, size: int, *sources: tuple[int, int], bias: float = 1.0) -> Affine:
    weights = {node: rng.normal(size=(size, count)) / np.sqrt(count) for node, count in sources}
    return Affine(bias * rng.normal(size=size), weights)


def one_node(name: str, seed: int, spread: float) -> Program:
    """A node of affine functions of the input and of a layer before, and an output that reads all three."""
    (kind, operands, limit), rng = KINDS[name], np.random.default_rng(seed)
    first = Node(Elementwise("tanh"), (random_affine(rng, 5, (0, DIM)),))
    made = [random_affine(rng, 12, (0, DIM), (1, 5)).each(lambda part: spread * part) for _ in range(operands)]
    nodes: tuple[Node, ...]
    if isinstance(kind, Elementwise) and np.isfinite(limit):  # its input is a square and a constant
        square = Node(Product(), (made[0],))
        made = [Affine(np.full(12, 1.0 / limit), {2: np.eye(12)})]
        nodes = (first, square, Node(kind, tuple(made), limit=limit))
        if kind.function == "rsqrt":
            made[0].bias[:] = limit**-2.0
    else:
        nodes = (first, Node(kind, tuple(made), limit=limit))
    output = random_affine(rng, 4, (0, DIM), (1, 5), (len(nodes), nodes[-1].size))
    return Program(DIM, nodes, output)


def boxes(rng: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Boxes of all widths, with and without width in some coordinates."""
    middle = rng.uniform(-1.0, 1.0, size=(count, DIM)) * 10.0 ** rng.uniform(-3, 0.5, size=(count, 1))
    width = 10.0 ** rng.uniform(-10, 0.5, size=(count, 1)) * rng.random((count, DIM))
    width[rng.random(width.shape) < 0.2] = 0.0
    return middle - width, middle + width


def network_of(program: Program) -> MarginNetwork:
    return moved_network(program, np.zeros(DIM), np.eye(DIM), True, np.full(DIM, 10.0))


def highest_violation(name: str, seed: int, count: int, samples: int) -> float:
    """Return by how much a sampled value exceeds its upper bound, in long doubles; negative if none does."""
    rng, worst = np.random.default_rng(seed), -np.inf
    program = one_node(name, seed, spread=float(rng.choice([0.1, 1.0, 3.0])))
    low, high = boxes(rng, count)
    lines = network_of(program).upper_bounds(low, high)
    for i in range(samples):
        share = rng.integers(0, 2, size=DIM) if i % 3 == 0 else rng.random(DIM)
        points = np.clip(low + share * (high - low), low, high)
        above = (lines.slopes * points[:, None, :]).sum(axis=2) + lines.offsets
        worst = max(worst, float((program.logits(points.astype(np.longdouble)) - above).max()))
    return worst


@pytest.mark.parametrize("name", KINDS)
def test_no_value_of_a_node_is_above_its_bounds(name: str) -> None:
    assert max(highest_violation(name, seed, 60, 40) for seed in range(6)) <= 1e-14  # the rounding of this comparison


@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize("name", KINDS)
def test_no_value_of_a_node_is_above_its_taylor_model(name: str, dim: int) -> None:
    for seed in range(4):
        rng = np.random.default_rng(seed)
        program = one_node(name, seed, spread=float(rng.choice([0.1, 1.0, 3.0])))
        low, high = boxes(rng, 40)
        low[:, dim:] = high[:, dim:] = 0.3  # the others do not vary
        turned = program.moved(np.where(np.arange(DIM) < dim, 0.0, 0.3), np.eye(DIM)[:, :dim], diagonal=False)
        turned = replace(turned, dim=dim)
        lines = taylor.upper_bounds(turned, taylor.stretches(turned), low[:, :dim], high[:, :dim])
        for i in range(30):
            share = rng.integers(0, 2, size=DIM) if i % 3 == 0 else rng.random(DIM)
            points = np.clip(low + share * (high - low), low, high)
            above = (lines.slopes * points[:, None, :dim]).sum(axis=2) + lines.offsets
            assert (program.logits(points.astype(np.longdouble)) <= above + 1e-13).all()


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_the_radius_of_a_product_of_taylor_models_covers_what_exceeds_the_degree(dim: int) -> None:
    rng, basis = np.random.default_rng(0), taylor.monomials(dim)
    factors = rng.normal(size=(2, len(basis.powers), 1, 1))
    one, two = (taylor.TaylorModel.of(basis, numbers, np.zeros((1, 1))) for numbers in factors)
    product = one.times(two)
    powers = np.prod(rng.uniform(-1, 1, size=(2_000, 1, dim)) ** basis.powers, axis=2)
    polynomials = [powers @ numbers[:, 0, 0] for numbers in (*factors, product.coefficients)]
    assert (np.abs(polynomials[0] * polynomials[1] - polynomials[2]) <= product.radius).all()


@pytest.mark.long
@pytest.mark.parametrize("name", KINDS)
def test_no_value_of_many_is_above_its_bounds(name: str) -> None:
    assert max(highest_violation(name, seed, 400, 100) for seed in range(100, 106)) <= 1e-14


@pytest.mark.parametrize("name", KINDS)
def test_bounds_of_a_node_close_with_the_square_of_the_width(name: str) -> None:
    network, middle, gaps = network_of(one_node(name, 3, 0.7)), np.full((1, DIM), 0.123), []
    for width in (1e-2, 1e-3):
        low, high = middle - width, middle + width
        corners = low + (high - low) * np.random.default_rng(0).integers(0, 2, size=(200, DIM))
        most = network.margins(corners).max(axis=0)
        gaps.append(float((network.upper_bounds(low, high).highest(low, high)[0] - most).max()))
    assert 0 <= gaps[1] < gaps[0] / 30 + 1e-12


@pytest.mark.parametrize("name", KINDS)
def test_slopes_of_a_node_are_its_derivatives(name: str) -> None:
    network, z, step = network_of(one_node(name, 1, 1.0)), np.random.default_rng(0).normal(size=(7, DIM)), 1e-6
    _, slopes = network.margins_and_slopes(z)
    for j, move in enumerate(step * np.eye(DIM)):
        numeric = (network.margins(z + move) - network.margins(z - move)) / (2 * step)
        np.testing.assert_allclose(slopes[:, :, j], numeric, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", KINDS)
def test_errors_of_operands_are_followed_through_a_node(name: str) -> None:
    """A program with moved biases differs from the exact one by no more than the errors that it states."""
    rng, program = np.random.default_rng(2), one_node(name, 2, 1.0)
    off = 1e-3
    stated, moved = [], []
    for node in program.nodes:
        errors = tuple(Affine(np.full(a.size, off), {0: np.zeros((a.size, DIM))}) for a in node.operands)
        stated.append(Node(node.kind, node.operands, errors, 0.0, node.limit))
        shifts = [off * rng.choice([-1.0, 1.0], size=a.size) for a in node.operands]
        shifted = tuple(Affine(a.bias + s, a.weights) for a, s in zip(node.operands, shifts, strict=True))
        moved.append(Node(node.kind, shifted, (), 0.0, node.limit))
    nothing = program.output.each(np.zeros_like)
    exact = Program(DIM, tuple(stated), program.output, nothing, rounding=Rounding(2.0**-24))
    deployed = Program(DIM, tuple(moved), program.output)
    points = rng.uniform(-1, 1, size=(500, DIM))
    difference = np.abs(exact.logits(points) - deployed.logits(points))
    assert (difference <= exact.errors(points) + 1e-12).all()
    network = network_of(exact)
    assert (difference.max(axis=0) <= network.largest_error(np.full(DIM, -1.0), np.full(DIM, 1.0))).all()
    low, high = points - 0.01, points + 0.01
    assert (deployed.logits(points) <= network.upper_bounds(low, high).highest(low, high) + 1e-12).all()


def test_a_softmax_of_numbers_far_apart_is_bounded() -> None:
    """Differences of exponentials would lose all digits here."""
    weight = np.array([[1.0], [0.0], [-1.0]])
    node = Node(Softmax(3), (Affine(np.array([0.0, 40.0, 800.0]), {0: weight}),))
    program = Program(1, (node,), Affine(np.zeros(3), {1: np.eye(3)}))
    network = moved_network(program, np.zeros(1), np.eye(1), True, np.ones(1))
    low, high = np.array([[-1.0], [700.0], [799.0], [-900.0]]), np.array([[1.0], [760.0], [801.0], [900.0]])
    for share in np.linspace(0.0, 1.0, 101):
        points = low + share * (high - low)
        assert (network.margins(points) <= network.upper_bounds(low, high).highest(low, high)).all()
        assert (network.margins(points) >= network.lower_bounds(low, high)).all()


def test_numbers_that_nothing_reads_are_pruned() -> None:
    rng = np.random.default_rng(0)
    first = Node(Elementwise("relu"), (random_affine(rng, 6, (0, DIM)),))
    second = Node(Product(2), (random_affine(rng, 6, (1, 6)), random_affine(rng, 6, (0, DIM))))
    unused = Node(Elementwise("tanh"), (random_affine(rng, 4, (2, 3)),))
    second.operands[0].weights[1][:2] = 0.0
    output = Affine(np.zeros(1), {2: np.array([[0.0, 2.0, 0.0]]), 3: np.zeros((1, 4))})
    program = Program(DIM, (first, second, unused), output)
    pruned = program.pruned()
    assert [node.size for node in pruned.nodes] == [6, 1]
    points = rng.normal(size=(20, DIM))
    np.testing.assert_allclose(pruned.logits(points), program.logits(points), rtol=1e-12)


def test_every_function_of_a_node_has_bounds() -> None:
    names = {kind.function for kind, _, _ in KINDS.values() if isinstance(kind, Elementwise)}
    assert names == set(ACTIVATIONS)
