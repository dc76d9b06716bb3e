"""A torch module of values that depend on the preferences, as in Envelope Q-learning: argmax of w . Q(s, a, w)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from torch import Tensor, nn

from paretofoil.agents.torch_policy import TorchPolicy, WhiteBoxTorchPolicy, from_torch
from paretofoil.core.command import CommandSpace
from paretofoil.core.errors import InvalidInput
from paretofoil.core.policy import FoldedValues, WhiteBoxValues


class _InOneRow(nn.Module):
    """A module of values (N, num_actions, d), with those of all actions in one row."""

    def __init__(self, module: nn.Module, objectives: int) -> None:
        super().__init__()
        self.module, self.objectives = module, objectives

    def forward(self, *inputs: Any) -> Tensor:
        values = self.module(*inputs)
        if not isinstance(values, Tensor) or values.ndim != 3 or values.shape[2] != self.objectives:
            got = f"the shape {tuple(values.shape)}" if isinstance(values, Tensor) else type(values).__name__
            raise InvalidInput.expected(f"a module that returns the shape (rows, actions, {self.objectives})", got)
        return values.flatten(1)


@dataclass(frozen=True, eq=False, repr=False)
class QModulePolicy:
    """A torch module of values as a black box. `from_q_module` makes one."""

    rows: TorchPolicy
    """The module, with the values of all actions in one row."""

    tells_values: ClassVar[bool] = True

    def __repr__(self) -> str:
        kind = f"folds to {self.rows.deviation:.0e}" if isinstance(self.rows, WhiteBoxTorchPolicy) else "a black box"
        return f"<{type(self).__name__}: {type(self.rows.module.module).__name__}, {kind}>"

    @property
    def is_white_box(self) -> bool:
        """Whether answers about it can be proven."""
        return isinstance(self, WhiteBoxValues)

    @property
    def why_not(self) -> str | None:
        """Why it cannot be folded, in words; None if it can."""
        return self.rows.why_not

    def log_probs(self, states: np.ndarray, commands: np.ndarray) -> np.ndarray:
        """What the actions are worth (N, num_actions)."""
        weights = np.asarray(commands, dtype=np.float64)
        told = self.rows.ask(states, commands).reshape(len(weights), -1, weights.shape[1])
        worth: np.ndarray = (told * weights[:, None, :]).sum(axis=2)
        return worth


@dataclass(frozen=True, eq=False, repr=False)
class WhiteBoxQModulePolicy(QModulePolicy):
    """A torch module of values whose operations are understood, so that answers can be proven."""

    rows: WhiteBoxTorchPolicy

    def fold_values(self, state: np.ndarray) -> FoldedValues:
        """The values at one state as layers of the preferences, compared with the module's on random ones."""
        return FoldedValues(self.rows.fold(state))


def from_q_module(
    module: nn.Module, state: Any, space: CommandSpace, *, inputs: str | Mapping[str, str] = "separate"
) -> QModulePolicy:
    """A policy of preferences from a torch module (state, w) -> (num_actions, d): the most of w . values is chosen.

    Answers are proven where the module can be folded, as for `from_torch`.

    Args:
        module: in evaluation mode; it is deployed as it is, on its own device, in its own precision.
        state: a state, or several, on which it is tried.
        space: the preferences, `CommandSpace.preferences(...)`.
        inputs: how it is called, as for `from_torch`.
    """
    if not isinstance(module, nn.Module):
        raise InvalidInput.expected("a torch module", type(module).__name__)
    if not space.simplex:
        raise InvalidInput.expected("preferences (CommandSpace.preferences) for values of each objective", repr(space))
    rows = from_torch(_InOneRow(module, space.dim), state, space, inputs=inputs, outputs="q-values")
    return WhiteBoxQModulePolicy(rows) if isinstance(rows, WhiteBoxTorchPolicy) else QModulePolicy(rows)
