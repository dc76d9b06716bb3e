"""Policies with known answers, and random networks."""

from dataclasses import dataclass

import numpy as np

from paretofoil.core.command import CommandSpace
from paretofoil.core.question import Question
from paretofoil.pcn.policy import PCNPolicy


@dataclass(frozen=True, eq=False)
class LinearPolicy:
    """Logits A R + b, independent of the state: decision boundaries are hyperplanes."""

    weight: np.ndarray  # (num_actions, d)
    bias: np.ndarray  # (num_actions,)

    def log_probs(self, states: np.ndarray, commands: np.ndarray) -> np.ndarray:
        return np.asarray(commands) @ self.weight.T + self.bias


def random_pcn(seed: int, state_size: int = 5, objectives: int = 2, actions: int = 3, hidden: int = 32) -> PCNPolicy:
    rng = np.random.default_rng(seed)

    def layer(outputs: int, inputs: int, gain: float) -> tuple[np.ndarray, np.ndarray]:
        weight = rng.normal(size=(outputs, inputs)) * gain / np.sqrt(inputs)
        return weight.astype(np.float32), rng.normal(size=outputs).astype(np.float32)

    weight, bias = layer(hidden, objectives, 12.0)
    return PCNPolicy(
        state=(layer(hidden, state_size, 2.0),),
        command=((weight, bias - weight.sum(axis=1) / 2),),  # bends in the middle of the unit box
        head=(layer(hidden, hidden, 4.0), layer(actions, hidden, 3.0)),
    )


def with_output_bias(policy: PCNPolicy, action: int, value: float) -> PCNPolicy:
    """Return the policy with another bias of one action."""
    arrays = policy.arrays()
    bias = arrays["output_bias"].copy()
    bias[action] = value
    return PCNPolicy.from_arrays({**arrays, "output_bias": bias})


def random_commands(rng: np.random.Generator, space: CommandSpace, count: int) -> np.ndarray:
    if space.simplex:
        return rng.dirichlet(np.ones(space.dim), size=count)
    return space.low + rng.random((count, space.dim)) * (space.high - space.low)


def random_question(
    policy: PCNPolicy, seed: int, *, front_size: int = 6, space: CommandSpace | None = None, kappa: float = 0.05
) -> Question:
    """Return a question with a random state and command, and a foil that is not chosen there."""
    rng = np.random.default_rng(seed)
    d = policy.command_size
    space = space or CommandSpace(np.zeros(d), np.ones(d))
    state = rng.normal(size=policy.state_size)
    command = random_commands(rng, space, 1)[0]
    scores = policy.log_probs(state[None], command[None])[0]
    others = [a for a in range(policy.num_actions) if a != scores.argmax()]
    front = random_commands(rng, space, front_size)
    return Question(
        policy, state, command, int(rng.choice(others)), tuple(range(policy.num_actions)), space, front, kappa
    )
