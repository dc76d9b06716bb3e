"""Attack proofs: compare what is proven about a case with planted, sampled and optimised commands.

The reference computation uses long doubles (64 bits), which are far more precise than the pads of the proofs.
`attack(case)` returns a sentence for each violation of a proof.

To attack other bounds, patch `upper_bounds` of `paretofoil.proof.networks.MarginNetwork`.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from unittest import mock

import numpy as np
from folded import Case

from paretofoil.core.answer import Certificate, ProvenRange
from paretofoil.core.command import length
from paretofoil.core.errors import InvalidInput
from paretofoil.core.options import Stop
from paretofoil.core.question import QuestionBatch
from paretofoil.proof import branch_and_bound as boxes
from paretofoil.proof import compiled, verify
from paretofoil.proof.bounds import CAP_DIM, Cap, HalfSpaces
from paretofoil.proof.branch_and_bound import Claim, Effort, branch_and_bound
from paretofoil.proof.networks import MarginNetwork, margin_network
from paretofoil.proof.ranges import widen
from paretofoil.search.boundary import Boundary
from paretofoil.search.exact import Exact

_CLOSER = 1e-9
"""A command refutes a lower bound if it is closer by more than this share of the bound and of a scale."""
_STEPS = 0.3 ** np.arange(1, 13)
"""Lengths of the steps of an ascent, as shares of the search region."""


class Attack:
    """An attack on one case: its network, its random numbers, and counts of comparisons."""

    def __init__(self, case: Case) -> None:
        self.case, self.question = case, case.question
        self.rng = np.random.default_rng([case.seed, 1])
        self.batch = QuestionBatch([case.question])
        self.low, self.high = self.batch.low[0], self.batch.high[0]
        self.network = margin_network(case.folded, case.question)
        self.tolerance = 1e-17 * _size(case)
        self.tally: Counter[str] = Counter()

    def violations(self, *, whole: bool) -> Iterator[str]:
        """Return violations of the bounds and of a proof; with `whole` also of the search, ranges and verification."""
        yield from self.lines()
        yield from self.caps()
        yield from self.proof()
        if whole:
            yield from self.exact()

    # Bounds

    def lines(self) -> Iterator[str]:
        """Check the bounds of the margins over boxes of all sizes, half of them around the planted command."""
        low, high = self._boxes(8)
        share = self.rng.random((8, *low.shape))
        share[::2] = np.round(share[::2])
        z = np.clip(low + share * (high - low), low, high).astype(np.longdouble)  # (S, B, d)
        margins = self.margins(z.reshape(-1, z.shape[2])).reshape(*z.shape[:2], -1)
        lines = self.network.upper_bounds(low, high)
        above = (z[:, :, None, :] * lines.slopes).sum(axis=3) + lines.offsets
        self.tally["boxes"] += len(low)
        yield from self._told(margins - above, "a line is below a margin")
        yield from self._told(margins - lines.highest(low, high), "the highest value is below a margin")
        yield from self._told(self.network.lower_bounds(low, high) - margins, "a lower bound is above a margin")

    def caps(self) -> Iterator[str]:
        """Check bounds that need hold only in caps, in boxes that all hold a point on the rim of their cap."""
        (low, high), dim = self._boxes(8), self.batch.dim
        share = self.rng.random((4, *low.shape))
        share[::2] = np.round(share[::2])
        z = np.clip(low + share * (high - low), low, high)  # (S, B, d)
        z[0, ::2] = np.clip(self.planted, low[::2], high[::2])
        anchors, sizes = z[0], length(z[0])
        radius = float(sizes[self.rng.integers(len(sizes))]) * (1.0 + float(self.rng.choice([1e-15, 1e-9, 0.3]))) or 1.0
        normal = np.where(self.rng.random((len(low), 1)) < 0.5, anchors, self.rng.normal(size=anchors.shape))
        normal[~normal.any(axis=1), 0] = 1.0
        normal /= length(normal)[:, None]
        below = 10.0 ** self.rng.uniform(-15, 0, size=len(low))
        height = np.minimum((normal * anchors).sum(axis=1) - (1e-15 + below) * sizes, radius)
        inside = (length(z) <= radius) & ((z * normal).sum(axis=2) >= height)
        margins = self.margins(z.reshape(-1, dim)).reshape(*z.shape[:2], -1)
        level = float(self.rng.choice(np.append(margins.ravel(), self.question.kappa)))
        self.tally["points of caps"] += int(inside.sum())
        for bounds in self._in_caps(low, high, level, Cap(radius, normal, height)):
            above = (z.astype(np.longdouble)[:, :, None, :] * bounds.slopes).sum(axis=3) + bounds.offsets
            repeats = above.shape[2] // max(margins.shape[2], 1)
            excess = np.where(inside[:, :, None], np.tile(margins, repeats) - above, -np.inf)
            yield from self._told(excess, "a bound is below a margin in its cap")

    def _in_caps(self, low: np.ndarray, high: np.ndarray, level: float, cap: Cap) -> Iterator[HalfSpaces]:
        """Return the bounds in caps of the NumPy form, and of the compiled form if it is enabled."""
        yield self.network.upper_bounds(low, high, level, cap)
        chain = compiled.chain_of(self.network)
        if chain is not None and low.shape[1] >= CAP_DIM:
            rows = self.network.num_rivals * (2 if chain[1].size and chain[1][0] != 2 else 1)
            slopes, offsets = np.empty((len(low), rows, low.shape[1])), np.empty((len(low), rows))
            compiled.kernels._bound(chain, low, high, level, cap.radius, cap.normal, cap.height, slopes, offsets)
            self.tally["compiled"] += 1
            yield HalfSpaces(slopes, offsets)

    def _boxes(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        center = self.rng.uniform(self.low, self.high, size=(count, self.batch.dim))
        center[::2] = self.planted
        radius = (self.high - self.low) * 10.0 ** self.rng.uniform(-9, 0, size=(count, 1))
        return np.clip(center - radius, self.low, self.high), np.clip(center + radius, self.low, self.high)

    def _told(self, excess: np.ndarray, what: str) -> Iterator[str]:
        worst = excess.max(initial=-np.inf)
        if not worst <= self.tolerance:
            yield f"{what} by {float(worst):.3g}"

    # Branch and bound

    def proof(self) -> Iterator[str]:
        """Check a proof with few boxes, with or without an incumbent at twice the distance of the planted command."""
        slack, max_boxes = self.rng.choice([0.0, 1e-5, 1e-2]), int(self.rng.choice([1, 4, 16, 48]))
        level, far = self.question.kappa - slack, 2.0 * float(length(self.planted, self.batch.norm))
        best = np.inf if far == 0.0 or self.rng.random() < 0.5 else far
        claim = Claim(self.network, self.low, self.high, level, self.batch.norm)
        effort = Effort(1e-3, max_boxes, share=0.01, batch=int(self.rng.choice([1, 4, 512])))
        with mock.patch.object(boxes, "_MANY", int(self.rng.choice([1, 64]))):  # fewer boxes are not bounded in caps
            found = branch_and_bound(claim, effort, best=best)
        self.tally["proofs"] += 1
        self.tally["proofs of infeasibility"] += found.lower == np.inf
        if found.lower > 0:
            z = self.candidates(level)
            margins = self.margins(z).min(axis=1, initial=np.inf)
            yield from self._closer(z[margins >= level + self.tolerance], found.lower, "a proof's")

    def _closer(self, z: np.ndarray, lower: float, whose: str) -> Iterator[str]:
        sizes = length(z, self.batch.norm)
        closest = float(sizes.min(initial=np.inf))
        if closest < lower * (1.0 - _CLOSER) - _CLOSER:
            yield f"{whose} lower bound is {lower!r}, but {closest!r} is valid"

    # Points

    @property
    def planted(self) -> np.ndarray:
        """Return the planted command as a scaled change."""
        change = (self.case.planted - self.question.command) / self.question.space.scale
        return np.clip(change, self.low, self.high)

    def margins(self, z: np.ndarray) -> np.ndarray:
        """Return the true margins (N, K) over each rival at scaled changes (N, d)."""
        return self.margins_at(self.question.command + z.astype(np.longdouble) * self.question.space.scale)

    def margins_at(self, commands: np.ndarray) -> np.ndarray:
        logits = self.case.folded.logits(commands.astype(np.longdouble))
        rivals = [action for action in self.question.valid_actions if action != self.question.foil]
        return logits[:, [self.question.foil]] - logits[:, rivals]

    def candidates(self, level: float) -> np.ndarray:
        """Return points (N, d) that may be valid: planted, sampled, and along ascents."""
        dim = self.batch.dim
        near = self.planted + self.rng.normal(size=(24, dim)) * 10.0 ** self.rng.uniform(-10, -1, size=(24, 1))
        sampled = self.low + self.rng.random((40, dim)) * (self.high - self.low)
        sampled[:8] = np.where(self.rng.random((8, dim)) < 0.5, self.low, self.high)
        z = np.clip(np.concatenate([self.planted[None], near, sampled]), self.low, self.high)
        z = np.concatenate([z, climb(self.network, z, self.low, self.high)])
        valid = z[self.network.margins(z).min(axis=1, initial=np.inf) >= level - 1e-6]
        valid = valid[np.argsort(length(valid, self.batch.norm), kind="stable")[:8]]
        shares = np.linspace(0.0, 1.0, 9)[:-1]
        closer = (shares[:, None, None] * valid).reshape(-1, dim)
        return np.concatenate([z, closer])

    # Exact, ranges, verified certificates

    def exact(self) -> Iterator[str]:
        search = Exact(
            max_boxes=int(self.rng.choice([4, 32, 128])),
            slack=float(self.rng.choice([0.0, 1e-5, 1e-3])),
            start=None if self.rng.random() < 0.5 else Boundary(max_queries=64),
        )
        [finding] = search.run(self.batch)
        certificate = finding.certificate
        if (
            finding.stop is Stop.CONTRADICTED
        ):  # the proof was withdrawn, because the policy differs by more than its slack
            self.tally["withdrawn proofs"] += 1
            return
        assert certificate is not None
        self.tally[f"certificates: {certificate.status}"] += 1
        z = self.candidates(self.question.kappa)
        yield from self.deployed(z, certificate)
        least = self.margins(z).min(axis=1, initial=np.inf)
        valid = z[least >= self.question.kappa - certificate.slack + self.tolerance]
        yield from self._closer(valid, certificate.lower, "a certificate's")
        if finding.scaled_change is not None:
            z = np.concatenate([finding.scaled_change[None], z])
        yield from self.second_look(certificate, z)
        yield from self.ranges(z)

    def commands(self, z: np.ndarray) -> np.ndarray:
        """Return the commands of queries, as float64 numbers of the search region."""
        commands = self.question.command + z * self.question.space.scale
        return np.clip(commands, self.question.low, self.question.high)

    def asked(self, commands: np.ndarray) -> np.ndarray:
        return self.batch.margins_at(np.zeros(len(commands), dtype=np.int64), commands, "attack")

    def sizes(self, commands: np.ndarray) -> np.ndarray:
        change = (commands.astype(np.longdouble) - self.question.command) / self.question.space.scale
        return length(change, self.batch.norm)

    def deployed(self, z: np.ndarray, certificate: Certificate) -> Iterator[str]:
        """Query the policy where the certificate says that no command is valid."""
        commands = self.commands(z)
        margins, sizes = self.asked(commands), self.sizes(commands)
        closer = sizes < certificate.lower * (1.0 - _CLOSER) - _CLOSER
        bad = np.flatnonzero(closer & (margins >= self.question.kappa))
        self.tally["commands asked of deployed policies"] += len(z)
        if len(bad):
            off = margins[bad] - self.margins_at(commands[bad]).min(axis=1, initial=np.inf)
            why = f"the policy is off by {float(off.min()):.3g} there, the slack is {certificate.slack:.3g}"
            yield f"the policy is valid at {float(sizes[bad].min())!r}, below {certificate.lower!r}: {why}"

    def second_look(self, certificate: Certificate, z: np.ndarray) -> Iterator[str]:
        """Check that a true certificate is verified and a false one is not."""
        commands = self.commands(z)
        sizes = self.sizes(commands).astype(np.float64)
        valid = (self.asked(commands) >= self.question.kappa) & (
            self.margins_at(commands).min(axis=1, initial=np.inf) >= self.question.kappa
        )
        with mock.patch.object(verify, "_REBOUND_BOXES", 200):
            report = verify.verify_certificate(self.question, certificate, samples=64, rebound=True)
            self.tally["certificates verified"] += 1
            if not report.holds:
                yield f"a certificate is refused: {report}"
            if valid.any():
                false = replace(certificate, lower=1.5 * float(sizes[valid].min()) + 1e-6)
                report = verify.verify_certificate(self.question, false, samples=1, rebound=True)
                self.tally["false certificates"] += 1
                if report.rebounded:
                    yield f"a false certificate is proven again: {false}"

    def ranges(self, z: np.ndarray) -> Iterator[str]:
        """Check that every command of a proven range around the best command is valid."""
        commands, kappa = self.commands(z), self.question.kappa
        margins = self.asked(commands)
        best = int(np.argmax(margins))
        found = widen(self.batch, 0, commands[best]) if margins[best] >= kappa else None
        if found is None:
            return
        self.tally["ranges"] += 1
        inside = self.inside(found)
        margins, true = self.asked(inside), self.margins_at(inside).min(axis=1, initial=np.inf)
        if true.min() < kappa - self.tolerance:
            yield f"a range holds a margin that is {float(kappa - true.min()):.3g} short of kappa"
        if margins.min() < kappa:
            worst = int(margins.argmin())
            off = f"it is off by {float(abs(margins[worst] - true[worst])):.3g} there"
            yield f"the policy is {kappa - margins.min():.3g} short of kappa in a range: {off}"

    def inside(self, found: ProvenRange) -> np.ndarray:
        """Return commands (N, d) of a range: sampled, corners, and the ends of descents."""
        share = self.rng.random((64, self.batch.dim))
        share[::2] = np.round(share[::2])
        inside = found.low + share * (found.high - found.low)
        command, scale = self.question.command, self.question.space.scale
        z, low, high = ((part - command) / scale for part in (inside, found.low, found.high))
        lowest = command + climb(self.network.negated(), z, low, high) * scale
        return np.clip(np.concatenate([inside, lowest]), found.low, found.high)


def climb(network: MarginNetwork, z: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return the highest points (8, d) of a box that gradient ascents of the smallest margin reach from points z."""
    if not network.num_rivals:
        return z[:0]
    value, slope = _least(network, z)
    best = np.argsort(value, kind="stable")[-8:]
    z, value, slope = z[best], value[best], slope[best]
    for step in _STEPS:
        aim = np.clip(z + step * (high - low) * np.sign(slope), low, high)
        there, new = _least(network, aim)
        up = there > value
        z, slope = np.where(up[:, None], aim, z), np.where(up[:, None], new, slope)
        value = np.where(up, there, value)
    return z


def _least(network: MarginNetwork, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The least margin (N,) and its derivative (N, d)."""
    margins, slopes = network.margins_and_slopes(z)
    return margins.min(axis=1), slopes[np.arange(len(z)), margins.argmin(axis=1)]


def _size(case: Case) -> float:
    """Return the largest intermediate number of a margin, which scales the rounding of the reference computation."""
    question = case.question
    size = np.maximum(np.abs(question.low), np.abs(question.high))
    for weight, bias in zip(*case.folded.layers[:2], strict=True):
        size = np.abs(weight) @ size + np.abs(bias)
    return 2.0 * float(size.max())


def attack(case: Case, *, whole: bool = False) -> tuple[list[str], Counter[str]]:
    """Return the violations of a case, each with its seed, and the counts of comparisons."""
    try:
        under = Attack(case)
        found = list(under.violations(whole=whole))
    except InvalidInput:
        return [], Counter(refused=1)
    except Exception as error:  # also a warning: nothing may overflow unnoticed
        return [f"{case}: {type(error).__name__}: {error}"], Counter()
    return [f"{case}: {violation}" for violation in found], under.tally
