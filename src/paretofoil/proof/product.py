"""Margins of values that depend on the preferences: products of the weights and of a network of the weights.

Envelope Q-learning chooses the most of w . Q(s, a, w). In a box of changes the weights are those of its middle and what
the place in the box adds. The first times the network is one network, whose lines are substituted backwards as always;
the second is small, and is multiplied by the form of the network: a line, and a bend that is bounded.
"""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from paretofoil.core.policy import FoldedValues, WhiteBoxValues
from paretofoil.core.question import Question
from paretofoil.proof.bound import Form, HalfSpaces, below, in_chunks, relax, substitute
from paretofoil.proof.lines import Lines
from paretofoil.proof.margin import MarginNetwork, margin_network, reach_of, require_white_box


@dataclass(frozen=True, eq=False)
class ProductNetwork:
    """The margins over each rival (K), as a function of the scaled change z: w . gains, for w = command + basis z."""

    gains: MarginNetwork
    """K x d outputs: how much more the foil yields than the first rival of each objective, then the second, ..."""
    command: np.ndarray  # (d,)
    basis: np.ndarray  # (d, d)
    pad: np.ndarray  # (K,): more than rounding can do to the bounds of the products

    @property
    def num_rivals(self) -> int:
        return len(self.pad)

    @property
    def pads(self) -> tuple[np.ndarray, ...]:
        return (*self.gains.pads, self.pad)

    @property
    def stretch(self) -> np.ndarray:
        """(d,): how much each coordinate moves the first layer, or the weights, which move along all of them alike."""
        return self.gains.stretch + self.gains.stretch.mean() + 1.0

    @property
    def work(self) -> int:
        """Products that bounding it over one box takes, nearly."""
        return self.gains.work

    def margins(self, z: np.ndarray) -> np.ndarray:
        """(N, d) -> (N, rivals)."""
        return self._worth(z, self.gains.margins(z))

    def margins_and_slopes(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(N, d) -> margins (N, rivals) and their derivatives (N, rivals, d)."""
        gains, slopes = self.gains.margins_and_slopes(z)
        turned = self._by_rival(gains) @ self.basis
        bent = np.einsum("nd,nkdj->nkj", self._weights(z), slopes.reshape(*turned.shape, len(self.basis)))
        return self._worth(z, gains), turned + bent

    def only(self, rival: int) -> "ProductNetwork":
        """The network of the margin over one rival."""
        first = rival * len(self.basis)
        gains = self.gains.only(slice(first, first + len(self.basis)))
        return replace(self, gains=gains, pad=self.pad[[rival]])

    def negated(self) -> "ProductNetwork":
        """The network whose upper bounds are the lower bounds of this one, with the sign changed."""
        return replace(self, gains=self.gains.negated())

    def upper_bounds(self, low: np.ndarray, high: np.ndarray, level: float | None = None) -> HalfSpaces:
        """Lines above the margins over the boxes low, high (B, d), inside the region the network was made for."""
        width = max(weight.shape[0] for weight in self.gains.weights)
        return in_chunks(partial(self._upper_bounds, level=level), low, high, width * low.shape[1])

    def _upper_bounds(self, low: np.ndarray, high: np.ndarray, level: float | None) -> HalfSpaces:
        layers = self.gains
        hidden = zip(layers.weights, layers.biases, layers.activations, layers.pads, strict=False)
        relaxed, form = relax(hidden, Form.of_boxes(low, high))
        form = (form.between(relaxed[-1]) if relaxed else form).affine(layers.weights[-1], layers.biases[-1])
        center, radius = (low + high) / 2, (high - low) / 2
        weights, last = self._weights(center), self._by_rival(layers.weights[-1].T)
        rows = np.einsum("bd,nkd->bkn", weights, last)
        tilt = self._by_rival(form.center) @ self.basis
        rest = weights @ self._by_rival(layers.biases[-1][None])[0].T - (tilt @ center[:, :, None])[:, :, 0]
        rest = rest + self._bend(form, radius) + self.pad

        def above(lines: list[Lines]) -> HalfSpaces:
            slopes, offsets = substitute(layers.weights, layers.biases, lines, rows)
            return HalfSpaces(slopes + tilt, offsets + rest)

        return below(level, above, relaxed, low, high)

    def _bend(self, form: Form, radius: np.ndarray) -> np.ndarray:
        """(B, rivals): the most that what the place adds to the weights, times what it adds to the gains, can be."""
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
        """(N, K x d) -> (N, K, d)."""
        return gains.reshape(len(gains), self.num_rivals, len(self.basis))

    def _worth(self, z: np.ndarray, gains: np.ndarray) -> np.ndarray:
        return (self._by_rival(gains) @ self._weights(z)[:, :, None])[:, :, 0]


def product_network(folded: FoldedValues, question: Question) -> ProductNetwork:
    """Fold the command, the foil and its valid rivals into the values at the question's state."""
    size = question.space.dim
    gains = margin_network(folded.network, question, each=size)
    terms = gains.pads[-1].reshape(-1, size) @ reach_of(question)
    # Two products of each gain, and sums of up to d squares of terms that are no larger.
    return ProductNetwork(gains, question.command, question.basis, (2 + size) * terms)


def question_network(question: Question, wanted: str) -> MarginNetwork | ProductNetwork:
    """The margins of a question's foil, if its policy lets us look inside; `wanted` says who wants to."""
    policy = question.policy
    if isinstance(policy, WhiteBoxValues):
        return product_network(policy.fold_values(question.state), question)
    return margin_network(require_white_box(policy, wanted).fold(question.state), question)
