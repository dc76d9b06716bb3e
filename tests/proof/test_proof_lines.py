"""Lines that a proof stands on, each with a case that fails without it: tiny networks whose answers are known."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from paretofoil.core.answer import Certificate
from paretofoil.core.command import CommandSpace, length
from paretofoil.core.errors import InvalidInput
from paretofoil.core.limit import NO_LIMITS, Limits, Stop
from paretofoil.core.policy import ACTIVATIONS, CallablePolicy, FoldedPolicy
from paretofoil.core.question import Question, QuestionBatch
from paretofoil.core.search import Finding, Search
from paretofoil.proof import branch, verify
from paretofoil.proof.bound import upper_bounds
from paretofoil.proof.branch import Boxes, Claim, Effort, bound_boxes, branch_and_bound
from paretofoil.proof.deviation import RANGE_SLACK
from paretofoil.proof.halfspace import cut
from paretofoil.proof.lines import LINES
from paretofoil.proof.margin import MarginNetwork, margin_network
from paretofoil.proof.verify import verify_certificate
from paretofoil.proof.widen import widen
from paretofoil.search import exact
from paretofoil.search.budget import Budget
from paretofoil.search.exact import Exact, _Incumbent


def network(*layers: tuple[Any, Any], activation: Any = "relu", pads: Any = None) -> MarginNetwork:
    """Layers of (weight, bias), with one activation between them, and no pads but those that are given."""
    weights, biases = ([np.array(part, dtype=np.float64) for part in parts] for parts in zip(*layers, strict=True))
    pads = pads or [0.0] * len(layers)
    padded = tuple(np.full(len(bias), pad) for bias, pad in zip(biases, pads, strict=True))
    return MarginNetwork(tuple(weights), tuple(biases), (activation,) * (len(layers) - 1), padded)


def claim(of: MarginNetwork, level: float, dim: int = 1, norm: Any = "l2") -> Claim:
    return Claim(of, np.full(dim, -1.0), np.full(dim, 1.0), level, norm)


TENT = network(([[1.0], [-1.0]], [-0.3, 0.3]), ([[-1.0, -1.0]], [0.0]))
"""The margin -|z - 0.3|: it reaches 0 in one point, which no box around it can exclude."""
TENTS = network(
    ([[-1.0], [1.0], [1.0], [1.0]], [0.3, -0.3, -0.55, -0.8]),
    ([[-1.0, -1.0, 2.0, -2.0]], [0.0]),
)
"""Two tents: the margin reaches 0 at 0.3 and at 0.8, and falls with slope 1 on both sides of each."""

PLATEAU = network(([[10.0]], [5.0]), ([[-1.0]], [0.04]))
"""The margin 0.04 - relu(10 z + 5): nowhere above 0.04, which is seen by the line below the ReLU that is flat."""


@dataclass(frozen=True, eq=False)
class Line:
    """Logits A R, in float64; what is deployed may differ from what is folded."""

    weight: np.ndarray  # (num_actions, d)
    bias: np.ndarray  # (num_actions,)
    off: Callable[[np.ndarray], np.ndarray] = lambda commands: np.zeros(len(commands))
    """What the deployed policy adds to the margin of action 1."""

    def log_probs(self, states: np.ndarray, commands: np.ndarray) -> np.ndarray:
        scores = np.asarray(commands) @ self.weight.T + self.bias
        scores[:, 1] += self.off(commands)
        return scores

    def fold(self, state: np.ndarray) -> FoldedPolicy:
        return FoldedPolicy((self.weight,), (self.bias,), ())


def first_number(dim: int = 2, **parts: Any) -> Line:
    """Action 1 beats action 0 by the first number of the command."""
    return Line(np.eye(2, dim)[::-1] * [[0.0], [1.0]], np.zeros(2), **parts)


def question(policy: Any = None, command: Any = (-0.5, 0.0), **changes: Any) -> Question:
    """In a space of width 1, so that scaled distances are differences of commands."""
    space = CommandSpace(np.full(len(command), -0.5), np.full(len(command), 0.5))
    return Question(policy or first_number(), np.zeros(1), np.array(command), 1, (0, 1), space, **changes)


def prove(asked: Question, **settings: Any) -> tuple[Finding, Certificate]:
    [finding] = Exact(**settings).run(QuestionBatch([asked]))
    assert finding.certificate is not None
    return finding, finding.certificate


# Bounds


def test_the_pad_of_a_hidden_layer_widens_the_interval_of_its_lines() -> None:
    padded = network(([[1.0]], [0.0]), ([[1.0]], [0.0]), pads=[0.5, 0.0])
    point = np.array([[-0.2]])
    assert upper_bounds(padded, point, point).highest(point, point) == pytest.approx(0.15)  # the chord of -0.7 to 0.3


@pytest.mark.parametrize("activation", ["sigmoid", "tanh"])
@pytest.mark.parametrize("width", [1e-14, 1e-11, 1e-8, 1e-5])
def test_lines_over_a_tiny_interval_have_the_slope_of_the_curve(activation: Any, width: float) -> None:
    low = np.linspace(-6, 6, 1001)[:, None]
    value = ACTIVATIONS[activation](low)
    slope = value * (1 - value) if activation == "sigmoid" else 1 - value * value
    assert np.abs(LINES[activation](low, low + width).slope_low - slope).max() < max(1e-8, width)


@pytest.mark.parametrize("activation", ["sigmoid", "tanh"])
def test_behind_two_curves_that_cancel_the_bound_is_still_above_their_difference(activation: Any) -> None:
    bump = network(([[8.0], [8.0]], [2.0, -2.0]), ([[1.0, -1.0]], [-0.5]), ([[1.0]], [0.0]), activation=activation)
    bump = replace(bump, activations=(activation, "relu"))
    low, high = np.array([[-1.0]]), np.array([[1.0]])
    z = np.linspace(-1, 1, 101)[:, None]
    assert bump.margins(z).max() > 0.2
    assert upper_bounds(bump, low, high).highest(low, high)[0, 0] >= bump.margins(z).max()


# Half-spaces


def test_a_cut_ends_where_the_half_space_leaves_the_box() -> None:
    low, high = cut(np.ones((1, 1, 2)), np.ones((1, 1)), np.zeros((1, 2)), np.full((1, 2), 0.8), np.inf, "l2")
    assert low[0] == pytest.approx([0.2, 0.2], abs=1e-9)
    assert high[0] == pytest.approx([0.8, 0.8])
    low, high = cut(-np.ones((1, 1, 2)), -np.ones((1, 1)), np.full((1, 2), 0.3), np.ones((1, 2)), np.inf, "l2")
    assert low[0] == pytest.approx([0.3, 0.3])
    assert high[0] == pytest.approx([0.7, 0.7], abs=1e-9)


@pytest.mark.parametrize(("norm", "reach"), [("l1", 0.4), ("l2", 0.8), ("linf", 1.0)])
def test_a_ball_cuts_a_box_where_its_surface_is(norm: Any, reach: float) -> None:
    nothing = np.zeros((1, 0, 2)), np.zeros((1, 0))
    low, high = cut(*nothing, np.array([[0.6, -2.0]]), np.array([[2.0, 2.0]]), 1.0, norm)
    assert low[0] == pytest.approx([0.6, -reach], abs=1e-9)
    assert high[0] == pytest.approx([1.0, reach], abs=1e-9)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_cap_of_the_ball_is_cut_at_its_rim(sign: float) -> None:
    wide = np.full((1, 2), -2.0), np.full((1, 2), 2.0)
    low, high = cut(np.full((1, 1, 2), sign), np.full((1, 1), 1.2), *wide, 1.0, "l2")
    ends = np.sort(sign * (0.6 + np.array([-1, 1]) * np.sqrt(0.5 - 0.36)))  # x + y = 1.2 meets the unit circle
    assert low[0] == pytest.approx([ends[0]] * 2, abs=1e-7)
    assert high[0] == pytest.approx([ends[1]] * 2, abs=1e-7)


def test_of_several_half_spaces_the_tightest_cuts() -> None:
    box = np.full((1, 2), -2.0), np.full((1, 2), 2.0)
    slopes, levels = np.array([[[1.0, 0.0], [2.0, 0.0]]]), np.array([[0.3, 1.0]])
    for radius, rim in ((np.inf, 2.0), (1.0, np.sqrt(0.75))):
        low, high = cut(slopes, levels, *box, radius, "l2")
        assert low[0] == pytest.approx([0.5, -rim], abs=1e-7)
        assert high[0] == pytest.approx([min(radius, 2.0), rim], abs=1e-7)
        low, high = cut(-slopes, levels, *box, radius, "l2")
        assert low[0] == pytest.approx([-min(radius, 2.0), -rim], abs=1e-7)
        assert high[0] == pytest.approx([-0.5, rim], abs=1e-7)


# Branch and bound


def planted(point: float, parents: list[float]) -> Callable[..., Boxes]:
    """Bounds boxes of [0, 1] by their lower sides, and knows in the end where the only valid point is."""

    def bound(claim: Claim, low: np.ndarray, high: np.ndarray, radius: float) -> Boxes:
        parents.append(float(low.min()))
        alive = ((low <= point) & (point <= high) | (high - low > 1 / 64))[:, 0]
        return Boxes(low, high, low[:, 0], np.zeros(len(low), dtype=np.int64), low)[alive]

    return bound


@pytest.mark.parametrize("batch", [1, 3, 512])
def test_no_box_is_ever_lost_and_the_least_bound_is_split_first(batch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    unit = replace(claim(TENT, 0.0), low=np.zeros(1))
    for point in np.linspace(0.01, 0.99, 33):
        parents: list[float] = []
        monkeypatch.setattr(branch, "bound_boxes", planted(point, parents))
        proof = branch_and_bound(unit, Effort(1e-3, 10_000, batch=batch))
        assert proof.lower == pytest.approx(point, abs=1e-7)
        assert batch > 1 or parents == sorted(parents)


@pytest.mark.parametrize("contract", [True, False])
def test_a_box_in_which_the_foil_wins_by_a_hair_is_not_rejected(contract: bool) -> None:
    hair = claim(network(([[1.0]], [0.0])), 1.0 - 1e-5)
    left = bound_boxes(hair, hair.low[None], hair.high[None], np.inf, contract=contract)
    assert left.bound.tolist() == pytest.approx([1.0 - 1e-5], abs=1e-9)


def test_a_box_without_width_is_a_box() -> None:
    locked = replace(
        claim(network(([[1.0, 0.0]], [0.0])), 0.3, dim=2), low=np.array([-1.0, 0.0]), high=np.array([1.0, 0.0])
    )
    assert bound_boxes(locked, locked.low[None], locked.high[None], 0.5).bound.tolist() == pytest.approx([0.3])


def test_a_box_that_is_too_small_to_split_leaves_the_proof_open() -> None:
    proof = branch_and_bound(claim(TENT, 0.0), Effort(1e-3, 10_000))
    assert proof.lower == pytest.approx(0.3, abs=1e-7)
    assert proof.stop is Stop.COMPLETE
    assert not proof.closed


@pytest.mark.parametrize("batch", [1, 512])
def test_wherever_a_proof_is_stopped_its_bound_holds(batch: int) -> None:
    stops = set()
    for max_boxes in range(1, 90):
        proof = branch_and_bound(claim(TENTS, 0.0), Effort(1e-3, max_boxes, batch=batch))
        stops.add(proof.stop)
        assert proof.lower <= 0.3
        assert proof.boxes <= max_boxes + 2 * batch
    assert Stop.OUT_OF_BOXES in stops


def test_a_proof_that_is_late_stops_with_what_it_has() -> None:
    proof = branch_and_bound(claim(TENT, -1e-3), Effort(1e-9, 10_000, deadline=0.0))
    assert proof.stop is Stop.OUT_OF_TIME
    assert proof.boxes == 1
    assert 0.0 <= proof.lower <= 0.299


def test_a_proof_ends_at_the_gap_to_what_is_known() -> None:
    line = claim(network(([[1.0]], [0.0])), 0.3)
    proof = branch_and_bound(line, Effort(0.3, 10_000), best=0.5)
    assert (proof.lower, proof.boxes, proof.closed) == (pytest.approx(0.2), 1, True)
    proof = branch_and_bound(line, Effort(0.3, 10_000, share=0.1), best=0.5)
    assert proof.lower == pytest.approx(0.3)  # 0.45 is asked for, and 0.3 is where it is open


# Exact


def test_a_proof_allows_for_the_slack() -> None:
    _, certificate = prove(question(), slack=0.02, max_boxes=300)
    assert certificate.slack == 0.02
    assert certificate.lower <= 0.53  # where the margin is kappa - slack, 0.03
    assert certificate.upper >= 0.55


def test_a_foil_that_falls_short_by_less_than_the_slack_is_not_proven_infeasible() -> None:
    short = question(kappa=0.51)  # the region ends where the margin is 0.5
    assert prove(short, slack=0.02, max_boxes=300)[1].status == "gap"
    assert prove(short, slack=0.005)[1].status == "infeasible"


@pytest.mark.parametrize("off", [0.01, -0.01])
def test_the_slack_grows_with_the_deviation_that_is_measured(off: float) -> None:
    """Which half of the commands shows, in either direction."""
    asked = question(first_number(off=lambda commands: np.where(commands[:, 1] < 0.1, off, 0.0)))
    _, certificate = prove(asked, max_boxes=300)
    assert certificate.slack == pytest.approx(0.04)
    assert certificate.deviation == pytest.approx(0.01)
    assert certificate.lower <= 0.55 - off <= certificate.upper  # where the deployed margin is kappa


def test_deviations_at_answers_are_recorded() -> None:
    answer = np.array([0.05, 0.0])

    def bump(commands: np.ndarray) -> np.ndarray:
        return np.where(np.abs(commands - answer).max(axis=1) < 0.01, 1e-3, 0.0)

    _, certificate = prove(question(first_number(off=bump)))
    assert certificate.slack == Exact.slack  # no probe saw it
    assert certificate.deviation == pytest.approx(1e-3)


@dataclass(frozen=True)
class Known(Search):
    """Finds what it is told."""

    change: tuple[float, ...]
    name: str = "known"
    seed: int = 0

    def run(self, batch: QuestionBatch, limits: Limits = NO_LIMITS) -> list[Finding]:
        return [Finding(np.array(self.change)) for _ in batch.questions]


def test_a_start_that_wins_by_less_than_kappa_is_no_answer() -> None:
    finding, certificate = prove(question(), start=Known((0.52, 0.0)))
    assert certificate.upper >= 0.55
    assert finding.scaled_change is not None
    assert finding.scaled_change[0] >= 0.55


def test_a_start_without_the_slack_must_be_closer_by_what_it_is_worth() -> None:
    worthless, _ = prove(question(), start=Known((0.5501, 0.0)), slack=1e-3, gap=0.1, share=1.0)
    assert worthless.scaled_change is not None
    assert worthless.scaled_change[0] >= 0.551
    worthwhile, _ = prove(question(), start=Known((0.5501, 0.0)), slack=0.04, gap=0.1, share=1.0)
    assert worthwhile.scaled_change == pytest.approx([0.5501, 0.0])


def test_walks_without_the_slack_pay_the_same_price(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact, "_PATIENCE", 1)
    asked = question()
    of = claim(margin_network(asked.policy.fold(asked.state), asked), 0.051, dim=2)  # type: ignore[attr-defined]
    effort = Effort(0.1, 1000)
    incumbent = _Incumbent(Budget(QuestionBatch([asked])), of, replace(of, level=0.0501), 0.0, effort)
    for _ in range(4):
        incumbent.improve(np.array([[0.6, 0.0], [0.7, 0.1]]))
    assert incumbent.distance == pytest.approx(0.551, abs=1e-5)


# A second look at certificates


def certificate(lower: float, slack: float = 0.02, **changes: Any) -> Certificate:
    made = Certificate("optimal", lower, 0.55, 1e-3, 1, 0.0, 0.05, slack, 0.0, 0.0, "l2")
    return replace(made, **changes)


def test_a_certificate_in_another_norm_is_refused() -> None:
    assert verify_certificate(question(), certificate(0.5), samples=10).holds
    with pytest.raises(InvalidInput, match=r"a certificate for kappa 0\.05 and l2, got kappa 0\.05, l1"):
        verify_certificate(question(), certificate(0.5, norm="l1"), samples=10)


def test_bounding_again_allows_for_the_slack(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verify, "_REBOUND_BOXES", 1000)
    rebounded = [
        verify_certificate(question(), certificate(lower), samples=1, rebound=True).rebounded
        for lower in (0.529, 0.54, 0.56)
    ]
    assert rebounded == [True, None, False]  # the margins there are below kappa - slack, between, and above kappa


def test_a_certificate_holds_if_neither_samples_nor_bounds_refute_it() -> None:
    assert [verify.Verification(9, n, 0.0, again).holds for n in (0, 1) for again in (True, None, False)] == [
        *(True, True, False),
        *(False, False, False),
    ]


def test_points_outside_the_ball_refute_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The point of a box is only nearly the nearest: it may lie, validly, where the certificate says nothing."""
    outside = iter([np.array([[0.6, 0.0]])])

    def bound(claim: Claim, low: np.ndarray, high: np.ndarray, radius: float, **options: Any) -> Boxes:
        point = next(outside, np.zeros((0, 2)))
        count = len(point)
        return Boxes(low[:count], high[:count], np.zeros(count), np.zeros(count, dtype=int), point)

    monkeypatch.setattr(verify, "bound_boxes", bound)
    assert verify_certificate(question(), certificate(0.5), samples=1, rebound=True).rebounded is True


def test_half_of_the_samples_are_near_the_surface() -> None:
    shell = CallablePolicy(lambda states, z: np.stack([np.zeros(len(z)), length(z) - 0.44], axis=1))
    asked = question(shell, command=(0.0, 0.0))
    report = verify_certificate(asked, certificate(0.4949), samples=4000)  # one percent of the way is valid
    assert 0.15 < report.violations / report.samples < 0.25
    deep = CallablePolicy(lambda states, z: np.stack([np.zeros(len(z)), 0.3 - length(z)], axis=1))
    report = verify_certificate(question(deep, command=(0.0, 0.0)), certificate(0.5), samples=4000)
    assert 0.08 < report.violations / report.samples < 0.17  # the other half is everywhere: 0.25 of the area, halved


def test_no_sample_lies_outside_the_ball_or_the_region() -> None:
    seen = []

    def watch(states: np.ndarray, commands: np.ndarray) -> np.ndarray:
        seen.append(commands)
        return np.zeros((len(commands), 2))

    verify_certificate(question(CallablePolicy(watch), command=(-0.4, 0.0)), certificate(0.3), samples=1000)
    commands = np.concatenate(seen)
    assert (length(commands - [-0.4, 0.0]) < 0.3).all()
    assert commands.min() >= -0.5


# Proven ranges


def test_a_proven_range_keeps_the_slack() -> None:
    """The whole region wins by kappa, but its lower side not by kappa and the slack."""
    asked = question(command=(0.4,), low=np.array([0.05 + RANGE_SLACK / 2]), policy=first_number(1))
    found = widen(QuestionBatch([asked]), 0, np.array([0.3]))
    assert found is not None
    assert found.low[0] > asked.low[0]
    assert found.high[0] == 0.5
    roomy = replace(asked, low=np.array([0.05 + 2 * RANGE_SLACK]))
    found = widen(QuestionBatch([roomy]), 0, np.array([0.3]))
    assert found is not None
    assert found.low[0] == roomy.low[0]


def test_a_policy_that_deviates_by_more_than_the_slack_has_no_proven_range() -> None:
    for size, proven in ((0.6 * RANGE_SLACK, True), (0.7 * RANGE_SLACK, False)):
        off = first_number(off=lambda commands, size=size: np.full(len(commands), size))
        assert (widen(QuestionBatch([question(off)]), 0, np.array([0.3, 0.0])) is not None) == proven


def test_a_plateau_just_below_the_level_is_settled_at_once() -> None:
    wide = claim(PLATEAU, 0.05)
    assert branch_and_bound(wide, Effort(1e-3, 10)) == branch.Proof(np.inf, 1, Stop.PROVEN)
    told = branch_and_bound(replace(wide, level=0.03), Effort(1e-3, 1000))
    assert told.lower == pytest.approx(0.499, abs=2e-3), "just above the ReLU's corner it wins"


def test_lines_are_the_closest_ones_where_flat_ones_settle_nothing() -> None:
    low, high = np.array([[-1.0]]), np.array([[1.0]])
    closest = upper_bounds(PLATEAU, low, high)
    for level, expected in ((0.03, closest.slopes), (0.05, np.zeros((1, 1, 1)))):
        np.testing.assert_array_equal(upper_bounds(PLATEAU, low, high, level).slopes, expected)
