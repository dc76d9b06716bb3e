"""Any torch module as a policy, deployed as it is; where its operations allow it, with a fold for proofs."""

import inspect
import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, get_args

import numpy as np

from paretofoil.core.errors import InvalidInput, did_you_mean

try:
    import torch
    from torch import Tensor, nn
except ImportError:
    raise InvalidInput.missing("torch", "torch") from None

from paretofoil.agents.layers import NotWhiteBox, arrange
from paretofoil.agents.recorder import Symbol, run
from paretofoil.core.command import CommandSpace, told
from paretofoil.core.policy import IMPOSSIBLE, FoldedPolicy, FoldedValues, WhiteBoxPolicy, WhiteBoxValues

Inputs = str | Mapping[str, str]
Head = int | str | None
Outputs = Literal["logits", "log-probabilities", "probabilities", "q-values"]
BATCH = 1 << 13
"""Rows that the module is asked about at once: large enough to be fast, small enough for any memory."""
PROBES = 64
"""Random commands on which a module is tried, and on which a fold is compared with it."""
DEVIATION = 1e-3
"""A fold whose logits are off by more than this share of their spread is refused."""
MASKED = -1e6
"""A logit so far below the best is a mask, and says nothing about the spread."""
NORMALISED = 1e-3
"""How far from 1 the probabilities of a row may sum up."""
TRAINED_APART = (
    nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d, nn.AlphaDropout, nn.FeatureAlphaDropout, nn.RReLU,
    nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.SyncBatchNorm,
    nn.InstanceNorm1d, nn.InstanceNorm2d, nn.InstanceNorm3d,
)  # fmt: skip
"""What computes something else in training mode than when it is deployed."""


@dataclass(frozen=True, eq=False, repr=False)
class TorchPolicy:
    """A torch module as a black box. `from_torch` makes one."""

    module: nn.Module
    space: CommandSpace
    """The commands that it understands; folds are compared with the module on these."""
    inputs: Inputs = "separate"
    """How it is called: module(states, commands) if "separate", module of the two side by side if "concatenated", or a
    dict whose values, "state" and "command", tell what its arguments of these names are, or what it finds under each
    name in a dict."""
    head: Head = None
    """Which of its outputs are the scores of the actions, if it has several."""
    outputs: Outputs = "logits"
    """What it gives."""
    detected: bool = False
    """Whether that was found out by asking it, not said by the user."""
    why_not: str | None = None
    """Why it cannot be folded, in words; None if it can."""

    def __repr__(self) -> str:
        return f"<TorchPolicy: {self._gives()}, a black box>"

    def _gives(self) -> str:
        return f"{type(self.module).__name__} that gives {self.outputs}{' (detected)' if self.detected else ''}"

    @property
    def is_white_box(self) -> bool:
        """Whether answers about it can be proven."""
        return isinstance(self, WhiteBoxPolicy)

    def log_probs(self, states: np.ndarray, commands: np.ndarray) -> np.ndarray:
        """(N, state size), (N, d) -> (N, num_actions), in float64, so that differences stay those of the module."""
        return log_probabilities(self.ask(states, commands), self.outputs)

    def ask(self, states: np.ndarray, commands: np.ndarray) -> np.ndarray:
        """(N, num_actions): what the module itself gives, in float64."""
        parts = [slice(start, start + BATCH) for start in range(0, max(len(commands), 1), BATCH)]
        return np.concatenate([self._ask(np.asarray(states)[p], np.asarray(commands)[p]) for p in parts])

    def _ask(self, states: np.ndarray, commands: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            output = self.call(self.tensor(states), self.tensor(commands))
        count = len(commands)
        if not isinstance(output, Tensor):
            said = "a module that returns one tensor (or head=0, or head='logits', which says which one is meant)"
            raise InvalidInput.expected(said, outputs_of(output))
        if output.ndim != 2 or len(output) != count or output.shape[1] == 0:
            raise InvalidInput.expected(
                f"a module that returns the shape ({count}, actions)", f"the shape {tuple(output.shape)}"
            )
        return output.to("cpu", torch.float64).numpy()

    def call(self, states: Tensor, commands: Tensor) -> Any:
        """The module's own answer to tensors (N, state size) and (N, d)."""
        return scores_in(call(self.module, self.inputs, states, commands), self.head)

    def tensor(self, values: np.ndarray) -> Tensor:
        """In the module's precision, where it is."""
        dtype, device = _where(self.module)
        return torch.tensor(np.asarray(values), dtype=dtype, device=device)


@dataclass(frozen=True, eq=False, repr=False)
class WhiteBoxTorchPolicy(TorchPolicy):
    """A torch module whose operations are understood, so that answers can be proven. `from_torch` makes one."""

    deviation: float = 0.0
    """How far the logits of its folds were from the module's own, at the states on which it was tried."""

    def __repr__(self) -> str:
        return f"<WhiteBoxTorchPolicy: {self._gives()}, folds to {self.deviation:.0e}>"

    def fold(self, state: np.ndarray) -> FoldedPolicy:
        """The module at one state as layers of the command, compared with the module itself on random commands."""
        try:
            folded, _ = fold_module(self, state)
        except NotWhiteBox as why:
            sentence = f"expected a module that can be folded at this state, got {why}; search='boundary' needs no fold"
            raise InvalidInput(sentence) from None
        return folded


def from_torch(
    module: nn.Module,
    state: Any,
    space: CommandSpace,
    *,
    inputs: Inputs = "separate",
    outputs: Outputs | None = None,
    head: Head = None,
) -> TorchPolicy:
    """Make a torch module a policy that can be explained, and whose answers can be proven where it can be folded.

    Args:
        module: in evaluation mode; it is deployed as it is, on its own device, in its own precision.
        state: a state, or several, on which it is tried.
        space: the box of commands.
        inputs: "separate" for module(states, commands), "concatenated" for module(states and commands side by side), or
            the names of its arguments, or of what it finds in a dict: {"observation": "state", "goal": "command"}.
        outputs: "logits", "log-probabilities", "probabilities" or "q-values"; found out by asking if not given.
        head: of several outputs the one that has the scores of the actions: its place in a tuple, its key in a dict.
    """
    if not isinstance(module, nn.Module):
        raise InvalidInput.expected("a torch module", type(module).__name__)
    check_inputs(inputs)
    if outputs not in (None, *get_args(Outputs)):
        raise InvalidInput.expected(
            f"outputs among {', '.join(get_args(Outputs))}", did_you_mean(outputs, get_args(Outputs))
        )
    _refuse_training(module)
    states = _states(state)
    given = _try(TorchPolicy(module, space, inputs, head), states)
    said = _detect(given) if outputs is None else _agrees(given, outputs)
    kind = {"inputs": inputs, "head": head, "outputs": said, "detected": outputs is None}
    policy = WhiteBoxTorchPolicy(module, space, **kind)  # type: ignore[arg-type]
    try:
        return replace(policy, deviation=max(fold_module(policy, row)[1] for row in states))
    except NotWhiteBox as why:
        return TorchPolicy(module, space, **kind, why_not=str(why))  # type: ignore[arg-type]


def fold_module(policy: TorchPolicy, state: np.ndarray) -> tuple[FoldedPolicy, float]:
    """The fold at a state, and how far its logits are from the module's; `NotWhiteBox` says why there is none."""
    if any(isinstance(part, torch.jit.ScriptModule) for part in policy.module.modules()):
        raise NotWhiteBox("a scripted module, whose operations cannot be followed")
    states = policy.tensor(np.asarray(state, dtype=np.float32)[None])
    try:
        with _uncompiled():
            recording, output = run(lambda c: policy.call(states, c), policy.space.dim, *_where(policy.module))
    except NotWhiteBox:
        raise
    except Exception as error:  # the module is someone else's code, which may do anything with a tensor of a new kind
        words = str(error).strip().partition("\n")[0]
        raise NotWhiteBox(f"{type(error).__name__} when it ran with a symbolic command: {words}") from None
    if isinstance(output, Symbol):
        _check_tail(output.tail, policy.outputs)
        coefficients = recording.coefficients(output)
    else:  # the command plays no part in this state
        scores = policy.log_probs(np.asarray(state)[None], policy.space.low[None])
        coefficients = np.concatenate([scores, np.zeros((recording.units, scores.shape[1]))])
    coefficients[0] = np.maximum(coefficients[0], IMPOSSIBLE)
    folded = arrange(recording.blocks, coefficients, policy.space.low)
    return folded, _deviation(policy, state, folded)


def _uncompiled() -> AbstractContextManager[Any]:
    """What torch.compile was told to compile runs as it was written: a symbol is nothing to compile for."""
    if "torch._dynamo" not in sys.modules or not hasattr(torch.compiler, "set_stance"):
        return nullcontext()
    return torch.compiler.set_stance("force_eager")


def _check_tail(tail: str, outputs: Outputs) -> None:
    """Margins must be differences of the logits that were followed."""
    if outputs == "probabilities" and tail != "softmax":
        raise NotWhiteBox("probabilities that are not a softmax")
    if tail == "logsumexp":
        raise NotWhiteBox("logsumexp of what depends on the command")
    if outputs != "probabilities" and tail == "softmax":
        raise NotWhiteBox(f"softmax at the end of what are said to be {outputs}")


def _deviation(policy: TorchPolicy, state: np.ndarray, folded: FoldedPolicy) -> float:
    """The largest difference of a logit to the row's best, on random commands; too much is refused."""
    commands = _commands(policy.space)
    exact = folded.logits(commands)
    given = policy.log_probs(np.repeat(np.asarray(state)[None], len(commands), axis=0), commands)
    best = exact.argmax(axis=1)[:, None]
    with np.errstate(invalid="ignore"):  # what is no number is refused below
        exact, given = (scores - np.take_along_axis(scores, best, axis=1) for scores in (exact, given))
    scored = (exact > MASKED) & ~np.isneginf(given)
    off, spread = np.abs(exact - given)[scored].max(), float(np.ptp(exact[scored]))
    if not off <= DEVIATION * spread:
        raise NotWhiteBox(f"a fold that is off by {off:.2g}, where logits spread over {spread:.2g}")
    return float(off)


def _commands(space: CommandSpace) -> np.ndarray:
    commands = np.random.default_rng(0).uniform(space.low, space.high, size=(PROBES, space.dim))
    return space.project(commands, space.low, space.high)


def _where(module: nn.Module) -> tuple[torch.dtype, torch.device]:
    """The precision and the device of a module's inputs: those of its first weights."""
    for weight in (*module.parameters(), *module.buffers()):
        if weight.is_floating_point():
            return weight.dtype, weight.device
    return torch.float32, torch.device("cpu")


def _refuse_training(module: nn.Module) -> None:
    for name, part in module.named_modules():
        if part.training and isinstance(part, TRAINED_APART):
            where = f"{type(part).__name__} {name!r}" if name else type(part).__name__
            raise InvalidInput.expected("a module in evaluation mode (call eval() on it)", f"{where} in training mode")


def _states(state: Any) -> np.ndarray:
    """(states, state size), of a state or several."""
    wanted = "a state, or several, that are finite vectors (an image or a dict is flattened first)"
    try:
        states = np.atleast_2d(np.asarray(state, dtype=np.float32))
    except (TypeError, ValueError):
        raise InvalidInput.expected(wanted, type(state).__name__) from None
    if states.ndim != 2 or states.size == 0 or not np.isfinite(states).all():
        raise InvalidInput.expected(wanted, f"shape {states.shape}")
    return states


def _try(policy: TorchPolicy, states: np.ndarray) -> np.ndarray:
    """What the module gives for random commands; one that cannot be used is refused."""
    commands = _commands(policy.space)
    rows = states[np.arange(len(commands)) % len(states)]
    try:
        policy.ask(rows[:1], commands[:1])
        given, again = policy.ask(rows, commands), policy.ask(rows, commands)
    except InvalidInput:
        raise
    except Exception as error:  # whatever someone else's code says
        asked = f"{described(policy.inputs, rows.shape[1], policy.space.dim)} (inputs={policy.inputs!r})"
        raise InvalidInput.expected(f"a module of {asked}", f"{type(error).__name__}: {error}") from None
    wrong = (np.isnan(given) | np.isposinf(given)).any(axis=1)
    if wrong.any():
        raise InvalidInput.expected("a module that gives numbers", f"NaN or infinity under {told(commands[wrong][0])}")
    if not np.allclose(given, again, rtol=1e-2, atol=1e-3):
        random = "a random one: call eval() on it, unless its forward draws numbers or calls dropout by itself"
        raise InvalidInput.expected("a module that answers the same in the same way", random)
    return given


def log_probabilities(given: np.ndarray, outputs: Outputs) -> np.ndarray:
    """What a module gives (N, num_actions) as log-probabilities; differences of logits and of Q-values are kept."""
    if outputs == "log-probabilities":
        return given
    if outputs == "probabilities":
        with np.errstate(divide="ignore"):  # an action that cannot be
            return np.log(np.maximum(given, 0.0))
    shifted = given - given.max(axis=1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))


def _detect(given: np.ndarray) -> Outputs:
    for outputs in ("probabilities", "log-probabilities"):
        if _looks_like(given, outputs):
            return outputs
    return "logits"


def _looks_like(given: np.ndarray, outputs: str) -> bool:
    shares = given if outputs == "probabilities" else np.exp(np.minimum(given, 1.0))
    return bool((shares >= 0).all() and np.allclose(shares.sum(axis=1), 1.0, rtol=0, atol=NORMALISED))


def _agrees(given: np.ndarray, outputs: Outputs) -> Outputs:
    if outputs in ("probabilities", "log-probabilities") and not _looks_like(given, outputs):
        row = ", ".join(f"{number:.3g}" for number in given[0])
        raise InvalidInput.expected(f"a module that gives {outputs}", f"a row of ({row})")
    return outputs


def check_inputs(inputs: Inputs) -> None:
    named = isinstance(inputs, Mapping) and sorted(inputs.values()) == ["command", "state"]
    if not named and inputs not in ("separate", "concatenated"):
        what = '"separate", "concatenated", or names such as {"observation": "state", "goal": "command"}'
        raise InvalidInput.expected(f"inputs that are {what}", repr(inputs))


def call(module: nn.Module, inputs: Inputs, states: Tensor, commands: Tensor) -> Any:
    """What a module gives for states (N, state size) and commands (N, d)."""
    if not isinstance(inputs, Mapping):
        concatenated = inputs == "concatenated"
        return module(torch.cat([states, commands], dim=-1)) if concatenated else module(states, commands)
    parts = {"state": states, "command": commands}
    named = {name: parts[part] for name, part in inputs.items()}
    return module(**named) if _by_keyword(module, named) else module(named)


def _by_keyword(module: nn.Module, names: Mapping[str, Any]) -> bool:
    """Whether these are the names of a module's own arguments, rather than of what is in a dict."""
    return set(names) <= set(inspect.signature(module.forward).parameters)


def scores_in(given: Any, head: Head) -> Any:
    """The output that is meant: of a tuple by its place, of a dict by its key, of anything else as an attribute."""
    if head is None:
        return given
    several: Any = given
    if not isinstance(given, Tensor):
        try:
            return several[head] if isinstance(given, Mapping | tuple | list) else getattr(given, str(head))
        except (LookupError, TypeError, AttributeError):
            pass
    raise InvalidInput.expected(f"a module with an output {head!r}", outputs_of(given))


def outputs_of(given: Any) -> str:
    """What a module gives instead of one tensor, in words that help to say which is meant."""
    if isinstance(given, Mapping):
        return f"a dict of {', '.join(map(str, given))}"
    if isinstance(given, tuple | list):
        return f"{len(given)} of them"
    return "one tensor" if isinstance(given, Tensor) else type(given).__name__


def described(inputs: Inputs, state_size: int, command_size: int) -> str:
    """What a module is called with."""
    if inputs == "concatenated":
        return f"{state_size + command_size} numbers a row, {state_size} of the state and {command_size} of the command"
    return f"states (N, {state_size}) and commands (N, {command_size})"


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
