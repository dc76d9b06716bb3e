"""Training of the network in NumPy; `PCNNetwork.export` returns the policy that is deployed."""

from collections.abc import Mapping

import numpy as np

from paretofoil.core.amounts import ActionSpace
from paretofoil.pcn.policy import PCN, Layer, PCNActor, PCNPolicy
from paretofoil.pcn.replay import Samples

DECAYS, EPSILON = (0.9, 0.999), 1e-8
"""Adam's decay rates of the two moments, and the constant that it adds to the divisor."""


class PCNNetwork:
    """The network of `PCNPolicy` with scaled inputs: s' = (s - shift) * scale, and likewise for commands.

    The scalings follow the replay. `export` folds them into the weights. The outputs for continuous actions are scaled,
    too: -1 is the lowest amount and 1 the highest. All weights and biases lie in one float32 vector.
    """

    def __init__(
        self,
        state_size: int,
        command_size: int,
        num_actions: int,
        hidden: int,
        seed: int,
        action_space: ActionSpace | None = None,
    ) -> None:
        self.action_space = action_space
        sizes = {"state": (state_size, hidden), "command": (command_size, hidden)}
        self.sizes = sizes | {"hidden": (hidden, hidden), "output": (hidden, num_actions)}
        self.vector = draw_weights(self.sizes, seed)
        self.layers = self.split(self.vector)
        self.shift = {name: np.zeros(inputs) for name, (inputs, _) in sizes.items()}
        self.scale = {name: np.ones(inputs) for name, (inputs, _) in sizes.items()}

    def split(self, vector: np.ndarray) -> dict[str, Layer]:
        """Return the weight and the bias of each layer in a vector of all of them, as views."""
        layers, start = {}, 0
        for name, (inputs, outputs) in self.sizes.items():
            middle = start + inputs * outputs
            end = middle + outputs
            layers[name] = vector[start:middle].reshape(outputs, inputs), vector[middle:end]
            start = end
        return layers

    def rescale(self, name: str, shift: np.ndarray, scale: np.ndarray) -> None:
        """Set the scaling of the input "state" or "command"."""
        self.shift[name][:], self.scale[name][:] = shift, scale

    def scaled(self, name: str, inputs: np.ndarray) -> np.ndarray:
        """Return the scaled inputs (N, size), in float32."""
        scaled: np.ndarray = (np.asarray(inputs, dtype=np.float64) - self.shift[name]) * self.scale[name]
        return scaled.astype(np.float32)

    def gradient(
        self, states: np.ndarray, commands: np.ndarray, masks: np.ndarray, targets: np.ndarray, out: np.ndarray
    ) -> float:
        """Write the gradient of the mean loss into `out`, a vector like `vector`, and return the loss.

        The loss of actions (N,) is their negative log-likelihood among the valid ones; that of scaled amounts
        (N, dimensions) is their squared error. States and commands are scaled.
        """
        weights, gradients = self.layers, self.split(out)
        state, command = _sigmoid(_affine(states, weights["state"])), _sigmoid(_affine(commands, weights["command"]))
        product = state * command
        hidden = np.maximum(_affine(product, weights["hidden"]), 0)
        outputs = _affine(hidden, weights["output"])
        if self.action_space is None:
            outputs = np.where(masks, outputs, -np.inf)
            outputs -= outputs.max(axis=1, keepdims=True)
            exponentials = np.exp(outputs)
            sums, rows = exponentials.sum(axis=1, keepdims=True), np.arange(len(outputs))
            loss = float(np.mean(np.log(sums[:, 0]) - outputs[rows, targets]))
            slopes = exponentials / sums
            slopes[rows, targets] -= 1
            slopes /= len(outputs)
        else:
            errors = outputs - targets
            loss, slopes = float(np.mean(errors**2)), errors * (2 / errors.size)
        _write_gradient(slopes, hidden, gradients["output"])
        slopes = slopes @ weights["output"][0] * (hidden > 0)
        _write_gradient(slopes, product, gradients["hidden"])
        slopes = slopes @ weights["hidden"][0] * product
        _write_gradient(slopes * (1 - state), states, gradients["state"])
        _write_gradient(slopes * (1 - command), commands, gradients["command"])
        return loss

    def export(self) -> PCN:
        """Return the policy to deploy; the scalings are folded into the first layers, in float64."""

        def fold(name: str) -> Layer:
            weight, bias = (values.astype(np.float64) for values in self.layers[name])
            weight *= self.scale[name]
            return weight.astype(np.float32), (bias - weight @ self.shift[name]).astype(np.float32)

        (hidden, shift), (weight, bias) = self.layers["hidden"], self.layers["output"]
        space = self.action_space
        if space is not None:
            half, middle = (space.high - space.low) / 2, (space.high + space.low) / 2
            weight, bias = (half[:, None] * weight).astype(np.float32), (half * bias + middle).astype(np.float32)
        network = PCNPolicy(
            state=(fold("state"),),
            command=(fold("command"),),
            head=((hidden.copy(), shift.copy()), (weight.copy(), bias.copy())),
        )
        return network if space is None else PCNActor(network, space)


def draw_weights(sizes: Mapping[str, tuple[int, int]], seed: int) -> np.ndarray:
    """Return initial weights and biases, uniform within 1 / sqrt(inputs).

    torch draws the same numbers from this seed, because earlier versions trained in torch.
    """
    bits = np.random.RandomState(seed & 0xFFFFFFFF)  # the Mersenne Twister of torch
    parts = []
    for inputs, outputs in sizes.values():
        limit = np.float64(np.float32(1 / np.sqrt(inputs)))
        drawn = bits.randint(2**32, size=(inputs + 1) * outputs, dtype=np.uint32) & 0xFFFFFF
        parts.append((drawn * 2.0**-24 * (2 * limit) - limit).astype(np.float32))
    return np.concatenate(parts)


def _affine(inputs: np.ndarray, layer: Layer) -> np.ndarray:
    outputs: np.ndarray = inputs @ layer[0].T + layer[1]
    return outputs


def _sigmoid(values: np.ndarray) -> np.ndarray:
    sigmoid: np.ndarray = 0.5 * np.tanh(0.5 * values) + 0.5
    return sigmoid


def _write_gradient(slopes: np.ndarray, inputs: np.ndarray, out: Layer) -> None:
    """Write the gradient of a layer's weight and bias, given the slopes of its outputs."""
    np.matmul(slopes.T, inputs, out=out[0])
    np.sum(slopes, axis=0, out=out[1])


class Learner:
    """A network and its optimiser, Adam: supervised learning of the actions of the replay."""

    def __init__(self, network: PCNNetwork) -> None:
        self.network = network
        self.steps, self.moments = 0, np.zeros((2, network.vector.size), dtype=np.float32)

    def fit(
        self,
        samples: Samples,
        probabilities: np.ndarray,
        batch_size: int,
        learning_rates: np.ndarray,
        rng: np.random.Generator,
    ) -> float:
        """Update once per learning rate, on samples drawn with these probabilities; return the mean loss."""
        network = self.network
        states, commands = network.scaled("state", samples.states), network.scaled("command", samples.commands)
        targets, space = samples.actions, network.action_space
        if space is not None:
            targets = ((2 * targets - space.low - space.high) / (space.high - space.low)).astype(np.float32)
        cumulative = np.cumsum(probabilities)
        draws = rng.random((len(learning_rates), batch_size)) * cumulative[-1]
        batches = np.searchsorted(cumulative, draws, side="right").clip(max=len(cumulative) - 1)
        total, gradient = 0.0, np.empty_like(network.vector)
        with np.errstate(over="ignore", invalid="ignore"):  # a training that diverges is noticed by its loss
            for batch, rate in zip(batches, learning_rates, strict=True):
                total += network.gradient(
                    states[batch], commands[batch], samples.masks[batch], targets[batch], gradient
                )
                self.update(gradient, float(rate))
        return total / max(len(learning_rates), 1)

    def update(self, gradient: np.ndarray, rate: float) -> None:
        """Make one step of Adam."""
        self.steps += 1
        mean, square = self.moments
        mean += (1 - DECAYS[0]) * (gradient - mean)
        square *= DECAYS[1]
        square += (1 - DECAYS[1]) * gradient**2
        rate, most = rate / (1 - DECAYS[0] ** self.steps), (1 - DECAYS[1] ** self.steps) ** 0.5
        self.network.vector -= rate * mean / (np.sqrt(square) / most + EPSILON)

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the weights, scalings and Adam moments by name; `restore` is the inverse."""
        network = self.network
        arrays = {f"network.{name}_shift": value.copy() for name, value in network.shift.items()}
        arrays |= {f"network.{name}_scale": value.copy() for name, value in network.scale.items()}
        arrays |= {f"network.{name}": value.copy() for name, value in self._named(network.vector)}
        for moment, vector in zip(("exp_avg", "exp_avg_sq"), self.moments, strict=True):
            for number, (_, value) in enumerate(self._named(vector)):
                arrays[f"optimiser.{number}.{moment}"] = value.copy()
                arrays[f"optimiser.{number}.step"] = np.array([self.steps], dtype=np.float32)
        return arrays

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Restore the result of `arrays`, also that of earlier versions, which trained in torch."""
        network = self.network
        for name in network.shift:
            network.rescale(name, arrays[f"network.{name}_shift"], arrays[f"network.{name}_scale"])
        for name, value in self._named(network.vector):
            value[...] = arrays[f"network.{name}"]
        for moment, vector in zip(("exp_avg", "exp_avg_sq"), self.moments, strict=True):
            for number, (_, value) in enumerate(self._named(vector)):
                value[...] = arrays.get(f"optimiser.{number}.{moment}", 0.0)  # missing before the first update
        self.steps = int(arrays.get("optimiser.0.step", np.zeros(1)).item())

    def _named(self, vector: np.ndarray) -> list[tuple[str, np.ndarray]]:
        """Return the parts of a vector like the network's by name, as views."""
        layers = self.network.split(vector).items()
        return [
            (f"{name}.{part}", v) for name, layer in layers for part, v in zip(("weight", "bias"), layer, strict=True)
        ]
