"""Lines that decide where a search begins and how long it goes on, each with a case that fails without it."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from policies import LinearPolicy

from paretofoil.core.command import CommandSpace
from paretofoil.core.limit import NO_LIMITS, Limits, Stop
from paretofoil.core.policy import FoldedPolicy
from paretofoil.core.question import Question, QuestionBatch
from paretofoil.core.search import Finding, Search
from paretofoil.proof.branch import Effort, Proof
from paretofoil.search import exact
from paretofoil.search.boundary import _promising
from paretofoil.search.exact import Exact
from paretofoil.search.parts.budget import Budget
from paretofoil.search.parts.scan import Scan


class WhiteBoxLine(LinearPolicy):
    def fold(self, state: np.ndarray) -> FoldedPolicy:
        return FoldedPolicy((self.weight,), (self.bias,), ())


def batch(dim: int = 2) -> QuestionBatch:
    """The foil leads by the first number of the command, which is 0, in a space from -1 to 1."""
    policy = WhiteBoxLine(np.eye(2, dim)[::-1] * [[0.0], [1.0]], np.array([0.0, -0.5]))
    space = CommandSpace(np.full(dim, -1.0), np.ones(dim))
    return QuestionBatch([Question(policy, np.zeros(1), np.zeros(dim), 1, (0, 1), space)])


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_points_are_spread_evenly_over_a_ball(dim: int) -> None:
    [points] = Scan(dim, seed=0).within(batch(dim), np.array([0]), np.array([0.4]), 1024)
    sizes = np.linalg.norm(points, axis=1)
    assert sizes.max() <= 0.4
    assert np.mean(sizes < 0.2) == pytest.approx(0.5**dim, abs=0.01)


@pytest.mark.parametrize("radius", [0.4, 3.0, np.inf])
def test_no_point_of_a_scan_lies_outside_the_region(radius: float) -> None:
    [points] = Scan(2, seed=0).within(batch(), np.array([0]), np.array([radius]), 256)
    assert np.abs(points).max() <= 0.5  # half of the range, on either side


def test_of_two_points_that_are_equally_far_a_walk_starts_where_less_margin_is_lacking() -> None:
    points = np.array([[[0.3, 0.0], [0.0, 0.3]]])
    for margins in ([-0.2, -0.5], [-0.5, -0.2]):
        _, starts, values = _promising(Budget(batch()), points, np.array([margins]), np.array([-0.5]), 1)
        assert starts.tolist() == [points[0, int(np.argmax(margins))].tolist()]
        assert values.tolist() == [-0.2]


@dataclass(frozen=True)
class Slow(Search):
    """Finds nothing, and takes its time on a clock of its own."""

    clock: list[float]
    takes: float
    name: str = "slow"
    seed: int = 0

    def run(self, batch: QuestionBatch, limits: Limits = NO_LIMITS) -> list[Finding]:
        self.clock[0] += self.takes
        return [Finding(None)] * batch.num_questions


def test_the_time_of_the_start_is_taken_off_the_time_of_the_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, deadlines = [100.0], []

    def late(claim: Any, effort: Effort, *_: Any) -> Proof:
        deadlines.append(effort.deadline)
        return Proof(0.0, 1, Stop.OUT_OF_TIME)

    monkeypatch.setattr(exact, "now", lambda: clock[0])
    monkeypatch.setattr(exact, "branch_and_bound", late)
    Exact(start=Slow(clock, 0.25)).run(batch(), Limits(seconds=1.0))
    assert set(deadlines) == {101.0}
