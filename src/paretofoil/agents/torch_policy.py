"""Torch modules as policies. Where the recorder supports their operations, answers can be proven."""

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Literal, get_args, overload

import numpy as np

from paretofoil.core.errors import InvalidInput, did_you_mean

try:
    import torch
    from torch import Tensor, nn
except ImportError:
    raise InvalidInput.missing("torch", "torch") from None

from paretofoil.agents.recorder import FLOAT32, NotWhiteBox, Symbol, run
from paretofoil.agents.torchscript import ScriptedGraph
from paretofoil.core.amounts import ActionSpace
from paretofoil.core.command import CommandSpace, format_numbers
from paretofoil.core.feature import Feature, Features, default_names, read_features
from paretofoil.core.json import brief
from paretofoil.core.policy import IMPOSSIBLE, FoldedValues, WhiteBoxPolicy
from paretofoil.core.program import Affine, Program

Inputs = str | Mapping[str, str]
Head = int | str | None
Outputs = Literal["logits", "log-probabilities", "probabilities", "q-values"]
Kind = Outputs | Literal["amounts"]
"""The kinds of outputs. Those of a module with continuous actions (argument `actions` of `from_torch`) are amounts."""
BATCH = 1 << 13
"""The largest number of rows per call of the module."""
PROBES = 64
"""The number of random commands on which a module is tested and compared with its fold."""
REACH = 4.0
"""Rounding errors are derived for commands up to this many times as large as those of the command space."""
DEVIATION = 1e-3
"""The largest error of the logits of a fold, as a share of the range of logits."""
MASKED = -1e6
"""A logit this far below the best is a mask and does not count for the range of logits."""
NORMALISED = 1e-3
"""The largest difference from 1 of the sum of probabilities."""
DIFFERENT_IN_TRAINING = (
    nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d, nn.AlphaDropout, nn.FeatureAlphaDropout, nn.RReLU,
    nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.SyncBatchNorm,
    nn.InstanceNorm1d, nn.InstanceNorm2d, nn.InstanceNorm3d,
)  # fmt: skip
"""Modules whose results are different in training mode."""


class FeatureModule(nn.Module):
    """A module whose inputs are a state and free numbers; these include features of the state.

    `call` is called with the observations, or with the observations and the commands if the agent has a command.
    """

    def __init__(self, module: nn.Module, features: Features, call: Callable[..., Any]) -> None:
        super().__init__()
        self.module, self.features, self.call = module, features, call
        self.train(module.training)

    def forward(self, states: Tensor, numbers: Tensor) -> Any:
        command, values = numbers[:, : self.features.num_commands], numbers[:, self.features.num_commands :]
        base = self.features.base(states.detach().cpu().double().numpy())
        matrix = torch.as_tensor(self.features.matrix.T, dtype=states.dtype, device=states.device)
        observations = torch.as_tensor(base, dtype=states.dtype, device=states.device) + values @ matrix
        return self.call(observations, command) if self.features.num_commands else self.call(observations)


@dataclass(frozen=True, eq=False, repr=False)
class TorchPolicy:
    """A torch module as a black-box policy; see `from_torch`."""

    module: nn.Module
    space: CommandSpace
    """The range of commands."""
    inputs: Inputs = "separate"
    """How the module is called, as in `from_torch`."""
    head: Head = None
    """The output with the scores of the actions, if the module has several outputs."""
    outputs: Kind = "logits"
    """The kind of the scores."""
    detected: bool = False
    """Whether `outputs` was detected, not given by the user."""
    why_not: str | None = None
    """Why the policy is not white-box; None if it is."""

    def __repr__(self) -> str:
        return f"<TorchPolicy: {self._description()}, black-box>"

    def _description(self) -> str:
        return f"{type(self.module).__name__} that returns {self.outputs}{' (detected)' if self.detected else ''}"

    @property
    def is_white_box(self) -> bool:
        """Whether answers can be proven."""
        return isinstance(self, WhiteBoxPolicy)

    @property
    def features(self) -> Features | None:
        """The features of the state that may change; None if only the command may."""
        return self.module.features if isinstance(self.module, FeatureModule) else None

    @property
    def tells_values(self) -> bool:
        """Whether the scores are action values. The default kappa is then a share of the range of values."""
        return self.outputs == "q-values"

    def log_probs(self, states: np.ndarray, commands: np.ndarray) -> np.ndarray:
        """Return log-probabilities or Q-values (N, num_actions) in float64, with the same differences as the scores."""
        return log_probabilities(self.scores(states, commands), self.outputs)

    def scores(self, states: np.ndarray, commands: np.ndarray) -> np.ndarray:
        """Return the output (N, num_actions) of the module for states (N, state size) and commands (N, d)."""
        states, commands = np.asarray(states), np.asarray(commands)
        parts = [slice(start, start + BATCH) for start in range(0, max(len(commands), 1), BATCH)]
        return np.concatenate([self._scores(states[part], commands[part]) for part in parts])

    def _scores(self, states: np.ndarray, commands: np.ndarray) -> np.ndarray:
        try:
            with torch.no_grad():
                output = self.call(self.tensor(states), self.tensor(commands))
        except InvalidInput:
            raise
        except Exception as error:  # the module is the user's code
            state_size, dim = states.shape[1], self.space.dim
            shapes = f"states (N, {state_size}) and commands (N, {dim})"
            if self.features is not None:
                commands_too = f" and commands (N, {dim})" if (dim := self.features.num_commands) else ""
                shapes = f"observations (N, {state_size}){commands_too}"
            if self.inputs == "concatenated":
                shapes = f"{state_size + dim} numbers a row, {state_size} of the state and {dim} of the command"
            expected = f"a module that takes {shapes} (inputs={self.inputs!r})"
            advice = ""
            if self.inputs == "separate" and self.features is None and isinstance(error, TypeError):
                advice = "; pass inputs='concatenated' if it takes one tensor, or the names of its inputs"
            raise InvalidInput.expected(expected, f"{type(error).__name__}: {error}{advice}") from error
        if not isinstance(output, Tensor):
            heads = "head='mean'" if isinstance(output, torch.distributions.Distribution) else "head=0 or head='logits'"
            expected = f"a module that returns one tensor (choose one of several by {heads})"
            raise InvalidInput.expected(expected, _describe_output(output))
        if output.ndim != 2 or len(output) != len(commands) or output.shape[1] == 0:
            expected = f"a module that returns the shape ({len(commands)}, actions)"
            raise InvalidInput.expected(expected, f"the shape {tuple(output.shape)}")
        return output.to("cpu", torch.float64).numpy()

    def call(self, states: Tensor, commands: Tensor) -> Any:
        """Return the output of the module for tensors (N, state size) and (N, d)."""
        return _select_head(_call(self.module, self.inputs, states, commands), self.head)

    def tensor(self, values: np.ndarray) -> Tensor:
        """Return the values in the precision and on the device of the module."""
        dtype, device = _precision(self.module)
        return torch.tensor(np.asarray(values), dtype=dtype, device=device)


@dataclass(frozen=True, eq=False, repr=False)
class WhiteBoxTorchPolicy(TorchPolicy):
    """A torch module as a white-box policy; see `from_torch`."""

    deviation: float = 0.0
    """The largest error of the logits of its folds, at the states on which it was tested."""

    def __repr__(self) -> str:
        return f"<WhiteBoxTorchPolicy: {self._description()}, folds to {self.deviation:.0e}>"

    def fold(self, state: np.ndarray) -> Program:
        """Return the module at one state as layers that take the command, checked on random commands."""
        try:
            return fold_module(self, state)[0]
        except NotWhiteBox as reason:
            expected = "a module that can be folded at this state"
            raise InvalidInput.expected(expected, f"{reason}; search='boundary' needs no fold") from None


@overload
def from_torch(
    module: nn.Module,
    state: Any,
    space: CommandSpace | None = ...,
    *,
    inputs: Inputs = ...,
    outputs: Outputs | None = ...,
    head: Head = ...,
    actions: None = ...,
    free: Sequence[str | int | Feature] | None = ...,
    constraints: Sequence[str] = ...,
) -> TorchPolicy: ...


@overload
def from_torch(
    module: nn.Module,
    state: Any,
    space: CommandSpace | None = ...,
    *,
    inputs: Inputs = ...,
    head: Head = ...,
    actions: ActionSpace,
    free: Sequence[str | int | Feature] | None = ...,
    constraints: Sequence[str] = ...,
) -> "TorchActor": ...


def from_torch(
    module: nn.Module,
    state: Any,
    space: CommandSpace | None = None,
    *,
    inputs: Inputs = "separate",
    outputs: Outputs | None = None,
    head: Head = None,
    actions: ActionSpace | None = None,
    free: Sequence[str | int | Feature] | None = None,
    constraints: Sequence[str] = (),
) -> "TorchPolicy | TorchActor":
    """Return a torch module as a policy. It is white-box if its operations are supported.

    Args:
        module: a module in evaluation mode. It is called as it is, on its device, in its precision.
        state: one state or several, on which the module is tested.
        space: the range of commands; None for a module without a command, which needs `free`.
        inputs: "separate" for module(states, commands), "concatenated" for module(states and commands side by side), or
            the names of its arguments or of the entries of its dict: {"observation": "state", "goal": "command"}.
        outputs: "logits", "log-probabilities", "probabilities" or "q-values"; detected if not given.
        head: the output with the scores of the actions: an index of a tuple, or a key of a dict.
        actions: the space of continuous actions. The module then returns their amounts (N, dimensions), or the means of
            a Gaussian policy.
        free: features of the state that may change, `pf.Feature(name, number, low, high)`. Without a space, the module
            is called with the observations only.
        constraints: linear constraints on the free numbers: "a <= b", "a + 2 b <= 10".
    """
    if not isinstance(module, nn.Module):
        raise InvalidInput.expected("a torch module", type(module).__name__)
    _check_inputs(inputs)
    features = None
    if free is not None:
        example = np.array(_as_states(state)[0], dtype=np.float64)
        given = read_features(free, (), default_names(example.size))
        features = Features(given, example.size, space, tuple(constraints), example=example)
    elif not isinstance(space, CommandSpace) or constraints:
        expected = "space=CommandSpace(...), the range of commands, or free=[...], features of the state"
        raise InvalidInput.expected(
            expected, "constraints without free features" if constraints else f"space={brief(space)}"
        )
    return as_torch_policy(module, state, space, features, inputs=inputs, outputs=outputs, head=head, actions=actions)


def as_torch_policy(
    module: nn.Module,
    state: Any,
    space: CommandSpace | None,
    features: Features | None = None,
    *,
    inputs: Inputs = "separate",
    outputs: Outputs | None = None,
    head: Head = None,
    actions: ActionSpace | None = None,
) -> Any:
    """Return a module as a policy or actor; the arguments are those of `from_torch`."""
    if features is not None:
        call = module if space is None else partial(_call, module, inputs)
        module, space, inputs = FeatureModule(module, features, call), features.space, "separate"
    assert space is not None
    if outputs not in (None, *get_args(Outputs)):
        choices = get_args(Outputs)
        raise InvalidInput.expected(f"outputs among {', '.join(choices)}", did_you_mean(outputs, choices))
    _check_evaluation_mode(module)
    states = _as_states(state)
    scores = _test(TorchPolicy(module, space, inputs, head), states)
    if actions is not None:
        _check_actions(actions, outputs, scores)
        rows = _as_policy(states, TorchPolicy(module, space, inputs, head, "amounts"))
        return (WhiteBoxTorchActor if isinstance(rows, WhiteBoxTorchPolicy) else TorchActor)(rows, actions)  # type: ignore[arg-type]
    _check_choice(module, outputs, scores)
    kind = _detect(scores) if outputs is None else _check_outputs(scores, outputs)
    return _as_policy(states, TorchPolicy(module, space, inputs, head, kind, detected=outputs is None))


def _check_choice(module: nn.Module, outputs: Outputs | None, scores: np.ndarray) -> None:
    """Raise an error if a module does not have a score for each of several actions."""
    advice = "for continuous actions, pass actions=ActionSpace(names, units, low, high)"
    if scores.shape[1] == 1:
        expected = "a module that returns a score for each of at least two actions"
        logit = "if it is the logit of one of two actions, return 0 as the logit of the other"
        value = "if it is Q(state, command, action), return the values of all actions"
        raise InvalidInput.expected(expected, f"one output; {logit}; {value}; {advice}")
    *_, last = module.modules()
    if outputs is None and isinstance(last, nn.Tanh | nn.Hardtanh):
        got = f"a {type(last).__name__} as the last layer; {advice}; if its outputs are logits, pass outputs='logits'"
        raise InvalidInput.expected("a module that returns logits", got)


def _check_actions(actions: Any, outputs: Any, scores: np.ndarray) -> None:
    """Raise an error if a module does not return amounts (N, dimensions) of the actions."""
    if not isinstance(actions, ActionSpace):
        raise InvalidInput.expected("actions=ActionSpace(names, units, low, high)", repr(actions))
    if outputs is not None:
        raise InvalidInput.expected(
            "either actions=... (for amounts) or outputs=...", f"both, with outputs={outputs!r}"
        )
    if scores.shape[1] != actions.dim:
        expected = f"a module that returns {actions.dim} amounts: {', '.join(actions.names)}"
        raise InvalidInput.expected(expected, f"{scores.shape[1]} outputs")


def _as_policy(states: np.ndarray, black_box: TorchPolicy) -> TorchPolicy:
    """Return a policy, white-box if it can be folded at all of the states (N, state size)."""
    policy = WhiteBoxTorchPolicy(**vars(black_box))
    try:
        return replace(policy, deviation=max(fold_module(policy, row)[1] for row in states))
    except NotWhiteBox as reason:
        return replace(black_box, why_not=str(reason))


def fold_module(policy: TorchPolicy, state: np.ndarray) -> tuple[Program, float]:
    """Return the fold at a state and the error of its logits, or raise `NotWhiteBox` with the reason."""
    recorded = policy
    if isinstance(policy.module, torch.jit.ScriptModule):
        recorded = replace(policy, module=ScriptedGraph(policy.module))
    elif any(isinstance(part, torch.jit.ScriptModule) for part in policy.module.modules()):
        raise NotWhiteBox("a scripted module inside another one, whose operations cannot be recorded")
    states = policy.tensor(np.asarray(state, dtype=np.float32)[None])
    reach = REACH * np.maximum(np.abs(policy.space.low), np.abs(policy.space.high))
    try:
        with _uncompiled():
            recording, output = run(recorded.call, states, reach, *_precision(policy.module))
    except NotWhiteBox:
        raise
    except Exception as error:  # the module is the user's code, which may do anything with a symbol
        message = str(error).strip().partition("\n")[0]
        raise NotWhiteBox(f"{type(error).__name__} when it ran with a symbolic command: {message}") from None
    if isinstance(output, Symbol):
        _check_tail(output.tail, policy.outputs)
        program = recording.program(output, reach)
    else:  # the output does not depend on the command
        [scores] = np.maximum(policy.log_probs(np.asarray(state)[None], policy.space.low[None]), IMPOSSIBLE)
        nothing = {0: np.zeros((len(scores), len(reach)))}
        unknown = recording.unknown or "the command plays no part in what the network computes"
        program = Program(len(reach), (), Affine(scores, nothing), unknown=unknown)
    if program.unknown and recording.unit > FLOAT32:
        raise NotWhiteBox(f"rounding to half precision, which cannot be derived: {program.unknown}")
    return program, _deviation(policy, state, program)


def _uncompiled() -> AbstractContextManager[Any]:
    """Return a context in which torch.compile runs the original code, because it cannot compile for symbols."""
    if "torch._dynamo" not in sys.modules or not hasattr(torch.compiler, "set_stance"):
        return nullcontext()
    return torch.compiler.set_stance("force_eager")


def _check_tail(tail: str, outputs: Kind) -> None:
    """Raise an error unless margins are differences of the recorded logits, or these are the amounts."""
    if outputs == "amounts" and tail:
        raise NotWhiteBox(f"{tail} at the end, for amounts")
    if outputs == "probabilities" and tail != "softmax":
        raise NotWhiteBox("probabilities that are not a softmax")
    if tail == "logsumexp":
        raise NotWhiteBox("logsumexp of values that depend on the command")
    if outputs != "probabilities" and tail == "softmax":
        raise NotWhiteBox(f"a softmax at the end, for outputs={outputs!r}")


def _deviation(policy: TorchPolicy, state: np.ndarray, folded: Program) -> float:
    """Return the largest error of a logit relative to the best of its row, or of an amount, on random commands.

    Hard commands are compared as well; where rounding is derived, no error may exceed it.
    """
    commands = np.concatenate([_probes(policy.space), _hard_commands(policy, folded)])
    exact, allowed = folded.logits(commands), folded.errors(commands)
    scores = policy.log_probs(np.repeat(np.asarray(state)[None], len(commands), axis=0), commands)
    size = 0.0
    if policy.outputs == "amounts":
        size = float(np.abs(exact).max())  # one amount may be the same everywhere
    else:
        best = exact.argmax(axis=1)[:, None]
        with np.errstate(invalid="ignore"):  # NaN is refused below
            exact, scores = (values - np.take_along_axis(values, best, axis=1) for values in (exact, scores))
        allowed = allowed + np.take_along_axis(allowed, best, axis=1)
    least = max(MASKED, np.log(torch.finfo(_precision(policy.module)[0]).tiny) + 1.0)
    valid = (exact > (least if policy.outputs == "probabilities" else MASKED)) & ~np.isneginf(scores)
    error, spread = np.where(valid, np.abs(exact - scores), 0.0), max(size, float(np.ptp(exact[valid])))
    worst = error[:PROBES].max()
    if not worst <= DEVIATION * spread:
        raise NotWhiteBox(
            f"a network whose recorded copy differs by {worst:.2g}, while its logits have a range of {spread:.2g}"
        )
    beyond = error - np.where(np.isfinite(allowed), allowed, DEVIATION * spread)
    if not beyond.max() <= 0.0:
        where = format_numbers(commands[np.unravel_index(beyond.argmax(), beyond.shape)[0]])
        wrong = f"a network whose recorded copy differs by {error.flat[beyond.argmax()]:.2g} at the command {where}"
        raise NotWhiteBox(f"{wrong}, more than rounding allows")
    return float(worst)


def _hard_commands(policy: TorchPolicy, folded: Program) -> np.ndarray:
    """Return corners of the command space, kinks of the fold, and the representable numbers next to both.

    A kink is where the input of an activation changes its sign, on lines from corners to random commands.
    """
    space, rng = policy.space, np.random.default_rng(1)
    corners = np.where(rng.random((PROBES, space.dim)) < 0.5, space.low, space.high)
    start, end = corners, rng.uniform(space.low, space.high, size=corners.shape)
    before, after = folded.inputs(start), folded.inputs(end)
    lines, units = np.nonzero((before < 0.0) != (after < 0.0))
    chosen = rng.permutation(len(lines))[:PROBES]
    lines, units = lines[chosen], units[chosen]
    start, end, sign = start[lines], end[lines], before[lines, units] < 0.0
    for _ in range(30):
        middle = (start + end) / 2
        same = (folded.inputs(middle)[np.arange(len(lines)), units] < 0.0) == sign
        start, end = np.where(same[:, None], middle, start), np.where(same[:, None], end, middle)
    hard = np.concatenate([corners, start, end])
    step = torch.finfo(_precision(policy.module)[0]).eps
    hard = np.concatenate([hard, hard * (1.0 + step * rng.choice([-1.0, -0.5, 0.5, 1.0], size=hard.shape))])
    return space.project(np.clip(hard, space.low, space.high), space.low, space.high)


def _probes(space: CommandSpace) -> np.ndarray:
    commands = np.random.default_rng(0).uniform(space.low, space.high, size=(PROBES, space.dim))
    return space.project(commands, space.low, space.high)


def _precision(module: nn.Module) -> tuple[torch.dtype, torch.device]:
    """Return the precision and the device of the first weights of a module."""
    for weight in (*module.parameters(), *module.buffers()):
        if weight.is_floating_point():
            return weight.dtype, weight.device
    return torch.float32, torch.device("cpu")


def _check_inputs(inputs: Inputs) -> None:
    named = isinstance(inputs, Mapping) and sorted(inputs.values()) == ["command", "state"]
    if not named and inputs not in ("separate", "concatenated"):
        choices = '"separate", "concatenated", or names such as {"observation": "state", "goal": "command"}'
        raise InvalidInput.expected(f"inputs that are {choices}", repr(inputs))


def _call(module: nn.Module, inputs: Inputs, states: Tensor, commands: Tensor) -> Any:
    if not isinstance(inputs, Mapping):
        concatenated = inputs == "concatenated"
        return module(torch.cat([states, commands], dim=-1)) if concatenated else module(states, commands)
    parts = {"state": states, "command": commands}
    named = {name: parts[part] for name, part in inputs.items()}
    by_keyword = set(named) <= set(inspect.signature(module.forward).parameters)
    return module(**named) if by_keyword else module(named)


def _select_head(output: Any, head: Head) -> Any:
    """Return one output: an item of a tuple or dict, or an attribute."""
    if isinstance(output, torch.distributions.Categorical):
        return output.logits
    if head is None:
        return output
    if not isinstance(output, Tensor):
        try:
            items: Any = output
            return items[head] if isinstance(output, Mapping | tuple | list) else getattr(output, str(head))
        except (LookupError, TypeError, AttributeError):
            pass
    raise InvalidInput.expected(f"a module with an output {head!r}", _describe_output(output))


def _describe_output(output: Any) -> str:
    if isinstance(output, Mapping):
        return f"a dict of {', '.join(map(str, output))}"
    if isinstance(output, tuple | list):
        return f"a {type(output).__name__} of {len(output)}"
    return "one tensor" if isinstance(output, Tensor) else type(output).__name__


def _check_evaluation_mode(module: nn.Module) -> None:
    for name, part in module.named_modules():
        if part.training and isinstance(part, DIFFERENT_IN_TRAINING):
            where = f"{type(part).__name__} {name!r}" if name else type(part).__name__
            raise InvalidInput.expected("a module in evaluation mode (call eval() on it)", f"{where} in training mode")


def _as_states(state: Any) -> np.ndarray:
    """Return one state or several as (states, state size)."""
    expected = "one state or several, as finite vectors (flatten images and dicts)"
    state = state.detach().cpu().numpy() if isinstance(state, Tensor) else state
    try:
        with np.errstate(over="ignore"):
            states = np.atleast_2d(np.array(state) if np.iscomplexobj(state) else np.array(state, dtype=np.float32))
    except (TypeError, ValueError):
        raise InvalidInput.expected(expected, type(state).__name__) from None
    if states.ndim != 2 or states.size == 0:
        raise InvalidInput.expected(expected, f"shape {states.shape}")
    if states.dtype != np.float32 or not np.isfinite(states).all():
        raise InvalidInput.expected(expected, brief(np.asarray(state).tolist()))
    return states


def _test(policy: TorchPolicy, states: np.ndarray) -> np.ndarray:
    """Return the scores of random commands, or raise an error if the module cannot be used."""
    commands = _probes(policy.space)
    rows = states[np.arange(len(commands)) % len(states)]
    policy.scores(rows[:1], commands[:1])
    scores, again = policy.scores(rows, commands), policy.scores(rows, commands)
    wrong = (np.isnan(scores) | np.isposinf(scores)).any(axis=1)
    if wrong.any():
        raise InvalidInput.expected(
            "finite scores from the module", f"NaN or infinity under the command {format_numbers(commands[wrong][0])}"
        )
    if not np.allclose(scores, again, rtol=1e-2, atol=1e-3):
        advice = "different results: call eval() on it, unless its forward draws random numbers or calls dropout itself"
        raise InvalidInput.expected("a module that returns the same result for the same input", advice)
    return scores


def log_probabilities(scores: np.ndarray, outputs: Kind) -> np.ndarray:
    """Return scores (N, num_actions) as log-probabilities; differences of logits are kept.

    Q-values and amounts are returned as they are.
    """
    if outputs in ("log-probabilities", "q-values", "amounts"):
        return scores
    if outputs == "probabilities":
        with np.errstate(divide="ignore"):  # of impossible actions
            return np.log(np.maximum(scores, 0.0))
    shifted = scores - scores.max(axis=1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))


def _detect(scores: np.ndarray) -> Outputs:
    if np.isin(scores, (0.0, 1.0)).all():
        return "logits"  # rows such as (1, 0) sum to 1, too, but no softmax gives only these
    for outputs in ("probabilities", "log-probabilities"):
        if _looks_like(scores, outputs):
            return outputs
    return "logits"


def _looks_like(scores: np.ndarray, outputs: str) -> bool:
    probabilities = scores if outputs == "probabilities" else np.exp(np.minimum(scores, 1.0))
    sums = probabilities.sum(axis=1)
    return bool((probabilities >= 0).all() and np.allclose(sums, 1.0, rtol=0, atol=NORMALISED))


def _check_outputs(scores: np.ndarray, outputs: Outputs) -> Outputs:
    if outputs in ("probabilities", "log-probabilities") and not _looks_like(scores, outputs):
        row = ", ".join(f"{number:.3g}" for number in scores[0])
        raise InvalidInput.expected(f"a module that returns {outputs}", f"a row of ({row})")
    return outputs


class _FlattenedValues(nn.Module):
    """A module of values (N, num_actions, d) with the values of all actions in one row."""

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
class _RowsPolicy:
    """Base class of policies that wrap a torch module whose outputs are not one score per action."""

    rows: TorchPolicy
    """The policy that returns the outputs of the module, one row for each state and command."""

    def __repr__(self) -> str:
        kind = f"folds to {self.rows.deviation:.0e}" if isinstance(self.rows, WhiteBoxTorchPolicy) else "black-box"
        return f"<{type(self).__name__}: {self._description()}, {kind}>"

    def _description(self) -> str:
        raise NotImplementedError

    @property
    def space(self) -> CommandSpace:
        """The range of commands."""
        return self.rows.space

    @property
    def is_white_box(self) -> bool:
        """Whether answers can be proven."""
        return self.rows.is_white_box

    @property
    def why_not(self) -> str | None:
        """Why the policy is not white-box; None if it is."""
        return self.rows.why_not


@dataclass(frozen=True, eq=False, repr=False)
class QModulePolicy(_RowsPolicy):
    """A torch module of values, all actions in one row, as a black-box policy; see `from_q_module`."""

    tells_values: ClassVar[bool] = True

    def _description(self) -> str:
        return type(self.rows.module.module).__name__

    def log_probs(self, states: np.ndarray, commands: np.ndarray) -> np.ndarray:
        """Return the weighted values (N, num_actions)."""
        weights = np.asarray(commands, dtype=np.float64)
        values = self.rows.scores(states, commands).reshape(len(weights), -1, weights.shape[1])
        weighted: np.ndarray = (values * weights[:, None, :]).sum(axis=2)
        return weighted


@dataclass(frozen=True, eq=False, repr=False)
class WhiteBoxQModulePolicy(QModulePolicy):
    """A torch module of values as a white-box policy; see `from_q_module`."""

    rows: WhiteBoxTorchPolicy

    def fold_values(self, state: np.ndarray) -> FoldedValues:
        """Return the values at one state as layers that take the preferences, checked on random preferences."""
        return FoldedValues(self.rows.fold(state))


def from_q_module(
    module: nn.Module, state: Any, space: CommandSpace, *, inputs: str | Mapping[str, str] = "separate"
) -> QModulePolicy:
    """Return a policy that chooses argmax of w . Q(s, a, w), as Envelope Q-learning does, from a torch module of Q.

    It is white-box if the operations of the module are supported, as in `from_torch`.

    Args:
        module: a module (states, weights) -> (N, num_actions, d) in evaluation mode.
        state: one state or several, on which the module is tested.
        space: the preferences, `CommandSpace.preferences(...)`.
        inputs: how the module is called, as in `from_torch`.
    """
    if not isinstance(module, nn.Module):
        raise InvalidInput.expected("a torch module", type(module).__name__)
    if not space.simplex:
        raise InvalidInput.expected(
            "a space of preferences (CommandSpace.preferences), because Q has a value per objective", repr(space)
        )
    rows = from_torch(_FlattenedValues(module, space.dim), state, space, inputs=inputs, outputs="q-values")
    return WhiteBoxQModulePolicy(rows) if isinstance(rows, WhiteBoxTorchPolicy) else QModulePolicy(rows)


@dataclass(frozen=True, eq=False, repr=False)
class TorchActor(_RowsPolicy):
    """A torch module with continuous actions; see `from_torch`."""

    actions: ActionSpace

    def _description(self) -> str:
        return f"{type(self.rows.module).__name__} that returns {self.actions!r}"

    @property
    def module(self) -> nn.Module:
        return self.rows.module

    @property
    def features(self) -> Features | None:
        """The features of the state that may change; None if only the command may."""
        return self.rows.features

    def amounts(self, states: np.ndarray, commands: np.ndarray) -> np.ndarray:
        """Return the amounts (N, dimensions) in float64."""
        return self.rows.scores(states, commands)


@dataclass(frozen=True, eq=False, repr=False)
class WhiteBoxTorchActor(TorchActor):
    """A torch module with continuous actions whose answers can be proven; see `from_torch`."""

    rows: WhiteBoxTorchPolicy

    def fold_amounts(self, state: np.ndarray) -> Program:
        """Return the amounts at one state as layers that take the command, checked on random commands."""
        return self.rows.fold(state)
