"""Where rounding errors are derived, they cover what the deployed policy can do; otherwise the answer says why not."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import Tensor, nn

import paretofoil as pf
from paretofoil.agents import onnx as onnx_policy
from paretofoil.agents import recorder
from paretofoil.core.errors import InvalidInput
from paretofoil.core.program import Program
from paretofoil.proof.networks import moved_network

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from activation_errors import cases, worst_error

SPACE = pf.CommandSpace(low=[0.0, -20.0], high=[10.0, 0.0], objectives=["treasure", "time"])
STATE = np.array([0.5, -1.5, 2.0], dtype=np.float32)


class Module(nn.Module):
    """A module of one function, with a weight that sets its precision."""

    def __init__(self, forward: Callable[[Tensor, Tensor], Tensor], dtype: torch.dtype = torch.float32) -> None:
        super().__init__()
        self.function, self.weight = forward, nn.Parameter(torch.ones(2, 3, dtype=dtype))

    def forward(self, states: Tensor, commands: Tensor) -> Tensor:
        return self.function(states, commands)


def load(forward: Callable[[Tensor, Tensor], Tensor], dtype: torch.dtype = torch.float32) -> Any:
    return pf.from_torch(Module(forward, dtype), STATE, SPACE, outputs="logits")


def logits(x: Tensor) -> Tensor:
    return torch.cat([x, 1.0 - x[:, :1]], dim=1)


@pytest.mark.parametrize(("runtime", "activation", "form"), cases())
def test_activations_are_as_exact_as_proofs_assume(runtime: str, activation: str, form: str) -> None:
    allowed = {"torch": recorder.ACTIVATION_ROUNDINGS, "onnxruntime": onnx_policy.ACTIVATION_ROUNDINGS}[runtime]
    assert worst_error(runtime, activation, form, step=65521) <= (allowed if form == "float32" else 4.0) / 2


def test_products_of_vectors_round_like_sums_of_all_terms_though_few_depend_on_the_command() -> None:
    def product(states: Tensor, commands: Tensor) -> Tensor:
        known = states[:, :1].expand(-1, 63)
        both = torch.cat([commands[:, :1], known], dim=1)
        return logits((both[:, None, :] @ (both + 1.0)[:, :, None])[:, 0])

    folded = load(product).fold(STATE)
    [node] = folded.nodes
    assert node.size == 1
    assert node.operands[0].size == 1  # the other 63 terms are known
    assert node.slip >= 64 * recorder.FLOAT32


@pytest.mark.parametrize("factor", [10.0, 4000.0])
def test_numbers_that_may_overflow_are_not_derived(factor: float) -> None:
    forward = lambda s, c: logits(c * factor / factor)  # noqa: E731
    assert load(forward).fold(STATE).rounding is not None  # float32 has larger numbers
    half = load(forward, torch.float16)
    assert half.is_white_box == (factor == 10.0)
    if factor == 4000.0:  # 4 x 20 x 4000 exceeds 65504
        assert "numbers up to 3.2e+05 may be too large for a format that ends at 6.6e+04" in half.why_not


def test_commands_far_outside_the_space_are_not_derived() -> None:
    for dtype in (torch.float32, torch.float16):
        policy = load(lambda s, c: logits(c), dtype)
        folded = policy.fold(STATE)
        assert folded.within(SPACE.low, SPACE.high, 3).rounding is not None
        if dtype is torch.float32:
            outside = folded.within(SPACE.low, np.array([100.0, 0.0]), 3)
            assert (outside.rounding, outside.unknown[:30]) == (None, "commands so far outside the co")
        else:
            with pytest.raises(InvalidInput, match="known, got a question for which commands so far outside"):
                folded.within(SPACE.low, np.array([100.0, 0.0]), 3)


def errors_at(folded: Program, policy: Any, commands: np.ndarray) -> np.ndarray:
    """How much more than allowed the deployed logits are off, relative to the last."""
    deployed = policy.log_probs(np.repeat(STATE[None], len(commands), axis=0), commands)
    exact, allowed = folded.logits(commands), folded.errors(commands)
    off = (deployed - deployed[:, -1:]) - (exact - exact[:, -1:])
    return np.abs(off) - allowed - allowed[:, -1:]


def test_underflow_is_covered() -> None:
    policy = load(lambda s, c: torch.cat([c[:, :1] * 500.0, c[:, :1] * 0.0], dim=1), torch.float16)
    commands = np.stack([10.0 ** np.linspace(-12, -4, 200), np.zeros(200)], axis=1)
    assert (errors_at(policy.fold(STATE), policy, commands) <= 0).all()


def test_products_of_a_number_with_itself_have_twice_its_error() -> None:
    def forward(states: Tensor, commands: Tensor) -> Tensor:
        x = states[:, :1].expand(-1, 1000).sum(dim=1, keepdim=True)  # 500, with up to 1000 roundings
        return logits(commands * (x * x))

    error = load(forward).fold(STATE).error
    assert 2000 < error.weights[0][0, 0] / (2.0**-24 * 500.0**2) < 2100


@pytest.mark.parametrize("product", [lambda x, y: x * y, lambda x, y: x * torch.sigmoid(y)])
def test_equal_factors_with_other_errors_are_not_squared(product: Callable[[Tensor, Tensor], Tensor]) -> None:
    """Without rounding, the second factor is the first one; here it has lost the digits below 3e-5."""
    policy = load(lambda s, c: logits(product(c, (c + 300.0) - 300.0)))
    commands = np.random.default_rng(0).uniform(SPACE.low, SPACE.high, size=(3000, 2))
    assert (errors_at(policy.fold(STATE), policy, commands) <= 0).all()


def test_a_contraction_of_several_tensors_has_as_many_terms_as_all_of_its_axes() -> None:
    weight = torch.ones(3, 2, 50)
    forward = lambda s, c: torch.einsum("bi,oij,bj->bo", c, weight, s[:, :1].expand(-1, 50))  # noqa: E731
    error = load(forward).fold(STATE).error
    assert error.weights[0].min() >= 100 * 2.0**-24 * 25.0  # 2 x 50 terms, of 25 in all


@pytest.mark.parametrize("power", [lambda x: x**2, lambda x: x.pow(2), torch.square, lambda x: torch.pow(x, 3.0)])
def test_powers_of_the_state_are_derived(power: Callable[[Tensor], Tensor]) -> None:
    policy = load(lambda s, c: logits(c + power(s[:, :1] + 0.1)))
    folded = policy.fold(STATE)
    assert folded.rounding is not None
    assert (errors_at(folded, policy, np.random.default_rng(0).uniform(SPACE.low, SPACE.high, (50, 2))) <= 0).all()


@pytest.mark.parametrize("power", [lambda x: x**2, lambda x: x.pow(3), torch.square])
def test_powers_of_the_command_are_products(power: Callable[[Tensor], Tensor]) -> None:
    policy = load(lambda s, c: logits(power(c + 30.0) / 1000.0))
    folded = policy.fold(STATE)
    assert folded.rounding is not None
    assert (errors_at(folded, policy, np.random.default_rng(0).uniform(SPACE.low, SPACE.high, (50, 2))) <= 0).all()


@pytest.mark.parametrize("power", [lambda x: x.pow(0.5), lambda x: 2.0**x])
def test_powers_of_the_command_are_refused(power: Callable[[Tensor], Tensor]) -> None:
    policy = load(lambda s, c: logits(power(c + 30.0) / 1000.0))
    assert not policy.is_white_box
    assert "pow" in policy.why_not


def test_activations_under_autocast_are_rounded_as_it_rounds() -> None:
    def forward(states: Tensor, commands: Tensor) -> Tensor:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            hidden = torch.tanh(torch.nn.functional.linear(commands / 10.0, torch.eye(2)))
        return logits(torch.tanh(hidden)).float()  # still in bfloat16

    module = Module(forward)
    recording, _ = recorder.run(
        module.forward, torch.tensor(STATE[None]), np.full(2, 80.0), torch.float32, torch.device("cpu")
    )
    assert recording.unit == 2.0**-8
    assert [node.slip >= 2.0**-8 for node in recording.nodes] == [True, True]


def test_settings_that_allow_coarser_products_leave_rounding_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    policy = load(lambda s, c: logits(c))
    assert policy.fold(STATE).rounding is not None
    monkeypatch.setenv("ONEDNN_DEFAULT_FPMATH_MODE", "BF16")
    assert policy.fold(STATE).unknown == "settings of torch or oneDNN allow products of a lower precision"
    monkeypatch.undo()
    monkeypatch.setattr(torch, "get_float32_matmul_precision", lambda: "medium")
    assert policy.fold(STATE).rounding is None


def test_probabilities_that_underflow_are_derived_only_if_all_actions_are_valid() -> None:
    steep = lambda s, c: torch.softmax(torch.cat([20.0 * c, c[:, :1] * 0.0], dim=1), dim=1)  # noqa: E731
    policy: Any = pf.from_torch(Module(steep), STATE, SPACE)
    folded = policy.fold(STATE)
    assert folded.within(SPACE.low, SPACE.high, 3).rounding is not None
    assert "underflow" in folded.within(SPACE.low, SPACE.high, 2).unknown


def test_a_fold_that_is_wrong_beyond_a_kink_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Near a corner, where no random command is, the module differs from what was recorded."""

    def forward(states: Tensor, commands: Tensor) -> Tensor:
        corner = torch.relu(commands[:, :1] - 9.999)
        deployed = not isinstance(commands, recorder.Symbol)
        return logits(commands[:, :1] + (3.0 if deployed else 1.0) * corner)

    policy = load(forward)
    assert not policy.is_white_box
    assert "more than rounding allows" in policy.why_not


def test_an_answer_says_why_rounding_is_measured() -> None:
    def forward(states: Tensor, commands: Tensor) -> Tensor:
        planes = torch.nn.functional.conv1d(commands[:, None, :], torch.ones(1, 1, 1))
        return logits(planes[:, 0])

    answer = pf.explain(load(forward), state=STATE, command=[1.0, -5.0], foil=1, space=SPACE)
    assert answer.proof is not None
    assert answer.proof.rounding == "measured"
    why = "convolutions are computed in several ways, which round differently"
    assert answer.proof.why_measured == why
    assert f"They are not derived because {why}." in answer.proof.assumptions
    assert f"Rounding errors are measured, not derived, because {why}." in answer.paragraph()
    assert answer.to_dict()["proof"]["why_measured"] == why


def external(name: str) -> TensorProto:
    tensor = numpy_helper.from_array(np.ones((5, 3), dtype=np.float32), name)
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="../secret")
    return tensor


def hidden_model(where: str) -> onnx.ModelProto:
    """A model whose weight is in another file, named in a constant, in a branch or in a function."""
    constant = helper.make_node("Constant", [], ["weight"], value=external("weight"))
    product = helper.make_node("MatMul", ["x", "weight"], ["scores"])
    ends = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", size]) for name, size in (("x", 5), ("scores", 3))
    ]
    opsets, functions, nodes = [helper.make_opsetid("", 17)], [], [constant, product]
    initializers = []
    if where == "branch":
        branch = helper.make_graph([constant, product], "branch", [], ends[1:])
        initializers = [numpy_helper.from_array(np.array(True), "yes")]
        nodes = [helper.make_node("If", ["yes"], ["scores"], then_branch=branch, else_branch=branch)]
    elif where == "function":
        opsets.append(helper.make_opsetid("own", 1))
        functions = [helper.make_function("own", "Layer", ["x"], ["scores"], [constant, product], opsets[:1])]
        nodes = [helper.make_node("Layer", ["x"], ["scores"], domain="own")]
    graph = helper.make_graph(nodes, "graph", ends[:1], ends[1:], initializers)
    return helper.make_model(graph, opset_imports=opsets, functions=functions, ir_version=8)


@pytest.mark.parametrize("where", ["constant", "branch", "function"])
def test_other_files_are_refused_before_they_are_read(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "network.onnx").write_bytes(hidden_model(where).SerializeToString())
    monkeypatch.setattr("onnxruntime.InferenceSession", None)
    with pytest.raises(InvalidInput, match="that contains its weights, got one with weights in other files"):
        pf.from_onnx(tmp_path / "network.onnx", STATE, SPACE, inputs="concatenated")


def onnx_fold(nodes: list[Any], shapes: dict[str, tuple[int, int]], path: Path) -> Program:
    """The fold of a file of states and commands side by side, with weights of 1."""
    ends = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", size]) for name, size in (("x", 5), ("scores", 3))
    ]
    weights = [numpy_helper.from_array(np.ones(shape, dtype=np.float32), name) for name, shape in shapes.items()]
    graph = helper.make_graph(nodes, "graph", ends[:1], ends[1:], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    policy: Any = pf.from_onnx(path, STATE, SPACE, inputs="concatenated", outputs="logits")
    return policy.fold(STATE)


def test_products_of_onnx_weights_are_not_derived(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("MatMul", ["first", "second"], ["weight"]),
        helper.make_node("MatMul", ["x", "weight"], ["scores"]),
    ]
    folded = onnx_fold(nodes, {"first": (5, 4), "second": (4, 3)}, tmp_path / "network.onnx")
    assert folded.unknown == "onnxruntime may compute MatMul of weights differently"


def test_activations_of_onnxruntime_have_their_own_allowance(tmp_path: Path) -> None:
    nodes = [helper.make_node("MatMul", ["x", "weight"], ["unit"]), helper.make_node("Tanh", ["unit"], ["scores"])]
    [node] = onnx_fold(nodes, {"weight": (5, 3)}, tmp_path / "network.onnx").nodes
    assert node.slip == onnx_policy.ACTIVATION_ROUNDINGS * 2.0**-24


def test_errors_of_a_silu_grow_with_its_input() -> None:
    weights, biases, none = (np.eye(1), np.eye(1)), (np.zeros(1), np.zeros(1)), np.zeros(1)
    folded, far = Program.of_layers(weights, biases, ("silu",), unit=2.0**-24), np.array([-1000.0])
    network = moved_network(folded, none, np.eye(1), True, -far)
    for error in (network.largest_error(far, far), folded.errors(far[None])[0]):
        assert error[0] >= 32 * 2.0**-24 * 1000
    [upper] = network.upper_bounds(far[None], far[None]).highest(far[None], far[None])
    assert upper[0] >= 32 * 2.0**-24 * 1000


class Tokens(nn.Module):
    """A norm of units with any mean and size, or attention to tokens of the state and of the command."""

    def __init__(self, kind: str, shift: float, gain: float) -> None:
        super().__init__()
        self.kind, self.first, self.last = kind, nn.Linear(5, 12), nn.Linear(12, 3)
        self.first.weight.data *= gain
        self.first.bias.data += shift
        self.norm = {"layer": nn.LayerNorm(12), "group": nn.GroupNorm(3, 12), "rms": nn.RMSNorm(12)}.get(kind)
        self.state, self.command = nn.Linear(3, 12), nn.Linear(2, 12)
        self.block = nn.TransformerEncoderLayer(12, 2, 24, 0.0, "gelu", batch_first=True)

    def forward(self, states: Tensor, commands: Tensor) -> Tensor:
        if self.norm is not None:
            return self.last(torch.tanh(self.norm(self.first(torch.cat([states, commands], dim=1)))))
        tokens = [self.state(states), self.state(2.0 * states), self.command(commands)]
        return self.last(self.block(torch.stack(tokens, dim=1))[:, -1])


@pytest.mark.parametrize("kind", ["layer", "group", "rms", "attention"])
@pytest.mark.parametrize(("shift", "gain"), [(0.0, 1.0), (300.0, 1.0), (0.0, 1e-3), (1.0, 1e3)])
def test_errors_of_norms_and_attention_are_derived(kind: str, shift: float, gain: float) -> None:
    torch.manual_seed(0)
    module = Tokens(kind, shift, gain).eval()
    program = pf.from_torch(module, STATE, SPACE, outputs="logits").fold(STATE)  # type: ignore[attr-defined]
    commands = np.random.default_rng(0).uniform(SPACE.low, SPACE.high, size=(3000, 2)).astype(np.float32)
    with torch.no_grad():
        deployed = module(torch.tensor(STATE).expand(len(commands), -1), torch.from_numpy(commands)).double().numpy()
    difference, errors = np.abs(deployed - program.logits(commands.astype(np.float64))), program.errors(commands)
    assert program.rounding is not None
    assert (difference <= errors).all()
    assert np.median(errors) < 0.02  # of margins of about 1


def test_errors_of_many_layers_of_attention_are_measured() -> None:
    torch.manual_seed(0)
    module = Tokens("attention", 0.0, 1.0).eval()
    layer = nn.TransformerEncoderLayer(12, 2, 24, 0.0, "gelu", batch_first=True)
    module.block = nn.TransformerEncoder(layer, 5, enable_nested_tensor=False).eval()  # type: ignore[assignment]
    program = pf.from_torch(module, STATE, SPACE, outputs="logits").fold(STATE)  # type: ignore[attr-defined]
    assert program.rounding is None
    assert "attention" in program.unknown
