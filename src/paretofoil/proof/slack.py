"""The allowance of proofs for the rounding of the deployed policy.

If the arithmetic of a policy is known, its rounding errors are derived. They are bounded over the whole search region
if they are tiny there (float64), and otherwise box by box as a part of the bounds. If derived errors are too wide to
settle a question, or the arithmetic is unknown, the difference between policy and network is measured at probes. Proofs
then hold for a slack of several times this difference. Such a proof rests on an assumption, which its certificate
states.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from paretofoil.core.question import Question
from paretofoil.proof.bounds import FACET_ROUNDING, region_facets
from paretofoil.proof.branch_and_bound import Claim
from paretofoil.proof.networks import MarginNetwork, OddsNetwork

PROBES = 64
"""Commands at which policy and network are compared."""
SLACK = 1e-5
"""Least slack of a proof, in margins."""
CAUTION = 4
"""The slack of a proof is at least this many times the measured deviation."""
RANGE_SLACK = 1e-4
"""Proven ranges hold for a margin of kappa plus this, if the answer has such a margin."""
RANGE_CAUTION = 1.5
"""The slack of a proven range is at least this many times the measured deviation."""
RANGE_CLEARANCE = 0.5
"""Share of the clearance of searches that proven ranges keep; below 1, because answers may have just the clearance."""
DERIVED_SLACK = 1e-6
"""Derived errors up to this over the whole region are a slack. Larger errors become part of the bounds."""
_FLOAT32 = 2.0**-24
"""Largest relative error of rounding to float32."""

Network = MarginNetwork | OddsNetwork
RoundingKind = Literal["derived", "measured"]


@dataclass(frozen=True, eq=False)
class Allowance:
    """The largest difference between the deployed policy and its network for which a proof holds."""

    rounding: RoundingKind
    network: Network
    """The network of the proof. Its bounds include derived errors if they are derived box by box."""
    slack: float
    """The largest difference that the bounds do not include, in margins."""
    around: np.ndarray
    """The largest error (d,) of a command in addition, in scaled units."""
    why_measured: str = ""
    """Why the rounding errors are not derived."""

    @property
    def assumed(self) -> float:
        """The rounding error that is assumed; 0 if it is derived."""
        return self.slack if self.rounding == "measured" else 0.0

    @property
    def is_coarse(self) -> bool:
        """Whether the policy computes in half precision."""
        return self.network.rounding is not None and self.network.rounding.is_coarse

    def claim(self, question: Question, level: float) -> Claim:
        """Return the claim that some command of the region makes the deployed margins reach the level."""
        low, high = question.room
        outwards = float32_rounding(question.low, question.high) if self.around.any() else FACET_ROUNDING
        facets, grid = region_facets(question, outwards), whole_grid(question)
        sides = low - self.around, high + self.around
        return Claim(self.network, *sides, level - self.slack, question.norm, facets, grid, self.around)

    def contradicted_by(self, z: np.ndarray, margins: np.ndarray) -> bool:
        """Return whether deployed margins (N,) at changes z (N, d) differ from the network's by more than allowed."""
        if not self.network.num_rivals:
            return False
        off = np.abs(margins - self.network.margins(z).min(axis=1)) > self.slack
        if not off.any():
            return False
        low, high, margins = z[off] - self.around, z[off] + self.around, margins[off]
        upper = self.network.upper_bounds(low, high).highest(low, high).min(axis=1, initial=np.inf)
        lower = self.network.lower_bounds(low, high).min(axis=1, initial=np.inf)
        return bool(((margins > upper + self.slack) | (margins < lower - self.slack)).any())


def whole_grid(question: Question) -> np.ndarray | None:
    """Return the scaled distance (d,) of neighbouring whole numbers, 0 for real ones; None if all are real."""
    whole = question.space.whole
    return np.where(whole, 1.0 / question.space.scale, 0.0) if whole.any() else None


def allowances(question: Question, network: Network, measured: float, clearance: float = 0.0) -> list[Allowance]:
    """Return the possible allowances of a proof, the best first.

    `measured` is the slack for the measured deviation, and `clearance` the slack for the noise of the policy. If the
    noise exceeds the derived rounding errors, the declared arithmetic is wrong, and derived errors are not used.
    """
    exact, none = network.without_rounding(), np.zeros(question.space.dim)
    errors = network.rough_error(*question.room)
    if clearance or not (errors <= DERIVED_SLACK).all():
        errors = network.largest_error(*question.room)
    error = float(errors.max(initial=0.0))
    noisy = clearance > CAUTION * error
    if error <= DERIVED_SLACK and not noisy:
        slack = min(float((errors + network.pad(*question.room)).max(initial=0.0)), DERIVED_SLACK)
        return [Allowance("derived", exact, slack, none)]
    if noisy or network.rounding is None:
        why = network.unknown or "the policy does not state its number format"
        why = "the policy is noisier than its number format explains" if noisy else why
        return [Allowance("measured", exact, measured, _scaled_rounding(question), why)]
    derived = [Allowance("derived", network, 0.0, none)]
    if derived[0].is_coarse:  # probes say too little about such numbers
        return derived
    # Errors of the first layer are derived even then: where later layers are steep, probes would not show them.
    why = "derived errors are too wide for this question"
    return [*derived, Allowance("measured", network.rounded_in_first_layer(), measured, none, why)]


def probe_shares(dim: int) -> np.ndarray:
    """Return probes (PROBES, dim) as shares of the widths of a box; every second probe is a corner."""
    shares = np.random.default_rng(0).random((PROBES, dim))
    shares[::2] = np.round(shares[::2])
    return shares


def slack_for(deviation: float, clearance: float, least: float = SLACK) -> float:
    """Return the slack of a proof for a measured deviation and a clearance for the noise of the policy."""
    return max(least, CAUTION * deviation, clearance)


def _scaled_rounding(question: Question) -> np.ndarray:
    """Return the largest float32 rounding error (d,) of a command in the search region, in scaled units."""
    error = float32_rounding(question.low, question.high)
    # Rounded weights need not sum to 1, so that the error has a component across the plane.
    return np.abs(question.basis).T @ error if question.space.simplex else error / question.space.scale


def float32_rounding(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return the largest rounding error (n,) of the inputs of a float32 policy, for inputs between low and high (n,).

    The inputs and the terms of the first layer's sums are rounded. These errors are like small changes of the inputs,
    but where the policy is steep they change margins a lot.
    """
    largest = np.maximum(np.abs(low), np.abs(high))
    return (2 + largest.size) * _FLOAT32 * largest
