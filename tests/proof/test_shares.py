"""Proven shares: volumes never too large, planted regions found, and the deployed policy inside the intervals."""

from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import factorial, prod

import numpy as np
import pytest
from folded import KINDS, generate
from networks import LayeredPolicy, random_layers
from policies import random_pcn

from paretofoil.core.command import CommandSpace
from paretofoil.core.options import Stop
from paretofoil.core.program import Activation, Affine, Node, Product, Program, Softmax
from paretofoil.core.question import Question, QuestionBatch
from paretofoil.proof.networks import MarginNetwork
from paretofoil.proof.shares import Contest, ProvenShares, ShareEffort, prove_shares, share_below, stack_contests


def exact_share(weights: list[Fraction], room: Fraction) -> Fraction:
    """The share of the unit cube in which weights . x < room, in fractions."""
    terms = (
        (-1) ** sum(corner)
        * max(room - sum(w * v for w, v in zip(weights, corner, strict=True)), Fraction(0)) ** len(weights)
        for corner in product((0, 1), repeat=len(weights))
    )
    return sum(terms, Fraction(0)) / (factorial(len(weights)) * prod(weights))


def exact_share_of_box(slopes: np.ndarray, offset: float, low: np.ndarray, high: np.ndarray) -> Fraction:
    """The share of a box in which slopes . z + offset < 0."""
    sides = [tuple(map(Fraction, side)) for side in zip(slopes.tolist(), low.tolist(), high.tolist(), strict=True)]
    lowest = Fraction(offset) + sum(min(slope * start, slope * end) for slope, start, end in sides)
    return exact_share([abs(slope) * (end - start) for slope, start, end in sides], max(-lowest, Fraction(0)))


@pytest.mark.parametrize("dim", [1, 2, 3, 4, 6])
def test_a_volume_is_exact_and_never_too_large(dim: int) -> None:
    generator = np.random.default_rng(dim)
    for _ in range(60):
        low, width = generator.normal(size=dim), 2.0 ** -generator.integers(0, 12, size=dim)
        high = low + width
        slopes = generator.normal(size=dim) / width  # all of some size over the box
        offset = -float(slopes @ (low + generator.random(dim) * width))
        [[found]] = share_below(slopes[None, None], np.array([[offset]]), low[None], high[None])
        true = exact_share_of_box(slopes, offset, low, high)
        assert Fraction(float(found)) <= true
        assert float(true) - found < (0.06 if dim == 6 else 0.02)


@pytest.mark.parametrize("small", [1e-3, 1e-5, 1e-8, 1e-12, 1e-200, 0.0])
def test_weights_of_any_size_never_make_a_volume_too_large(small: float) -> None:
    for dim in (2, 3, 5, 10):
        slopes = np.array([1.0, *([small] * (dim - 1))])
        for room in (0.25, 0.5, 0.9):
            [[found]] = share_below(slopes[None, None], np.array([[-room]]), np.zeros((1, dim)), np.ones((1, dim)))
            mean = room - small * (dim - 1) / 2  # as long as the cut meets no other side
            assert found <= mean + 1e-15
            assert found >= room - small * (dim - 1) - 1e-6


def test_a_half_space_that_holds_all_or_nothing_of_a_box_is_told_so() -> None:
    slopes, low, high = np.ones((1, 2, 2)), np.zeros((1, 2)), np.ones((1, 2))
    assert share_below(slopes, np.array([[-2.5, 0.5]]), low, high).tolist() == [[1.0, 0.0]]


def linear(weight: list[list[float]], bias: list[float], precision: type[np.floating] = np.float32) -> LayeredPolicy:
    return LayeredPolicy(Program.of_layers((np.array(weight, dtype=float),), (np.array(bias, dtype=float),)), precision)


def asked(policy: LayeredPolicy, dim: int, **changes: object) -> QuestionBatch:
    """About the unit box, or what is given."""
    actions = tuple(range(policy.fold(np.zeros(1)).num_outputs))
    given = {"command": np.full(dim, 0.5), "valid_actions": actions, "space": CommandSpace(np.zeros(dim), np.ones(dim))}
    values = {**given, **changes}
    foil = values["valid_actions"][0]  # type: ignore[index]
    return QuestionBatch([Question(policy, np.zeros(1), foil=foil, kappa=0.0, **values)])  # type: ignore[arg-type]


def holds(found: ProvenShares, true: list[float], width: float = 0.011) -> bool:
    inside = (found.lower <= np.array(true) + 1e-12) & (np.array(true) <= found.upper + 1e-12)
    return bool(inside.all() and (found.upper - found.lower <= width).all())


def test_the_shares_of_a_linear_policy_are_the_areas_of_its_regions() -> None:
    corner = linear([[0.0, 0.0], [1.0, 1.0]], [0.0, -0.5])  # the second is chosen above a diagonal
    assert holds(prove_shares(asked(corner, 2), ShareEffort()), [0.125, 0.875])
    three = linear([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], [0.0, -0.3, -0.6])
    assert holds(prove_shares(asked(three, 2), ShareEffort()), [0.18, 0.62, 0.2])


@pytest.mark.parametrize("dim", [1, 2, 3, 4])
def test_the_shares_of_a_product_of_half_spaces_are_known(dim: int) -> None:
    """relu(x_i - 0.7) summed: the first action is chosen where every number is below 0.7, nearly."""
    steep = 1000.0
    weights = (np.eye(dim), np.stack([np.zeros(dim), np.full(dim, steep)]))
    biases = (np.full(dim, -0.7), np.array([0.1, 0.0]))
    policy = LayeredPolicy(Program.of_layers(weights, biases, ("relu",)))
    found = prove_shares(asked(policy, dim), ShareEffort(0.02 if dim > 2 else 0.01))
    assert holds(found, [0.7**dim + 0.00007 * dim, 1 - 0.7**dim - 0.00007 * dim], 0.021 + 0.0002)


def test_in_a_box_far_from_0_shares_are_those_of_its_own_width() -> None:
    space = CommandSpace(np.array([100.0, -7.0]), np.array([104.0, -5.0]))
    policy = linear([[0.0, 0.0], [1.0, 0.0]], [0.0, -101.0])
    assert holds(prove_shares(asked(policy, 2, space=space, command=space.low), ShareEffort()), [0.25, 0.75])


def test_an_objective_without_width_does_not_count() -> None:
    policy = linear([[0.0, 0.0], [1.0, 1.0]], [0.0, -0.8])
    ends = {"low": np.array([0.0, 0.5]), "high": np.array([1.0, 0.5])}
    assert holds(prove_shares(asked(policy, 2, **ends), ShareEffort()), [0.3, 0.7])
    point = prove_shares(asked(policy, 2, low=np.full(2, 0.5), high=np.full(2, 0.5)), ShareEffort())
    assert point.inert
    assert (point.lower.tolist(), point.upper.tolist()) == ([0.0, 1.0], [0.0, 1.0])


def test_actions_that_are_not_valid_have_no_share_and_take_none() -> None:
    policy = linear([[0.0], [1.0], [0.0]], [0.0, -0.25, 50.0])  # the third would win everywhere
    found = prove_shares(asked(policy, 1, valid_actions=(0, 1)), ShareEffort())
    assert holds(found, [0.25, 0.75])


def test_equals_stay_undecided() -> None:
    found = prove_shares(asked(linear([[1.0], [1.0], [0.0]], [0.0, 0.0, 0.5]), 1), ShareEffort(max_boxes=200))
    assert found.lower[:2].tolist() == [0.0, 0.0]
    assert found.upper[0] == pytest.approx(0.5, abs=1e-3)
    assert found.lower[2] == pytest.approx(0.5, abs=1e-3)
    assert found.upper[2] == pytest.approx(0.5, abs=1e-3)  # cut by one rival, though no other has a share to take off
    assert not found.inert


def test_a_state_in_which_one_action_always_wins_is_inert_in_any_dimension() -> None:
    for dim in (1, 3, 6, 12):
        policy = random_layers(dim, (dim, 16, 3), ("sigmoid",))
        above = LayeredPolicy(
            Program.of_layers(
                policy.folded.layers.weights, (policy.folded.layers.biases[0], np.array([0.0, 60.0, 0.0])), ("sigmoid",)
            )
        )
        found = prove_shares(asked(above, dim), ShareEffort())
        assert found.inert
        assert found.stop is Stop.PROVEN
        assert found.lower.tolist() == found.upper.tolist() == [0.0, 1.0, 0.0]


def test_while_only_one_action_is_known_the_proof_goes_on_beyond_its_goal() -> None:
    """A sliver of the region, less than the goal, chooses another action."""
    weights, biases = (np.ones((1, 1)), np.array([[0.0], [1000.0]])), (np.array([-0.999]), np.array([0.1, 0.0]))
    policy = LayeredPolicy(Program.of_layers(weights, biases, ("relu",)))
    early = prove_shares(asked(policy, 1), ShareEffort(0.05, inert=False))
    assert early.lower[1] == 0.0
    assert prove_shares(asked(policy, 1), ShareEffort(0.05)).lower[1] > 0.0


def test_a_proof_that_runs_out_is_still_one() -> None:
    policy = random_layers(5, (3, 24, 24, 4), ("sigmoid", "relu"))
    short, long = (prove_shares(asked(policy, 3), ShareEffort(1e-3, max_boxes=n)) for n in (40, 20_000))
    assert short.stop is Stop.OUT_OF_BOXES
    assert (short.lower <= long.upper).all()
    assert (short.upper >= long.lower).all()
    assert short.upper.sum() > 1.0


CASES: list[tuple[tuple[int, ...], tuple[Activation, ...]]] = [
    ((2, 24, 3), ("sigmoid",)),
    ((2, 16, 16, 4), ("relu", "tanh")),
    ((3, 24, 24, 4), ("sigmoid", "relu")),
    ((5, 24, 2), ("tanh",)),
]


@pytest.mark.parametrize(("widths", "activations"), CASES)
@pytest.mark.parametrize("precision", [np.float32, np.float64])
def test_every_command_of_a_settled_box_is_decided_as_proven(
    widths: tuple[int, ...], activations: tuple[Activation, ...], precision: type[np.floating]
) -> None:
    for seed in range(4):
        made = random_layers(seed, widths, activations)
        batch = asked(LayeredPolicy(made.folded, precision), widths[0])
        found = prove_shares(batch, ShareEffort(0.02, max_boxes=3000))
        leaves, generator = found.leaves, np.random.default_rng(seed)
        assert (leaves.high - leaves.low).prod(axis=1).sum() == pytest.approx(1.0, abs=1e-12)
        owners = np.repeat(np.arange(len(leaves)), 20)
        points = leaves.low[owners] + generator.random((len(owners), widths[0])) * (leaves.high - leaves.low)[owners]
        chosen = batch.scores_at(np.zeros(len(points), dtype=int), points, "test").argmax(axis=1)
        assert leaves.alive[owners, chosen].all()
        even = batch.scores_at(np.zeros(20_000, dtype=int), generator.random((20_000, widths[0])), "test").argmax(
            axis=1
        )
        share = np.bincount(even, minlength=widths[-1]) / 20_000
        assert (share >= found.lower - 0.02).all()
        assert (share <= found.upper + 0.02).all()


@pytest.mark.parametrize(("widths", "activations"), CASES)
def test_behind_each_line_an_action_loses_also_where_a_command_is_seen_a_little_off(
    widths: tuple[int, ...], activations: tuple[Activation, ...]
) -> None:
    generator = np.random.default_rng(0)
    policy, actions = random_layers(1, widths, activations), tuple(range(widths[-1]))
    [question] = asked(policy, widths[0]).questions
    contest = Contest.of(policy.folded, question.valid_actions, (question.low, question.high), 0.01)
    wide = Contest(**{**contest.__dict__, "around": np.full(widths[0], 0.02)})
    low = generator.random((200, widths[0])) * 0.9
    high = low + 0.1
    lines = wide.upper_bounds(wide.among(actions), low, high)
    points = low + generator.random(low.shape) * 0.1
    off = points + generator.choice([-0.02, 0.02], size=low.shape)
    logits = policy.folded.logits(off)
    pairs = [(a, b) for a in actions for b in actions if a != b]
    margins = logits[:, [a for a, _ in pairs]] - logits[:, [b for _, b in pairs]]
    values = (lines.slopes * points[:, None, :]).sum(axis=2) + lines.offsets
    assert (values >= margins + 0.01 - 1e-9).all()
    assert isinstance(wide.network, MarginNetwork)


@pytest.mark.parametrize("activations", [("relu",), ("sigmoid", "relu"), ("relu", "tanh", "relu"), ("relu",) * 3])
def test_a_network_without_the_relus_that_do_not_bend_in_a_box_is_equal_there(
    activations: tuple[Activation, ...],
) -> None:
    generator = np.random.default_rng(len(activations))
    policy = random_layers(2, (3, *(24 for _ in activations), 3), activations)
    [question] = asked(policy, 3).questions
    network = Contest.of(policy.folded, question.valid_actions, (question.low, question.high), 0.01).network
    low = generator.random((40, 3)) * 0.8
    high = low + np.array([0.2, 1e-4]).repeat(20)[:, None]  # in the narrow ones, often no ReLU bends
    smaller, gaps = 0, []
    for simple, first, last in zip(network.simplified(low, high), low, high, strict=True):
        smaller += sum(node.size for node in simple.program.nodes) < sum(node.size for node in network.program.nodes)
        corners = first + generator.random((2, 60, 3)) * (last - first)
        points = corners.mean(axis=0)
        margins = network.margins(points)
        np.testing.assert_allclose(simple.margins(points), margins, rtol=0, atol=1e-12)
        bounds, same = (one.upper_bounds(corners.min(axis=0), corners.max(axis=0)) for one in (simple, network))
        values, others = ((b.slopes * points[:, None, :]).sum(axis=2) + b.offsets for b in (bounds, same))
        assert (values >= margins).all()
        gaps.append([(values - margins).mean(), (others - margins).mean()])
    assert smaller == len(low)
    assert np.mean(gaps, axis=0)[0] <= 1.001 * np.mean(gaps, axis=0)[1]  # not looser


@pytest.mark.parametrize("kind", range(len(KINDS)))
def test_what_is_planted_in_hostile_networks_is_in_a_box_that_allows_it(kind: int) -> None:
    """Needles, ties, edges and numbers far from 0; around each planted command, as near as float64 can tell."""
    for seed in range(kind, 6 * len(KINDS), len(KINDS)):
        case, generator = generate(seed), np.random.default_rng(seed)
        question, batch = case.question, QuestionBatch([case.question])
        found = prove_shares(batch, ShareEffort(0.01, max_boxes=300, inert=False))
        width = question.high - question.low
        around = generator.normal(size=(60, len(width))) * 0.1 ** generator.integers(1, 16, size=(60, 1))
        near = np.concatenate([case.planted[None], case.planted + around * width])
        commands = np.clip(near, question.low, question.high)
        valid = list(question.valid_actions)
        chosen = batch.scores_at(np.zeros(len(commands), dtype=int), commands, "test")[:, valid].argmax(axis=1)
        shares = np.where(width > 0, (commands - question.low) / np.where(width > 0, width, 1.0), 0.0)
        low, high = found.leaves.low[:, None], found.leaves.high[:, None]
        leaf, command = np.nonzero(((low <= shares) & (shares <= high)).all(axis=2))
        assert set(command) == set(range(len(commands)))
        # On the side that two boxes share, the one that rounding put it in must allow it.
        allowed = np.zeros(len(commands), dtype=bool)
        np.logical_or.at(allowed, command, found.leaves.alive[leaf, chosen[command]])
        assert allowed.all(), str(case)


@dataclass(frozen=True, eq=False)
class Shifted:
    """A policy that is deployed with other numbers than its inside has."""

    inside: Program
    shift: np.ndarray

    def log_probs(self, states: np.ndarray, commands: np.ndarray) -> np.ndarray:
        return self.inside.logits(np.asarray(commands)) + self.shift

    def fold(self, state: np.ndarray) -> Program:
        return self.inside


def test_how_far_the_deployed_policy_is_from_its_inside_is_allowed_for() -> None:
    inside = Program.of_layers((np.array([[0.0], [1.0]]),), (np.array([0.0, -0.5]),))
    found = prove_shares(asked(Shifted(inside, np.array([0.03, 0.0])), 1), ShareEffort(max_boxes=500))  # type: ignore[arg-type]
    assert found.deviation == pytest.approx(0.03)
    assert found.lower[0] <= 0.53 <= found.upper[0]


def test_shares_allow_for_the_clearance_of_a_noisy_policy() -> None:
    batch = asked(linear([[1.0], [0.0]], [0.0, 0.5]), 1)
    batch.keep_clear(0.02)
    found = prove_shares(batch, ShareEffort(undecided=0.05))
    assert found.slack == 0.02
    assert found.upper[0] >= 0.52  # where the first action is behind by the clearance at most


@pytest.mark.parametrize("unit", [2.0**-53, 2.0**-24])
def test_contests_of_many_states_are_bounded_together_as_one_by_one(unit: float) -> None:
    generator, masks = np.random.default_rng(0), np.array([[1, 1, 1], [1, 0, 1], [0, 1, 1], [1, 1, 1]], dtype=bool)
    contests = {}
    for state in (0, 1, 3):
        folded = random_pcn(state, state_size=2).fold(generator.normal(size=2))
        folded = Program.of_layers(*folded.layers, unit=unit)
        low, valid = generator.normal(size=2), tuple(np.flatnonzero(masks[state]).tolist())
        contests[state] = Contest.of(folded, valid, (low, low + np.array([1.0, 3.0])), 0.0)
    stacks = stack_contests(contests, masks)
    assert len(stacks) == (1 if unit < 1e-10 else 3)  # the bounds of single precision include its errors
    states = generator.choice([0, 1, 3], size=150)
    ends = generator.random((2, 150, 2))
    low, high = (
        np.array([contests[s].low + contests[s].scale * e for s, e in zip(states, part, strict=True)])
        for part in (ends.min(axis=0), ends.max(axis=0))
    )
    pairs = np.tile(np.arange(9), (150, 1))
    seen = 0
    for stack in stacks:
        for rows in stack.chunks(states):
            bounds = stack.upper_bounds(states[rows], low[rows], high[rows], pairs[rows])
            for i, row in enumerate(rows):
                contest, able = contests[states[row]], np.flatnonzero(masks[states[row]])
                sides = ((side[row] - contest.low) / contest.scale for side in (low, high))
                alone = contest.upper_bounds(contest.network, *(side[None] for side in sides))
                which = [3 * a + b for a in able for b in able if a != b]
                middle = (low[row] + high[row]) / 2
                at_middle = bounds.slopes[i, which] @ middle + bounds.offsets[i, which]
                expected = alone.slopes[0] @ ((middle - contest.low) / contest.scale) + alone.offsets[0]
                assert at_middle == pytest.approx(expected, abs=1e-9)
                assert bounds.slopes[i, which] * contest.scale == pytest.approx(alone.slopes[0], abs=1e-9)
                seen += 1
    assert seen == 150


def test_contests_of_attention_are_bounded_together_as_one_by_one() -> None:
    """Taylor models bound them, which are not stacked."""
    generator, masks, contests = np.random.default_rng(0), np.ones((3, 3), dtype=bool), {}
    for state in (0, 2):
        weight = generator.normal(size=(9, 2))
        softmax = Node(Softmax(3), (Affine(generator.normal(size=9), {0: weight}),))
        mixed = Node(Product(3), (Affine(np.zeros(9), {1: np.eye(9)}), Affine(generator.normal(size=9), {0: weight})))
        folded = Program(2, (softmax, mixed), Affine(np.zeros(3), {2: np.eye(3)}))
        contests[state] = Contest.of(folded, (0, 1, 2), (np.zeros(2), np.ones(2)), 0.01)
        assert contests[state].network.uses_taylor
    states, pairs = np.array([0, 2, 2, 0, 0]), np.tile(np.arange(9), (5, 1))
    low = generator.random((5, 2)) * 0.9
    seen = 0
    for stack in stack_contests(contests, masks):
        for rows in stack.chunks(states):
            bounds = stack.upper_bounds(states[rows], low[rows], low[rows] + 0.1, pairs[rows])
            contest = contests[states[rows[0]]]
            alone = contest.upper_bounds(contest.network, low[rows], low[rows] + 0.1)
            which = [3 * a + b for a in range(3) for b in range(3) if a != b]
            assert bounds.slopes[:, which] == pytest.approx(alone.slopes, abs=1e-9)
            assert bounds.offsets[:, which] == pytest.approx(alone.offsets, abs=1e-9)
            seen += len(rows)
    assert seen == 5
