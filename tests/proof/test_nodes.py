"""The contract of every kind of node: no sampled point lies outside its bounds, and bounds close with the box."""

from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from paretofoil.core.program import (
    ACTIVATIONS,
    STEEPEST,
    Affine,
    Elementwise,
    Function,
    Kind,
    Node,
    Product,
    Program,
    Rounding,
    Softmax,
)
from paretofoil.proof import taylor
from paretofoil.proof.bounds import UNBOUNDED, HalfSpaces
from paretofoil.proof.elementwise import _INFLECTIONS, _MINIMA
from paretofoil.proof.linear import Forward
from paretofoil.proof.networks import MarginNetwork, moved_network, rounding_pads
from paretofoil.proof.softmax import shares

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
    "norm": (Product(), 2, np.sqrt(6.0)),
}
"""The kind, how many operands it has, and its natural range. A norm divides six numbers by their root mean square."""
SPECIAL = np.array([0.0, *(x for name in ("silu", "gelu", "mish") for x in (*_INFLECTIONS[name], _MINIMA[name]))])
"""Inputs where functions have a kink, a minimum, an inflection, or are saturated."""


def random_affine(rng: np.random.Generator, size: int, *sources: tuple[int, int], bias: float = 1.0) -> Affine:
    weights = {node: rng.normal(size=(size, count)) / np.sqrt(count) for node, count in sources}
    return Affine(bias * rng.normal(size=size), weights)


def one_node(name: str, seed: int, spread: float, dim: int = DIM) -> Program:
    """A node of affine functions of the input and of a layer before, and an output that reads all three."""
    (kind, operands, limit), rng = KINDS[name], np.random.default_rng(seed)
    first = Node(Elementwise("tanh"), (random_affine(rng, 3, (0, dim)),))
    width = {"sums of squares": 8, "softmax of many": 12}.get(name, 6)
    read = [random_affine(rng, width, (0, dim), (1, 3)).map(lambda part: spread * part) for _ in range(operands)]
    for affine in read:  # these are numbers of the input itself, so that boxes choose their ranges
        affine.bias[:dim], affine.weights[1][:dim], affine.weights[0][:dim] = 0.0, 0.0, np.eye(dim)
    nodes: tuple[Node, ...]
    if name == "norm":
        squares = Node(Product(6), (read[0],))
        inverse = Node(Elementwise("rsqrt"), (Affine(np.full(1, 1e-5), {2: np.ones((1, 1)) / 6.0}),), limit=1e-5**-0.5)
        repeated = Affine(np.zeros(6), {3: np.ones((6, 1))})
        nodes = (first, squares, inverse, Node(kind, (read[0], repeated), limit=limit))
    elif np.isfinite(limit):  # its input is a square and a constant
        square = Node(Product(), (read[0],))
        least = limit ** (-2.0 if name == "rsqrt" else -1.0)
        nodes = (first, square, Node(kind, (Affine(np.full(width, least), {2: np.eye(width)}),), limit=limit))
    else:
        nodes = (first, Node(kind, tuple(read), limit=limit))
    output = random_affine(rng, 4, (0, dim), (1, 3), (len(nodes), nodes[-1].size))
    for part in (output.bias, *output.weights.values()):  # the last two read one number of the node alone
        part[2:] = 0.0
    output.weights[len(nodes)][2:, 0] = 1.0, -1.0
    return Program(dim, nodes, output)


def boxes(rng: np.random.Generator, count: int, dim: int = DIM, largest: float = 0.5) -> tuple[np.ndarray, np.ndarray]:
    """Boxes of all widths, also without width, and half of them with the middle or a side at a special input."""
    middle = rng.uniform(-1.0, 1.0, size=(count, dim)) * 10.0 ** rng.uniform(-3, largest, size=(count, 1))
    width = 10.0 ** rng.uniform(-12, largest, size=(count, 1)) * rng.random((count, dim))
    width[rng.random(width.shape) < 0.2] = 0.0
    special = rng.choice(SPECIAL[np.abs(SPECIAL) < 10.0 ** (largest + 0.7)], size=middle.shape)
    special = special + width * rng.integers(-1, 2, size=width.shape)
    middle = np.where(rng.random(middle.shape) < 0.5, special, middle)
    return middle - width, middle + width


def network_of(program: Program, reach: float = 10.0) -> MarginNetwork:
    return moved_network(program, np.zeros(program.dim), np.eye(program.dim), True, np.full(program.dim, reach))


@dataclass
class Contract:
    """By how much sampled points exceed the bounds of one node, as a share of what is allowed; at most 1 if none do."""

    worst: dict[str, float] = field(default_factory=dict)
    points: int = 0

    def check(self, bound: str, beyond: np.ndarray, allowed: np.ndarray | float) -> None:
        """Note how far points are beyond a bound, if rounding allows a difference in this comparison."""
        excess = np.nan_to_num(beyond / allowed, nan=np.inf, neginf=-np.inf)
        self.worst[bound] = max(self.worst.get(bound, 0.0), float(excess.max()))


def sample(name: str, seed: int, count: int, samples: int) -> Contract:
    """Sample points of boxes, and compare the node at these points, in long doubles, with each of its bounds."""
    rng, contract, dim = np.random.default_rng(seed), Contract(points=count * samples), 1 + seed % 3
    program = one_node(name, seed, float(rng.choice([0.1, 1.0, 3.0])), dim)
    low, high = boxes(rng, count, dim, largest=0.5 if name == "exp" else float(rng.choice([0.5, 1.5, 3.0])))
    reach = float(np.abs([low, high]).max())
    network, last = network_of(program, reach), len(program.nodes)
    share = rng.random((samples, count, dim))
    share[::3] = np.round(share[::3])
    points = np.clip(low + share * (high - low), low, high)
    values, _ = program.run(points.astype(np.longdouble))
    outputs = program.output(values)
    exact = 2.0**-49 if "gelu" in name else 2.0**-58  # SciPy has no long doubles

    forward, node = Forward(program, low, high, network.pads, None), values[last]
    forward.run()
    size = 1.0 + np.abs(node)
    contract.check("range", np.maximum(node - forward.ceilings[last], forward.floors[last] - node), 1e-12 * size)
    form, half = forward.forms[last], (high - low) / 2
    position = np.divide(points - (low + high) / 2, half, out=np.zeros_like(points), where=half > 0)
    terms = np.abs(form.center) + form.reach
    middle = form.center + np.einsum("sbd,bdn->sbn", position, form.slopes)
    contract.check("linear form", np.abs(node - middle) - form.radius, 1e-11 * (size + terms))

    def check_lines(bound: str, lines: HalfSpaces, outputs: np.ndarray, exact: float) -> None:
        line, size = lines.offsets.astype(outputs.dtype), 1.0 + np.abs(outputs) + np.abs(lines.offsets)
        for slopes, x in zip(lines.slopes.transpose(2, 0, 1), points.transpose(2, 0, 1), strict=True):
            part = slopes * x[:, :, None].astype(outputs.dtype)
            line, size = line + part, size + np.abs(part)
        contract.check(bound, np.where(lines.offsets < UNBOUNDED, outputs - line, 0.0), exact * size)

    check_lines("backward pass", network.upper_bounds(low, high), outputs, exact)
    check_lines("Taylor model", taylor.upper_bounds(program, taylor.stretches(program), low, high), outputs, exact)

    rounded, deployed = deploy(rng, program, points)
    check_lines("rounded bounds", network_of(rounded, reach).upper_bounds(low, high), deployed, 1e-14)
    size, stretches = np.maximum(np.abs(low), np.abs(high)), taylor.stretches(rounded)
    check_lines("rounded Taylor model", taylor.upper_bounds(rounded, stretches, low, high, size), deployed, 1e-14)
    errors = rounded.errors(points.reshape(-1, dim)).reshape(outputs.shape)
    off = 1e-12 * (1.0 + np.abs(outputs) + np.abs(deployed))
    contract.check("rounding errors", np.abs(deployed - outputs) - errors, off)
    return contract


def deploy(rng: np.random.Generator, program: Program, points: np.ndarray) -> tuple[Program, np.ndarray]:
    """Return the program with rounding errors, and its outputs at points if most of these are as large as they can be.

    Operands that are one object have one error, as the numbers that a norm divides and squares.
    """
    share, unit = 2.0 ** -rng.integers(8, 25, size=2).astype(np.float64)  # of operands, and of the node
    nodes: list[Node] = []
    values, deployed = [points], dict[int, np.ndarray]()

    def signs(shape: tuple[int, ...]) -> np.ndarray:
        return np.clip(1.5 * rng.uniform(-1.0, 1.0, size=(shape[0], 1, shape[2])), -1.0, 1.0)

    for node in program.nodes:
        errors = tuple(operand.map(lambda part: share * np.abs(part)) for operand in node.operands)
        for operand, error in zip(node.operands, errors, strict=True):
            off = error([np.abs(value) for value in values])
            deployed.setdefault(id(operand), operand(values) + signs(off.shape) * off)
        given = [deployed[id(operand)] for operand in node.operands]
        limit = node.limit * (1.0 + 8.0 * (share + unit))
        if isinstance(node.kind, Elementwise) and np.isfinite(limit):  # of numbers that are never smaller than this
            given = [np.maximum(given[0], node.limit ** (-2.0 if node.kind.function == "rsqrt" else -1.0))]
        slip = 0.0 if node.kind == Elementwise("relu") else unit
        nodes.append(replace(node, errors=errors, slip=slip, limit=limit))
        exact = node.kind.points(*given)
        size = node.kind.size([np.abs(x) for x in given], np.abs(exact))
        values.append(exact + signs(exact.shape) * slip * size)
    error = program.output.map(np.zeros_like)
    rounded = replace(program, nodes=tuple(nodes), error=error, rounding=Rounding(share))
    return rounded, program.output(values)


BOUNDS = (
    *("range", "linear form", "backward pass", "Taylor model"),
    *("rounded bounds", "rounded Taylor model", "rounding errors"),
)


def worst_of(name: str, seeds: range, count: int, samples: int) -> tuple[dict[str, float], int]:
    """Return by how much points exceed each bound of a node, and the number of points."""
    contracts = [sample(name, seed, count, samples) for seed in seeds]
    worst = {bound: max(contract.worst[bound] for contract in contracts) for bound in BOUNDS}
    return worst, sum(contract.points for contract in contracts)


@pytest.mark.parametrize("name", KINDS)
def test_no_point_of_a_node_is_outside_its_bounds(name: str) -> None:
    worst, _ = worst_of(name, range(6), 100, 15)
    assert {bound: excess for bound, excess in worst.items() if excess > 1.0} == {}


@pytest.mark.long
@pytest.mark.parametrize("name", KINDS)
def test_no_point_of_a_million_is_outside_the_bounds_of_a_node(name: str) -> None:
    worst, points = worst_of(name, range(100, 118), 1000, 56)
    assert points >= 1_000_000
    assert {bound: excess for bound, excess in worst.items() if excess > 1.0} == {}


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_the_radius_of_a_product_of_taylor_models_covers_what_exceeds_the_degree(dim: int) -> None:
    rng, basis = np.random.default_rng(0), taylor.monomials(dim)
    factors = rng.normal(size=(2, len(basis.powers), 1, 1))
    one, two = (taylor.TaylorModel.of(basis, numbers, np.zeros((1, 1))) for numbers in factors)
    product = one.times(two)
    powers = np.prod(rng.uniform(-1, 1, size=(2_000, 1, dim)) ** basis.powers, axis=2)
    polynomials = [powers @ numbers[:, 0, 0] for numbers in (*factors, product.coefficients)]
    assert (np.abs(polynomials[0] * polynomials[1] - polynomials[2]) <= product.radius).all()


@pytest.mark.parametrize("dim", [1, 2])
@pytest.mark.parametrize("function", taylor.SERIES)
def test_a_function_of_a_taylor_model_is_within_its_radius(function: Function, dim: int) -> None:
    """Inputs are polynomials of all degrees and a rest; some of them can fall below the lowest value."""
    rng, basis, count = np.random.default_rng(dim), taylor.monomials(dim), 3_000
    lowest = 0.25 if function in ("reciprocal", "rsqrt") else -np.inf
    inputs = rng.normal(size=(len(basis.powers), count, 1)) * 10.0 ** rng.uniform(-3.0, 0.3, size=(count, 1))
    inputs[0] = 10.0 ** rng.uniform(-1.0, 0.5, size=(count, 1)) * (1.0 if lowest > 0 else rng.choice([-1.0, 1.0]))
    rest = np.abs(inputs[1:]).sum(axis=0) * rng.choice([0.0, 0.01, 1.0], size=(count, 1))
    model = taylor.TaylorModel.of(basis, inputs, rest)
    result = taylor._compose(Elementwise(function), model, lowest)
    places = np.clip(rng.uniform(-1.5, 1.5, size=(300, 1, dim)), -1.0, 1.0)
    powers = np.prod(places**basis.powers, axis=2)
    polynomial = np.einsum("sp,pbn->sbn", powers, inputs)
    given = np.maximum(polynomial + rng.choice([-1.0, 0.0, 1.0], size=polynomial.shape) * rest, lowest)
    off = np.abs(Elementwise(function).points(given) - np.einsum("sp,pbn->sbn", powers, result.coefficients))
    possible = polynomial + rest >= lowest
    assert possible.mean() > 0.5
    assert (off <= result.radius)[possible].all()


def model_with_a_rest(rng: np.random.Generator, dim: int, count: int, size: int) -> taylor.TaylorModel:
    """Polynomials of all degrees with rests of all sizes, whose 2-norm is often smaller than their radius allows."""
    basis = taylor.monomials(dim)
    numbers = rng.normal(size=(len(basis.powers), count, size)) * 10.0 ** rng.uniform(-3.0, 0.0, size=(count, 1))
    numbers[0] = rng.normal(size=(count, size))
    rest = rng.random((count, size)) * 10.0 ** rng.uniform(-8.0, 0.5, size=(count, 1))
    ball = np.linalg.norm(rest, axis=1) * rng.uniform(0.2, 1.0, size=count)
    return taylor.TaylorModel.of(basis, numbers, rest, ball)


def points_of(rng: np.random.Generator, model: taylor.TaylorModel, samples: int) -> tuple[np.ndarray, np.ndarray]:
    """Return numbers (samples, B, n) that a model allows, and the powers (samples, M) of the positions."""
    powers = model.basis.powers
    positions = np.clip(rng.uniform(-1.5, 1.5, size=(samples, 1, powers.shape[1])), -1.0, 1.0)
    rest = rng.choice([-1.0, 0.0, 1.0], size=(samples, *model.radius.shape)) * model.radius
    rest *= np.minimum(1.0, model.ball / np.maximum(np.linalg.norm(rest, axis=2), 1e-300))[:, :, None]
    at = np.prod(positions**powers, axis=2)
    return np.einsum("sp,pbn->sbn", at, model.coefficients) + rest, at


def assert_within(values: np.ndarray, at: np.ndarray, model: taylor.TaylorModel) -> None:
    off = np.abs(values - np.einsum("sp,pbn->sbn", at, model.coefficients))
    assert (off <= model.radius + 1e-13).all()
    assert (np.linalg.norm(off, axis=2) <= model.ball * (1 + 1e-12) + 1e-13).all()


@pytest.mark.parametrize("dim", [1, 2])
def test_a_softmax_of_a_taylor_model_is_within_its_radius_and_ball(dim: int) -> None:
    rng, kind = np.random.default_rng(dim), Softmax(4)
    model = model_with_a_rest(rng, dim, 500, 8)
    model.coefficients[0, ::5, 3] = -1e5  # a mask
    values, at = points_of(rng, model, 100)
    assert_within(kind.points(values), at, taylor._softmax(kind, model))


@pytest.mark.parametrize("dim", [1, 2])
def test_sums_of_products_of_taylor_models_are_within_their_radius_and_ball(dim: int) -> None:
    rng, kind = np.random.default_rng(dim), Product(3)
    one, two = (model_with_a_rest(rng, dim, 500, 6) for _ in range(2))
    rests = rng.choice([-1.0, 1.0], size=(100, 2, 500, 6)) * np.stack([one.radius, two.radius])
    values, at = points_of(rng, one, 100)
    rest = rests[:, 1] * np.minimum(1.0, two.ball / np.linalg.norm(rests[:, 1], axis=2))[:, :, None]
    others = np.einsum("sp,pbn->sbn", at, two.coefficients) + rest
    assert_within(kind.points(values, others), at, one.times(two, kind))


@pytest.mark.parametrize("dim", [1, 2])
def test_normalised_numbers_of_a_taylor_model_are_within_their_radius_and_ball(dim: int) -> None:
    rng, program = np.random.default_rng(dim), one_node("norm", 1, 1.0, dim)
    root, node = program.nodes[2:4]
    norm = taylor._norm_of(program, node)
    assert norm is not None
    x = model_with_a_rest(rng, dim, 500, 6)
    values, at = points_of(rng, x, 100)
    squares = x.times(x, norm.squares)
    mean = taylor._of_affine(root.operands[0], [x, x, squares], iter(taylor.stretches(program)[3:]))
    models = [x, x, squares, taylor._compose(root.kind, mean, root.lowest)]  # type: ignore[arg-type]
    result = values / np.sqrt((values**2).mean(axis=2, keepdims=True) + 1e-5)
    assert_within(result, at, taylor._normalise(node, norm, x, models))


def test_a_masked_number_of_a_softmax_does_not_widen_the_bounds_of_the_others() -> None:
    node = Node(Softmax(3), (Affine(np.array([0.0, 0.5, -1e5]), {0: np.array([[1.0], [-1.0], [0.0]])}),))
    program = Program(1, (node,), Affine(np.zeros(3), {1: np.eye(3)}))
    low, high = np.array([[0.1]]), np.array([[0.1 + 1e-9]])
    bounds = taylor.upper_bounds(program, taylor.stretches(program), low, high)
    np.testing.assert_allclose(bounds.highest(low, high), program.logits(low), atol=1e-9)
    assert bounds.highest(low, high)[0, 2] < 1e-12


@pytest.mark.parametrize("name", KINDS)
def test_bounds_of_a_node_close_with_the_square_of_the_width(name: str) -> None:
    network, middle, gaps = network_of(one_node(name, 3, 0.7)), np.full((1, DIM), 0.123), []
    for width in (1e-2, 1e-3):
        low, high = middle - width, middle + width
        corners = low + (high - low) * np.random.default_rng(0).integers(0, 2, size=(200, DIM))
        most = network.margins(corners).max(axis=0)
        gaps.append(float((network.upper_bounds(low, high).highest(low, high)[0] - most).max()))
    assert -1e-15 <= gaps[1] < gaps[0] / 30 + 1e-12  # the maximum is rounded


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
    nothing = program.output.map(np.zeros_like)
    exact = Program(DIM, tuple(stated), program.output, nothing, rounding=Rounding(2.0**-24))
    deployed = Program(DIM, tuple(moved), program.output)
    points = rng.uniform(-1, 1, size=(500, DIM))
    difference = np.abs(exact.logits(points) - deployed.logits(points))
    assert (difference <= exact.errors(points) + 1e-12).all()
    network = network_of(exact)
    assert (difference.max(axis=0) <= network.largest_error(np.full(DIM, -1.0), np.full(DIM, 1.0)) + 1e-12).all()
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


@pytest.mark.parametrize("count", [1, 2, 5])
@pytest.mark.parametrize("away", [0.0, 1e4, 1e9])
def test_the_range_of_a_share_holds_for_small_shares_and_for_large_numbers(away: float, count: int) -> None:
    rng, kind = np.random.default_rng(count), Softmax(count)
    center = away + rng.normal(size=(2000, count)) * 10.0 ** rng.uniform(-2.0, 3.0, size=(2000, 1))
    half = 10.0 ** rng.uniform(-12.0, 2.0, size=center.shape) * (rng.random(center.shape) < 0.8)
    low, high = center - half, center + half
    lower, upper = shares(kind, low, high)
    for i in range(count):
        own = np.arange(count) == i
        least, most = (kind.points(np.where(own, *ends).astype(np.longdouble)) for ends in ((low, high), (high, low)))
        assert (lower[:, i] <= least[:, i]).all()
        assert (upper[:, i] >= most[:, i]).all()
    assert (upper - lower)[half.sum(axis=1) == 0.0].max(initial=0.0) < 1e-5 + 1e-14 * away


@pytest.mark.parametrize("size", [1, 100, 8192])
def test_the_norm_of_many_numbers_is_not_too_small(size: int) -> None:
    for number in (0.8144133876346017, *np.random.default_rng(0).random(50)):
        numbers = np.full((1, size), number)
        assert taylor._norm(numbers)[0] >= number * np.sqrt(np.longdouble(size))


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_taylor_models_cover_the_rounding_errors_of_a_command_far_from_0(dim: int) -> None:
    rng, origin = np.random.default_rng(dim), np.full(dim, 1e7) / 3.0
    weight = rng.normal(size=(3, dim))
    node = Node(Softmax(3), (Affine(-weight @ origin, {0: weight}),))
    others = Affine(rng.normal(size=3), {0: 1e-9 * weight})
    mixed = Node(Product(3), (Affine(np.zeros(3), {1: np.eye(3)}), others))
    program = Program(dim, (node, mixed), Affine(np.zeros(2), {2: np.array([[1.0], [-1.0]])}))
    network = moved_network(program, origin, np.eye(dim), True, 2.0 * origin)
    assert network.uses_taylor
    low = rng.normal(size=(200, dim))
    high = low + 1e-9 * rng.random((200, dim))
    points = low + rng.random((20, 200, dim)) * (high - low)
    values = program.output(program.run(origin + points.astype(np.longdouble))[0])
    assert (values <= network.upper_bounds(low, high).highest(low, high)).all()


@pytest.mark.parametrize("operands", [1, 2])
def test_some_outputs_of_a_network_that_ends_with_products_have_their_pads(operands: int) -> None:
    rng = np.random.default_rng(0)
    first = Node(Elementwise("relu"), (random_affine(rng, 5, (0, DIM)),))
    last = Node(Product(2), tuple(random_affine(rng, 6, (1, 5)) for _ in range(operands)))
    output = random_affine(rng, 4, (0, DIM), (2, 3))
    output.weights[2][:2, 1] = 0.0
    network = network_of(Program(DIM, (first, last), output))
    low = rng.normal(size=(20, DIM))
    for keep in ([0], [1, 0], [2, 3]):
        part, whole = (one.upper_bounds(low, low + 0.1) for one in (network.only(keep), network))
        np.testing.assert_allclose(part.offsets, whole.offsets[:, keep], atol=1e-9)
        np.testing.assert_allclose(part.slopes, whole.slopes[:, keep], atol=1e-9)
        pads = rounding_pads(network.only(keep).program, np.full(DIM, 10.0))
        np.testing.assert_allclose(np.concatenate(network.only(keep).pads or ()), np.concatenate(pads or ()), rtol=0.5)


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


def test_bounds_by_blocks_of_a_weight_are_those_of_the_whole_weight(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two tokens, of which the second also reads the first; unlike the other weights, these have many zeros."""
    rng = np.random.default_rng(0)
    weight = rng.normal(size=(12, 6)) * np.kron([[1, 0, 0], [1, 0, 1], [0, 0, 0]], np.ones((4, 2)))

    def program() -> Program:
        first = Node(Elementwise("tanh"), (Affine(np.zeros(6), {0: np.linspace(-1.0, 1.0, 6)[:, None]}),))
        second = Node(Product(), (Affine(np.ones(12), {1: weight}), Affine(np.ones(12), {1: weight[::-1]})))
        return Program(1, (first, second), Affine(np.zeros(2), {2: np.ones((2, 12))}))

    whole = program()
    low, high = np.array([[-1.0], [0.2]]), np.array([[0.5], [0.3]])
    points = low[None] + rng.random((1000, 1, 1)) * (high - low)[None]
    blocks = [len(stretch.blocks) for stretch in taylor.stretches(whole)]
    assert blocks == [1, 2, 2, 1]  # rows of zeros are in no block
    divided = taylor.upper_bounds(whole, taylor.stretches(whole), low, high)
    monkeypatch.setattr(taylor, "_MOST_BLOCKS", 0)
    other = program()
    undivided = taylor.upper_bounds(other, taylor.stretches(other), low, high)
    np.testing.assert_allclose(divided.offsets, undivided.offsets, rtol=1e-12)
    np.testing.assert_allclose(divided.slopes, undivided.slopes, rtol=1e-12, atol=1e-12)
    upper = (divided.slopes * points[:, :, None, :]).sum(axis=-1) + divided.offsets
    assert (whole.logits(points.reshape(-1, 1)).reshape(upper.shape) <= upper).all()


def test_every_function_of_a_node_has_bounds() -> None:
    names = {kind.function for kind, _, _ in KINDS.values() if isinstance(kind, Elementwise)}
    assert names == set(ACTIVATIONS)
