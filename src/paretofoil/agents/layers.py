"""Arranges recorded activations into the layers of a folded policy.

A layer of a folded policy has one activation, and no connection skips a layer. A value that a later layer needs is
carried through a ReLU layer exactly: relu(y) = y if y is never negative, otherwise y = relu(y) - relu(-y). Layers with
other activations cannot carry values.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from paretofoil.core.policy import Activation, FoldedPolicy, Rounding


class NotWhiteBox(Exception):
    """A module that cannot be folded; the message is the reason."""


@dataclass(frozen=True, eq=False)
class Block:
    """Units with one activation. The first block is the command, which has none."""

    activation: Activation | None
    before: np.ndarray  # (1 + units so far, n): the constant, then the coefficient of each earlier unit
    first: int
    """The index of its first unit."""
    error: np.ndarray  # like before: how far rounding can move what each unit is made of (see `Symbol.error`)
    slip: float = 0.0
    """Largest error of the deployed activation, relative to its absolute value or to 1, whichever is larger."""

    @property
    def reads(self) -> np.ndarray:
        """(1 + units so far, n): not 0 where a unit depends on an earlier one, even if only by its rounding error."""
        return np.abs(self.before) + self.error

    @property
    def rows(self) -> slice:
        """The rows of its units in a column of coefficients, whose row 0 is the constant."""
        return slice(1 + self.first, 1 + self.first + self.before.shape[1])


def command_block(size: int) -> Block:
    return Block(None, np.zeros((1, size)), 0, np.zeros((1, size)))


def arrange(
    blocks: Sequence[Block], output: np.ndarray, low: np.ndarray, error: np.ndarray, unit: float
) -> FoldedPolicy:
    """Return the folded policy of blocks, the command first, and output coefficients (1 + units, actions).

    ReLUs are placed as early as possible, because a sigmoid layer cannot carry their inputs. A command is carried as
    R = relu(R - low) - relu(low - R) + low, with the lowest usual command `low` (d,): for R >= low the second term is
    0, and bounds stay tight. `error` (1 + units, actions) is the rounding error of the output, and `unit` the unit
    roundoff.
    """
    used = np.abs(output) + error
    command, *pending = _needed(blocks, used)
    if not all(np.isfinite(block.reads).all() for block in pending) or not np.isfinite(used).all():
        raise NotWhiteBox("weights that are not finite")
    layers, done = _Layers(command, len(output), low), [command]
    while pending:
        ready = [block for block in pending if not _uses(block.reads, [b for b in pending if b.first < block.first])]
        relus = [block for block in ready if block.activation == "relu"]
        now = relus or [block for block in ready if block.activation in _together(ready[0].activation)]
        pending = [block for block in pending if not any(block is other for other in now)]
        readers = [used, *(block.reads for block in pending)]
        alive = [block for block in done if any(_uses(coefficients, [block]) for coefficients in readers)]
        if alive and not relus:
            raise NotWhiteBox(_mixed(now[0].activation, alive))
        layers.append(now, alive)
        done += now
    return layers.finish(output, error, unit)


def _mixed(activation: Activation | None, alive: Sequence[Block]) -> str:
    carried = " and ".join(sorted({block.activation or "the command itself" for block in alive}))
    return f"{carried} carried past a layer of {activation}; only ReLU layers can carry values"


def _uses(coefficients: np.ndarray, blocks: Sequence[Block]) -> bool:
    return any(coefficients[block.rows].any() for block in blocks)


def _needed(blocks: Sequence[Block], output: np.ndarray) -> list[Block]:
    """Return the command and the blocks on which the output depends; a module may have blocks for other outputs."""
    command, *others = blocks
    readers, needed = [output], []
    for block in reversed(others):
        if any(_uses(coefficients, [block]) for coefficients in readers):
            readers.append(block.reads)
            needed.append(block)
    return [command, *reversed(needed)]


class _Layers:
    """The layers so far, and the matrix that reads the units from the outputs of the last layer."""

    def __init__(self, command: Block, num_rows: int, low: np.ndarray) -> None:
        self.weights: list[np.ndarray] = []
        self.biases: list[np.ndarray] = []
        self.activations: list[Activation] = []
        self.errors: list[np.ndarray] = []  # (outputs, 1 + inputs): of a constant, and of each input
        self.slips: list[np.ndarray] = []
        self.low = low
        size = command.before.shape[1]
        self.read = np.zeros((num_rows, 1 + size))  # [1, units] = read @ [1, outputs of the last layer]
        self.read[0, 0] = 1.0
        self.read[command.rows, 1:] = np.eye(size)

    def append(self, blocks: Sequence[Block], alive: Sequence[Block]) -> None:
        """Add a layer of new units that carries the values of the blocks `alive`."""
        activation = _shared_activation(blocks)
        rows = np.concatenate([self._affine(block.before) for block in blocks])
        errors = np.concatenate([self._affine_error(block.error) for block in blocks])
        slips = np.concatenate([np.full(block.before.shape[1], block.slip) for block in blocks])
        carriers, carried = self._carry(alive)
        read = np.zeros((len(self.read), 1 + len(rows) + len(carriers)))
        read[0, 0] = 1.0
        column = 1
        for block in blocks:
            count = block.before.shape[1]
            read[block.rows, column : column + count] = np.eye(count)
            if block.activation != activation:  # tanh(x) = 2 sigmoid(2 x) - 1
                rows[column - 1 : column - 1 + count] *= 2.0
                errors[column - 1 : column - 1 + count] *= 2.0
                read[block.rows] *= 2.0
                read[block.rows, 0] = -1.0
            column += count
        for block in alive:
            read[block.rows, 0] = self.read[block.rows] @ carried[:, 0]
            read[block.rows, column:] = self.read[block.rows] @ carried[:, 1:]
        carrier_errors = np.zeros_like(carriers)
        if self.slips:  # by as much a deployed activation may be below its floor
            carrier_errors[:, 0] = self.slips[-1].max(initial=0.0)
        self._add(np.concatenate([rows, carriers]), np.concatenate([errors, carrier_errors]))
        self.activations.append(activation)
        self.slips.append(np.concatenate([slips, np.zeros(len(carriers))]))
        self.read = read

    def finish(self, output: np.ndarray, error: np.ndarray, unit: float) -> FoldedPolicy:
        self._add(self._affine(output), self._affine_error(error))
        rounding = Rounding(
            terms=tuple(errors[:, 1:] for errors in self.errors),
            constants=tuple(errors[:, 0] for errors in self.errors),
            activations=tuple(self.slips),
            unit=unit,
        )
        return FoldedPolicy(tuple(self.weights), tuple(self.biases), tuple(self.activations), rounding)

    def _add(self, rows: np.ndarray, errors: np.ndarray) -> None:
        self.biases.append(rows[:, 0].copy())
        self.weights.append(rows[:, 1:].copy())
        self.errors.append(errors)

    def _affine_error(self, error: np.ndarray) -> np.ndarray:
        """Convert errors like `_affine`, enlarged a little to cover the rounding of the conversion itself."""
        return (1.0 + 1e-9) * (error.T @ np.abs(self.read[: len(error)]))

    def _affine(self, coefficients: np.ndarray) -> np.ndarray:
        """Return coefficients of units (1 + units, n) as coefficients of the last layer (n, 1 + outputs)."""
        return coefficients.T @ self.read[: len(coefficients)]

    def _carry(self, alive: Sequence[Block]) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows of a ReLU layer that carry the outputs y, and the matrix that reads [1, y] from them."""
        size = self.read.shape[1]
        used = np.zeros(size, dtype=bool)
        for block in alive:
            used |= self.read[block.rows].any(axis=0)
        columns = np.flatnonzero(used[1:]) + 1
        floor = self._floor()[columns - 1]
        carriers = np.zeros((len(columns), size))  # relu(y - floor)
        carriers[np.arange(len(columns)), columns] = 1.0
        carriers[:, 0] = -floor
        both = not self.activations or self.activations[-1] == "silu"  # these may be below their floor
        carried = np.zeros((size, 1 + len(columns) * (1 + both)))
        carried[0, 0], carried[columns, 0] = 1.0, floor
        carried[columns, 1 + np.arange(len(columns))] = 1.0
        if both:
            carried[columns, 1 + len(columns) + np.arange(len(columns))] = -1.0
            carriers = np.concatenate([carriers, -carriers])
        return carriers, carried

    def _floor(self) -> np.ndarray:
        """Return a lower bound of each output of the last layer; for the command, its lowest usual value."""
        if not self.activations:
            return self.low
        return np.full(self.read.shape[1] - 1, -1.0 if self.activations[-1] in ("tanh", "elu", "silu") else 0.0)


def _together(activation: Activation | None) -> set[Activation | None]:
    """Return the activations that can share a layer: tanh(x) = 2 sigmoid(2 x) - 1."""
    return {"sigmoid", "tanh"} if activation in ("sigmoid", "tanh") else {activation}


def _shared_activation(blocks: Sequence[Block]) -> Activation:
    kinds = {block.activation for block in blocks}
    return "sigmoid" if len(kinds) > 1 else blocks[0].activation  # type: ignore[return-value]
