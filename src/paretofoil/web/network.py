"""The policy at one state as the page computes it: a small network of the command alone.

It is the one that proofs look into (`fold`), in float32. Whatever the agent is, the page evaluates
affine layers with activations between; what it finds are logits, of which only differences count.
"""

import base64
from typing import Any

import numpy as np

from paretofoil.agents.agent import Agent
from paretofoil.core.command import as_vector
from paretofoil.core.policy import WhiteBoxPolicy, shares
from paretofoil.web.errors import Unknown


def computable(agent: Agent) -> bool:
    """Whether the page can compute the policy itself."""
    return isinstance(agent.policy, WhiteBoxPolicy)


def folded_document(agent: Agent, state: Any) -> dict[str, Any]:
    """The layers at a state, first to last; weights row by row (outputs, inputs), as float32 numbers in base64."""
    policy = agent.policy
    if not isinstance(policy, WhiteBoxPolicy):
        raise Unknown.expected("an agent whose inside is known", f"{agent.name}, which can only be asked")
    folded = policy.fold(checked_state(agent, state))
    activations = (*folded.activations, "none")
    layers = [
        {
            "outputs": len(bias),
            "inputs": weight.shape[1],
            "weight": _packed(weight),
            "bias": _packed(bias),
            "activation": a,
        }
        for weight, bias, a in zip(folded.weights, folded.biases, activations, strict=True)
    ]
    return {"layers": layers}


def checked_state(agent: Agent, state: Any) -> np.ndarray:
    """A state of the right length; numbers beyond float32 are none that an environment shows."""
    numbers = as_vector(state, "the state", agent.environment.observation_size)
    with np.errstate(over="ignore"):
        return as_vector(numbers.astype(np.float32), "the state").astype(np.float32)


def probabilities_of(agent: Agent, state: Any, valid_actions: list[int], commands: np.ndarray) -> list[list[float]]:
    """What the agent would do at a state under each of the commands (N, d)."""
    states = np.repeat(checked_state(agent, state)[None], len(commands), axis=0)
    scores = np.asarray(agent.policy.log_probs(states, commands))
    return [shares(agent.policy, row, valid_actions)[0].tolist() for row in scores]


def _packed(numbers: np.ndarray) -> str:
    return base64.b64encode(np.ascontiguousarray(numbers, dtype="<f4").tobytes()).decode("ascii")
