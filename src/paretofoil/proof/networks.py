"""The foil's margins as networks that can be bounded, one class for each kind of policy.

- `MarginNetwork`: logits at one state, as a function of the scaled change z of the command.
- `ProductNetwork`: values that depend on the preferences w, as in envelope Q-learning: w . Q(s, a, w) at one state.
- `JointNetwork`: logits as a function of state and command together, for proofs about sets of states.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from paretofoil.core.errors import InvalidInput
from paretofoil.core.policy import (
    ACTIVATIONS,
    STEEPEST,
    Activation,
    Branch,
    FoldedPolicy,
    FoldedValues,
    Policy,
    Rounding,
    UnfoldedPolicy,
    WhiteBoxPolicy,
    WhiteBoxValues,
)
from paretofoil.core.question import Question, log_odds
from paretofoil.proof.bounds import (
    AffineForm,
    HalfSpaces,
    Relaxed,
    choose_relaxation,
    in_chunks,
    relax,
    substitute,
)
from paretofoil.proof.relaxation import Relaxation

_ROUNDING = 16 * 2.0**-53
"""More than the relative error of a float64 operation."""
_LARGEST = 1e80
"""Products and squares of larger numbers could be infinite."""
_OFFSET_ROUNDING = 2.0**-40
"""More than the relative rounding error of an offset."""


@dataclass(frozen=True, eq=False)
class MarginNetwork:
    """The margins over each rival as a function of the scaled change z: affine layers with activations between them.

    Networks of several questions can be stacked: all arrays, and z, then have a first axis of questions.
    """

    weights: tuple[np.ndarray, ...]  # each (outputs, inputs); the last has one output per rival
    biases: tuple[np.ndarray, ...]
    activations: tuple[Activation, ...]
    pads: tuple[np.ndarray, ...]  # of each layer (outputs,): more than the rounding errors of its bounds
    rounding: Rounding | None = None
    """The rounding errors that bounds include; None if bounds hold for exact arithmetic only."""
    origin: np.ndarray | None = None  # (d,): the command at z = 0, and
    basis: np.ndarray | None = None  # (d, d): what z adds to it; both go with the rounding
    unknown: str = ""
    """Why the rounding errors are not known."""

    @property
    def num_rivals(self) -> int:
        return self.weights[-1].shape[-2]

    @property
    def stretch(self) -> np.ndarray:
        """How much each coordinate (d,) moves the first layer."""
        return np.linalg.norm(self.weights[0], axis=0)

    @property
    def work(self) -> int:
        """Approximate number of products to bound one box."""
        lines = self.weights[0].shape[-1] + self.num_rivals
        return lines * sum(weight.shape[-1] * weight.shape[-2] for weight in self.weights)

    def margins(self, z: np.ndarray) -> np.ndarray:
        """Return the margins (N, rivals) at changes z (N, d)."""
        return self.forward(z)[0]

    def margins_and_slopes(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the margins (N, rivals) at changes z (N, d), and their derivatives (N, rivals, d)."""
        margins, passed = self.forward(z)
        slopes = self.weights[-1][..., None, :, :]
        for weight, derivative in zip(self.weights[-2::-1], self.derivatives(passed)[::-1], strict=True):
            slopes = (slopes * derivative[..., None, :]) @ weight[..., None, :, :]
        return margins, np.broadcast_to(slopes, (*margins.shape, z.shape[-1]))

    def forward(self, z: np.ndarray) -> tuple[np.ndarray, list[tuple[np.ndarray, np.ndarray]]]:
        """Return the margins, and the input and output of each activation."""
        hidden, passed = z, []
        for weight, bias, activation in zip(self.weights, self.biases, self.activations, strict=False):
            given = hidden @ weight.swapaxes(-1, -2) + bias[..., None, :]
            hidden = ACTIVATIONS[activation](given)
            passed.append((given, hidden))
        return hidden @ self.weights[-1].swapaxes(-1, -2) + self.biases[-1][..., None, :], passed

    def derivatives(self, passed: list[tuple[np.ndarray, np.ndarray]]) -> list[np.ndarray]:
        """Return the derivative of each activation, given its input and output."""
        return [_DERIVATIVES[kind](x, y) for kind, (x, y) in zip(self.activations, passed, strict=True)]

    def only(self, rivals: int | slice | list[int]) -> "MarginNetwork":
        """Return the network of the margins over one rival or several."""
        keep = [rivals] if isinstance(rivals, int) else rivals
        parts = ((*layers[:-1], layers[-1][keep]) for layers in (self.weights, self.biases, self.pads))
        weights, biases, pads = parts
        rounding = self.rounding and self.rounding.of_outputs(keep)
        return replace(self, weights=weights, biases=biases, pads=pads, rounding=rounding)

    def at(self, which: np.ndarray, rivals: np.ndarray) -> "MarginNetwork":
        """Return networks (N,) of a stack, as a stack, each with the margins over some rivals (N, K)."""
        parts = []
        for layers in (self.weights, self.biases, self.pads):
            parts.append((*(layer[which] for layer in layers[:-1]), layers[-1][which[:, None], rivals]))
        return replace(self, weights=parts[0], biases=parts[1], pads=parts[2])

    def negated(self) -> "MarginNetwork":
        """Return the network with the signs of all margins changed."""
        weights, biases = (*self.weights[:-1], -self.weights[-1]), (*self.biases[:-1], -self.biases[-1])
        return replace(self, weights=weights, biases=biases)

    def upper_bounds(self, low: np.ndarray, high: np.ndarray, level: float | None = None) -> HalfSpaces:
        """Return upper bounds of the margins over boxes low, high (B, d) of the region of the question.

        With a level, bounds that stay below it are preferred.
        """
        width = max((weight.shape[0] for weight in self.weights[:-1]), default=1)
        numbers = width * max(low.shape[1], self.num_rivals)
        return in_chunks(partial(self.bound_together, level=level), low, high, numbers)

    def lower_bounds(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """Return the least value of each margin over boxes low, high (B, d): (B, rivals)."""
        return -self.negated().upper_bounds(low, high).highest(low, high)

    def bound_together(self, low: np.ndarray, high: np.ndarray, level: float | None = None) -> HalfSpaces:
        """Return upper bounds as `upper_bounds`, not in chunks; a stack of B networks has one box for each."""
        relaxed, last_error = self.relax(low, high)

        def bound(lines: list[Relaxation]) -> HalfSpaces:
            slopes, offsets = substitute(self.weights, self.biases, lines, errors=relaxed.errors)
            shape = (len(low), *slopes.shape[1:])
            offsets = np.broadcast_to(offsets + self.biases[-1] + self.pads[-1] + last_error, shape[:2])
            return HalfSpaces(np.broadcast_to(slopes, shape), offsets)

        return choose_relaxation(bound, relaxed.lines, low, high, level)

    def relax(self, low: np.ndarray, high: np.ndarray) -> tuple[Relaxed, np.ndarray | float]:
        """Return the layers relaxed over boxes low, high (B, d), and the deployed error (B, outputs) of the last."""
        layers = zip(self.weights, self.biases, self.activations, self.pads, strict=False)
        if self.rounding is None or self.origin is None or self.basis is None:
            return relax(layers, AffineForm.of_boxes(low, high)), 0.0
        center, radius = (low + high) / 2, (high - low) / 2
        size = np.abs(self.origin + center @ self.basis.T) + radius @ np.abs(self.basis).T
        relaxed = relax(layers, AffineForm.of_boxes(low, high), self.rounding, size)
        assert relaxed.size is not None
        return relaxed, self.rounding.of_layer(len(self.weights) - 1, relaxed.size)

    def with_rounding(self, rounding: Rounding | None) -> "MarginNetwork":
        """Return the network with bounds that include these rounding errors instead; None for no rounding errors."""
        return replace(self, rounding=rounding)

    def largest_error(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """Return the largest rounding error (rivals,) of the deployed margins in the box low, high (d,).

        Infinite if the rounding of the deployed policy is not known.
        """
        if self.rounding is None:
            return np.full(self.num_rivals, np.inf)
        relaxed, last_error = self.relax(low[None], high[None])
        error = np.zeros_like(low[None])
        for k, weight in enumerate(self.weights[:-1]):
            error = STEEPEST[self.activations[k]] * (error @ np.abs(weight).T + relaxed.errors[k])
            error = error + relaxed.slips[k]
        largest: np.ndarray = (error @ np.abs(self.weights[-1]).T + last_error)[0]
        return largest


_DERIVATIVES = {
    "sigmoid": lambda x, y: y * (1.0 - y),
    "tanh": lambda x, y: 1.0 - y * y,
    "relu": lambda x, y: (y > 0.0).astype(np.float64),
    "elu": lambda x, y: np.minimum(y + 1.0, 1.0),
    "softplus": lambda x, y: -np.expm1(-y),
    "silu": lambda x, y: y + ACTIVATIONS["sigmoid"](x) * (1.0 - y),
}
"""The derivative of an activation, by its input x and its output y."""


def margin_network(folded: FoldedPolicy, question: Question, outputs_per_action: int = 1) -> MarginNetwork:
    """Return the margins of a question's foil over its rivals, for a policy folded at the question's state.

    An action has one output for logits, and d outputs for values of d objectives.
    """
    rivals, outputs = question.rivals, np.arange(len(folded.biases[-1])).reshape(-1, outputs_per_action)
    folded = folded.within(question.low, question.high, (1 + len(rivals)) * outputs_per_action)
    folded = folded.differences(np.tile(outputs[question.foil], len(rivals)), outputs[rivals].reshape(-1))
    scaled = None if question.space.simplex else question.space.scale
    return moved_network(folded, question.command, question.basis, scaled, command_reach(question))


def moved_network(
    folded: FoldedPolicy, origin: np.ndarray, basis: np.ndarray, scale: np.ndarray | None, reach: np.ndarray
) -> MarginNetwork:
    """Return the network of a policy whose logits are margins, at commands origin + basis z with terms up to `reach`.

    If the basis is diagonal, `scale` (d,) is its diagonal.
    """
    (weight, *weights), (bias, *biases) = folded.weights, folded.biases
    pads = rounding_pads(folded.weights, folded.biases, reach)
    weights, biases = [weight @ basis if scale is None else weight * scale, *weights], [weight @ origin + bias, *biases]
    layers = tuple(weights), tuple(biases), folded.activations, pads
    return MarginNetwork(*layers, folded.rounding, origin, basis, folded.unknown)


def command_reach(question: Question) -> np.ndarray:
    """Return the largest sum of absolute terms for each number (d,) of a command in the region."""
    size = np.abs(question.command)
    if not question.space.simplex:
        return size + np.maximum(question.command - question.low, question.high - question.command)
    # A number is a sum of d terms of the rotated change, and boxes are widened by less than 1e-3.
    most = np.maximum(-question.room[0], question.room[1]) + 1e-3
    return size + len(question.command) * (np.abs(question.basis) @ most)


def rounding_pads(
    weights: Sequence[np.ndarray], biases: Sequence[np.ndarray], reach: np.ndarray
) -> tuple[np.ndarray, ...]:
    """Return pads that cover the rounding errors of each layer: operations times the sum of all absolute terms.

    The terms are those before the command is folded in: far from 0 they cancel, but their rounding errors remain.
    """
    pads, terms, operations = [], reach, 8
    for weight, bias in zip(weights, biases, strict=True):
        size = np.abs(weight) @ terms + np.abs(bias)
        terms = relaxed_size(size)
        operations += weight.shape[1] + 8
        pads.append(_ROUNDING * operations * size)
        if not (size < _LARGEST).all():
            raise InvalidInput.expected(f"a policy whose numbers stay below {_LARGEST:g}", f"up to {size.max():g}")
    return tuple(pads)


def relaxed_size(size: np.ndarray) -> np.ndarray:
    """Return a bound on the terms of a relaxed activation, given the size of the terms of its input.

    The lines have slopes up to 1, and offsets up to 2 plus half the size. The lines of a SiLU have slopes up to 1.1,
    but small offsets there.
    """
    return 1.5 * size + 2.0


@dataclass(frozen=True, eq=False)
class ProductNetwork:
    """The margins over each rival (K) as a function of the scaled change z: w . gains(z) for w = command + basis z.

    In a box, w is its value at the center plus a deviation that depends on the position. The center times the network
    is one network, and is substituted backwards. The deviation is small: it multiplies the affine form of the network,
    and the quadratic part is bounded.
    """

    gains: MarginNetwork
    """K x d outputs: the foil's value of each objective minus that of the first rival, then of the second, ..."""
    command: np.ndarray  # (d,)
    basis: np.ndarray  # (d, d)
    pad: np.ndarray  # (K,): more than the rounding errors of the products

    @property
    def num_rivals(self) -> int:
        return len(self.pad)

    @property
    def pads(self) -> tuple[np.ndarray, ...]:
        return (*self.gains.pads, self.pad)

    @property
    def stretch(self) -> np.ndarray:
        """How much each coordinate (d,) moves the first layer and the weights."""
        return self.gains.stretch + self.gains.stretch.mean() + 1.0

    @property
    def work(self) -> int:
        """Approximate number of products to bound one box."""
        return self.gains.work

    def margins(self, z: np.ndarray) -> np.ndarray:
        """Return the margins (N, rivals) at changes z (N, d)."""
        return self._worth(z, self.gains.margins(z))

    def margins_and_slopes(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the margins (N, rivals) at changes z (N, d), and their derivatives (N, rivals, d)."""
        gains, slopes = self.gains.margins_and_slopes(z)
        by_weights = self._by_rival(gains) @ self.basis
        by_gains = np.einsum("nd,nkdj->nkj", self._weights(z), slopes.reshape(*by_weights.shape, len(self.basis)))
        return self._worth(z, gains), by_weights + by_gains

    def only(self, rival: int) -> "ProductNetwork":
        """Return the network of the margin over one rival."""
        first = rival * len(self.basis)
        gains = self.gains.only(slice(first, first + len(self.basis)))
        return replace(self, gains=gains, pad=self.pad[[rival]])

    def negated(self) -> "ProductNetwork":
        """Return the network with the signs of all margins changed."""
        return replace(self, gains=self.gains.negated())

    def upper_bounds(self, low: np.ndarray, high: np.ndarray, level: float | None = None) -> HalfSpaces:
        """Return upper bounds of the margins over boxes low, high (B, d) of the region of the question."""
        width = max(weight.shape[0] for weight in self.gains.weights)
        return in_chunks(partial(self._upper_bounds, level=level), low, high, width * low.shape[1])

    def lower_bounds(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """Return the least value of each margin over boxes low, high (B, d): (B, rivals)."""
        return -self.negated().upper_bounds(low, high).highest(low, high)

    def _upper_bounds(self, low: np.ndarray, high: np.ndarray, level: float | None) -> HalfSpaces:
        layers = self.gains
        relaxed, last_error = layers.relax(low, high)
        form = relaxed.form.activate(relaxed.lines[-1]) if relaxed.lines else relaxed.form
        form = form.affine(layers.weights[-1], layers.biases[-1]).widened(last_error)
        center, radius = (low + high) / 2, (high - low) / 2
        weights, last = self._weights(center), self._by_rival(layers.weights[-1].T)
        rows = np.einsum("bd,nkd->bkn", weights, last)
        tilt = self._by_rival(form.center) @ self.basis
        rest = weights @ self._by_rival(layers.biases[-1][None])[0].T - (tilt @ center[:, :, None])[:, :, 0]
        rest = rest + self._quadratic(form, radius) + self.pad
        if np.ndim(last_error):
            rest = rest + (self._by_rival(last_error) @ np.abs(weights)[:, :, None])[:, :, 0]  # type: ignore[arg-type]

        def bound(lines: list[Relaxation]) -> HalfSpaces:
            slopes, offsets = substitute(layers.weights, layers.biases, lines, rows, relaxed.errors)
            return HalfSpaces(slopes + tilt, offsets + rest)

        return choose_relaxation(bound, relaxed.lines, low, high, level)

    @property
    def rounding(self) -> Rounding | None:
        return self.gains.rounding

    @property
    def unknown(self) -> str:
        return self.gains.unknown

    def with_rounding(self, rounding: Rounding | None) -> "ProductNetwork":
        """Return the network with bounds that include these rounding errors instead; None for no rounding errors."""
        return replace(self, gains=self.gains.with_rounding(rounding))

    def largest_error(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """Return the largest rounding error (rivals,) of the deployed margins in the box low, high (d,)."""
        if self.rounding is None:
            return np.full(self.num_rivals, np.inf)
        largest = np.abs(self._weights((low + high)[None] / 2)[0]) + np.abs(self.basis) @ ((high - low) / 2)
        return self._by_rival(self.gains.largest_error(low, high)[None])[0] @ largest + self.pad

    def _quadratic(self, form: AffineForm, radius: np.ndarray) -> np.ndarray:
        """Return the largest product (B, rivals) of the deviations of the weights and of the gains in a box."""
        size = len(self.basis)
        slopes = form.slopes.reshape(len(radius), size, self.num_rivals, size)
        both = np.einsum("ij,blki->bkjl", self.basis, slopes) * radius[:, None, :, None]
        squares = np.maximum(np.diagonal(both, axis1=2, axis2=3), 0.0).sum(axis=2)
        mixed = np.abs(np.triu(both + both.swapaxes(2, 3), 1)).sum(axis=(2, 3))
        moved = radius @ np.abs(self.basis).T  # (B, d)
        return squares + mixed + (self._by_rival(form.radius) @ moved[:, :, None])[:, :, 0]

    def _weights(self, z: np.ndarray) -> np.ndarray:
        return self.command + z @ self.basis.T

    def _by_rival(self, gains: np.ndarray) -> np.ndarray:
        """Reshape (N, K x d) to (N, K, d)."""
        return gains.reshape(len(gains), self.num_rivals, len(self.basis))

    def _worth(self, z: np.ndarray, gains: np.ndarray) -> np.ndarray:
        return (self._by_rival(gains) @ self._weights(z)[:, :, None])[:, :, 0]


def product_network(folded: FoldedValues, question: Question) -> ProductNetwork:
    """Return the margins of a question's foil over its rivals, for values folded at the question's state."""
    dim = question.space.dim
    gains = margin_network(folded.network, question, outputs_per_action=dim)
    terms = gains.pads[-1].reshape(-1, dim) @ command_reach(question)
    # Two products of each gain, and sums of up to d squares of terms that are no larger.
    return ProductNetwork(gains, question.command, question.basis, (2 + dim) * terms)


@dataclass(frozen=True, eq=False)
class OddsNetwork:
    """The margins over each rival, and the logarithm of the foil's odds, minus the log-odds that the foil must have.

    The log-odds -logsumexp(-m) are concave in the margins m and rise with each. They are at most the smallest margin,
    so that the smallest of all these numbers is the last. The tangent at any margins is an upper bound, and their value
    at lower bounds of the margins is a lower bound.
    """

    network: MarginNetwork
    threshold: float

    @property
    def num_rivals(self) -> int:
        return self.network.num_rivals + 1

    @property
    def work(self) -> int:
        """Approximate number of products to bound one box."""
        return self.network.work

    @property
    def stretch(self) -> np.ndarray:
        """How much each coordinate (d,) moves the first layer."""
        return self.network.stretch

    @property
    def pads(self) -> tuple[np.ndarray, ...]:
        return (*self.network.pads[:-1], _with_largest(self.network.pads[-1]) + _OFFSET_ROUNDING)

    @property
    def rounding(self) -> Rounding | None:
        return self.network.rounding

    @property
    def unknown(self) -> str:
        return self.network.unknown

    def with_rounding(self, rounding: Rounding | None) -> "OddsNetwork":
        """Return the network with bounds that include these rounding errors instead; None for no rounding errors."""
        return replace(self, network=self.network.with_rounding(rounding))

    def largest_error(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """Return the largest rounding error (rivals,) of the deployed margins in the box low, high (d,)."""
        return _with_largest(self.network.largest_error(low, high)) + _OFFSET_ROUNDING

    def margins(self, z: np.ndarray) -> np.ndarray:
        """Return the margins (N, rivals) at changes z (N, d)."""
        return self._with_odds(self.network.margins(z))

    def margins_and_slopes(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the margins (N, rivals) at changes z (N, d), and their derivatives (N, rivals, d)."""
        margins, slopes = self.network.margins_and_slopes(z)
        odds = (_shares(margins)[:, :, None] * slopes).sum(axis=1, keepdims=True)
        return self._with_odds(margins), np.concatenate([slopes, odds], axis=1)

    def upper_bounds(self, low: np.ndarray, high: np.ndarray, level: float | None = None) -> HalfSpaces:
        """Return upper bounds of the margins over boxes low, high (B, d) of the region of the question."""
        bounds = self.network.upper_bounds(low, high, None if level is None else level + self.threshold)
        center, radius = (low + high) / 2, (high - low) / 2
        margins = bounds.offsets + (bounds.slopes @ center[:, :, None])[:, :, 0]  # the tangent is taken there
        shares = _shares(margins)
        slopes = (shares[:, :, None] * bounds.slopes).sum(axis=1)
        # Rounding changes the tangent by a small share of its terms, and of what the margins change within the box.
        terms = np.abs(bounds.offsets) + np.abs(margins) + (np.abs(bounds.slopes) @ radius[:, :, None])[:, :, 0]
        odds = log_odds(margins)
        offsets = odds - (slopes * center).sum(axis=1)
        size = 1.0 + np.abs(odds) + (shares * terms).sum(axis=1) + (np.abs(slopes) * np.abs(center)).sum(axis=1)
        offsets = offsets + _OFFSET_ROUNDING * size
        return HalfSpaces(
            np.concatenate([bounds.slopes, slopes[:, None]], axis=1),
            np.concatenate([bounds.offsets, offsets[:, None]], axis=1) - self.threshold,
        )

    def lower_bounds(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """Return the least value of each margin over boxes low, high (B, d): (B, rivals)."""
        least = self._with_odds(self.network.lower_bounds(low, high))
        return least - _OFFSET_ROUNDING * (1.0 + np.abs(least[:, -1:] + self.threshold))

    def _with_odds(self, margins: np.ndarray) -> np.ndarray:
        return np.concatenate([margins, log_odds(margins)[:, None]], axis=1) - self.threshold


def _shares(margins: np.ndarray) -> np.ndarray:
    """Return the shares (N, rivals) of the rivals in the probability that the foil does not have."""
    weights = np.exp(margins.min(axis=1, keepdims=True) - margins)
    shares: np.ndarray = weights / weights.sum(axis=1, keepdims=True)
    return shares


def _with_largest(numbers: np.ndarray) -> np.ndarray:
    return np.append(numbers, numbers.max(initial=0.0))


def require_white_box(policy: Policy, purpose: str) -> WhiteBoxPolicy:
    """Return the policy if it is white-box, else raise an error that names the purpose."""
    if not isinstance(policy, WhiteBoxPolicy):
        why = getattr(policy, "why_not", None)
        got = f"{type(policy).__name__}{f' ({why})' if why else ''}"
        raise InvalidInput.expected(f"a policy with fold(state){purpose}", got)
    return policy


def question_network(question: Question, purpose: str) -> MarginNetwork | ProductNetwork | OddsNetwork:
    """Return the margins of a question's foil; the error for a black-box policy names the purpose."""
    policy = question.policy
    if isinstance(policy, WhiteBoxValues):
        return product_network(policy.fold_values(question.state), question)
    network = margin_network(require_white_box(policy, purpose).fold(question.state), question)
    return network if question.probability is None else OddsNetwork(network, question.log_odds)


@dataclass(frozen=True, eq=False)
class JointNetwork:
    """The margins of an action over each rival, as a function of state and command together.

    Points and boxes are states and commands side by side, in their own units.
    """

    policy: UnfoldedPolicy
    """Its logits are the margins."""
    pads: tuple[tuple[np.ndarray, ...], ...]
    """Pads of the layers of the state, of the command and of the head, which exceed the rounding errors of bounds."""

    @property
    def num_rivals(self) -> int:
        return len(self.policy.head.weights[-1])

    @property
    def work(self) -> int:
        """Approximate number of products to bound one box."""
        parts = self.policy.state, self.policy.command, self.policy.head
        return (len(self.stretch) + self.num_rivals) * sum(weight.size for part in parts for weight in part.weights)

    @property
    def stretch(self) -> np.ndarray:
        """How much each coordinate (S + d,) moves the first layers."""
        branches = self.policy.state, self.policy.command
        return np.concatenate([np.linalg.norm(branch.weights[0], axis=0) for branch in branches])

    def _split(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return states and commands of points (N, S + d)."""
        size = self.policy.state.weights[0].shape[1]
        return points[:, :size], points[:, size:]

    def margins(self, points: np.ndarray) -> np.ndarray:
        """Return the margins (N, rivals) at points (N, S + d)."""
        return self.policy.logits(*self._split(points))

    def upper_bounds(self, low: np.ndarray, high: np.ndarray, level: float | None = None) -> HalfSpaces:
        """Return upper bounds of the margins over boxes low, high (B, S + d)."""
        width = max(weight.shape[0] for weight in (*self.policy.state.weights, *self.policy.command.weights))
        return in_chunks(partial(self._upper_bounds, level=level), low, high, width * low.shape[1])

    def _upper_bounds(self, low: np.ndarray, high: np.ndarray, level: float | None) -> HalfSpaces:
        branches, ends = (self.policy.state, self.policy.command), zip(self._split(low), self._split(high), strict=True)
        state, command = (
            _embed(branch, pads, *box) for branch, pads, box in zip(branches, self.pads, ends, strict=False)
        )
        product, head, pads = state.times(command), self.policy.head, self.pads[2]
        relaxed = relax(zip(head.weights, head.biases, head.activations, pads, strict=False), product)

        def bound(lines: list[Relaxation]) -> HalfSpaces:
            rows, offsets = substitute(head.weights, head.biases, lines)
            rows = np.broadcast_to(rows, (len(low), *rows.shape[1:]))
            offsets = offsets + head.biases[-1] + pads[-1]
            offsets = offsets + (rows @ product.center[:, :, None] + np.abs(rows) @ product.radius[:, :, None])[:, :, 0]
            return _in_own_units(rows @ product.slopes.transpose(0, 2, 1), offsets, low, high)

        return choose_relaxation(bound, relaxed.lines, low, high, level)


def _embed(branch: Branch, pads: tuple[np.ndarray, ...], low: np.ndarray, high: np.ndarray) -> AffineForm:
    layers = zip(branch.weights, branch.biases, branch.activations, pads, strict=True)
    relaxed = relax(layers, AffineForm.of_boxes(low, high))
    return relaxed.form.activate(relaxed.lines[-1])


def joint_network(
    policy: UnfoldedPolicy, action: int, rivals: Sequence[int], low: np.ndarray, high: np.ndarray
) -> JointNetwork:
    """Return the margins of an action over its rivals, for states and commands within low, high (S + d,)."""
    size = policy.state.weights[0].shape[1]
    reach = np.maximum(np.abs(low), np.abs(high))
    pads, spans = [], []
    for branch, part in ((policy.state, reach[:size]), (policy.command, reach[size:])):
        pads.append(rounding_pads(branch.weights, branch.biases, part))
        terms = part
        for weight, bias in zip(branch.weights, branch.biases, strict=True):
            terms = relaxed_size(np.abs(weight) @ terms + np.abs(bias))
        spans.append(terms)
    head = policy.head.differences(np.full(len(rivals), action), np.array(rivals, dtype=int))
    pads.append(rounding_pads(head.weights, head.biases, spans[0] * spans[1]))
    return JointNetwork(replace(policy, head=head), tuple(pads))


def _in_own_units(slopes: np.ndarray, offsets: np.ndarray, low: np.ndarray, high: np.ndarray) -> HalfSpaces:
    """Return half-spaces of positions from -1 to 1 in each box as half-spaces of the coordinates."""
    center, radius = (low + high) / 2, (high - low) / 2
    flat = radius == 0.0
    own = np.where(flat[:, None, :], 0.0, slopes / np.where(flat, 1.0, radius)[:, None, :])
    moved = own * center[:, None, :]
    return HalfSpaces(own, offsets - moved.sum(axis=2) + _OFFSET_ROUNDING * np.abs(moved).sum(axis=2))
